package tools

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Verdict is what the rules say about calling a tool.
type Verdict struct {
	Refuse     bool // it needs an approval, which this version cannot ask for
	ReadOnly   bool // known to change nothing
	Repeatable bool // calling it again after a crash does no harm; else `started` is journaled first
}

// Verdict judges a call of "server.tool" by a group. sentence is for the model
// when it is refused. It never waits: for a tool that is not known, perhaps
// because its server is still starting, it does not refuse unless the rules
// refuse by name alone; Call judges again when the server is ready.
func (s *Set) Verdict(groupName, tool string) (v Verdict, sentence string) {
	g := s.groups[groupName]
	if g == nil {
		return Verdict{}, ""
	}
	sv, name := g.find(tool)
	if sv == nil {
		return Verdict{}, ""
	}
	v = g.verdict(sv, name)
	if v.Refuse && !sv.knows(name) && g.cfg.Approve.word() == ApproveWrites {
		v.Refuse = false
	}
	if v.Refuse {
		return v, refusal(g, tool)
	}
	return v, ""
}

func refusal(g *group, tool string) string {
	if g.cfg.Approve.word() == ApproveWrites {
		return fmt.Sprintf("The tool %s was not called: it may change things, and this version cannot ask a person for approval. "+
			"Do without it and say so. (An admin who knows that it only reads can list it under groups.%s.read_only; to let every tool of the group run, set groups.%s.approve to never.)", tool, g.name, g.name)
	}
	return fmt.Sprintf("The tool %s was not called: groups.%s.approve asks for a person's approval of it, which this version cannot ask for. "+
		"Do without it and say so. (An admin can set groups.%s.approve to never.)", tool, g.name, g.name)
}

// verdict judges by the rules of the group and what is known of the tool.
func (g *group) verdict(s *server, tool string) Verdict {
	var v Verdict
	v.ReadOnly = matches(g.cfg.ReadOnly, s.name, tool)
	v.Repeatable = v.ReadOnly
	if cat := s.known(); cat != nil && (s.static != nil || s.dialer.cfg.TrustAnnotations) {
		if d := cat.tools[tool]; d != nil {
			v.ReadOnly = v.ReadOnly || d.Annotations.ReadOnly
			v.Repeatable = v.ReadOnly || d.Annotations.Idempotent
		}
	}
	switch g.cfg.Approve.word() {
	case ApproveNever:
	case ApproveAlways:
		v.Refuse = true
	case ApproveWrites:
		v.Refuse = !v.ReadOnly
	default:
		v.Refuse = matches(g.cfg.Approve, s.name, tool)
	}
	return v
}

// knows tells whether the server has said what tool is.
func (s *server) knows(tool string) bool {
	cat := s.known()
	return cat != nil && cat.tools[tool] != nil
}

// find splits "server.tool"; nil when the group offers no such thing. Servers'
// names have no dots, tools' may.
func (g *group) find(full string) (*server, string) {
	name, tool, ok := strings.Cut(full, ".")
	if !ok {
		return nil, ""
	}
	i := slices.IndexFunc(g.servers, func(s *server) bool { return s.name == name })
	if i < 0 || !g.has(g.servers[i], tool) {
		return nil, ""
	}
	return g.servers[i], tool
}

// noGroup names the groups that exist.
func (s *Set) noGroup(name string) error {
	return fmt.Errorf("there is no group %q; groups are %s", name, orNone(slices.Sorted(maps.Keys(s.groups))))
}
