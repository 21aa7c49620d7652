package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

func (b *env) forget(c bot.Chat, want int) {
	b.Helper()
	n, err := b.store.Forget(b.Context(), c.Key())
	if err != nil || n != want {
		b.Fatalf("Forget(%s): got %d, %v, want %d", c.Key(), n, err, want)
	}
}

// finished opens a task, answers it and ends it.
func (b *env) finished(c bot.Chat, id tasks.ID) {
	b.Helper()
	b.ask(c, id, "goal of "+string(id))
	b.answer(id, "answer of "+string(id))
	b.show(id)
}

// missing expects that nothing is left of a task.
func (b *env) missing(id tasks.ID) {
	b.Helper()
	_, load := b.store.Load(b.Context(), id, 0)
	_, event := b.store.Event(b.Context(), id, 1)
	_, state := b.store.State(b.Context(), id)
	for what, err := range map[string]error{
		"Load": load, "Event": event, "State": state, "Drop": b.store.Drop(b.Context(), id),
		"Append": b.store.Append(b.Context(), id, -1, 0, said("x")),
	} {
		if !errors.Is(err, tasks.ErrNoTask) {
			b.Fatalf("%s of %s, which was forgotten: got %v, want ErrNoTask", what, id, err)
		}
	}
}

func (b *env) turns(c bot.Chat) (ids []tasks.ID) {
	b.Helper()
	for _, t := range b.history(c, "", 1<<20) {
		ids = append(ids, t.Task)
	}
	return ids
}

func testForget(b *env) {
	first := b.question(chat("c"), "t1", "goal of t1")
	b.deliver(first)
	b.answer("t1", "answer of t1")
	b.show("t1")
	b.deliver(tasks.Inbound{Key: "cut", Cut: true, Chat: chat("c")})
	b.finished(chat("c"), "t")   // a name that others begin with
	b.finished(chat("c1"), "t2") // a conversation whose name begins with the other's
	b.finished(bot.Chat{Platform: "test", ID: "c", Thread: "1"}, "t3")
	b.ask(chat("c"), "t4", "dropped")
	if err := b.store.Drop(b.Context(), "t4"); err != nil {
		b.Fatal(err)
	}
	told := b.store.Changed("t1")
	b.forget(chat("c"), 3)
	<-told
	for range 2 {
		for _, id := range []tasks.ID{"t1", "t", "t4"} {
			b.missing(id)
		}
		b.same("turns", b.turns(chat("c")), []tasks.ID(nil))
		b.same("turns of another", b.turns(chat("c1")), []tasks.ID{"t2"})
		b.same("turns of a thread", b.turns(bot.Chat{Platform: "test", ID: "c", Thread: "1"}), []tasks.ID{"t3"})
		b.same("journal of another", len(b.load("t2", 0)), 4)
		b.forget(chat("c"), 0)
		b.store = b.reopen()
	}
	first.ID = "again"
	b.same("a redelivery", b.deliver(first), []tasks.Receipt{{Task: "t1", Again: true}})
	late := b.deliver(b.guidance("t1", "hint"))[0]
	if !errors.Is(late.Err, tasks.ErrNoTask) {
		b.Fatalf("guidance for a forgotten task: got %+v, want ErrNoTask", late)
	}
	b.finished(chat("c"), "t1")
	b.same("turns then", b.turns(chat("c")), []tasks.ID{"t1"})
	b.forget(chat("unknown"), 0)
}

// testForgetRunning: a task that is not over keeps its turn, its place and what
// hides it.
func testForgetRunning(b *env) {
	b.finished(chat("c"), "t1")
	b.ask(chat("c"), "t2", "works")
	b.plan("t2")
	b.finished(chat("c"), "t3")
	b.ask(chat("c"), "t4", "decides")
	b.ask(chat("c"), "t5", "waits")
	b.forget(chat("c"), 2)
	b.missing("t1")
	b.missing("t3")
	b.store = b.reopen()
	b.same("turns", b.turns(chat("c")), []tasks.ID{"t2", "t4", "t5"})
	b.same("live", b.live(chat("c").Key()), []tasks.ID{"t2", "t4", "t5"})
	b.phase("t2", planner.PhaseWorking)
	b.phase("t5", planner.PhaseQueued)
	b.answer("t4", "answer 4")
	b.show("t4")
	b.phase("t5", planner.PhaseDeciding)

	b.deliver(tasks.Inbound{Key: "cut", Cut: true, Chat: chat("c")})
	b.forget(chat("c"), 1)
	b.same("turns behind a cut", b.turns(chat("c")), []tasks.ID(nil))
	for _, id := range []tasks.ID{"t2", "t5"} {
		b.append(id, planner.Event{Type: planner.Stopped})
		b.show(id)
	}
	b.forget(chat("c"), 2)
	b.same("live at the end", b.live(""), []tasks.ID(nil))
	b.finished(chat("c"), "t6")
	b.same("turns at the end", b.turns(chat("c")), []tasks.ID{"t6"})
}

