package storetest

import (
	"fmt"
	"strings"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

func testQueue(b *env) {
	b.deliver(b.question(chat("c"), "t1", "1"), b.question(chat("c"), "t2", "2"))
	b.ask(chat("c"), "t3", "3")
	b.ask(chat("other"), "u", "beside")
	b.phase("t1", planner.PhaseDeciding)
	b.phase("u", planner.PhaseDeciding)
	for _, id := range []tasks.ID{"t2", "t3"} {
		b.phase(id, planner.PhaseQueued)
		b.same("opening says so", b.load(id, 0)[0].Opening.Queued, true)
	}
	b.answer("t1", "answer 1")
	b.phase("t2", planner.PhaseQueued) // the answer is not shown yet
	b.show("t1")
	b.phase("t2", planner.PhaseDeciding)
	b.phase("t3", planner.PhaseQueued)
	b.same("journal of the released one", types(b.load("t2", 0)), []planner.EventType{planner.Opened, planner.Released})
	b.ask(chat("c"), "t4", "4")
	b.append("t3", Ending()...)
	b.same("journal of the stopped one", types(b.load("t3", 0)), []planner.EventType{planner.Opened, planner.Stopped, planner.SendStarted, planner.Sent})
	b.phase("t4", planner.PhaseQueued)
	b.finish("t2", "answer 2")
	b.phase("t4", planner.PhaseDeciding)
	b.finish("t4", "answer 4")
	b.ask(chat("c"), "t5", "5")
	b.phase("t5", planner.PhaseDeciding)
}

// testQueueOfPlans: plain questions are answered beside a plan, and a second plan waits.
func testQueueOfPlans(b *env) {
	b.ask(chat("c"), "t1", "1")
	b.ask(chat("c"), "t2", "2")
	b.plan("t1")
	b.phase("t1", planner.PhaseWorking)
	b.phase("t2", planner.PhaseDeciding)
	b.plan("t2")
	b.phase("t2", planner.PhaseQueued)
	events := b.load("t2", 0)
	b.same("the second plan is queued", events[len(events)-1].Reply.Queued, true)
	b.ask(chat("c"), "t3", "3")
	b.phase("t3", planner.PhaseDeciding)
	b.finish("t3", "plain")
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

func testDrop(b *env) {
	for _, id := range []tasks.ID{"t1", "t2", "t3"} {
		b.ask(chat("c"), id, string(id))
	}
	b.answer("t1", "answer")
	told := b.store.Changed("t1")
	b.drop("t1")
	<-told
	b.phase("t2", planner.PhaseDeciding)
	b.same("live", b.live(""), []tasks.ID{"t2", "t3"})
	b.drop("t1")
	b.drop("t2")
	b.phase("t3", planner.PhaseDeciding)
	turns := b.history(chat("c"), "", 1000)
	if len(turns) != 3 || turns[0].Answer != "answer" || turns[0].Failed || !turns[1].Failed || turns[2].Failed {
		b.Fatalf("history: got %+v, want the first answered and the second failed", turns)
	}
	b.same("records stay", types(b.load("t2", 0)), []planner.EventType{planner.Opened, planner.Released})
	b.store = b.reopen()
	b.same("live after reopening", b.live(""), []tasks.ID{"t3"})
}

// testConversations uses names that a careless key would mix up.
func testConversations(b *env) {
	names := []bot.Chat{
		chat("1"), chat("12"), chat("1\x00"), chat("1/2"),
		{Platform: "test", ID: "1", Thread: "3"},
		chat("1\xff"), chat(strings.Repeat("n", 300)), chat("群聊"),
	}
	want := map[string][]tasks.ID{}
	for i, c := range names {
		for n := range 3 {
			id := tasks.ID(fmt.Sprintf("t%d.%d", i, n))
			b.ask(c, id, c.Key())
			want[c.Key()] = append(want[c.Key()], id)
		}
	}
	for _, c := range names {
		b.same("history", b.turns(c), want[c.Key()])
		b.same("live", b.live(c.Key()), want[c.Key()])
	}
}

func (b *env) move(from, to bot.Chat) {
	b.Helper()
	b.ok(b.store.Move(b.Context(), from.Key(), to))
}

func testMove(b *env) {
	b.finished(chat("old"), "t0")
	b.deliver(tasks.Inbound{Key: "cut", Cut: true, Chat: chat("old")})
	b.finished(chat("old"), "t1")
	b.ask(chat("old"), "t2", "works")
	b.plan("t2")
	b.ask(chat("old"), "t3", "decides")
	b.ask(chat("old"), "t4", "waits")
	b.finished(chat("older"), "u")
	b.set("test:old", "model", "big")
	before := b.history(chat("old"), "", 1000)
	group := bot.Chat{Platform: "test", ID: "new"}
	for range 3 { // it may come again, or move nothing
		for _, from := range []string{"test:old", "test:unknown", "test:new", ""} {
			b.ok(b.store.Move(b.Context(), from, group))
		}
		b.same("turns", b.history(group, "", 1000), before)
		b.same("turns left", b.turns(chat("old")), []tasks.ID(nil))
		b.same("live", b.live(group.Key()), []tasks.ID{"t2", "t3", "t4"})
		b.same("live left", b.live(chat("old").Key()), []tasks.ID(nil))
		b.setting("test:new", "model", "big")
		b.setting("test:old", "model", "")
		b.same("turns of another", b.turns(chat("older")), []tasks.ID{"u"})
		b.store = b.reopen()
	}
	all, err := b.store.Live(b.Context(), "")
	b.ok(err)
	for _, l := range all {
		b.same("chat of "+string(l.Task), l.Chat, group)
	}
	b.same("opening", b.load("t2", 0)[0].Opening.Chat, chat("old"))
	if err := b.store.Move(b.Context(), group.Key(), bot.Chat{}); err == nil {
		b.Fatal("Move to nowhere: got no error")
	}
	b.forget(group, 2)
	b.missing("t0", "t1")
}

// testMoveOnto: the other conversation has begun already.
func testMoveOnto(b *env) {
	b.finished(chat("old"), "t1")
	b.ask(chat("new"), "u1", "new decides")
	b.ask(chat("old"), "t2", "old decides")
	b.ask(chat("new"), "u2", "new waits")
	b.ask(chat("old"), "t3", "old waits")
	b.deliver(tasks.Inbound{Key: "cut", Cut: true, Chat: chat("new")})
	b.ask(chat("new"), "u3", "after the cut")
	b.set("test:old", "language", "old")
	b.set("test:old", "both", "old")
	b.set("test:new", "both", "new")
	b.set("test:new", "own", "new")
	b.move(chat("old"), chat("new"))
	b.store = b.reopen()
	b.same("turns since the later cut", b.turns(chat("new")), []tasks.ID{"u3"})
	b.same("live", b.live(chat("new").Key()), []tasks.ID{"u1", "t2", "u2", "t3", "u3"})
	b.setting("test:new", "language", "old")
	b.setting("test:new", "both", "new")
	b.setting("test:new", "own", "new")
	for _, id := range []tasks.ID{"u1", "t2", "u2", "t3", "u3"} { // each lets the next one decide
		b.phase(id, planner.PhaseDeciding)
		b.finish(id, "answer")
	}
	b.same("live at the end", b.live(""), []tasks.ID(nil))
	b.forget(chat("new"), 6)
}

// testMoveGoOn: tasks that are opened in the old conversation before and after the move.
func testMoveGoOn(b *env) {
	b.ask(chat("old"), "t1", "one")
	b.append("t1", said("hint"))
	b.move(chat("old"), chat("new"))
	b.answer("t1", "answer 1")
	b.ask(chat("new"), "t2", "two")
	b.phase("t2", planner.PhaseQueued)
	b.show("t1")
	b.phase("t2", planner.PhaseDeciding)
	turns := b.history(chat("new"), "", 1000)
	if len(turns) != 2 || turns[0].Answer != "answer 1" || turns[1].Goal != "two" {
		b.Fatalf("history after the move: got %+v, want the answer of t1, then two", turns)
	}
	b.same("turns before t2", len(b.history(chat("new"), "t2", 1000)), 1)
	b.ask(chat("old"), "t3", "left behind")
	b.same("turns of the old one", b.turns(chat("old")), []tasks.ID{"t3"})
	b.drop("t2")
	b.move(chat("old"), chat("new"))
	b.move(chat("new"), chat("old"))
	b.same("turns after there and back", b.turns(chat("old")), []tasks.ID{"t1", "t2", "t3"})
	b.same("live after there and back", b.live(chat("old").Key()), []tasks.ID{"t3"})
	b.same("turns left", b.turns(chat("new")), []tasks.ID(nil))
}
