package steps_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/llm"
	"legwork/planner"
	"legwork/tasks/steps"
)

var t0 = time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)

// script builds a journal: each event comes a second after the one before, or after
// the pause that was given.
type script struct {
	t      *testing.T
	state  planner.State
	events []planner.Event
	at     time.Time
}

func newScript(t *testing.T, change func(*planner.Opening)) *script {
	s := &script{t: t, at: t0}
	o := &planner.Opening{Goal: "goal", Language: "en", Timezone: "UTC", Limits: planner.DefaultLimits()}
	if change != nil {
		change(o)
	}
	s.add("", planner.Event{Type: planner.Opened, Opening: o})
	return s
}

// add adds an event about an action, which the machine must take.
func (s *script) add(action string, e planner.Event) {
	s.t.Helper()
	id, err := planner.ParseActionID(action)
	if err != nil {
		s.t.Fatal(err)
	}
	s.at = s.at.Add(time.Second)
	e.Action, e.At, e.Seq = id, s.at, s.state.Seq+1
	if !planner.Takes(s.state, e) {
		s.t.Fatalf("event %d %s of %q is not taken; wanted: %v", e.Seq, e.Type, action, planner.Todo(s.state))
	}
	s.state = planner.Apply(s.state, e)
	s.events = append(s.events, e)
}

func (s *script) wait(d time.Duration) { s.at = s.at.Add(d - time.Second) }

func (s *script) plan(action string, list ...planner.Subtask) {
	s.t.Helper()
	s.add(action, planner.Event{Type: planner.Replied, Reply: &planner.Reply{IsPlan: true, Plan: list, Model: "m", Usage: llm.Usage{Input: 100, Output: 10, Cost: 5}}})
}

func (s *script) text(action, text string) {
	s.t.Helper()
	s.add(action, planner.Event{Type: planner.Replied, Reply: &planner.Reply{Text: text, Model: "m", Usage: llm.Usage{Input: 10, Output: 1}}})
}

func (s *script) calls(action string, names ...string) {
	s.t.Helper()
	r := &planner.Reply{Model: "m"}
	for i, name := range names {
		r.Calls = append(r.Calls, planner.Call{ID: fmt.Sprint(i), Name: name, Arguments: "{}", Tool: "server." + name})
	}
	s.add(action, planner.Event{Type: planner.Replied, Reply: r})
}

func (s *script) result(action string) {
	s.t.Helper()
	s.add(action, planner.Event{Type: planner.Returned, Result: &planner.Result{Text: "found"}})
}

func (s *script) shown() {
	s.t.Helper()
	s.add("", planner.Event{Type: planner.SendStarted, Slot: planner.SlotAnswer})
	s.add("", planner.Event{Type: planner.Sent, Slot: planner.SlotAnswer, Message: "m1", Last: true})
}

func sub(id, group string, after ...string) planner.Subtask {
	return planner.Subtask{ID: id, Name: group, Description: "do it", After: after}
}

// describe writes a report as lines: ID NAME STATE wanted+started+ended took/waited <after *critical.
func describe(r steps.Report) string {
	var out strings.Builder
	since := func(at time.Time) string {
		if at.IsZero() {
			return "-"
		}
		return fmt.Sprint(at.Sub(t0).Seconds())
	}
	for _, s := range r.Steps {
		fmt.Fprintf(&out, "%s|%s %s|%s-%s took %v", s.ID, s.Name, s.State, since(s.Started), since(s.Ended), s.Took.Seconds())
		if s.Error != "" {
			fmt.Fprintf(&out, " (%s)", s.Error)
		}
		if s.Waited > 0 {
			fmt.Fprintf(&out, " waited %v", s.Waited.Seconds())
		}
		if s.After >= 0 {
			fmt.Fprintf(&out, " < %s", r.Steps[s.After].ID)
		}
		if s.Critical > 0 {
			fmt.Fprintf(&out, " *%v", s.Critical.Seconds())
		}
		out.WriteByte('\n')
	}
	fmt.Fprintf(&out, "model %v tool %v waiting %v path %v = %v + %v + %v\n", r.Model.Seconds(), r.Tool.Seconds(), r.Waiting.Seconds(),
		r.Path.Seconds(), r.PathModel.Seconds(), r.PathTool.Seconds(), r.PathWaiting.Seconds())
	return out.String()
}