// ending are the events that stop a task and bring that to the chat.
func ending() []planner.Event {
	return []planner.Event{
		{Type: planner.Stopped},
		{Type: planner.SendStarted, Slot: planner.SlotAnswer},
		{Type: planner.Sent, Slot: planner.SlotAnswer, Message: "m", Last: true},
	}
}

// testForgetLong has more turns than one transaction takes.
func testForgetLong(b *env) {
	const n = 1201
	var batch []tasks.Inbound
	for i := range n {
		id := tasks.ID(fmt.Sprintf("t%d", i))
		batch = append(batch, b.question(chat("c"), id, strings.Repeat("long ", 10)))
		if i%100 == 0 {
			continue // it stays live
		}
		for _, e := range ending() {
			batch = append(batch, tasks.Inbound{To: id, Event: e})
		}
	}
	for _, r := range b.deliver(batch...) {
		if r.Err != nil {
			b.Fatalf("delivering: %+v", r)
		}
	}
	b.forget(chat("c"), n-13)
	b.same("live turns", len(b.turns(chat("c"))), 13)
	b.same("live", len(b.live(chat("c").Key())), 13)
	b.missing("t1")
	b.missing("t1199")
}

// testForgetBesides: a question that is asked while a conversation is
// forgotten, and texts of others, are kept whole.
func testForgetBesides(b *env) {
	const senders, each = 4, 15
	var forgetting, sending sync.WaitGroup
	stop := make(chan struct{})
	forgetting.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := b.store.Forget(b.Context(), chat("c").Key()); err != nil {
				b.Errorf("Forget: %v", err)
				return
			}
		}
	})
	for s := range senders {
		sending.Go(func() {
			for n := range each {
				c := []bot.Chat{chat("c"), chat("d")}[n%2]
				id := tasks.ID(fmt.Sprintf("t%d.%d", s, n))
				open := &planner.Event{Type: planner.Opened, Opening: &planner.Opening{Goal: "goal", Chat: c, Limits: planner.DefaultLimits()}}
				if _, err := b.store.Open(b.Context(), []tasks.Inbound{{Key: string(id), Chat: c, ID: id, Open: open}}); err != nil {
					b.Errorf("Open(%s): %v", id, err)
					return
				}
				if err := b.store.Append(b.Context(), id, -1, 0, ending()[0]); err != nil {
					b.Errorf("Append(%s), which is not over: %v", id, err)
					return
				}
				if n%3 > 0 {
					continue
				}
				if err := b.store.Append(b.Context(), id, -1, 0, ending()[1:]...); err != nil {
					b.Errorf("ending %s: %v", id, err)
				}
			}
		})
	}
	sending.Wait()
	close(stop)
	forgetting.Wait()
	if b.Failed() {
		return
	}
	if _, err := b.store.Forget(b.Context(), chat("c").Key()); err != nil {
		b.Fatal(err)
	}
	for s := range senders {
		for n := range each {
			id := tasks.ID(fmt.Sprintf("t%d.%d", s, n))
			if n%2 == 0 && n%3 == 0 {
				b.missing(id)
				continue
			}
			if got := len(b.load(id, 0)); got < 2 {
				b.Fatalf("journal of %s: got %d events, want at least 2", id, got)
			}
		}
	}
	b.same("turns left", len(b.turns(chat("c"))), len(b.live(chat("c").Key())))
	b.same("turns of the other", len(b.turns(chat("d"))), senders*(each/2))
}
