package tools

import (
	"path"
	"slices"
	"strings"
)

// patterns are compiled once for all calls. They fit a tool by its own name or
// as "server.tool". A pattern "!x" takes away what x fits, wherever it stands;
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

func (p patterns) fit(server, tool string) bool {
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
