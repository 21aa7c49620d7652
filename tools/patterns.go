package tools

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// patterns are compiled once for all calls. They fit a tool by its own name or
// as "server.tool". A pattern "!x" excludes the tools that x matches, wherever it stands;
// when there are only such patterns, everything else is in.
type patterns struct {
	in, out []string
}

func compile(list []string) patterns {
	var p patterns
	for _, text := range list {
		if rest, not := strings.CutPrefix(text, "!"); not {
			p.out = append(p.out, slashless(rest))
		} else {
			p.in = append(p.in, slashless(text))
		}
	}
	return p
}

// none tells that there are no patterns, which fit nothing.
func (p patterns) none() bool { return len(p.in)+len(p.out) == 0 }

// all tells that the patterns fit every tool there may be.
func (p patterns) all() bool { return len(p.out) == 0 && slices.Contains(p.in, "*") }

func (p patterns) match(server, tool string) bool {
	tool = slashless(tool)
	full := server + "." + tool
	fits := func(pattern string) bool {
		if pattern == "*" {
			return true
		}
		own, _ := path.Match(pattern, tool)
		if !own {
			own, _ = path.Match(pattern, full)
		}
		return own
	}
	if slices.ContainsFunc(p.out, fits) {
		return false
	}
	return slices.ContainsFunc(p.in, fits) || len(p.in) == 0 && len(p.out) > 0
}

// slashless lets * stand for slashes too, which path.Match treats apart.
func slashless(s string) string { return strings.ReplaceAll(s, "/", "\x00") }

// UnusedPatterns lists the patterns of a group that fit no tool of its servers, as they
// stand in the config: `approve: "delte_*"`. Such a pattern is most likely
// misspelt, and lets run what was meant to ask. It never waits, and says nothing
// of a group with a server that is not ready.
func (s *Set) UnusedPatterns(name string) []string {
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
				if p.match(m.Name(), tool) {
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
