package main

import (
	"maps"
	"path"
	"slices"
	"testing"

	"legwork/conf"
)

// TestConfig: the config is without mistakes, and each tool is in one of its
// four groups.
func TestConfig(t *testing.T) {
	t.Parallel()
	c, err := conf.Load("config.yaml", func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	groups := c.Tools.Groups
	if got := slices.Sorted(maps.Keys(groups)); !slices.Equal(got, []string{"alert", "calendar", "payment", "travel"}) {
		t.Errorf("the groups are %q", got)
	}
	s, err := newAgency(newDB(t), nil).server("all")
	if err != nil {
		t.Fatal(err)
	}
	for tool := range s.ListTools() {
		in := 0
		for _, g := range groups {
			for _, pattern := range g.Tools {
				if fits, err := path.Match(pattern, tool); fits && err == nil {
					in++
				}
			}
		}
		if in != 1 {
			t.Errorf("%s is in %d groups, want one", tool, in)
		}
	}
}
