package storetest

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

func testJournal(b *env) {
	b.ask(chat("c"), "t1", "first")
	b.ask(chat("d"), "t2", "second")
	b.append("t1", said("one"), said("two"))
	b.append("t2", said("other"))
	b.append("t1", said("three"))

	all := b.load("t1", 0)
	var texts []string
	for i, e := range all {
		b.same("seq", e.Seq, i+1)
		texts = append(texts, e.Text)
	}
	b.same("texts", texts, []string{"", "one", "two", "three"})
	b.same("goal", all[0].Opening.Goal, "first")
	b.same("tail", b.load("t1", 2), all[2:])
	b.same("from the end", b.load("t1", 4), []planner.Event(nil))
	b.same("from beyond the end", b.load("t1", 9), []planner.Event(nil))
	b.same("other journal", types(b.load("t2", 0)), []planner.EventType{planner.Opened, planner.GuidanceAdded})

	e, err := b.store.Event(b.Context(), "t1", 3)
	b.ok(err)
	b.same("event 3", e, all[2])
	for _, seq := range []int{-1, 0, 5} {
		if e, err := b.store.Event(b.Context(), "t1", seq); err == nil {
			b.Fatalf("Event(t1, %d): got %+v, want an error", seq, e)
		}
	}
	b.missing("unknown", "", "t")
}

func testTimes(b *env) {
	opened := b.clock.now()
	b.ask(chat("c"), "t", "goal")
	b.clock.add(time.Minute)
	given := time.Date(2026, 11, 20, 12, 0, 0, 123456789, time.FixedZone("east", 3*3600))
	b.append("t", said("store's time"), planner.Event{Type: planner.GuidanceAdded, Text: "own time", At: given})
	for i, want := range []time.Time{opened, opened.Add(time.Minute), given} {
		b.same("time of an event", b.load("t", 0)[i].At, want)
	}
}

// testIsolation changes what was handed in and what was handed out.
func testIsolation(b *env) {
	in := b.question(chat("c"), "t", "goal")
	b.open(in)
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
	b.ok(json.Unmarshal(again[1].Values["k"], &value))
	b.same("value", value, "value <&>")
}

func testAppend(b *env) {
	b.ask(chat("c"), "t", "goal")
	b.appendWith("t", 1, 0, nil, said("read up to the end"))
	b.appendWith("t", 1, 0, tasks.ErrConflict, said("behind"))
	b.appendWith("t", 3, 0, tasks.ErrConflict, said("ahead"))
	b.appendWith("t", 0, 0, tasks.ErrConflict, said("before the first"))
	b.appendWith("t", -1, 0, nil, said("any"))
	b.appendWith("t", -1, 0, tasks.ErrRefused, planner.Event{ // it is not wanted
		Type: planner.Replied, Action: planner.DecisionID("plan", 99, 0), Reply: &planner.Reply{Text: "x"},
	})
	b.appendWith("t", -1, 0, tasks.ErrRefused, planner.Event{Type: planner.Opened, Opening: &planner.Opening{Goal: "opened twice"}})
	b.same("journal", types(b.load("t", 0)), []planner.EventType{planner.Opened, planner.GuidanceAdded, planner.GuidanceAdded})
	b.appendWith("t", 3, 0, nil)
	b.appendWith("t", 2, 0, tasks.ErrConflict) // appending nothing after less was read
}

func testAllOrNone(b *env) {
	b.ask(chat("c"), "t", "goal")
	b.ask(chat("c"), "next", "goal")
	before, history := b.load("t", 0), b.history(chat("c"), "", 1000)
	batch := append([]planner.Event{{Type: planner.Replied, Action: b.wanted("t"), Reply: &planner.Reply{Text: "answer"}}}, shown("m")...)
	b.appendWith("t", -1, 7, tasks.ErrRefused, append(batch, said("too late"))...)
	b.same("journal", b.load("t", 0), before)
	b.same("history", b.history(chat("c"), "", 1000), history)
	b.same("live", b.live(chat("c").Key()), []tasks.ID{"t", "next"})
	b.phase("next", planner.PhaseQueued)
	b.appendWith("t", -1, 1, nil, said("the fence of a refused batch is not kept"))
}

