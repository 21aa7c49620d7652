package storetest

import (
	"errors"

	"legwork/planner"
	"legwork/tasks"
)

func testQueue(b *env) {
	b.deliver(b.question(chat("c"), "t1", "1"), b.question(chat("c"), "t2", "2"))
	b.ask(chat("c"), "t3", "3")
	b.ask(chat("other"), "u", "beside")
	b.phase("t1", planner.PhaseDeciding)
	b.phase("t2", planner.PhaseQueued)
	b.phase("t3", planner.PhaseQueued)
	b.phase("u", planner.PhaseDeciding)
	for _, e := range []tasks.ID{"t2", "t3"} {
		if o := b.load(e, 0)[0].Opening; !o.Queued {
			b.Fatalf("opening of %s: got %+v, want it queued", e, o)
		}
	}
	b.answer("t1", "answer 1")
	b.phase("t2", planner.PhaseQueued) // the answer is not shown yet
	b.show("t1")
	b.phase("t2", planner.PhaseDeciding)
	b.phase("t3", planner.PhaseQueued)
	b.same("journal of the released one", types(b.load("t2", 0)), []planner.EventType{planner.Opened, planner.Released})
	b.answer("t2", "answer 2")
	b.show("t2")
	b.phase("t3", planner.PhaseDeciding)
	b.answer("t3", "answer 3")
	b.show("t3")
	b.ask(chat("c"), "t4", "4")
	b.phase("t4", planner.PhaseDeciding)
}

// testQueueOfPlans: a plain question is answered beside a task that works, and
// a second plan waits for the first one.
func testQueueOfPlans(b *env) {
	b.ask(chat("c"), "t1", "1")
	b.ask(chat("c"), "t2", "2")
	b.plan("t1")
	b.phase("t1", planner.PhaseWorking)
	b.phase("t2", planner.PhaseDeciding)
	b.plan("t2")
	b.phase("t2", planner.PhaseQueued)
	events := b.load("t2", 0)
	if last := events[len(events)-1]; !last.Reply.Queued {
		b.Fatalf("the second plan: got %+v, want it queued", last.Reply)
	}
	b.ask(chat("c"), "t3", "3")
	b.phase("t3", planner.PhaseDeciding)
	b.answer("t3", "plain")
	b.show("t3")
	b.phase("t2", planner.PhaseQueued)
	b.append("t1", planner.Event{Type: planner.Stopped})
	b.phase("t2", planner.PhaseQueued)
	b.show("t1")
	b.phase("t2", planner.PhaseWorking)
	b.same("live", b.live(chat("c").Key()), []tasks.ID{"t2"})
	b.store = b.reopen()
	b.ask(chat("c"), "t4", "4")
	b.plan("t4")
	b.phase("t4", planner.PhaseQueued)
}

func testStoppedInQueue(b *env) {
	for _, id := range []tasks.ID{"t1", "t2", "t3"} {
		b.ask(chat("c"), id, "goal")
	}
	b.append("t2", planner.Event{Type: planner.Stopped})
	b.show("t2")
	b.phase("t3", planner.PhaseQueued)
	b.answer("t1", "a")
	b.show("t1")
	b.phase("t3", planner.PhaseDeciding)
	b.same("journal", types(b.load("t2", 0)),
		[]planner.EventType{planner.Opened, planner.Stopped, planner.SendStarted, planner.Sent})
}

func testDrop(b *env) {
	for _, id := range []tasks.ID{"t1", "t2", "t3"} {
		b.ask(chat("c"), id, string(id))
	}
	b.answer("t1", "answer")
	told := b.store.Changed("t1")
	drop := func(id tasks.ID) {
		b.Helper()
		if err := b.store.Drop(b.Context(), id); err != nil {
			b.Fatalf("Drop(%s): %v", id, err)
		}
	}
	drop("t1")
	<-told
	b.phase("t2", planner.PhaseDeciding)
	b.same("live", b.live(""), []tasks.ID{"t2", "t3"})
	drop("t1")
	drop("t2")
	b.phase("t3", planner.PhaseDeciding)
	turns := b.history(chat("c"), "", 1000)
	if len(turns) != 3 || turns[0].Answer != "answer" || turns[0].Failed || !turns[1].Failed || turns[2].Failed {
		b.Fatalf("history: got %+v, want the first answered and the second failed", turns)
	}
	b.same("records stay", types(b.load("t2", 0)), []planner.EventType{planner.Opened, planner.Released})
	b.store = b.reopen()
	b.same("live after reopening", b.live(""), []tasks.ID{"t3"})
	if err := b.store.Drop(b.Context(), "unknown"); !errors.Is(err, tasks.ErrNoTask) {
		b.Fatalf("Drop(unknown): got %v, want ErrNoTask", err)
	}
}

func testLive(b *env) {
	b.same("an empty store", b.live(""), []tasks.ID(nil))
	b.ask(chat("b"), "z", "1")
	b.ask(chat("a"), "y", "2")
	b.ask(chat("b"), "x", "3")
	b.same("all", b.live(""), []tasks.ID{"z", "y", "x"})
	b.same("one conversation", b.live(chat("b").Key()), []tasks.ID{"z", "x"})
	b.same("none", b.live(chat("c").Key()), []tasks.ID(nil))
	list, err := b.store.Live(b.Context(), chat("a").Key())
	if err != nil {
		b.Fatalf("Live: %v", err)
	}
	opening := b.load("y", 0)[0].Opening
	b.same("whole entry", list, []tasks.Live{{Task: "y", Chat: chat("a"), From: opening.From}})
	b.answer("z", "answer")
	b.same("before it is shown", b.live(""), []tasks.ID{"z", "y", "x"})
	b.show("z")
	b.same("after it is shown", b.live(""), []tasks.ID{"y", "x"})
	b.store = b.reopen()
	b.same("after reopening", b.live(""), []tasks.ID{"y", "x"})
}
