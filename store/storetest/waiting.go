package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"legwork/planner"
	"legwork/tasks"
)

func testChanged(b *env) {
	b.ask(chat("c"), "t1", "goal")
	b.ask(chat("c"), "t2", "goal")
	var names []string
	channels := map[string]<-chan struct{}{}
	watch := func(name string, id tasks.ID) { names, channels[name] = append(names, name), b.store.Changed(id) }
	closed := func(what string, want ...string) {
		b.Helper()
		var got []string
		for _, name := range names {
			select {
			case <-channels[name]:
				got = append(got, name)
			default:
			}
		}
		b.same("channels closed after "+what, got, want)
	}
	watch("t1", "t1")
	watch("t1 again", "t1")
	watch("t2", "t2")
	watch("t3", "t3")
	closed("no event")
	b.appendWith("t1", 0, 0, tasks.ErrConflict, said("x"))
	closed("a refused event")
	b.append("t1", said("x"))
	closed("an event of t1", "t1", "t1 again")
	watch("t1 anew", "t1")
	closed("no further event", "t1", "t1 again")
	b.finish("t1", "answer")
	closed("the release of t2", "t1", "t1 again", "t2", "t1 anew")
	b.ask(chat("d"), "t3", "goal")
	watch("t3 anew", "t3")
	closed("the opening of t3", "t1", "t1 again", "t2", "t3", "t1 anew")
	b.deliver(b.guidance("t3", "hint"))
	closed("guidance by a delivery", "t1", "t1 again", "t2", "t3", "t1 anew", "t3 anew")
}

// testFollow: a follower hears of each task that is changed or released, until it stops.
func testFollow(b *env) {
	told := make(chan tasks.ID, 100)
	stop := b.store.Follow(func(id tasks.ID) { told <- id })
	heard := func(want ...tasks.ID) {
		b.Helper()
		var got []tasks.ID
		for len(told) > 0 {
			if id := <-told; !slices.Contains(got, id) {
				got = append(got, id)
			}
		}
		slices.Sort(got)
		b.same("heard of", got, want)
	}
	b.ask(chat("c"), "t1", "first")
	heard("t1")
	b.ask(chat("c"), "t2", "second")
	heard("t2")
	b.appendWith("t1", 0, 0, tasks.ErrConflict, said("x"))
	heard()
	b.answer("t1", "answer")
	heard("t1")
	b.show("t1")
	heard("t1", "t2")
	stop()
	b.append("t2", said("late"))
	heard()
}

// testWakeUps: readers that wait before they load see every event.
func testWakeUps(b *env) {
	const events, readers = 200, 4
	b.ask(chat("c"), "t", "goal")
	atOnce(b.T, readers+1, func(i int) error {
		if i == readers {
			for n := range events {
				b.append("t", said(fmt.Sprint(n)))
			}
			return nil
		}
		for seq := 0; seq <= events; {
			changed := b.store.Changed("t")
			more, err := b.store.Load(b.Context(), "t", seq)
			for _, e := range more {
				if seq++; e.Seq != seq {
					return fmt.Errorf("event after %d: got %d", seq-1, e.Seq)
				}
			}
			switch {
			case err != nil:
				return err
			case seq <= events:
				<-changed
			}
		}
		return nil
	})
}

// testReaders: beside writers, the feed has each event once and in order. No state is
// behind the journal, feed or deliveries that were read before it, also after a start.
func testReaders(b *env) {
	const rounds, writers, each = 10, 3, 15
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
					seq, err := newestOf(b, n%3, id, before, each+1)
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
				var err error
				for range each - 1 {
					err = errors.Join(err, b.store.Append(b.Context(), id, -1, 0, said("x")))
				}
				if err = errors.Join(err, b.store.Append(b.Context(), id, -1, 0, Ending()...)); err != nil {
					b.Errorf("writing %s: %v", id, err)
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
// the feed after a cursor, or by its delivery, which comes with the event settled.
func newestOf(b *env, reader int, id tasks.ID, after uint64, settled int) (seq int, err error) {
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
			seq = settled
		}
	}
	return seq, err
}

