package executor

import "testing"

// TestListMark: signs of a list go, and signs of Markdown stay.
func TestListMark(t *testing.T) {
	for line, want := range map[string]string{
		"- a": "a", "* a": "a", "• a": "a", "12. a": "a", "1) a": "a", "**Goal:** a": "**Goal:** a", "*a* b": "*a* b", "-1 is less": "-1 is less", "3.5 km": "3.5 km",
	} {
		if got := listMark.ReplaceAllString(line, ""); got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}
