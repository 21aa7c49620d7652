package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"legwork/tools/client"
)

// Set is an immutable snapshot of groups and their servers. A call uses the
// rules of the Set it is made with; a Set that a reload replaced can still
// call the servers that are configured as before.
type Set struct {
	servers map[string]*client.Server
	made    map[string]made // what they were made of
	groups  map[string]*group
	log     *slog.Logger
}

// made is what a server was made of: while it is the same, a reload keeps it.
type made struct {
	cfg  ServerConfig
	keep int
}

// group is a group with its defaults filled in.
type group struct {
	name    string
	cfg     GroupConfig
	servers []*client.Server
	trusts  map[string]bool // servers whose annotations are believed
}

// Group is what a planner needs to know of a group.
type Group struct {
	Name         string
	Description  string
	Instructions string
	Model        string
	Allow        []string // who may use it; empty or "*": everybody
	ReadOnly     bool     // every tool of it is known to change nothing
}

// Tool is one tool of a group.
type Tool struct {
	Name        string // "server.tool"
	Exposed     string // the same for models: [a-zA-Z0-9_-]{1,64}, distinct, and never changing for a Name
	Description string
	Schema      json.RawMessage // the server's inputSchema, whole
	ReadOnly    bool            // known to change nothing
	Repeatable  bool            // calling it again after a crash does no harm
}

// Groups are all groups, by name. It never waits: a group whose servers are
// not connected yet counts as one that can change things, unless the config
// says otherwise.
func (s *Set) Groups() []Group {
	list := make([]Group, 0, len(s.groups))
	for _, name := range slices.Sorted(maps.Keys(s.groups)) {
		g := s.groups[name]
		list = append(list, Group{
			Name: name, Description: g.description(), Instructions: g.cfg.Instructions,
			Model: g.cfg.Model, Allow: g.cfg.Allow, ReadOnly: g.readOnly(),
		})
	}
	return list
}

// Tools lists the tools of a group by name. It waits for servers that are
// still starting, at most the group's tool timeout. The tools of a server that
// is down are left out: the error names it, and the others are returned with it.
func (s *Set) Tools(ctx context.Context, name string) ([]Tool, error) {
	g := s.groups[name]
	if g == nil {
		return nil, s.noGroup(name)
	}
	wait, cancel := context.WithTimeout(ctx, g.cfg.ToolTimeout)
	defer cancel()
	var errs []error
	var list []Tool
	for _, sv := range g.servers {
		if err := sv.Settled(wait); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			errs = append(errs, err)
			continue
		}
		for tool, d := range sv.Catalog().Tools {
			if !g.has(sv, tool) {
				continue
			}
			v := g.verdict(sv, tool)
			list = append(list, Tool{
				Name: sv.Name() + "." + tool, Exposed: exposed(sv.Name(), tool), Description: d.Description,
				Schema: d.InputSchema, ReadOnly: v.ReadOnly, Repeatable: v.Repeatable,
			})
		}
	}
	slices.SortFunc(list, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return list, errors.Join(errs...)
}

// has tells whether the group offers a tool of one of its servers.
func (g *group) has(s *client.Server, tool string) bool {
	return len(g.cfg.Tools) == 0 || matches(g.cfg.Tools, s.Name(), tool)
}

func (g *group) readOnly() bool {
	for _, s := range g.servers {
		if slices.Contains(g.cfg.ReadOnly, "*") && len(g.cfg.ReadOnly) == 1 {
			continue
		}
		cat := s.Catalog()
		if cat == nil {
			return false
		}
		for tool := range cat.Tools {
			if g.has(s, tool) && !g.verdict(s, tool).ReadOnly {
				return false
			}
		}
	}
	return true
}

// description falls back to what the servers say of themselves, then to the
// names of the tools.
func (g *group) description() string {
	if g.cfg.Description != "" {
		return g.cfg.Description
	}
	var said, names []string
	for _, s := range g.servers {
		cat := s.Catalog()
		if cat == nil {
			continue
		}
		if first, _, _ := strings.Cut(strings.TrimSpace(cat.Instructions), "\n"); first != "" {
			short, _ := cut(first, 300)
			said = append(said, short)
		}
		for tool := range cat.Tools {
			if g.has(s, tool) {
				names = append(names, tool)
			}
		}
	}
	if len(said) > 0 {
		return strings.Join(said, " ")
	}
	if len(names) == 0 {
		return "Tools of " + strings.Join(g.cfg.Servers, ", ")
	}
	slices.Sort(names)
	short, more := cut(strings.Join(names, ", "), 300)
	if more {
		short += "..."
	}
	return "Tools: " + short
}

// exposed makes a name that models accept: "server__tool". Where characters
// are lost or the name is too long, a hash of the whole keeps it distinct.
func exposed(server, tool string) string {
	full := server + "." + tool
	name := fitting(server) + "__" + fitting(tool)
	lossless := name == server+"__"+tool && !strings.Contains(server, "__") && !strings.HasSuffix(server, "_") && !strings.HasPrefix(tool, "_")
	if lossless && len(name) <= 64 {
		return name
	}
	sum := sha256.Sum256([]byte(full))
	return name[:min(len(name), 55)] + "-" + hex.EncodeToString(sum[:4])
}

func fitting(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || (r < 128 && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')) {
			return r
		}
		return '_'
	}, s)
}

// cut returns the first n bytes of s, less what would part a rune.
func cut(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n], true
}
