package storetest

import (
	"fmt"
	"time"

	"legwork/planner"
	"legwork/tasks"
)

// outgoing expects deliveries, and when the next one is due.
func (b *env) outgoing(limit int, except []string, next time.Time, want ...string) []tasks.Delivery {
	b.Helper()
	list, got, err := b.store.Outgoing(b.Context(), b.clock.now(), limit, except...)
	b.ok(err)
	var ids []string
	for _, d := range list {
		ids = append(ids, d.ID)
	}
	b.same("due", ids, want)
	b.same("next", got, next)
	return list
}

// testOutgoing: queued messages go out in order, once, and again when they did
// not arrive.
func testOutgoing(b *env) {
	var never time.Time
	queue := func(list ...tasks.Delivery) {
		b.Helper()
		b.ok(b.store.Queue(b.Context(), list...))
	}
	tried := func(id string, next time.Time) {
		b.Helper()
		b.ok(b.store.Tried(b.Context(), id, next))
	}
	b.outgoing(10, nil, never)
	begin := b.clock.now()
	later := begin.Add(time.Hour)
	queue(
		tasks.Delivery{ID: "b", Webhook: "ops", Kind: "server.down", Body: []byte(`{"a":1}`)},
		tasks.Delivery{ID: "a", Webhook: "ci", Kind: "server.down"},
		tasks.Delivery{ID: "c", Webhook: "ops", Next: later})
	got := b.outgoing(10, nil, later, "a", "b")
	b.same("a delivery", got[1], tasks.Delivery{ID: "b", Webhook: "ops", Kind: "server.down", Body: []byte(`{"a":1}`), At: begin, Next: begin})
	b.outgoing(1, nil, begin, "a")
	b.outgoing(10, []string{"ops"}, never, "a")
	b.outgoing(10, []string{"ops", "ci"}, never)

	again := begin.Add(2 * time.Minute)
	tried("b", again)
	tried("a", never)
	tried("unknown", never)
	b.outgoing(10, nil, again)
	b.clock.add(3 * time.Minute)
	queue(tasks.Delivery{ID: "d", Webhook: "ops"}, tasks.Delivery{ID: "a", Webhook: "ci"}, tasks.Delivery{ID: "b", Webhook: "ci"})
	b.store = b.reopen()
	b.same("tries", b.outgoing(10, nil, later, "b", "d")[0].Tries, 1)
	for _, id := range []string{"b", "c", "d"} {
		tried(id, never)
	}
	b.outgoing(10, nil, never)
	b.clock.add(50 * time.Hour)
	queue(tasks.Delivery{ID: "a", Webhook: "ci"})
	b.outgoing(10, nil, never, "a")
	if err := b.store.Queue(b.Context(), tasks.Delivery{}); err == nil {
		b.Fatal("a delivery without an id was taken")
	}
}

// testNotify: the outcome of a task is queued with the event that settles it.
func testNotify(b *env) {
	var never time.Time
	for id, c := range map[tasks.ID]string{"t1": "a", "t2": "b", "t3": "c", "t4": "d"} {
		in := b.question(chat(c), id, "goal")
		in.Open.Opening.Notify, in.Open.Opening.External = &planner.Notify{Webhook: "ops"}, id == "t2"
		b.open(in)
	}
	b.ask(chat("e"), "t5", "goal")
	b.answer("t5", "answer")
	b.outgoing(10, nil, never)
	b.answer("t1", "answer")
	b.append("t2", planner.Event{Type: planner.Answered, By: "agent:x", Text: "answer"})
	b.append("t3", planner.Event{Type: planner.Stopped})
	b.drop("t4")
	list := b.outgoing(10, nil, never, "notify-t1", "notify-t2", "notify-t3", "notify-t4")
	for i, kind := range []string{"task.done", "task.done", "task.stopped", "task.failed"} {
		want := tasks.Delivery{
			ID: fmt.Sprintf("notify-t%d", i+1), Webhook: "ops", Kind: kind, Task: tasks.ID(fmt.Sprint("t", i+1)), At: b.clock.now(), Next: b.clock.now(),
		}
		b.same("delivery", list[i], want)
	}
	b.show("t1")
	b.forget(chat("a"), 1) // there is no waiter to tell any more
	b.outgoing(10, nil, never, "notify-t2", "notify-t3", "notify-t4")
	b.ok(b.store.Queue(b.Context(), tasks.Delivery{ID: "alert", Webhook: "ops", Task: "t4"}))
	b.erase("test:d")
	b.outgoing(10, nil, never, "notify-t2", "notify-t3")
}
