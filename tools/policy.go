package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"legwork/tools/client"
)

// Verdict judges a call of "server.tool" by the rules of a group. It refuses
// arguments that do not fit the tool, so that no person is asked about such a
// call. It waits for a server that is still starting, at most the group's tool
// timeout.
func (s *Set) Verdict(ctx context.Context, group, person, tool string, arguments json.RawMessage) Verdict {
	v, d := s.verdict(ctx, group, person, tool)
	if d == nil {
		return v
	}
	if _, err := d.Check(arguments); err != nil {
		v.Refusal = argumentError(tool, fmt.Errorf("%w: %w", client.ErrArguments, err))
	}
	return v
}

// ToolVerdict is the Verdict of a tool, whatever the arguments of a call.
func (s *Set) ToolVerdict(ctx context.Context, group, tool string) Verdict {
	v, _ := s.verdict(ctx, group, "", tool)
	return v
}

// verdict returns the definition of the tool as well; nil when it is refused.
func (s *Set) verdict(ctx context.Context, groupName, person, tool string) (Verdict, *client.Definition) {
	g, err := s.group(groupName, person)
	if err != nil {
		return Verdict{Refusal: err.Error()}, nil
	}
	sv, name := g.find(tool)
	if sv == nil {
		return Verdict{Refusal: g.unknown(tool)}, nil
	}
	v := sv.view()
	if v == nil {
		short, cancel := context.WithTimeout(ctx, g.cfg.ToolTimeout)
		defer cancel()
		err := sv.WaitReady(short)
		if v = sv.view(); v == nil {
			return Verdict{Refusal: unavailable(tool, err), SignIn: sv.signIn(err)}, nil
		}
	}
	if refusal := v.refusal(tool, name); refusal != "" {
		return Verdict{Refusal: refusal, Quarantined: v.quarantined[name] != nil, New: v.fresh[name], NotOffered: v.catalog.NotOffered[name]}, nil
	}
	d := v.tools[name]
	if d == nil {
		return Verdict{Refusal: g.unknown(tool)}, nil
	}
	return g.verdict(sv, name, d), d
}

// verdict is what the rules of the group say about a tool of one of its servers.
func (g *group) verdict(s *member, tool string, d *client.Definition) Verdict {
	v := Verdict{Definition: d.Hash}
	v.ReadOnly = d.Reads() || g.readOnly.match(s.Name(), tool)
	if s.Local() || s.trustAnnotations {
		v.ReadOnly = v.ReadOnly || d.Annotations.ReadOnly
		v.Repeatable = d.Annotations.Idempotent
	}
	v.Repeatable = v.Repeatable || v.ReadOnly
	if s.auth.Asks() {
		v.Identity, v.ActFor = cmp.Or(s.auth.Identity, IdentityShared), g.cfg.ActFor
	}
	v.Remembers = s.builtin == "memory" && tool == "remember"
	v.Trusted = s.builtin == "clock" || s.builtin == "math" || v.Remembers
	v.Sources, v.AskSecrets = s.builtin == "search", s.askSecrets
	v.Public, v.OpenWorld, v.Schema, v.Free = s.public, s.opensWorld(d), d.InputSchema, g.freeOf(s.Name(), tool)
	switch g.cfg.Approve.word() {
	case ApproveNever:
		v.Never = true
	case ApproveAlways:
		v.Ask = true
	case ApproveWrites:
		v.Ask, v.AskTainted = !v.ReadOnly, v.Remembers
	default:
		v.Ask = g.approve.match(s.Name(), tool)
	}
	return v
}

// opensWorld reports whether a tool may carry its arguments to others than this
// machine and its own service. The config decides; of servers whose annotations are
// believed, these do; unknown means yes.
func (m *member) opensWorld(d *client.Definition) bool {
	switch {
	case d.Skill != nil:
		return false // the client sends nothing but the address of a listed file
	case m.openWorld != nil:
		return *m.openWorld
	case m.builtin != "":
		return m.builtin == "web" || m.builtin == "search"
	case m.trustAnnotations && d.Annotations.OpenWorld != nil:
		return *d.Annotations.OpenWorld
	}
	return true
}

// isPublic reports whether everybody may read the results of a server. The built-in
// web server reads public pages, unless the config opens private networks to it.
func (s ServerConfig) isPublic() bool {
	switch s.Builtin {
	case "clock", "math", "search":
		return true
	case "web":
		_, inside := s.Options["allow_ranges"]
		return s.Public || !inside
	}
	return s.Public
}

// freeOf lists the patterns of the parameters of a tool that the admin declares free.
func (g *group) freeOf(server, tool string) (list []string) {
	for _, entry := range g.cfg.Free {
		of, parameter := splitFree(entry)
		if compile([]string{of}).match(server, tool) {
			list = append(list, parameter)
		}
	}
	return list
}

// splitFree splits "TOOL.PARAMETER" of the config.
func splitFree(entry string) (tool, parameter string) {
	i := strings.LastIndexByte(entry, '.')
	return entry[:max(i, 0)], entry[i+1:]
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
