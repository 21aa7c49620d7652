package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"legwork/planner"
	"legwork/tasks"
)

func testChanged(b *env) {
	b.ask(chat("c"), "t1", "goal")
	b.ask(chat("c"), "t2", "goal")
	closed := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	one, again, two, future := b.store.Changed("t1"), b.store.Changed("t1"), b.store.Changed("t2"), b.store.Changed("t3")
	if closed(one) || closed(two) || closed(future) {
		b.Fatal("a channel was closed before any event")
	}
	b.appendWith("t1", 0, 0, tasks.ErrConflict, said("x"))
	if closed(one) {
		b.Fatal("a refused event closed the channel")
	}
	b.append("t1", said("x"))
	if !closed(one) || !closed(again) || closed(two) {
		b.Fatalf("after an event of t1: t1 closed %t and %t, t2 closed %t; want only t1's", closed(one), closed(again), closed(two))
	}
	if closed(b.store.Changed("t1")) {
		b.Fatal("a channel made after the event is closed")
	}
	b.answer("t1", "answer")
	b.show("t1")
	if !closed(two) {
		b.Fatal("the release of t2 did not close its channel")
	}
	b.ask(chat("d"), "t3", "goal")
	if !closed(future) {
		b.Fatal("the opening of t3 did not close its channel")
	}
	guided := b.store.Changed("t3")
	b.deliver(b.guidance("t3", "hint"))
	if !closed(guided) {
		b.Fatal("guidance by a delivery did not close the channel")
	}
}

// testWakeUps: readers that wait before they load see every event.
func testWakeUps(b *env) {
	const events, readers = 200, 4
	b.ask(chat("c"), "t", "goal")
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			for seq := 0; seq < events+1; {
				changed := b.store.Changed("t")
				more, err := b.store.Load(b.Context(), "t", seq)
				if err != nil {
					b.Errorf("Load(t, %d): %v", seq, err)
					return
				}
				for _, e := range more {
					if seq++; e.Seq != seq {
						b.Errorf("event after %d: got %d", seq-1, e.Seq)
						return
					}
				}
				if seq < events+1 {
					<-changed
				}
			}
		})
	}
	for i := range events {
		b.append("t", said(fmt.Sprint(i)))
	}
	wg.Wait()
}

// settledSeq is the number of the event that settles a task of testReaders.
const settledSeq = 16

// testReaders: beside writers, the feed has each event once and in order. No state is
// behind the journal, the feed or the deliveries that were read before it, also when
// it comes from the first transactions after a start.
func testReaders(b *env) {
	const rounds, writers, each = 10, 3, settledSeq - 1
	cursor, seen := uint64(0), map[tasks.ID]int{}
	for round := range rounds {
		var ids []tasks.ID
		for w := range writers {
			id := tasks.ID(fmt.Sprintf("t%d.%d", round, w))
			in := b.question(chat(string(id)), id, "goal")
			in.Open.Opening.Notify = &planner.Notify{Webhook: "ops"}
			b.open(in)
			ids = append(ids, id)
		}
		b.store = b.reopen()
		before, done := cursor, make(chan struct{})
		var writing, reading sync.WaitGroup
		for _, id := range ids {
			b.state(id)
			reading.Go(func() {
				for n := 0; !b.Failed(); n++ {
					seq, err := newestOf(b, n%3, id, before)
					state, bad := b.store.State(b.Context(), id)
					if err != nil || bad != nil || state.Seq < seq {
						b.Errorf("reader %d: event %d of %s is known, %v, and then its state is that of %d, %v", n%3, seq, id, err, state.Seq, bad)
					}
					select {
					case <-done:
						return
					default:
					}
				}
			})
		}
		for _, id := range ids {
			writing.Go(func() {
				for n := range each {
					events := []planner.Event{said("x")}
					if n == each-1 {
						events = Ending()
					}
					if err := b.store.Append(b.Context(), id, -1, 0, events...); err != nil {
						b.Errorf("Append(%s): %v", id, err)
					}
				}
			})
		}
		for last := cursor + writers*(1+each+2); cursor < last && !b.Failed(); {
			entries, _, _ := b.feed(cursor, 7)
			for _, e := range entries {
				cursor++
				if e.Cursor != cursor || e.Seq != seen[e.Task]+1 {
					b.Errorf("entry %+v after %d, of its task after %d", e, cursor-1, seen[e.Task])
				}
				seen[e.Task] = e.Seq
				b.same("the event of an entry", b.load(e.Task, e.Seq-1)[0].Seq, e.Seq)
			}
		}
		writing.Wait()
		close(done)
		reading.Wait()
	}
}

// newestOf returns the number of an event of a task that is known: by the journal, by
// the feed after a cursor, or by its delivery.
func newestOf(b *env, reader int, id tasks.ID, after uint64) (seq int, err error) {
	switch reader {
	case 0:
		events, err := b.store.Load(b.Context(), id, 0)
		return len(events), err
	case 1:
		entries, _, _, err := b.store.Feed(b.Context(), after, 1000)
		for _, e := range entries {
			if e.Task == id {
				seq = e.Seq
			}
		}
		return seq, err
	}
	due, _, err := b.store.Outgoing(b.Context(), b.clock.now(), 1000)
	for _, d := range due {
		if d.Task == id {
			seq = settledSeq
		}
	}
	return seq, err
}