func testFences(b *env) {
	b.ask(chat("c"), "t", "goal")
	b.ask(chat("d"), "u", "goal")
	b.appendWith("t", -1, 5, nil, said("x"))
	b.appendWith("t", -1, 5, nil, said("x"))
	b.appendWith("t", -1, 4, tasks.ErrFenced, said("x"))
	b.appendWith("t", 1, 4, tasks.ErrFenced, said("x")) // a lost lease matters more than what was read
	b.appendWith("t", -1, 0, nil, said("x"))
	b.appendWith("t", -1, 6, nil, said("x"))
	b.appendWith("t", -1, 5, tasks.ErrFenced, said("x"))
	b.appendWith("u", -1, 1, nil, said("x"))
	b.store = b.reopen()
	b.appendWith("t", -1, 5, tasks.ErrFenced, said("x"))
	b.appendWith("t", -1, 9, nil) // taking a lease without events
	b.appendWith("t", -1, 8, tasks.ErrFenced, said("x"))
}

func testRedelivery(b *env) {
	known := func(key string, want tasks.Receipt, found bool) {
		b.Helper()
		r, ok, err := b.store.Known(b.Context(), key)
		b.ok(err)
		b.same("known of "+key, []any{r, ok}, []any{want, found})
	}
	first := b.question(chat("c"), "t1", "goal")
	first.Key = "api:ci:1" // a program chose it
	again := first
	again.ID = "t2" // the sender of a message that comes again gives it a new id
	got := b.deliver(first, again, b.question(chat("c"), "t3", "other"))
	b.same("receipts of one batch", got, []tasks.Receipt{{Task: "t1", Seq: 1, Opened: true}, {Task: "t1", Again: true}, {Task: "t3", Seq: 1, Opened: true}})
	b.same("receipt of a later batch", b.deliver(again), []tasks.Receipt{{Task: "t1", Again: true}})
	known(first.Key, tasks.Receipt{Task: "t1", Again: true}, true)
	known("another", tasks.Receipt{}, false)
	known("", tasks.Receipt{}, false)

	heard := b.guidance("t1", "hint")
	b.same("guidance", b.deliver(heard, heard), []tasks.Receipt{{Task: "t1", Seq: 2}, {Task: "t1", Again: true}})

	cut := tasks.Inbound{Key: "cut", Cut: true, Chat: chat("c")}
	b.same("cut", b.deliver(cut), []tasks.Receipt{{}})
	b.ask(chat("c"), "t4", "after the cut")
	b.same("cut again", b.deliver(cut), []tasks.Receipt{{Again: true}})
	b.same("turns after the cut", b.turns(chat("c")), []tasks.ID{"t4"})

	late := b.guidance("unknown", "hint")
	for _, want := range []bool{false, true} {
		r := b.deliver(late)[0]
		if r.Again != want || !errors.Is(r.Err, tasks.ErrNoTask) {
			b.Fatalf("guidance for an unknown task: got %+v, want Again %t and ErrNoTask", r, want)
		}
	}
	b.store = b.reopen()
	b.same("after reopening", b.deliver(again, heard), []tasks.Receipt{{Task: "t1", Again: true}, {Task: "t1", Again: true}})
	b.same("journal", types(b.load("t1", 0)), []planner.EventType{planner.Opened, planner.GuidanceAdded})

	long := b.question(chat("d"), "t5", "goal")
	long.Key = strings.Repeat("key", 20000)
	b.same("a long key", b.deliver(long, long), []tasks.Receipt{{Task: "t5", Seq: 1, Opened: true}, {Task: "t5", Again: true}})
	other := b.question(chat("d"), "t6", "goal")
	other.Key = long.Key + "!"
	b.open(other)
}

func testRedeliveryForgotten(b *env) {
	in := b.question(chat("c"), "t1", "goal")
	b.open(in)
	again := in
	again.ID = "t2"
	b.clock.add(47 * time.Hour)
	b.same("within two days", b.deliver(again), []tasks.Receipt{{Task: "t1", Again: true}})
	b.clock.add(2 * time.Hour)
	if r, ok, err := b.store.Known(b.Context(), in.Key); err != nil || ok || r != (tasks.Receipt{}) {
		b.Fatalf("after two days: got %+v, %v, %v, want an unknown key", r, ok, err)
	}
	b.open(again)
	again.ID = "t3"
	for range 3 { // each sweeps away what has expired, and must leave the younger row
		b.deliver(b.guidance("t1", "x"))
	}
	b.same("known again", b.deliver(again), []tasks.Receipt{{Task: "t2", Again: true}})
}