func TestSteps(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*planner.Opening)
		play   func(s *script)
		want   string
	}{
		{"parallel sub-tasks and a review", nil, func(s *script) {
			s.plan("plan 1.0", sub("1/a", "web"), sub("1/b", "web"))
			s.calls("work 1/a turn 1.0", "search")
			s.text("work 1/b turn 1.0", "b")
			s.wait(10 * time.Second)
			s.result("tool 1/a turn 1 call 1.0")
			s.text("work 1/a turn 2.0", "a")
			s.text("review 6.0", "All.")
			s.shown()
		}, `
plan 1.0| done|1-2 took 1 *1
work 1/a turn 1.0| done|2-3 took 1 < plan 1.0 *1
work 1/b turn 1.0| done|2-4 took 2 < plan 1.0
tool 1/a turn 1 call 1.0|server.search done|3-14 took 11 < work 1/a turn 1.0 *11
work 1/a turn 2.0| done|14-15 took 1 < tool 1/a turn 1 call 1.0 *1
review 6.0| done|15-16 took 1 < work 1/a turn 2.0 *1
show| done|16-18 took 2 < review 6.0 *2
model 6 tool 11 waiting 0 path 17 = 4 + 11 + 0
`},
		{"an approval that lets one call be made and denies another", nil, func(s *script) {
			s.plan("plan 1.0", sub("1/a", "book"))
			s.calls("work 1/a turn 1.0", "book", "pay")
			s.add("tool 1/a turn 1 call 1.0", planner.Event{Type: planner.Asked, Question: &planner.Question{}})
			s.add("tool 1/a turn 1 call 2.0", planner.Event{Type: planner.Asked, Question: &planner.Question{}})
			s.wait(time.Minute)
			s.add("ask calls 4", planner.Event{Type: planner.Decided, By: "ann", Decision: &planner.Decision{Approve: true}})
			s.add("ask calls 5", planner.Event{Type: planner.Decided, By: "ann", Decision: &planner.Decision{}})
			s.result("tool 1/a turn 1 call 1.1")
		}, `
plan 1.0| done|1-2 took 1 *1
work 1/a turn 1.0| done|2-3 took 1 < plan 1.0 *1
tool 1/a turn 1 call 1.0|server.book done|3-67 took 3 waited 61 < work 1/a turn 1.0 *3
tool 1/a turn 1 call 2.0|server.pay failed|3-66 took 2 (denied) waited 61 < work 1/a turn 1.0
ask calls 4|calls done|4-65 took 61 < tool 1/a turn 1 call 1.0 *61
ask calls 5|calls done|5-66 took 61 < tool 1/a turn 1 call 2.0
work 1/a turn 2.0| running|67-- took 3 < tool 1/a turn 1 call 1.0 *3
model 5 tool 5 waiting 122 path 69 = 5 + 3 + 61
`},
		{"guidance makes the plan again", nil, func(s *script) {
			s.add("", planner.Event{Type: planner.GuidanceAdded, By: "ann", Text: "in May"})
			s.add("plan 2.0", planner.Event{Type: planner.Malformed, Problem: &planner.Problem{Code: "garbage", Reason: "because"}})
			s.plan("plan 2.1", sub("1/a", "web"))
		}, `
plan 1.0| cancelled|1-2 took 1 *1
plan 2.0| failed|2-3 took 1 (garbage) < plan 1.0 *1
plan 2.1| done|3-4 took 1 < plan 2.0 *1
work 1/a turn 1.0| running|4-- took 3 < plan 2.1 *3
model 6 tool 0 waiting 0 path 6 = 6 + 0 + 0
`},
		{"a budget holds what works until a person extends it", nil, func(s *script) {
			s.add("", planner.Event{Type: planner.BudgetReached, Budget: "task_usd"})
			s.wait(time.Minute)
			s.add("ask budget 2", planner.Event{Type: planner.Decided, By: "ann", Decision: &planner.Decision{Approve: true}})
			s.text("plan 1.0", "Hello.")
		}, `
plan 1.0| done|1-63 took 2 waited 60 *2
ask budget 2|budget done|2-62 took 60 < plan 1.0 *60
show| running|63-- took 3 < plan 1.0 *3
model 2 tool 0 waiting 120 path 65 = 2 + 0 + 60
`},
		{"a process that was down", nil, func(s *script) {
			s.wait(time.Hour)
			s.add("", planner.Event{Type: planner.Resumed})
			s.text("plan 1.0", "Hello.")
		}, `
plan 1.0| done|1-3602 took 1 waited 3600 *1
show| running|3602-- took 3 < plan 1.0 *3
model 1 tool 0 waiting 0 path 4 = 1 + 0 + 0
`},
		{"a queued task", func(o *planner.Opening) { o.Queued = true }, func(s *script) {
			s.wait(5 * time.Second)
			s.add("", planner.Event{Type: planner.Released})
			s.text("plan 2.0", "Hello.")
		}, `
queue 1| done|1-6 took 5 *5
plan 2.0| done|6-7 took 1 < queue 1 *1
show| running|7-- took 3 < plan 2.0 *3
model 1 tool 0 waiting 5 path 9 = 1 + 0 + 5
`},
		{"a stop ends what runs", nil, func(s *script) {
			s.plan("plan 1.0", sub("1/a", "web"), sub("1/b", "web", "1/a"))
			s.calls("work 1/a turn 1.0", "search")
			s.add("", planner.Event{Type: planner.Stopped, By: "ann"})
		}, `
plan 1.0| done|1-2 took 1 *1
work 1/a turn 1.0| done|2-3 took 1 < plan 1.0 *1
tool 1/a turn 1 call 1.0|server.search cancelled|3-4 took 1 < work 1/a turn 1.0 *1
show| running|4-- took 3 < tool 1/a turn 1 call 1.0 *3
model 2 tool 1 waiting 0 path 6 = 2 + 1 + 0
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t, c.change)
			c.play(s)
			got := describe(steps.Of(s.events, s.at.Add(2*time.Second+time.Second)))
			if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestUsage sums up what the steps of a task used to what the machine counted.
func TestUsage(t *testing.T) {
	s := newScript(t, nil)
	s.plan("plan 1.0", sub("1/a", "web"))
	s.text("work 1/a turn 1.0", "a")
	s.shown()
	var sum llm.Usage
	for _, step := range steps.Of(s.events, s.at).Steps {
		sum = sum.Add(step.Usage)
	}
	if sum != s.state.Usage || sum.Cost != 5 {
		t.Errorf("the steps used %+v, want %+v", sum, s.state.Usage)
	}
}

// BenchmarkLong folds a task of 2,000 turns of one sub-task, 4,000 events.
func BenchmarkLong(b *testing.B) {
	s := newScript(&testing.T{}, func(o *planner.Opening) { o.Limits.Turns, o.Limits.TaskTimeout = 3000, 100*time.Hour })
	s.plan("plan 1.0", sub("1/a", "web"))
	for turn := range 2000 {
		s.calls(fmt.Sprintf("work 1/a turn %d.0", turn+1), "search")
		s.result(fmt.Sprintf("tool 1/a turn %d call 1.0", turn+1))
	}
	for b.Loop() {
		steps.Of(s.events, s.at)
	}
}
