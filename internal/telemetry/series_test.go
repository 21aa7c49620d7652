package telemetry_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/internal/telemetry"
)

// TestBounds: however many names come from outside, the series are bounded, none
// is lost, and no secret is in them.
func TestBounds(t *testing.T) {
	m := telemetry.NewMetrics(telemetry.MetricsConfig{
		Now: time.Now, Clean: func(s string) string { return strings.ReplaceAll(s, "secret", "***") },
	})
	m.Stored("the secret")
	for i := range 5000 {
		m.Stored("event" + strconv.Itoa(i))
	}
	m.Stored("another secret")
	m.Stored(strings.Repeat("long", 1000))
	m.Stored("event0")
	text := scrape(t, m)
	if n := strings.Count(text, "\nlegwork_store_events_total{"); n != 1001 || len(text) > 1<<20 {
		t.Errorf("there are %d series in %d bytes, want 1001", n, len(text))
	}
	for _, want := range []string{`{type="other"} 4003`, `{type="the ***"} 1`, `{type="event0"} 2`} {
		if !strings.Contains(text, "\nlegwork_store_events_total"+want+"\n") {
			t.Errorf("there is no line %s", want)
		}
	}
	if strings.Contains(text, "secret") {
		t.Error("a secret is in the metrics")
	}
}

// TestBegin: metrics without labels are there before anything happens, and
// counts that make no sense are not counted.
func TestBegin(t *testing.T) {
	m := telemetry.NewMetrics(telemetry.MetricsConfig{Now: time.Now})
	m.ModelTried("main", telemetry.OK, telemetry.Tokens{Input: -5, Output: 3, Cost: -1})
	text := scrape(t, m)
	for _, want := range []string{
		"legwork_store_commit_errors_total 0", "legwork_task_slot_wait_seconds_count 0", "legwork_event_followers 0",
		`legwork_trace_spans_total{outcome="failed"} 0`, `legwork_model_tokens_total{kind="input",model="main"} 0`,
		`legwork_model_tokens_total{kind="output",model="main"} 3`, `legwork_model_cost_usd_total{model="main"} 0`,
	} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("there is no line %q in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "legwork_ready") {
		t.Error("a gauge without a reading is shown")
	}
}

// TestNil: without metrics nothing is counted and nothing fails.
func TestNil(t *testing.T) {
	var m *telemetry.Metrics
	if n := testing.AllocsPerRun(100, func() {
		m.ToolCalled("desk.look.up", telemetry.OK, time.Second)
		m.Stored("opened")
		m.Requested("/", "GET", 200, time.Second)
		m.Reloaded(nil)
		m.Followed()()
	}); n > 0 {
		t.Errorf("counting nothing allocates %v times", n)
	}
}

// TestConcurrent: nothing is lost when many count at once, and a page that is
// written meanwhile is whole.
func TestConcurrent(t *testing.T) {
	m := telemetry.NewMetrics(telemetry.MetricsConfig{
		Now: time.Now, Read: func(context.Context) (telemetry.Readings, error) { return telemetry.Readings{Ready: true}, nil },
	})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 1000 {
				m.Stored(fmt.Sprint("event", (i+n)%10))
				m.SlotWaited(time.Second / 2)
			}
		})
	}
	for range 2 {
		all.Go(func() {
			for range 25 {
				if text := scrape(t, m); !strings.Contains(text, "\nlegwork_ready 1\n") {
					t.Errorf("a page has no end: %s", text)
				}
			}
		})
	}
	all.Wait()
	text := scrape(t, m)
	if n := strings.Count(text, "\"} 800\n"); n != 10 || !strings.Contains(text, "\nlegwork_task_slot_wait_seconds_sum 4000\n") || !strings.Contains(text, "\nlegwork_task_slot_wait_seconds_count 8000\n") {
		t.Errorf("counts were lost:\n%s", text)
	}
}

// FuzzLabels: whatever a label's value is, it is one line that can be read back.
func FuzzLabels(f *testing.F) {
	for _, s := range []string{"", "a", "\"", "\\", "\n", "a\"} 1\nfake 2", "\xff", "ü", "\r\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		m := telemetry.NewMetrics(telemetry.MetricsConfig{Now: time.Now})
		m.Stored(value)
		var found []string
		for line := range strings.SplitSeq(scrape(t, m), "\n") {
			if strings.HasPrefix(line, "legwork_store_events_total") || strings.HasPrefix(line, "fake") {
				found = append(found, line)
			}
		}
		if len(found) != 1 {
			t.Fatalf("%q gave %d lines: %q", value, len(found), found)
		}
		text, ok := strings.CutPrefix(found[0], `legwork_store_events_total{type="`)
		text, end := strings.CutSuffix(text, `"} 1`)
		if !ok || !end || text == "" {
			t.Fatalf("%q gave %q", value, found[0])
		}
		for i := 0; i < len(text); i++ {
			if text[i] == '\\' {
				i++
				continue
			}
			if text[i] == '"' {
				t.Fatalf("%q ends early: %q", value, found[0])
			}
		}
	})
}

func BenchmarkCount(b *testing.B) {
	m := telemetry.NewMetrics(telemetry.MetricsConfig{Now: time.Now})
	b.ReportAllocs()
	for b.Loop() {
		m.ToolCalled("desk.lookup", telemetry.OK, time.Millisecond)
	}
}
