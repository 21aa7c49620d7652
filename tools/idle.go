package tools

import (
	"fmt"
	"strings"
)

// Idle lists the patterns of a group that fit no tool of its servers, as they
// stand in the config: `approve: "delte_*"`. Such a pattern is most likely
// misspelt, and lets run what was meant to ask. It never waits, and says nothing
// of a group with a server that is not ready.
func (s *Set) Idle(name string) []string {
	g := s.groups[name]
	if g == nil {
		return nil
	}
	views := make([]*view, len(g.servers))
	for i, m := range g.servers {
		if views[i] = m.view(); views[i] == nil {
			return nil
		}
	}
	fits := func(pattern string) bool {
		p := compile([]string{strings.TrimPrefix(pattern, "!")})
		for i, m := range g.servers {
			for tool := range views[i].catalog.Tools {
				if p.fit(m.Name(), tool) {
					return true
				}
			}
		}
		return false
	}
	var idle []string
	add := func(key string, list []string) {
		for _, p := range list {
			if !fits(p) {
				idle = append(idle, fmt.Sprintf("%s: %q", key, p))
			}
		}
	}
	add("tools", g.cfg.Tools)
	add("read_only", g.cfg.ReadOnly)
	if g.cfg.Approve.word() == "" {
		add("approve", g.cfg.Approve)
	}
	return idle
}
