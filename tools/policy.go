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
	Ask        bool   // a person must approve of the exact call first
	Never      bool   // the admin wants nobody to be asked about this tool, whatever it does
	ReadOnly   bool   // known to change nothing
	Repeatable bool   // calling it again after a crash does no harm; else `started` is journaled first
	Trusted    bool   // its results are facts of this program, not somebody's words
	Sources    bool   // addresses in its results may be visited: a search engine that the admin chose
	Definition string // hash of the tool's definition as its server gave it; an approval is bound to it
}

// Verdict judges a call of "server.tool" by a group. It waits for a server that
// is still starting, at most the group's tool timeout: what is not known is
// judged like a tool that changes things.
func (s *Set) Verdict(ctx context.Context, groupName, tool string) Verdict {
	g := s.groups[groupName]
	if g == nil {
		return Verdict{Refusal: s.noGroup(groupName).Error()}
	}
	sv, name := g.find(tool)
	if sv == nil {
		return Verdict{Refusal: g.unknown(tool).Text}
	}
	if sv.Catalog() == nil {
		short, cancel := context.WithTimeout(ctx, g.cfg.ToolTimeout)
		defer cancel()
		_ = sv.Settled(short) // what it is then is judged
	}
	return g.verdict(sv, name)
}

// verdict judges by the rules of the group and what is known of the tool.
func (g *group) verdict(s *client.Server, tool string) Verdict {
	var v Verdict
	v.ReadOnly = matches(g.cfg.ReadOnly, s.Name(), tool)
	v.Repeatable = v.ReadOnly
	if cat := s.Catalog(); cat != nil {
		if d := cat.Tools[tool]; d != nil {
			v.Definition = d.Hash
			if s.Local() || g.trusts[s.Name()] {
				v.ReadOnly = v.ReadOnly || d.Annotations.ReadOnly
				v.Repeatable = v.ReadOnly || d.Annotations.Idempotent
			}
		}
	}
	switch g.cfg.Approve.word() {
	case ApproveNever:
		v.Never = true
	case ApproveAlways:
		v.Ask = true
	case ApproveWrites:
		v.Ask = !v.ReadOnly
	default:
		v.Ask = matches(g.cfg.Approve, s.Name(), tool)
	}
	return v
}

// find splits "server.tool"; nil when the group offers no such thing. Servers'
// names have no dots, tools' may.
func (g *group) find(full string) (*client.Server, string) {
	name, tool, ok := strings.Cut(full, ".")
	if !ok {
		return nil, ""
	}
	i := slices.IndexFunc(g.servers, func(s *client.Server) bool { return s.Name() == name })
	if i < 0 || !g.has(g.servers[i], tool) {
		return nil, ""
	}
	return g.servers[i], tool
}

// noGroup names the groups that exist.
func (s *Set) noGroup(name string) error {
	return fmt.Errorf("there is no group %q; groups are %s", name, orNone(slices.Sorted(maps.Keys(s.groups))))
}
