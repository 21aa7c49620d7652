package tools

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	seen := map[string]string{}
	for _, c := range []struct{ server, tool, want string }{
		{"clock", "time_in", "clock__time_in"},
		{"a", "b.c", "a__b_c-"},
		{"a", "b/c", "a__b_c-"},
		{"a__b", "c", "a__b__c-"},
		{"a", "b__c", "a__b__c"},
		{"a_", "b", "a___b-"},
		{"a", "_b", "a___b-"},
		{"a", "日本", "a____-"},
		{"server", strings.Repeat("x", 100), "server__xxxxx"},
		{"server", strings.Repeat("x", 101), "server__xxxxx"},
	} {
		got := exposedName(c.server, c.tool)
		if !strings.HasPrefix(got, c.want) || len(got) > 64 || got != modelName(got) {
			t.Errorf("exposed(%q, %q): got %q, want one that begins with %q and fits models", c.server, c.tool, got, c.want)
		}
		if other := seen[got]; other != "" {
			t.Errorf("exposed(%q, %q): got %q, as for %s", c.server, c.tool, got, other)
		}
		seen[got] = c.server + "." + c.tool
	}
}
