package storetest

import (
	"encoding/json"
	"errors"
	"time"

	"legwork/planner"
	"legwork/tasks"
)

func testJournal(b *env) {
	got := b.deliver(b.question(chat("c"), "t1", "first"), b.question(chat("d"), "t2", "second"))
	b.same("receipts", got, []tasks.Receipt{{Task: "t1", Seq: 1, Opened: true}, {Task: "t2", Seq: 1, Opened: true}})
	b.append("t1", said("one"), said("two"))
	b.append("t2", said("other"))
	b.append("t1", said("three"))

	all := b.load("t1", 0)
	var texts []string
	for i, e := range all {
		if e.Seq != i+1 {
			b.Fatalf("seq of event %d: got %d, want %d", i, e.Seq, i+1)
		}
		texts = append(texts, e.Text)
	}
	b.same("texts", texts, []string{"", "one", "two", "three"})
	b.same("goal", all[0].Opening.Goal, "first")
	b.same("tail", b.load("t1", 2), all[2:])
	b.same("from the end", b.load("t1", 4), []planner.Event(nil))
	b.same("from beyond the end", b.load("t1", 9), []planner.Event(nil))
	b.same("other journal", types(b.load("t2", 0)), []planner.EventType{planner.Opened, planner.GuidanceAdded})

	e, err := b.store.Event(b.Context(), "t1", 3)
	if err != nil {
		b.Fatalf("Event(t1, 3): %v", err)
	}
	b.same("event 3", e, all[2])
	for _, seq := range []int{-1, 0, 5} {
		if e, err := b.store.Event(b.Context(), "t1", seq); err == nil {
			b.Fatalf("Event(t1, %d): got %+v, want an error", seq, e)
		}
	}
	for _, id := range []tasks.ID{"unknown", "", "t"} {
		_, errLoad := b.store.Load(b.Context(), id, 0)
		_, errEvent := b.store.Event(b.Context(), id, 1)
		_, errState := b.store.State(b.Context(), id)
		for what, err := range map[string]error{"Load": errLoad, "Event": errEvent, "State": errState} {
			if !errors.Is(err, tasks.ErrNoTask) {
				b.Fatalf("%s of task %q: got %v, want ErrNoTask", what, id, err)
			}
		}
	}
}

func testTimes(b *env) {
	opened := b.clock.now()
	b.ask(chat("c"), "t", "goal")
	b.clock.add(time.Minute)
	given := time.Date(2026, 11, 20, 12, 0, 0, 123456789, time.FixedZone("east", 3*3600))
	b.append("t", said("store's time"), planner.Event{Type: planner.GuidanceAdded, Text: "own time", At: given})
	for i, want := range []time.Time{opened, opened.Add(time.Minute), given} {
		if got := b.load("t", 0)[i].At; !got.Equal(want) {
			b.Fatalf("time of event %d: got %v, want %v", i+1, got, want)
		}
	}
}

// testIsolation changes what was handed in and what was handed out.
func testIsolation(b *env) {
	in := b.question(chat("c"), "t", "goal")
	b.deliver(in)
	in.Open.Opening.Goal = "changed"
	e := planner.Event{Type: planner.StateSet, Values: map[string]json.RawMessage{"k": json.RawMessage(`"value <&>"`)}}
	b.append("t", e)
	e.Values["k"][1] = 'X'
	out := b.load("t", 0)
	out[0].Opening.Goal = "changed"
	out[1].Values["k"] = nil

	again := b.load("t", 0)
	b.same("goal", again[0].Opening.Goal, "goal")
	var value string
	if err := json.Unmarshal(again[1].Values["k"], &value); err != nil {
		b.Fatalf("value %q: %v", again[1].Values["k"], err)
	}
	b.same("value", value, "value <&>")
}