// testSenders: many senders at once deliver each message twice, append to one task what
// they decided from what they had read, and share the budget of a day. Each message
// and each decision is taken once, and no more calls get room than there is room for.
func testSenders(b *env) {
	const senders, each, fit, size = 16, 20, 37, 100
	budgets := tasks.Budgets{DayTokens: fit*size + size - 1}
	b.ask(chat("all"), "all", "goal")
	var mu sync.Mutex
	receipts, reserved := map[tasks.ID]int{}, 0
	one := func(s, n int) error {
		key := fmt.Sprintf("%d:%d", s/2, n) // two senders share a key and a chat
		in := Question(chat(fmt.Sprint(s/2%4)), tasks.ID(fmt.Sprintf("t%d.%d", s, n)), key)
		in.Key = key
		got, err := b.store.Open(b.Context(), []tasks.Inbound{in})
		if err != nil {
			return err
		}
		if events, err := b.store.Load(b.Context(), got[0].Task, 0); err != nil || len(events) == 0 || events[0].Opening.Goal != key {
			return fmt.Errorf("task %s right after its receipt: got %v, %w, want the goal %q", got[0].Task, events, err, key)
		}
		events, err := b.store.Load(b.Context(), "all", 0)
		if err != nil {
			return err
		}
		after := map[string]json.RawMessage{"after": json.RawMessage(fmt.Sprint(len(events)))}
		err = b.store.Append(b.Context(), "all", len(events), 0, planner.Event{Type: planner.StateSet, Values: after})
		if err != nil && !errors.Is(err, tasks.ErrConflict) {
			return err
		}
		err = b.store.Reserve(b.Context(), "all", reservation(in.Key+fmt.Sprint(s), size, budgets))
		if err != nil && !errors.Is(err, tasks.ErrBudget) {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if receipts[got[0].Task]++; err == nil {
			reserved++
		}
		return nil
	}
	atOnce(b.T, senders, func(s int) (err error) {
		for n := range each {
			err = errors.Join(err, one(s, n))
		}
		return err
	})
	live, decided := b.live(""), 0
	b.same("tasks, one per key and the one of all", len(live), senders/2*each+1)
	for _, id := range live[1:] {
		b.same("receipts that name "+string(id), receipts[id], 2)
		if b.state(id).Phase == planner.PhaseDeciding {
			decided++
		}
	}
	b.same("tasks that decide, one per conversation", decided, 4)
	for _, e := range b.load("all", 1) {
		b.same("events before a decision", string(e.Values["after"]), fmt.Sprint(e.Seq-1))
	}
	b.same("calls that had room", reserved, fit)
	b.same("used", ledger{b}.used("all", budgets), int64(fit*size))
}

func testContext(b *env) {
	b.ask(chat("c"), "t", "goal")
	ended, cancel := context.WithCancel(b.Context())
	cancel()
	for what, err := range every(ended, b.store) {
		if !errors.Is(err, context.Canceled) {
			b.Fatalf("%s with an ended context: got %v, want context.Canceled", what, err)
		}
	}
}

func testClosed(b *env) {
	b.ask(chat("c"), "t", "goal")
	old := b.store
	b.store = b.reopen()
	for what, err := range every(b.Context(), old) {
		if err == nil {
			b.Fatalf("%s on a closed store: got no error", what)
		}
	}
	b.ok(old.Close())
	b.same("journal", types(b.load("t", 0)), []planner.EventType{planner.Opened})
}

// every calls each method of a store that has task t and returns what it said.
func every(ctx context.Context, s tasks.Store) map[string]error {
	_, open := s.Open(ctx, []tasks.Inbound{Question(chat("c"), "u", "goal")})
	_, load := s.Load(ctx, "t", 0)
	_, event := s.Event(ctx, "t", 1)
	_, live := s.Live(ctx, "")
	_, history := s.History(ctx, chat("c").Key(), "", 100)
	_, setting := s.Setting(ctx, "o", "n")
	_, forget := s.Forget(ctx, chat("c").Key())
	return map[string]error{
		"Open": open, "Load": load, "Event": event, "Live": live, "History": history, "Setting": setting, "Forget": forget,
		"Append": s.Append(ctx, "t", -1, 0, said("x")), "PutSetting": s.PutSetting(ctx, "o", "n", "v"),
		"Drop": s.Drop(ctx, "t"), "Move": s.Move(ctx, chat("c").Key(), chat("d")),
	}
}