func testGuidance(b *env) {
	orOpen := func(to tasks.ID, text string, id tasks.ID) tasks.Inbound {
		in := b.question(chat("c"), id, text)
		in.To, in.Event = to, said(text)
		return in
	}
	b.ask(chat("c"), "t", "goal")
	b.same("guidance that fits", b.deliver(orOpen("t", "hint", "unused")), []tasks.Receipt{{Task: "t", Seq: 2}})
	b.append("t", planner.Event{Type: planner.SendStarted, Action: b.wanted("t")})

	// The first words are out: guidance no longer fits.
	late := orOpen("t", "too late", "new")
	b.open(late)
	b.same("again", b.deliver(late), []tasks.Receipt{{Task: "new", Again: true}})
	b.open(orOpen("unknown", "lost", "new2"))

	r := b.deliver(b.guidance("t", "too late"))[0]
	if !errors.Is(r.Err, tasks.ErrRefused) || r.Opened || r.Again || r.Seq != 0 {
		b.Fatalf("late without a way out: got %+v, want ErrRefused", r)
	}
	b.same("journal", types(b.load("t", 0)), []planner.EventType{planner.Opened, planner.GuidanceAdded, planner.SendStarted})
	b.same("its text", b.load("t", 1)[0].Text, "hint")
	b.same("live", b.live(chat("c").Key()), []tasks.ID{"t", "new", "new2"})

	// Two in one batch: the second is judged after the first.
	b.ask(chat("d"), "u", "goal")
	stop := b.guidance("u", "")
	stop.Event = planner.Event{Type: planner.Stopped}
	got := b.deliver(stop, b.guidance("u", "hint"))
	if got[0].Err != nil || !errors.Is(got[1].Err, tasks.ErrRefused) {
		b.Fatalf("stop and guidance in one batch: got %+v, want the second refused", got)
	}
}

func testBadDeliveries(b *env) {
	b.ask(chat("c"), "taken", "goal")
	noOpening, otherEvent := b.question(chat("c"), "t1", "goal"), b.question(chat("c"), "t2", "goal")
	noOpening.Open = &planner.Event{Type: planner.Opened}
	otherEvent.Open = &planner.Event{Type: planner.GuidanceAdded, Text: "x"}
	bad := []tasks.Inbound{
		noOpening, otherEvent,
		b.question(chat("c"), "", "goal"), b.question(chat("c"), "t 3\x00", "goal"), b.question(chat("c"), "taken", "goal"),
		b.question(chat(strings.Repeat("c", 70000)), "t4", "goal"), b.question(bot.Chat{}, "t5", "goal"),
	}
	got := b.deliver(append(bad, b.question(chat("c"), "fine", "goal"))...)
	for i := range bad {
		if got[i].Err == nil || got[i].Opened {
			b.Fatalf("delivery %d, %+v: got %+v, want an error", i, bad[i], got[i])
		}
	}
	b.same("the one that is fine", got[len(bad)], tasks.Receipt{Task: "fine", Seq: 1, Opened: true})
	b.same("live", b.live(""), []tasks.ID{"taken", "fine"})
	b.same("turns", b.turns(chat("c")), []tasks.ID{"taken", "fine"})
	b.deliver()
	// Without a key nothing is recognised.
	free := b.question(chat("e"), "t6", "goal")
	free.Key = ""
	b.open(free)
	free.ID = "t7"
	b.open(free)
}

// testParts sends a question in several messages. History and lists have the whole of it,
// and an answer to a part of it is no answer.
func testParts(b *env) {
	c := chat("c")
	in := b.question(c, "t", "compare")
	in.Open.Opening.Limits.Parts = 3
	b.open(in)
	b.answer("t", "of what?")
	part := planner.Event{Type: planner.Joined, Text: "pears", Earlier: []bot.Quoted{{From: "Bob", Text: "apples", Pointed: true}}}
	b.append("t", part)
	check := func(goal, answer string, brought ...bot.Quoted) {
		b.Helper()
		turns := b.history(c, "", 1000)
		if len(turns) != 1 || turns[0].Goal != goal || turns[0].Answer != answer {
			b.Fatalf("history: got %+v, want %q and %q", turns, goal, answer)
		}
		b.same("messages that were brought along", turns[0].Brought, brought)
		row, err := b.store.Row(b.Context(), "t")
		b.ok(err)
		b.same("goal of a row", row.Goal, goal)
	}
	check("compare\npears", "", part.Earlier...)
	b.append("t", planner.Event{Type: planner.GuidanceRemoved, Of: 3})
	check("compare", "")
	b.append("t", part)
	b.append("t", planner.Event{Type: planner.Joined, Text: "plums"})
	b.appendWith("t", -1, 0, tasks.ErrRefused, planner.Event{Type: planner.Joined, Text: "too many"})
	b.finish("t", "Pears.")
	check("compare\npears\nplums", "Pears.", part.Earlier...)
	b.appendWith("t", -1, 0, tasks.ErrRefused, planner.Event{Type: planner.Joined, Text: "too late"})
}
