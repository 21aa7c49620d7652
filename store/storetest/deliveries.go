package storetest

import (
	"errors"
	"strings"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

func testRedelivery(b *env) {
	first := b.question(chat("c"), "t1", "goal")
	again := first
	again.ID = "t2" // who routes a message again gives it a new id
	got := b.deliver(first, again, b.question(chat("c"), "t3", "other"))
	b.same("receipts of one batch", got, []tasks.Receipt{{Task: "t1", Seq: 1, Opened: true}, {Task: "t1", Again: true}, {Task: "t3", Seq: 1, Opened: true}})
	b.same("receipt of a later batch", b.deliver(again), []tasks.Receipt{{Task: "t1", Again: true}})
	b.known("a key that came", first.Key, tasks.Receipt{Task: "t1", Again: true}, true)
	b.known("a key that did not", "another", tasks.Receipt{}, false)
	b.known("no key", "", tasks.Receipt{}, false)

	heard := b.guidance("t1", "hint")
	b.same("guidance", b.deliver(heard, heard), []tasks.Receipt{{Task: "t1", Seq: 2}, {Task: "t1", Again: true}})

	cut := tasks.Inbound{Key: "cut", Cut: true, Chat: chat("c")}
	b.same("cut", b.deliver(cut), []tasks.Receipt{{}})
	b.ask(chat("c"), "t4", "after the cut")
	b.same("cut again", b.deliver(cut), []tasks.Receipt{{Again: true}})
	b.same("turns after the cut", len(b.history(chat("c"), "", 1000)), 1)

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
	b.same("another long key", b.deliver(other), []tasks.Receipt{{Task: "t6", Seq: 1, Opened: true}})
}

func testRedeliveryForgotten(b *env) {
	in := b.question(chat("c"), "t1", "goal")
	b.deliver(in)
	again := in
	again.ID = "t2"
	b.clock.add(47 * time.Hour)
	b.same("within two days", b.deliver(again), []tasks.Receipt{{Task: "t1", Again: true}})
	b.clock.add(2 * time.Hour)
	b.known("after two days", in.Key, tasks.Receipt{}, false)
	b.same("after two days", b.deliver(again), []tasks.Receipt{{Task: "t2", Seq: 1, Opened: true}})
	again.ID = "t3"
	for range 3 { // each sweeps away what has expired, and must leave the younger row
		b.deliver(b.guidance("t1", "x"))
	}
	b.same("known again", b.deliver(again), []tasks.Receipt{{Task: "t2", Again: true}})
}

func testGuidance(b *env) {
	b.ask(chat("c"), "t", "goal")
	fits := b.guidance("t", "hint")
	fits.Open, fits.ID, fits.Chat = b.question(chat("c"), "unused", "hint").Open, "unused", chat("c")
	b.same("guidance that fits", b.deliver(fits), []tasks.Receipt{{Task: "t", Seq: 2}})
	b.append("t", planner.Event{Type: planner.SendStarted, Action: planner.Todo(b.state("t"))[0].ID})

	// The first words are out: guidance no longer fits.
	late := b.guidance("t", "too late")
	late.Open, late.ID, late.Chat = b.question(chat("c"), "new", "too late").Open, "new", chat("c")
	b.same("late with a way out", b.deliver(late), []tasks.Receipt{{Task: "new", Seq: 1, Opened: true}})
	b.same("again", b.deliver(late), []tasks.Receipt{{Task: "new", Again: true}})

	missing := b.guidance("unknown", "lost")
	missing.Open, missing.ID, missing.Chat = b.question(chat("c"), "new2", "lost").Open, "new2", chat("c")
	b.same("for an unknown task with a way out", b.deliver(missing), []tasks.Receipt{{Task: "new2", Seq: 1, Opened: true}})

	r := b.deliver(b.guidance("t", "too late"))[0]
	if !errors.Is(r.Err, tasks.ErrRefused) || r.Opened || r.Again || r.Seq != 0 {
		b.Fatalf("late without a way out: got %+v, want ErrRefused", r)
	}
	b.same("journal", types(b.load("t", 0)), []planner.EventType{planner.Opened, planner.GuidanceAdded, planner.SendStarted})
	b.same("what it said", b.load("t", 1)[0].Text, "hint")
	b.same("live", b.live(chat("c").Key()), []tasks.ID{"t", "new", "new2"})

	// Two in one batch: the second is judged after the first.
	b.ask(chat("d"), "u", "goal")
	stop := b.guidance("u", "")
	stop.Event = planner.Event{Type: planner.Stopped}
	after := b.guidance("u", "hint")
	got := b.deliver(stop, after)
	if got[0].Err != nil || !errors.Is(got[1].Err, tasks.ErrRefused) {
		b.Fatalf("stop and guidance in one batch: got %+v, want the second refused", got)
	}
}

func testBadDeliveries(b *env) {
	b.ask(chat("c"), "taken", "goal")
	noOpening := b.question(chat("c"), "t1", "goal")
	noOpening.Open = &planner.Event{Type: planner.Opened}
	otherEvent := b.question(chat("c"), "t2", "goal")
	otherEvent.Open = &planner.Event{Type: planner.GuidanceAdded, Text: "x"}
	noID := b.question(chat("c"), "", "goal")
	oddID := b.question(chat("c"), "t 3\x00", "goal")
	twice := b.question(chat("c"), "taken", "goal")
	longChat := b.question(chat(strings.Repeat("c", 70000)), "t4", "goal")
	noChat := b.question(bot.Chat{}, "t5", "goal")
	fine := b.question(chat("c"), "fine", "goal")
	bad := []tasks.Inbound{noOpening, otherEvent, noID, oddID, twice, longChat, noChat}
	got := b.deliver(append(bad, fine)...)
	for i := range bad {
		if got[i].Err == nil || got[i].Opened {
			b.Fatalf("delivery %d, %+v: got %+v, want an error", i, bad[i], got[i])
		}
	}
	b.same("the one that is fine", got[len(bad)], tasks.Receipt{Task: "fine", Seq: 1, Opened: true})
	b.same("live", b.live(""), []tasks.ID{"taken", "fine"})
	b.same("turns", len(b.history(chat("c"), "", 1000)), 2)
	if got := b.deliver(); len(got) != 0 {
		b.Fatalf("an empty batch: got %+v", got)
	}
	// Without a key nothing is recognised.
	free := b.question(chat("e"), "t6", "goal")
	free.Key = ""
	b.deliver(free)
	free.ID = "t7"
	b.same("without a key", b.deliver(free), []tasks.Receipt{{Task: "t7", Seq: 1, Opened: true}})
}
