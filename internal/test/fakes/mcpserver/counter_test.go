package main

import (
	"strings"
	"testing"
)

// TestCounter: pay tells what was paid; choose asks, tells what it was told, and
// logs it by its key.
func TestCounter(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"modern", "legacy"} {
		p := start(t, "http", "-counter", "-era", era)
		who := &people{}
		c := connect(t, p, "http", era, who)
		if got := call(t, c, "pay", map[string]any{"order": "q1 pay alpha"}); !strings.Contains(got, "paid q1 pay alpha") {
			t.Errorf("%s: pay: got %s", era, got)
		}
		if got := call(t, c, "choose", map[string]any{"key": "q1 ask beta"}); !strings.Contains(got, "the colour of q1 ask beta is green") {
			t.Errorf("%s: choose: got %s", era, got)
		}
		if len(who.asked) != 1 || who.asked[0] != "Which colour for q1 ask beta?" {
			t.Errorf("%s: asked %q, want one question that names the key", era, who.asked)
		}
		if told := logged(t, p, "told"); len(told) != 1 || told[0].Note != "q1 ask beta" || !strings.Contains(string(told[0].Args), "green") {
			t.Errorf("%s: told: got %+v", era, told)
		}
		if v := logged(t, p, "violation"); len(v) != 0 {
			t.Errorf("%s: violations: got %+v, want none", era, v)
		}
	}
}