// testSenders: many senders, each message delivered twice, some together.
func testSenders(b *env) {
	const senders, each = 16, 20
	var wg sync.WaitGroup
	var mu sync.Mutex
	opened := map[tasks.ID]int{}
	for s := range senders {
		wg.Go(func() {
			for n := range each {
				// Two senders share a key and a chat: the same message came twice.
				key := fmt.Sprintf("%d:%d", s/2, n)
				in := Question(chat(fmt.Sprint(s/2%4)), tasks.ID(fmt.Sprintf("t%d.%d", s, n)), key)
				in.Key = key
				got, err := b.store.Open(b.Context(), []tasks.Inbound{in})
				if err != nil {
					b.Errorf("Open(%q): %v", key, err)
					return
				}
				mu.Lock()
				opened[got[0].Task]++
				mu.Unlock()
				if events, err := b.store.Load(b.Context(), got[0].Task, 0); err != nil || len(events) == 0 || events[0].Opening.Goal != key {
					b.Errorf("Load(%s) right after its receipt: got %v, %v, want the goal %q", got[0].Task, events, err, key)
				}
			}
		})
	}
	wg.Wait()
	live, decided := b.live(""), 0
	b.same("tasks, one per key", len(live), senders/2*each)
	for _, id := range live {
		b.same("receipts that name "+string(id), opened[id], 2)
		if b.state(id).Phase == planner.PhaseDeciding {
			decided++
		}
	}
	b.same("tasks that decide, one per conversation", decided, 4)
}

// testWorkers: several workers append to one task what they decided from what
// they had read; each decision is taken once.
func testWorkers(b *env) {
	const workers, target = 8, 60
	b.ask(chat("c"), "t", "goal")
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for {
				events, err := b.store.Load(b.Context(), "t", 0)
				if err != nil {
					b.Errorf("Load: %v", err)
					return
				}
				if len(events) > target {
					return
				}
				value := json.RawMessage(fmt.Sprintf(`{"worker":%d,"after":%d}`, w, len(events)))
				err = b.store.Append(b.Context(), "t", len(events), 0,
					planner.Event{Type: planner.StateSet, Values: map[string]json.RawMessage{"k": value}})
				if err != nil && !errors.Is(err, tasks.ErrConflict) {
					b.Errorf("Append: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	for _, e := range b.load("t", 1) {
		var v struct{ After int }
		if err := json.Unmarshal(e.Values["k"], &v); err != nil || v.After != e.Seq-1 {
			b.Fatalf("event %d was decided after %d events, %v", e.Seq, v.After, err)
		}
	}
}

func testContext(b *env) {
	b.ask(chat("c"), "t", "goal")
	ended, cancel := context.WithCancel(b.Context())
	cancel()
	for what, err := range every(ended, b) {
		if !errors.Is(err, context.Canceled) {
			b.Fatalf("%s with an ended context: got %v, want context.Canceled", what, err)
		}
	}
}

func testClosed(b *env) {
	b.ask(chat("c"), "t", "goal")
	old := b.store
	b.store = b.reopen()
	live := b.store
	b.store = old
	for what, err := range every(b.Context(), b) {
		if err == nil {
			b.Fatalf("%s on a closed store: got no error", what)
		}
	}
	if err := old.Close(); err != nil {
		b.Fatalf("closing twice: %v", err)
	}
	b.store = live
	b.same("journal", types(b.load("t", 0)), []planner.EventType{planner.Opened})
}

// every calls each method and returns what it said.
func every(ctx context.Context, b *env) map[string]error {
	_, open := b.store.Open(ctx, []tasks.Inbound{b.question(chat("c"), "u", "goal")})
	_, load := b.store.Load(ctx, "t", 0)
	_, event := b.store.Event(ctx, "t", 1)
	_, live := b.store.Live(ctx, "")
	_, history := b.store.History(ctx, chat("c").Key(), "", 100)
	_, setting := b.store.Setting(ctx, "o", "n")
	_, forget := b.store.Forget(ctx, chat("c").Key())
	return map[string]error{
		"Open": open, "Load": load, "Event": event, "Live": live, "History": history, "Setting": setting,
		"Append": b.store.Append(ctx, "t", -1, 0, said("x")), "PutSetting": b.store.PutSetting(ctx, "o", "n", "v"),
		"Drop": b.store.Drop(ctx, "t"), "Forget": forget, "Move": b.store.Move(ctx, chat("c").Key(), chat("d")),
	}
}

// testFollow: who follows a store hears of each task that a transaction
// changed, of those that it released, too, and of nothing after the end.
func testFollow(b *env) {
	heard := make(chan tasks.ID, 100)
	stop := b.store.Follow(func(id tasks.ID) { heard <- id })
	next := func(want ...tasks.ID) {
		b.Helper()
		for _, id := range want {
			select {
			case got := <-heard:
				b.same("heard of", got, id)
			default:
				b.Fatalf("no waiter was told that %s changed", id)
			}
		}
		select {
		case got := <-heard:
			b.Fatalf("heard of %s, want nothing more", got)
		default:
		}
	}
	b.ask(chat("c"), "t1", "first")
	b.ask(chat("c"), "t2", "second")
	next("t1", "t2")
	b.appendWith("t1", 0, 0, tasks.ErrConflict, said("x"))
	next()
	b.answer("t1", "answer")
	next("t1")
	b.show("t1")
	told := map[tasks.ID]bool{}
	for len(heard) > 0 {
		told[<-heard] = true
	}
	b.same("heard of the end of t1 and of t2's release", told, map[tasks.ID]bool{"t1": true, "t2": true})
	stop()
	b.append("t2", said("late"))
	next()
}
