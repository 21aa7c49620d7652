package nearest_test

import (
	"strings"
	"testing"

	"legwork/internal/nearest"
)

func TestNearest(t *testing.T) {
	names := []string{"web_search", "Clock", "files", "filed", "日本"}
	tests := []struct{ word, of, typo string }{
		{"clokc", "Clock", "Clock"},
		{"CLOCK", "Clock", "Clock"},
		{"websearch", "web_search", "web_search"},
		{"file", "filed", "filed"}, // the first in the alphabet of two that are as near
		{"日本語", "日本", "日本"},
		{"calendar", "Clock", ""},
		{"fi" + strings.Repeat("x", 300), "web_search", ""},
	}
	for _, test := range tests {
		if got := nearest.Typo(test.word, names); got != test.typo {
			t.Errorf("Typo(%q) = %q, want %q", test.word, got, test.typo)
		}
		if got := nearest.Of(test.word, names); got != test.of && test.typo != "" {
			t.Errorf("Of(%q) = %q, want %q", test.word, got, test.of)
		}
	}
	if got, want := nearest.Hint("clokc", names)+nearest.Hint("calendar", names), ", the nearest known one is Clock"; got != want {
		t.Errorf("Hint: got %q, want %q", got, want)
	}
	if of, typo := nearest.Of("clock", nil), nearest.Typo("", nil); of != "" || typo != "" {
		t.Errorf("with no names: Of = %q, Typo = %q, want neither", of, typo)
	}
}
