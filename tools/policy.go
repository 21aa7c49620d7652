package tools

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"legwork/tools/client"
)

// Verdict is what the rules say about calling a tool.
type Verdict struct {
	Refusal    string // not empty: the call must not be made; a sentence for the model
	Held       bool   // it is refused because the server has changed the tool
	Ask        bool   // a person must approve of the exact call first
	Never      bool   // the admin wants nobody to be asked about this tool, whatever it does
	ReadOnly   bool   // known to change nothing
	Repeatable bool   // calling it again after a crash does no harm; else `started` is journaled first
	Trusted    bool   // its results are facts of this program, not somebody's words
	Sources    bool   // addresses in its results may be visited: a search engine that the admin chose
	Definition string // hash of the tool's definition as its server gave it; an approval is bound to it
}

// Verdict judges a call of "server.tool" by a group. It waits for a server that
// is still starting, at most the group's tool timeout.
func (s *Set) Verdict(ctx context.Context, groupName, tool string) Verdict {
	g := s.groups[groupName]
	if g == nil {
		return Verdict{Refusal: s.noGroup(groupName).Error()}
	}
	sv, name := g.find(tool)
	if sv == nil {
		return Verdict{Refusal: g.unknown(tool)}
	}
	v := sv.view()
	if v == nil {
		short, cancel := context.WithTimeout(ctx, g.cfg.ToolTimeout)
		defer cancel()
		err := sv.Settled(short)
		if v = sv.view(); v == nil {
			return Verdict{Refusal: unavailable(tool, err)}
		}
	}
	if refusal := v.refusal(tool, name); refusal != "" {
		return Verdict{Refusal: refusal, Held: v.held[name] != nil}
	}
	d := v.tools[name]
	if d == nil {
		return Verdict{Refusal: g.unknown(tool)}
	}
	return g.judged(sv, name, d)
}

// judged is what the rules of the group say about a tool of one of its servers.
func (g *group) judged(s *member, tool string, d *client.Definition) Verdict {
	v := Verdict{Definition: d.Hash}
	v.ReadOnly = d.Own || g.readOnly.fit(s.Name(), tool)
	if s.Local() || s.trusted {
		v.ReadOnly = v.ReadOnly || d.Annotations.ReadOnly
		v.Repeatable = d.Annotations.Idempotent
	}
	v.Repeatable = v.Repeatable || v.ReadOnly
	v.Trusted = s.builtin == "clock" || s.builtin == "math"
	v.Sources = s.builtin == "search"
	switch g.cfg.Approve.word() {
	case ApproveNever:
		v.Never = true
	case ApproveAlways:
		v.Ask = true
	case ApproveWrites:
		v.Ask = !v.ReadOnly
	default:
		v.Ask = g.approve.fit(s.Name(), tool)
	}
	return v
}

// find splits "server.tool"; nil when the group offers no such thing. Servers'
// names have no dots, tools' may.
func (g *group) find(full string) (*member, string) {
	name, tool, ok := strings.Cut(full, ".")
	if !ok {
		return nil, ""
	}
	i := slices.IndexFunc(g.servers, func(s *member) bool { return s.Name() == name })
	if i < 0 || !g.has(g.servers[i], tool) {
		return nil, ""
	}
	return g.servers[i], tool
}

// noGroup names the groups that exist.
func (s *Set) noGroup(name string) error {
	return fmt.Errorf("there is no group %q; groups are %s", name, orNone(slices.Sorted(maps.Keys(s.groups))))
}
