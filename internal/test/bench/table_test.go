package main

import (
	"strings"
	"testing"
	"time"

	"legwork/internal/test/need"
)

func TestTable(t *testing.T) {
	var out strings.Builder
	missed := printTable(&out, []figure{
		within("quick", 900*time.Microsecond, time.Millisecond, "800 µs"),
		within("slow", 2*time.Second, 30*time.Millisecond, "1.0 ms"),
		{name: "told", measured: "7 B"},
	})
	want := `| figure | measured | limit  | the machine itself |        |
| ------ | -------- | ------ | ------------------ | ------ |
| quick  | 900 µs   | 1.0 ms | 800 µs             | ok     |
| slow   | 2.00 s   | 30 ms  | 1.0 ms             | MISSED |
| told   | 7 B      |        |                    |        |

1 missed
`
	if got := out.String(); got != want || missed != 1 {
		t.Errorf("printTable = %d missed, want 1, and\n%s\nwant\n%s", missed, got, want)
	}
}

func TestPercentile(t *testing.T) {
	took := []time.Duration{5, 1, 4, 2, 3}
	for p, want := range map[float64]time.Duration{0: 1, 0.5: 3, 0.99: 5, 1: 5} {
		if got := percentile(took, p); got != want {
			t.Errorf("percentile(%v, %v) = %d, want %d", took, p, got, want)
		}
	}
	if took[0] != 5 {
		t.Errorf("percentile changed its input to %v", took)
	}
}

// TestPlanParts runs the one part that needs neither time nor a disk.
func TestPlanParts(t *testing.T) {
	need.Check(t)
	figures, err := measurePlan(t.Context(), t.TempDir())
	if err != nil || len(figures) != 2 {
		t.Fatalf("measurePlan = %d figures, %v, want 2", len(figures), err)
	}
	for _, f := range figures {
		if f.measured == "" || f.limit == "" || f.machine == "" {
			t.Errorf("figure %+v has an empty cell", f)
		}
	}
}

func TestNextPage(t *testing.T) {
	for _, c := range []struct {
		body, cursor string
		first, fails bool
	}{
		{body: `{"items":[{"id":"a"}],"next_cursor":"c"}`, first: true, cursor: "c"},
		{body: `{"items":[{"id":"a"}],"next_cursor":null}`, first: true},
		{body: `{"items":[],"next_cursor":null}`, first: true, fails: true},
		{body: `{"items":[],"next_cursor":null}`},
		{body: `{"id":"a","state":"done"}`, first: true},
		{body: `<html>`, first: true, fails: true},
	} {
		if got, err := nextPage([]byte(c.body), c.first); got != c.cursor || (err != nil) != c.fails {
			t.Errorf("nextPage(%s, %t) = %q, %v, want %q and an error: %t", c.body, c.first, got, err, c.cursor, c.fails)
		}
	}
}
