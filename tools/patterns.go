package tools

import (
	"maps"
	"path"
	"slices"
	"strings"

	"legwork/internal/nearest"
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

// UnusedPattern is a pattern of a group that fits no tool. It is most likely
// misspelt, and lets run what was meant to ask.
type UnusedPattern struct {
	Key     string // of the group, such as approve
	Index   int    // in the list of the key
	Pattern string
	Nearest string // the tool that it is most like; empty when there are no tools
}

// nearestTool is the name that a pattern was probably meant for: that of the same tool
// of another server, or one that begins or is nearly like the pattern; "" for none.
func nearestTool(pattern string, names []string) string {
	word := strings.Trim(pattern, "!*")
	_, tool, dotted := strings.Cut(word, ".")
	whole := map[string]string{} // names by what is compared of them
	for _, name := range names {
		if dotted && tool != "" && strings.HasSuffix(name, "."+tool) {
			return name
		}
		part := name
		if strings.HasSuffix(pattern, "*") {
			part = name[:min(len(name), len(word))]
		}
		if first, known := whole[part]; !known || name < first {
			whole[part] = name
		}
	}
	return whole[nearest.Typo(word, slices.Collect(maps.Keys(whole)))]
}

// UnusedPatterns lists the patterns of a group that fit no tool of its servers. It
// never waits, and says nothing of a group with a server that is not ready.
func (s *Set) UnusedPatterns(name string) []UnusedPattern {
	g := s.groups[name]
	if g == nil {
		return nil
	}
	views := make([]*view, len(g.servers))
	var names, fullNames []string
	for i, m := range g.servers {
		if views[i] = m.view(); views[i] == nil {
			return nil
		}
		for tool := range views[i].catalog.Tools {
			names, fullNames = append(names, tool), append(fullNames, m.Name()+"."+tool)
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
	var unused []UnusedPattern
	add := func(key string, list []string) {
		for i, p := range list {
			if fits(p) {
				continue
			}
			like := names
			if strings.Contains(p, ".") {
				like = fullNames
			}
			unused = append(unused, UnusedPattern{key, i, p, nearestTool(p, like)})
		}
	}
	add("tools", g.cfg.Tools)
	add("read_only", g.cfg.ReadOnly)
	if g.cfg.Approve.word() == "" {
		add("approve", g.cfg.Approve)
	}
	free := make([]string, len(g.cfg.Free))
	for i, entry := range g.cfg.Free {
		free[i], _ = splitFree(entry)
	}
	add("free", free)
	return unused
}
