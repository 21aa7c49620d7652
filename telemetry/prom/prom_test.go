package prom_test

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"legwork/telemetry/prom"
)

func page(t testing.TB, r *prom.Registry) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestWrite: the format is that of Prometheus, with everything escaped that has
// to be, in an order that does not change.
func TestWrite(t *testing.T) {
	var r prom.Registry
	calls := r.Counter("calls_total", "Calls.\nAll \\ of them.", "server", "outcome")
	r.Counter("never_total", "Never.", "by")
	depth := r.Gauge("depth", "Depth.")
	took := r.Histogram("took_seconds", "Time.", []float64{.1, 1}, "server")
	calls.Inc("b", "ok")
	calls.Add(2.5, "a\"\\\n", "")
	calls.Add(-1, "b", "ok")
	depth.Set(3)
	depth.Add(-5)
	for _, v := range []float64{.05, .1, .5, 7} {
		took.Observe(v, "s")
	}
	want := `# HELP calls_total Calls.\nAll \\ of them.
# TYPE calls_total counter
calls_total{server="a\"\\\n",outcome="none"} 2.5
calls_total{server="b",outcome="ok"} 1
# HELP depth Depth.
# TYPE depth gauge
depth -2
# HELP took_seconds Time.
# TYPE took_seconds histogram
took_seconds_bucket{server="s",le="0.1"} 2
took_seconds_bucket{server="s",le="1"} 3
took_seconds_bucket{server="s",le="+Inf"} 4
took_seconds_sum{server="s"} 7.65
took_seconds_count{server="s"} 4
`
	if got := page(t, &r); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	depth.Clear()
	if got := page(t, &r); strings.Contains(got, "depth") {
		t.Errorf("what was cleared is there: %s", got)
	}
}

// TestBounds: however many names come from outside, the series are bounded, none
// is lost, and no secret is in them.
func TestBounds(t *testing.T) {
	r := prom.Registry{Clean: func(s string) string { return strings.ReplaceAll(s, "secret", "***") }}
	calls := r.Counter("calls_total", "Calls.", "tool")
	for i := range 5000 {
		calls.Inc("tool" + strconv.Itoa(i))
	}
	calls.Inc("secret")
	calls.Inc(strings.Repeat("long", 1000))
	text := page(t, &r)
	if n := strings.Count(text, "calls_total{"); n > 1001 || len(text) > 1<<20 {
		t.Errorf("there are %d series in %d bytes, want 1001 at most", n, len(text))
	}
	if !strings.Contains(text, `calls_total{tool="other"} 4002`) || strings.Contains(text, "secret") {
		t.Errorf("what there was no room for is not counted as other: %.300s", text)
	}
}

// TestNil: without metrics nothing is counted and nothing fails.
func TestNil(t *testing.T) {
	var c *prom.Counter
	var g *prom.Gauge
	var h *prom.Histogram
	c.Inc("x")
	g.Set(1)
	g.Add(1)
	g.Clear()
	h.Observe(1)
	if n := testing.AllocsPerRun(100, func() { c.Inc("x", "y") }); n > 0 {
		t.Errorf("counting nothing allocates %v times", n)
	}
}

// TestConcurrent: nothing is lost when many count at once, and a page that is
// written meanwhile is whole.
func TestConcurrent(t *testing.T) {
	var r prom.Registry
	calls := r.Counter("calls_total", "Calls.", "tool")
	took := r.Histogram("took_seconds", "Time.", []float64{1})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 1000 {
				calls.Inc(fmt.Sprint("tool", (i+n)%10))
				took.Observe(.5)
			}
		})
	}
	all.Go(func() {
		for range 50 {
			page(t, &r)
		}
	})
	all.Wait()
	text := page(t, &r)
	if n := strings.Count(text, "} 800\n"); n != 10 || !strings.Contains(text, "took_seconds_sum 4000\n") || !strings.Contains(text, "took_seconds_count 8000\n") {
		t.Errorf("counts were lost:\n%s", text)
	}
}

// FuzzLabels: whatever a label's value is, it is one line that can be read back.
func FuzzLabels(f *testing.F) {
	for _, s := range []string{"", "a", "\"", "\\", "\n", "a\"} 1\nfake 2", "\xff", "ü", "\r\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		var r prom.Registry
		r.Counter("c_total", "C.", "v").Inc(value)
		lines := strings.Split(strings.TrimSuffix(page(t, &r), "\n"), "\n")
		if len(lines) != 3 {
			t.Fatalf("%q gave %d lines: %q", value, len(lines), lines)
		}
		text, ok := strings.CutPrefix(lines[2], `c_total{v="`)
		text, end := strings.CutSuffix(text, `"} 1`)
		if !ok || !end {
			t.Fatalf("%q gave %q", value, lines[2])
		}
		for i := 0; i < len(text); i++ {
			if text[i] == '\\' {
				i++
				continue
			}
			if text[i] == '"' {
				t.Fatalf("%q ends early: %q", value, lines[2])
			}
		}
	})
}

func BenchmarkInc(b *testing.B) {
	var r prom.Registry
	calls := r.Counter("calls_total", "Calls.", "server", "tool", "outcome")
	b.ReportAllocs()
	for b.Loop() {
		calls.Inc("desk", "lookup", "ok")
	}
}
