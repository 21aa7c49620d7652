package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"legwork/internal/test/longtask"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/tasks"
)

// measureFold reads and folds a journal of 4,000 events from a file that was
// just opened, and then what is added to it, one event at a time.
func measureFold(ctx context.Context, dir string) ([]figure, error) {
	s, err := bolt.Open(ctx, dir, bolt.Options{})
	if err != nil {
		return nil, err
	}
	in := opening(chat(0), "t", "goal")
	if _, err := s.Open(ctx, []tasks.Inbound{in}); err != nil {
		return nil, err
	}
	journal := longtask.Journal(*in.Open, longtask.Events)
	if err := s.Append(ctx, "t", -1, 0, journal...); err != nil {
		return nil, err
	}
	var whole, fresh, load []time.Duration
	for range 15 {
		if err := s.Close(); err != nil {
			return nil, err
		}
		if s, err = bolt.Open(ctx, dir, bolt.Options{}); err != nil {
			return nil, err
		}
		view := tasks.NewView(s, "t")
		if err := timed(&whole, func() error { return view.Refresh(ctx) }); err != nil {
			return nil, err
		}
		for range 20 {
			if err := s.Append(ctx, "t", -1, 0, planner.Event{Type: planner.GuidanceAdded, Text: "hint"}); err != nil {
				return nil, err
			}
			before := view.State.Seq
			if err := timed(&fresh, func() error { return view.Refresh(ctx) }); err != nil {
				return nil, err
			}
			if view.State.Seq != before+1 {
				return nil, fmt.Errorf("the view went from event %d to %d", before, view.State.Seq)
			}
		}
		if err := timed(&load, func() error { _, err := s.Load(ctx, "t", 0); return err }); err != nil {
			return nil, err
		}
	}
	return []figure{
		within(fmt.Sprintf("fold of a task of %d events, once", longtask.Events), median(whole), 100*time.Millisecond, short(median(load))+" to read it"),
		within("each further event", median(fresh), median(whole)/100, "limit: 1 % of the whole"),
	}, s.Close()
}

// timed adds how long do takes.
func timed(took *[]time.Duration, do func() error) error {
	from := time.Now()
	err := do()
	*took = append(*took, time.Since(from))
	return err
}

// measurePlan parses a plan of 64 sub-tasks, and hostile texts of 64 and 256 KB.
func measurePlan(_ context.Context, _ string) ([]figure, error) {
	text := planOf(64)
	var good, bare []time.Duration
	for range 200 {
		err := timed(&good, func() error {
			p, err := planner.ParseReply(text, planner.ParseOptions{Groups: []string{"web"}})
			if err == nil && len(p.Plan) != 64 {
				err = fmt.Errorf("%d sub-tasks were read, not 64", len(p.Plan))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if err := timed(&bare, func() error { var v any; return json.Unmarshal([]byte(text), &v) }); err != nil {
			return nil, err
		}
	}
	figures := []figure{within("plan of 64 sub-tasks parsed", median(good), time.Millisecond, short(median(bare))+" encoding/json")}
	worst, small, large := "", time.Duration(0), time.Duration(0)
	for name, unit := range hostile() {
		s, l := parseTime(unit, 64_000), parseTime(unit, 256_000)
		if s > small {
			worst, small, large = name, s, l
		}
	}
	factor := float64(large) / float64(small)
	return append(figures, figure{
		name: "hostile reply of 64 KB, the slowest of " + fmt.Sprint(len(hostile())), measured: fmt.Sprintf("%s (%s)", short(small), worst),
		limit:   "linear: 256 KB at most 6x",
		machine: fmt.Sprintf("256 KB: %s, %.1fx", short(large), factor), ok: factor < 6,
	}), nil
}

func planOf(n int) string {
	var b strings.Builder
	b.WriteString(`{"plan": [`)
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `{"id": "s%d", "name": "web", "description": %q}`, i, strings.Repeat("look for it ", 16))
	}
	return b.String() + "]}"
}

// hostile texts, by what they are made of.
func hostile() map[string]string {
	return map[string]string{
		"open braces": "{", "open brackets": "[", "quotes": `"`, "backslashes": `\`, "plans begun": `{"plan": [`,
		"fences": "```json\n", "thinking begun": "<think>", "objects": `{"a":{}}`, "single quotes": `{'plan':'`, "comments": "/*",
		"pairs": "{}[]", "empty plans": `{"plan": []}`,
	}
}

// parseTime is the fastest of several runs over a text of that many bytes: what
// the machine does beside it must not look like a slow parser.
func parseTime(unit string, size int) time.Duration {
	text := strings.Repeat(unit, size/len(unit))
	var took []time.Duration
	for range 15 {
		from := time.Now()
		_, _ = planner.ParseReply(text, planner.ParseOptions{}) // refused or not, it must be quick
		took = append(took, time.Since(from))
	}
	return slices.Min(took)
}
