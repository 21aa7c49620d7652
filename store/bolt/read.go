package bolt

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"legwork/planner"
	"legwork/store/rules"
	"legwork/tasks"
)

// view runs do over the committed data.
func (s *Store) view(ctx context.Context, do func(snapshot) error) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		db := s.db.Load()
		err := classify(guard(func() error {
			return db.View(func(tx *bbolt.Tx) error { return do(snapshot{tx: tx, log: s.log}) })
		}))
		if !errors.Is(err, ErrClosed) || s.db.Load() == db {
			return s.noteCorruption(err)
		}
		// A compaction replaced the file before the transaction began.
	}
}

// Load implements tasks.Store. Events that were committed a moment ago and are
// not in the remembered state yet come the next time: a reader that has seen
// an event must not meet an older state.
func (s *Store) Load(ctx context.Context, id tasks.ID, from int) ([]planner.Event, error) {
	var events []planner.Event
	err := s.view(ctx, func(b snapshot) (err error) { events, err = b.events(id, from); return err })
	if err != nil {
		return nil, fmt.Errorf("loading journal: %w", err)
	}
	if state, ok := s.cache.state(id); ok {
		for n := len(events); n > 0 && events[n-1].Seq > state.Seq; n-- {
			events = events[:n-1]
		}
	}
	return events, nil
}

// Event implements tasks.Store.
func (s *Store) Event(ctx context.Context, id tasks.ID, seq int) (planner.Event, error) {
	var e planner.Event
	err := s.view(ctx, func(b snapshot) error {
		task, err := b.existingTask(id)
		if err != nil {
			return err
		}
		if seq < 1 || seq > task.Last {
			return fmt.Errorf("task %s has no event %d", id, seq)
		}
		key := journalKey(id, seq)
		if e, err = event(key, b.bucket(bucketJournal).Get(key)); err != nil {
			return fmt.Errorf("task %s, event %d: %w", id, seq, err)
		}
		return nil
	})
	if err != nil {
		return e, fmt.Errorf("loading event: %w", err)
	}
	return e, nil
}

// Live implements tasks.Store.
func (s *Store) Live(ctx context.Context, conversation string) ([]tasks.Live, error) {
	rows, err := s.lane(ctx, conversation)
	if err != nil {
		return nil, fmt.Errorf("listing live tasks: %w", err)
	}
	slices.SortFunc(rows, func(a, b liveRow) int { return cmp.Compare(a.Order, b.Order) })
	list := make([]tasks.Live, len(rows))
	for i, r := range rows {
		list[i] = tasks.Live{Task: r.LaneEntry.Task, Chat: r.Chat, From: r.From}
	}
	return list, nil
}

// lane returns a copy of the live rows of a conversation, or of all.
func (s *Store) lane(ctx context.Context, conversation string) (rows []liveRow, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if kept, ok := s.cache.lane(conversation); ok {
		return slices.Clone(kept), nil
	}
	err = s.view(ctx, func(b snapshot) (err error) { rows, err = b.live(conversation); return err })
	return rows, err
}

// History implements tasks.Store. A damaged row costs its turn, not the others.
func (s *Store) History(ctx context.Context, conversation string, before tasks.ID, maxBytes int) ([]tasks.Turn, error) {
	budget := rules.NewTurnCollector(maxBytes)
	err := s.view(ctx, func(b snapshot) error {
		end, err := orderOf(b, before)
		if err != nil {
			return err
		}
		cut, err := b.Cut(conversation)
		if err != nil {
			return err
		}
		return b.collectTurns(conversation, cut, end, budget)
	})
	return budget.Turns(), wrap("reading history", err)
}

// orderOf returns the order of a task; the highest order for no task.
func orderOf(b snapshot, id tasks.ID) (uint64, error) {
	if id == "" {
		return 1<<64 - 1, nil
	}
	task, err := b.existingTask(id)
	return task.Order, err
}

// collectTurns adds a conversation's turns between the orders cut and end, both
// excluded, from the newest to the oldest. In this direction an answer comes
// before its goal.
func (b snapshot) collectTurns(conversation string, cut, end uint64, budget *rules.TurnCollector) error {
	prefix := namePrefix(conversation)
	c := b.bucket(bucketHistory).Cursor()
	older := c.Prev
	if k, _ := c.Seek(historyKey(conversation, end, false)); k == nil {
		older = c.Last // everything is older
	}
	k, v := older()
	var answer rules.HistoryRow
	for ; bytes.HasPrefix(k, prefix) && len(k) == len(prefix)+9; k, v = c.Prev() {
		if binary.BigEndian.Uint64(k[len(prefix):]) <= cut {
			return nil
		}
		row, err := historyRow(k, v)
		switch {
		case err != nil:
			b.log.Error("history row skipped", "record", describe(bucketHistory, k), "cause", err)
		case row.Answer:
			answer = row
		default:
			t := rules.TurnOf(row)
			if answer.Order == row.Order {
				t = rules.WithAnswer(t, answer)
			}
			if !budget.Add(t) {
				return nil
			}
		}
	}
	return nil
}

// Known implements tasks.Store.
func (s *Store) Known(ctx context.Context, key string) (r tasks.Receipt, found bool, err error) {
	err = s.view(ctx, func(b snapshot) error {
		r, found, err = rules.Known(b, key, s.now())
		return err
	})
	return r, found, wrap("looking for a delivery", err)
}

// Setting implements tasks.Store.
func (s *Store) Setting(ctx context.Context, owner, name string) (string, error) {
	var text string
	err := s.view(ctx, func(b snapshot) error {
		key := settingKey(owner, name)
		value := b.bucket(bucketSettings).Get(key)
		if value == nil {
			return nil
		}
		body, err := unseal(key, value)
		text = string(body)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("reading setting %q of %s: %w", name, owner, err)
	}
	return text, nil
}
