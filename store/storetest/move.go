package storetest

import (
	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

func (b *env) move(from, to bot.Chat) {
	b.Helper()
	if err := b.store.Move(b.Context(), from.Key(), to); err != nil {
		b.Fatalf("Move(%s, %s): %v", from.Key(), to.Key(), err)
	}
}

func (b *env) setting(c bot.Chat, name, want string) {
	b.Helper()
	got, err := b.store.Setting(b.Context(), c.Key(), name)
	if err != nil || got != want {
		b.Fatalf("Setting(%s, %s): got %q, %v, want %q", c.Key(), name, got, err, want)
	}
}

func (b *env) set(c bot.Chat, name, value string) {
	b.Helper()
	if err := b.store.PutSetting(b.Context(), c.Key(), name, value); err != nil {
		b.Fatal(err)
	}
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
	b.set(chat("old"), "model", "big")
	before := b.history(chat("old"), "", 1000)
	group := bot.Chat{Platform: "test", ID: "new"}
	for range 3 { // it may come again
		b.move(chat("old"), group)
		b.same("turns", b.history(group, "", 1000), before)
		b.same("turns left", b.turns(chat("old")), []tasks.ID(nil))
		b.same("live", b.live(group.Key()), []tasks.ID{"t2", "t3", "t4"})
		b.same("live left", b.live(chat("old").Key()), []tasks.ID(nil))
		b.setting(group, "model", "big")
		b.setting(chat("old"), "model", "")
		b.same("turns of another", b.turns(chat("older")), []tasks.ID{"u"})
		b.store = b.reopen()
	}
	all, err := b.store.Live(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	for _, l := range all {
		b.same("chat of "+string(l.Task), l.Chat, group)
	}
	b.same("opening", b.load("t2", 0)[0].Opening.Chat, chat("old"))
	b.forget(group, 2)
	b.missing("t0")
	b.missing("t1")
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
	for name, c := range map[string]bot.Chat{"language": chat("old"), "both": chat("old"), "own": chat("new")} {
		b.set(c, name, c.ID)
	}
	b.set(chat("new"), "both", "new")
	b.move(chat("old"), chat("new"))
	b.store = b.reopen()
	b.same("turns since the later cut", b.turns(chat("new")), []tasks.ID{"u3"})
	b.same("live", b.live(chat("new").Key()), []tasks.ID{"u1", "t2", "u2", "t3", "u3"})
	b.setting(chat("new"), "language", "old")
	b.setting(chat("new"), "both", "new")
	b.setting(chat("new"), "own", "new")
	for _, id := range []tasks.ID{"u1", "t2", "u2", "t3", "u3"} { // each lets the next one decide
		b.phase(id, planner.PhaseDeciding)
		b.answer(id, "answer")
		b.show(id)
	}
	b.same("live at the end", b.live(""), []tasks.ID(nil))
	b.forget(chat("new"), 6)
}

// testMoveGoOn: a task that was asked in the old conversation, and one that is
// asked there after the move.
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
	b.same("history before t2", len(b.history(chat("new"), "t2", 1000)), 1)
	b.ask(chat("old"), "t3", "left behind")
	b.same("turns of the old one", b.turns(chat("old")), []tasks.ID{"t3"})
	if err := b.store.Drop(b.Context(), "t2"); err != nil {
		b.Fatal(err)
	}
	b.move(chat("old"), chat("new"))
	b.move(chat("new"), chat("old"))
	b.same("turns after there and back", b.turns(chat("old")), []tasks.ID{"t1", "t2", "t3"})
	b.same("live after there and back", b.live(chat("old").Key()), []tasks.ID{"t3"})
	b.same("nothing there", b.turns(chat("new")), []tasks.ID(nil))
}

func testMoveNothing(b *env) {
	b.finished(chat("c"), "t1")
	b.ask(chat("c"), "t2", "two")
	b.set(chat("c"), "model", "big")
	b.move(chat("unknown"), chat("c"))
	b.move(chat("c"), chat("c"))
	if err := b.store.Move(b.Context(), "", chat("c")); err != nil {
		b.Fatalf("Move from nowhere: %v", err)
	}
	if err := b.store.Move(b.Context(), chat("c").Key(), bot.Chat{}); err == nil {
		b.Fatal("Move to nowhere: got no error")
	}
	b.same("turns", b.turns(chat("c")), []tasks.ID{"t1", "t2"})
	b.same("live", b.live(""), []tasks.ID{"t2"})
	b.setting(chat("c"), "model", "big")
}
