package storetest

import (
	"fmt"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

func (b *env) queue(d ...tasks.Delivery) {
	b.Helper()
	if err := b.store.Queue(b.Context(), d...); err != nil {
		b.Fatalf("Queue(%+v): %v", d, err)
	}
}

func (b *env) tried(id string, next time.Time) {
	b.Helper()
	if err := b.store.Tried(b.Context(), id, next); err != nil {
		b.Fatalf("Tried(%s, %s): %v", id, next, err)
	}
}

// outgoing expects deliveries, and when the next one is due.
func (b *env) outgoing(limit int, except []string, next time.Time, want ...string) []tasks.Delivery {
	b.Helper()
	list, got, err := b.store.Outgoing(b.Context(), b.clock.now(), limit, except...)
	if err != nil {
		b.Fatalf("Outgoing(%d): %v", limit, err)
	}
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
	b.outgoing(10, nil, never)
	begin := b.clock.now()
	later := begin.Add(time.Hour)
	b.queue(
		tasks.Delivery{ID: "b", Webhook: "ops", Kind: "server.down", Body: []byte(`{"a":1}`)},
		tasks.Delivery{ID: "a", Webhook: "ci", Kind: "server.down"},
		tasks.Delivery{ID: "c", Webhook: "ops", Next: later})
	got := b.outgoing(10, nil, later, "a", "b")
	b.same("a delivery", got[1], tasks.Delivery{ID: "b", Webhook: "ops", Kind: "server.down", Body: []byte(`{"a":1}`), At: begin, Next: begin})
	b.outgoing(1, nil, begin, "a")
	b.outgoing(10, []string{"ops"}, never, "a")
	b.outgoing(10, []string{"ops", "ci"}, never)

	again := begin.Add(2 * time.Minute)
	b.tried("b", again)
	b.tried("a", never)
	b.tried("unknown", never)
	b.outgoing(10, nil, again)
	b.clock.add(3 * time.Minute)
	b.queue(tasks.Delivery{ID: "d", Webhook: "ops"}, tasks.Delivery{ID: "a", Webhook: "ci"}, tasks.Delivery{ID: "b", Webhook: "ci"})
	b.store = b.reopen()
	b.same("tries", b.outgoing(10, nil, later, "b", "d")[0].Tries, 1)
	for _, id := range []string{"b", "c", "d"} {
		b.tried(id, never)
	}
	b.outgoing(10, nil, never)
	b.clock.add(50 * time.Hour)
	b.queue(tasks.Delivery{ID: "a", Webhook: "ci"})
	b.outgoing(10, nil, never, "a")
	if err := b.store.Queue(b.Context(), tasks.Delivery{}); err == nil {
		b.Fatal("a delivery without an id was taken")
	}
}

// notified opens a task whose outcome goes to a webhook.
func (b *env) notified(c bot.Chat, id tasks.ID, change func(*planner.Opening)) {
	b.Helper()
	in := b.question(c, id, "goal")
	in.Open.Opening.Notify = &planner.Notify{Webhook: "ops"}
	if change != nil {
		change(in.Open.Opening)
	}
	if got := b.deliver(in)[0]; !got.Opened {
		b.Fatalf("opening %s: got %+v", id, got)
	}
}

// testNotify: the outcome of a task is queued with the event that settles it.
func testNotify(b *env) {
	var never time.Time
	b.notified(chat("a"), "t1", nil)
	b.notified(chat("b"), "t2", func(o *planner.Opening) { o.External = true })
	b.notified(chat("c"), "t3", nil)
	b.notified(chat("d"), "t4", nil)
	b.ask(chat("e"), "t5", "goal")
	b.answer("t5", "answer")
	b.outgoing(10, nil, never)
	b.answer("t1", "answer")
	b.append("t2", planner.Event{Type: planner.Answered, By: "agent:x", Text: "answer"})
	b.append("t3", planner.Event{Type: planner.Stopped})
	if err := b.store.Drop(b.Context(), "t4"); err != nil {
		b.Fatal(err)
	}
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
	b.queue(tasks.Delivery{ID: "alert", Webhook: "ops", Task: "t4"})
	b.forgetWho("test:d")
	b.outgoing(10, nil, never, "notify-t2", "notify-t3")
}