func testAppend(b *env) {
	b.ask(chat("c"), "t", "goal")
	for _, step := range []struct {
		name  string
		id    tasks.ID
		after int
		event planner.Event
		want  error
	}{
		{"read up to the end", "t", 1, said("a"), nil},
		{"behind", "t", 1, said("b"), tasks.ErrConflict},
		{"ahead", "t", 3, said("c"), tasks.ErrConflict},
		{"before the first", "t", 0, said("d"), tasks.ErrConflict},
		{"any", "t", -1, said("e"), nil},
		{"not wanted", "t", -1, planner.Event{Type: planner.Replied, Action: planner.DecisionID("plan", 99, 0), Reply: &planner.Reply{Text: "x"}}, tasks.ErrRefused},
		{"opened twice", "t", -1, planner.Event{Type: planner.Opened, Opening: &planner.Opening{Goal: "x"}}, tasks.ErrRefused},
		{"unknown", "unknown", -1, said("f"), tasks.ErrNoTask},
		{"no id", "", -1, said("g"), tasks.ErrNoTask},
	} {
		err := b.store.Append(b.Context(), step.id, step.after, 0, step.event)
		if !errors.Is(err, step.want) {
			b.Fatalf("%s: Append(%q, %d, %+v): got %v, want %v", step.name, step.id, step.after, step.event, err, step.want)
		}
	}
	b.same("journal", types(b.load("t", 0)), []planner.EventType{planner.Opened, planner.GuidanceAdded, planner.GuidanceAdded})
	if err := b.store.Append(b.Context(), "t", 3, 0); err != nil {
		b.Fatalf("appending nothing: %v", err)
	}
	if err := b.store.Append(b.Context(), "t", 2, 0); !errors.Is(err, tasks.ErrConflict) {
		b.Fatalf("appending nothing after less was read: got %v, want ErrConflict", err)
	}
}

func testAllOrNone(b *env) {
	b.ask(chat("c"), "t", "goal")
	b.ask(chat("c"), "next", "goal")
	before, history := b.load("t", 0), b.history(chat("c"), "", 1000)
	action := planner.Todo(b.state("t"))[0].ID
	err := b.store.Append(b.Context(), "t", -1, 7,
		planner.Event{Type: planner.Replied, Action: action, Reply: &planner.Reply{Text: "answer"}},
		planner.Event{Type: planner.SendStarted, Slot: planner.SlotAnswer},
		planner.Event{Type: planner.Sent, Slot: planner.SlotAnswer, Message: "m", Last: true},
		said("too late"))
	if !errors.Is(err, tasks.ErrRefused) {
		b.Fatalf("a batch whose last event does not fit: got %v, want ErrRefused", err)
	}
	b.same("journal", b.load("t", 0), before)
	b.same("history", b.history(chat("c"), "", 1000), history)
	b.same("live", b.live(chat("c").Key()), []tasks.ID{"t", "next"})
	b.phase("next", planner.PhaseQueued)
	if err := b.store.Append(b.Context(), "t", -1, 1, said("x")); err != nil {
		b.Fatalf("the fence of a refused batch was kept: %v", err)
	}
}

func testFences(b *env) {
	b.ask(chat("c"), "t", "goal")
	b.ask(chat("d"), "u", "goal")
	for _, step := range []struct {
		id    tasks.ID
		fence int64
		after int
		want  error
	}{
		{"t", 5, -1, nil},
		{"t", 5, -1, nil},
		{"t", 4, -1, tasks.ErrFenced},
		{"t", 4, 1, tasks.ErrFenced}, // a lost lease matters more than what was read
		{"t", 0, -1, nil},
		{"t", 6, -1, nil},
		{"t", 5, -1, tasks.ErrFenced},
		{"u", 1, -1, nil},
	} {
		err := b.store.Append(b.Context(), step.id, step.after, step.fence, said("x"))
		if !errors.Is(err, step.want) {
			b.Fatalf("Append(%s) with fence %d: got %v, want %v", step.id, step.fence, err, step.want)
		}
	}
	b.store = b.reopen()
	if err := b.store.Append(b.Context(), "t", -1, 5, said("x")); !errors.Is(err, tasks.ErrFenced) {
		b.Fatalf("an old fence after reopening: got %v, want ErrFenced", err)
	}
	if err := b.store.Append(b.Context(), "t", -1, 9); err != nil {
		b.Fatalf("taking a lease without events: %v", err)
	}
	if err := b.store.Append(b.Context(), "t", -1, 8, said("x")); !errors.Is(err, tasks.ErrFenced) {
		b.Fatalf("a lease older than one taken without events: got %v, want ErrFenced", err)
	}
}

func testState(b *env) {
	b.ask(chat("c"), "t", "goal")
	b.append("t", said("a"))
	b.plan("t")
	check := func(when string) {
		b.Helper()
		b.same("state "+when, b.state("t"), planner.Fold(b.load("t", 0)))
	}
	check("while it works")
	b.store = b.reopen()
	check("after reopening")
	b.append("t", planner.Event{Type: planner.Stopped})
	check("after a stop")
	b.show("t")
	check("when it is over")
}
