// Package memory keeps tasks in memory, with the same rules as the stores that
// last. It starts no goroutine and waits for nothing, so that a simulation under
// testing/synctest can run on it.
package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/store/rules"
	"legwork/tasks"
)

// ErrClosed is returned by every method after Close.
var ErrClosed = errors.New("the store is closed")

// Store implements tasks.Store.
type Store struct {
	now    func() time.Time
	watch  rules.Watch
	mu     sync.Mutex
	closed bool
	data   *snapshot
}

var _ tasks.Store = (*Store)(nil)

// New returns an empty store. now is the clock; nil means time.Now.
func New(now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	return &Store{now: now, data: newContents()}
}

// Reopen closes the store and returns another one with the same contents, as
// after a restart: waiters of the old one hear nothing about changes in it.
func (s *Store) Reopen() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	clear(s.data.invalidated)
	again := &Store{now: s.now, data: s.data}
	_ = again.change(context.Background(), (*rules.Tx).CloseOldAccounts) // nothing is ever damaged here
	return again
}

// change runs do as a transaction.
func (s *Store) change(ctx context.Context, do func(*rules.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	now := s.now()
	tx := rules.NewTx(s.data, now)
	if err := tx.Savepoint(do); err != nil {
		return err
	}
	changes, err := tx.Finish()
	if err != nil {
		return err
	}
	s.data.commit(changes, now)
	s.watch.Notify(changes)
	return nil
}

// view runs do over the contents.
func (s *Store) view(ctx context.Context, do func(*snapshot) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	return do(s.data)
}

// Open implements tasks.Store.
func (s *Store) Open(ctx context.Context, batch []tasks.Inbound) ([]tasks.Receipt, error) {
	var receipts []tasks.Receipt
	err := s.change(ctx, func(tx *rules.Tx) (err error) {
		receipts, err = tx.WithOrigin(tasks.OriginOf(ctx)).Open(batch)
		return err
	})
	return receipts, wrap("storing messages", err)
}

// Append implements tasks.Store.
func (s *Store) Append(ctx context.Context, id tasks.ID, after int, fence int64, e ...planner.Event) error {
	err := s.change(ctx, func(tx *rules.Tx) error {
		return tx.WithOrigin(tasks.OriginOf(ctx)).Append(id, after, fence, e...)
	})
	return wrap("appending events", err)
}

// Drop implements tasks.Store.
func (s *Store) Drop(ctx context.Context, id tasks.ID) error {
	return wrap("dropping task", s.change(ctx, func(tx *rules.Tx) error { return tx.Drop(id) }))
}

// Forget implements tasks.Store.
func (s *Store) Forget(ctx context.Context, conversation string) (int, error) {
	n, err := rules.ConversationDeletion{Conversation: conversation}.Run(func(do func(*rules.Tx) error) error { return s.change(ctx, do) })
	return n, wrap("forgetting conversation", err)
}

// Move implements tasks.Store.
func (s *Store) Move(ctx context.Context, from string, to bot.Chat) error {
	err := s.change(ctx, func(tx *rules.Tx) error { return tx.Move(from, to) })
	return wrap("moving conversation", err)
}

// PutSetting implements tasks.Store.
func (s *Store) PutSetting(ctx context.Context, owner, name, value string) error {
	err := s.change(ctx, func(tx *rules.Tx) error { return tx.PutSetting(owner, name, value) })
	return wrap("storing setting", err)
}

// Load implements tasks.Store.
func (s *Store) Load(ctx context.Context, id tasks.ID, from int) ([]planner.Event, error) {
	var events []planner.Event
	err := s.view(ctx, func(c *snapshot) (err error) {
		events, err = c.events(id, from)
		return err
	})
	return events, wrap("loading journal", err)
}

// Event implements tasks.Store.
func (s *Store) Event(ctx context.Context, id tasks.ID, seq int) (planner.Event, error) {
	var e planner.Event
	err := s.view(ctx, func(c *snapshot) error {
		events, err := c.eventsUpTo(id, seq-1, seq)
		if err == nil && (seq < 1 || len(events) == 0) {
			err = fmt.Errorf("task %s has no event %d", id, seq)
		}
		if err == nil {
			e = events[0]
		}
		return err
	})
	return e, wrap("loading event", err)
}

// State implements tasks.Store.
func (s *Store) State(ctx context.Context, id tasks.ID) (planner.State, error) {
	var state planner.State
	err := s.view(ctx, func(c *snapshot) (err error) {
		state, err = c.State(id)
		return err
	})
	return state, wrap("folding journal", err)
}

// Changed implements tasks.Store.
func (s *Store) Changed(id tasks.ID) <-chan struct{} { return s.watch.Changed(id) }

// Live implements tasks.Store.
func (s *Store) Live(ctx context.Context, conversation string) ([]tasks.Live, error) {
	var list []tasks.Live
	err := s.view(ctx, func(c *snapshot) error {
		var rows []tasks.ID
		for id, t := range c.tasks {
			if !t.Over && (conversation == "" || t.Chat.Key() == conversation) {
				rows = append(rows, id)
			}
		}
		slices.SortFunc(rows, func(a, b tasks.ID) int { return cmp.Compare(c.tasks[a].Order, c.tasks[b].Order) })
		for _, id := range rows {
			list = append(list, tasks.Live{Task: id, Chat: c.tasks[id].Chat, From: c.tasks[id].From})
		}
		return nil
	})
	return list, wrap("listing live tasks", err)
}

// History implements tasks.Store.
func (s *Store) History(ctx context.Context, conversation string, before tasks.ID, maxBytes int) ([]tasks.Turn, error) {
	budget := rules.NewTurnCollector(maxBytes)
	err := s.view(ctx, func(c *snapshot) error { return c.turns(conversation, before, budget) })
	if err != nil {
		return nil, wrap("reading history", err)
	}
	return budget.Turns(), nil
}

// Known implements tasks.Store.
func (s *Store) Known(ctx context.Context, key string) (r tasks.Receipt, found bool, err error) {
	err = s.view(ctx, func(c *snapshot) error {
		r, found, err = rules.Known(c, key, s.now())
		return err
	})
	return r, found, wrap("looking for a delivery", err)
}

// Setting implements tasks.Store.
func (s *Store) Setting(ctx context.Context, owner, name string) (string, error) {
	var value string
	err := s.view(ctx, func(c *snapshot) error {
		value = c.settings[rules.Setting{Owner: owner, Name: name}]
		return nil
	})
	return value, wrap("reading setting", err)
}

// Close implements tasks.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Follow implements tasks.Store.
func (s *Store) Follow(heard func(tasks.ID)) (stop func()) { return s.watch.Follow(heard) }

// Watched is how many tasks somebody waits for, and how many follow all of them.
func (s *Store) Watched() int { return s.watch.Len() }

// Erase implements tasks.Deletion.
func (s *Store) Erase(ctx context.Context, who string) (tasks.Deleted, error) {
	d, err := s.retention(ctx).Erase(who)
	return d, wrap("forgetting "+who, err)
}

// Retain implements tasks.Deletion.
func (s *Store) Retain(ctx context.Context, tasksBefore, historyBefore time.Time) (tasks.Deleted, error) {
	d, err := s.retention(ctx).Retain(tasksBefore, historyBefore)
	return d, wrap("deleting old data", err)
}

func (s *Store) retention(ctx context.Context) rules.Retention {
	return rules.Retention{
		View: func(do func(rules.Snapshot) error) error {
			return s.view(ctx, func(c *snapshot) error { return do(c) })
		},
		Change: func(do func(*rules.Tx) error) error { return s.change(ctx, do) },
	}
}

// after are at most n of the sorted keys of a map that come after one.
func after[K ~string, V any](m map[K]V, last K, n int) []K {
	keys := slices.Sorted(maps.Keys(m))
	at, found := slices.BinarySearch(keys, last)
	if found {
		at++
	}
	return keys[at:min(at+n, len(keys))]
}

// Tasks implements rules.Snapshot.
func (c *snapshot) Tasks(last tasks.ID, n int) ([]rules.TaskEntry, error) {
	var list []rules.TaskEntry
	for _, id := range after(c.tasks, last, n) {
		list = append(list, rules.TaskEntry{ID: id, Task: c.tasks[id]})
	}
	return list, nil
}

// EndedAt implements rules.Snapshot.
func (c *snapshot) EndedAt(id tasks.ID, t rules.Task) (time.Time, error) {
	events, err := c.events(id, t.Last-1)
	if err != nil || len(events) == 0 {
		return time.Time{}, err
	}
	return events[0].At, nil
}

// Conversations implements rules.Snapshot.
func (c *snapshot) Conversations(last string, n int) ([]string, error) {
	return after(c.history, last, n), nil
}

// AllSettings implements rules.Snapshot.
func (c *snapshot) AllSettings() (map[rules.Setting]string, error) {
	return maps.Clone(c.settings), nil
}

// SpentKeys implements rules.Snapshot.
func (c *snapshot) SpentKeys(match func(rules.SpentKey) bool, n int) (list []rules.SpentKey, err error) {
	for row := range c.spent {
		if len(list) < n && match(row) {
			list = append(list, row)
		}
	}
	return list, nil
}
