package tools

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"legwork/internal/clip"
	"legwork/tools/client"
)

// ServerDetails is everything about a server that an operator may want to see.
type ServerDetails struct {
	client.Status
	Builtin  string       // which built-in server it is; empty: none
	Problem  string       // why it cannot be used; empty: it can
	Groups   []string     // the groups that offer its tools, by name
	Tools    []ToolDetail // by name
	Changes  []Change     // its quarantined tools, by name
	Failures []Failure    // the newest failed calls, the newest first
}

// ToolDetail is one tool of a server.
type ToolDetail struct {
	Name        string // the server's name of it
	Title       string // for people; may be empty
	Description string
	Schema      json.RawMessage // of its arguments
	Annotations ToolAnnotations
	Groups      []ToolRule // the groups that offer it, by name
	Quarantined bool       // the server has changed it; nobody can call it
	NotOffered  string     // why no model can use it; empty: one can
}

// ToolAnnotations are what the server says about a tool. legwork believes them only
// where the config trusts the server. Nil: the server says nothing.
type ToolAnnotations struct {
	ReadOnly, Idempotent   bool
	Destructive, OpenWorld *bool
}

// ToolRule is what the rules of a group say about a tool.
type ToolRule struct {
	Group    string
	ReadOnly bool // known to change nothing
	Asks     bool // a person is asked before each call
}

// Details returns the servers of the newest snapshot, by name. It waits for nothing.
func (m *Manager) Details() []ServerDetails {
	set := m.Set()
	list := make([]ServerDetails, 0, len(set.servers))
	for _, name := range slices.Sorted(maps.Keys(set.servers)) {
		list = append(list, m.details(set, set.servers[name]))
	}
	return list
}

func (m *Manager) details(set *Set, s *member) ServerDetails {
	d := ServerDetails{Status: s.Status(), Builtin: s.builtin, Failures: m.failures.of(s.Name())}
	switch d.State {
	case client.Starting:
		d.Problem = "it is starting"
	case client.Down:
		d.Problem = cmp.Or(d.Err, "it is down")
	}
	var groups []*group
	for _, name := range slices.Sorted(maps.Keys(set.groups)) {
		if g := set.groups[name]; slices.Contains(g.servers, s) {
			groups, d.Groups = append(groups, g), append(d.Groups, name)
		}
	}
	v := s.view()
	if v == nil {
		return d
	}
	if v.problem != nil {
		d.Problem = v.problem.Error()
	}
	for tool, definition := range v.tools {
		t := toolDetail(tool, definition)
		for _, g := range groups {
			if g.has(s, tool) {
				verdict := g.verdict(s, tool, definition)
				t.Groups = append(t.Groups, ToolRule{g.name, verdict.ReadOnly, verdict.Ask})
			}
		}
		d.Tools = append(d.Tools, t)
	}
	for tool, definition := range v.quarantined {
		t := toolDetail(tool, definition)
		t.Quarantined = true
		d.Tools, d.Changes = append(d.Tools, t), append(d.Changes, m.change(s, v, tool))
	}
	for tool, why := range v.catalog.NotOffered {
		d.Tools = append(d.Tools, ToolDetail{Name: tool, NotOffered: why})
	}
	slices.SortFunc(d.Tools, func(a, b ToolDetail) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(d.Changes, func(a, b Change) int { return cmp.Compare(a.Tool, b.Tool) })
	return d
}

func toolDetail(name string, d *client.Definition) ToolDetail {
	said := d.Annotations
	return ToolDetail{
		Name: name, Title: cmp.Or(d.Title, said.Title), Description: d.Description, Schema: d.InputSchema,
		Annotations: ToolAnnotations{ReadOnly: said.ReadOnly, Idempotent: said.Idempotent, Destructive: said.Destructive, OpenWorld: said.OpenWorld},
	}
}

// Failure is a call of a tool that failed.
type Failure struct {
	At      time.Time
	Tool    string // "server.tool"
	Outcome string // as the metric legwork_tool_calls_total has it
	Text    string // the beginning of what the model was told; one line
}

// Bounds on the failures that are kept of each server, in memory alone.
const (
	maxFailures    = 10
	maxFailureText = 500 // bytes
)

// failures keeps the newest failed calls by server.
type failures struct {
	mu       sync.Mutex
	byServer map[string][]Failure // the newest last
}

// add keeps a failed call. It does not keep calls of tools that no server has, because
// models invent names.
func (f *failures) add(server string, failure Failure, err error) {
	if errors.Is(err, client.ErrNoTool) {
		return
	}
	failure.Text = clip.Line(failure.Text, maxFailureText)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byServer == nil {
		f.byServer = map[string][]Failure{}
	}
	list := append(f.byServer[server], failure)
	f.byServer[server] = slices.Clone(list[max(0, len(list)-maxFailures):])
}

// of returns the failures of a server, the newest first.
func (f *failures) of(server string) []Failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := slices.Clone(f.byServer[server])
	slices.Reverse(list)
	return list
}
