package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"legwork/llm"
	"legwork/store/rules"
	"legwork/tasks"
)

// Reserve implements tasks.Ledger.
func (s *Store) Reserve(ctx context.Context, id tasks.ID, r tasks.Reservation) error {
	return wrap("reserving", s.change(ctx, func(tx *rules.Tx) error { return tx.Reserve(id, r) }))
}

// Settle implements tasks.Ledger.
func (s *Store) Settle(ctx context.Context, id tasks.ID, of tasks.ReservationID, cost llm.Usage) error {
	return wrap("settling", s.change(ctx, func(tx *rules.Tx) error { return tx.Settle(id, of, cost) }))
}

// Room implements tasks.Ledger.
func (s *Store) Room(ctx context.Context, id tasks.ID, r tasks.Reservation) error {
	err := s.view(ctx, func(c *snapshot) error { return rules.NewTx(c, s.now()).Reserve(id, r) })
	return wrap("looking for room", err)
}

// Spent implements tasks.Ledger.
func (s *Store) Spent(ctx context.Context, q tasks.SpentQuery) ([]tasks.Spent, error) {
	var list []tasks.Spent
	err := s.view(ctx, func(c *snapshot) error {
		for row, spent := range c.spent {
			late := q.To != "" && row.Day > q.To
			other := q.User != "" && row.User != q.User || q.Chat != "" && row.Chat != q.Chat
			if row.Day >= q.From && !late && !other {
				list = append(list, spent)
			}
		}
		return nil
	})
	slices.SortFunc(list, func(a, b tasks.Spent) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.User, b.User), cmp.Compare(a.Chat, b.Chat), cmp.Compare(a.Model, b.Model))
	})
	return list, wrap("reading the ledger", err)
}

// Extended implements tasks.Ledger.
func (s *Store) Extended(ctx context.Context, day string) (list []tasks.Extended, err error) {
	err = s.view(ctx, func(c *snapshot) (err error) { list, err = rules.Extended(c, day); return err })
	return list, wrap("reading by how much budgets were extended", err)
}

// Schedules implements tasks.Schedules.
func (s *Store) Schedules(ctx context.Context, conversation string) ([]tasks.Schedule, error) {
	var list []tasks.Schedule
	err := s.view(ctx, func(c *snapshot) (err error) { list, err = c.Schedules(conversation); return err })
	return rules.SortSchedules(list), wrap("listing schedules", err)
}

// PutSchedule implements tasks.Schedules.
func (s *Store) PutSchedule(ctx context.Context, v tasks.Schedule) error {
	return wrap("storing schedule", s.change(ctx, func(tx *rules.Tx) error { return tx.PutSchedule(v) }))
}

// DropSchedule implements tasks.Schedules.
func (s *Store) DropSchedule(ctx context.Context, id string) error {
	return wrap("deleting schedule", s.change(ctx, func(tx *rules.Tx) error { return tx.DropSchedule(id) }))
}

// Due implements tasks.Schedules.
func (s *Store) Due(ctx context.Context, now time.Time, limit int) (due []tasks.Schedule, next time.Time, err error) {
	var waiting []tasks.Schedule
	err = s.view(ctx, func(c *snapshot) error {
		waiting = slices.Collect(maps.Values(c.schedules))
		return nil
	})
	waiting = slices.DeleteFunc(waiting, func(v tasks.Schedule) bool { return !rules.IsWaiting(v) })
	slices.SortFunc(waiting, func(a, b tasks.Schedule) int { return cmp.Or(a.Next.Compare(b.Next), cmp.Compare(a.ID, b.ID)) })
	for _, v := range waiting {
		if v.Next.After(now) || len(due) >= limit {
			next = v.Next
			break
		}
		due = append(due, v)
	}
	return due, next, wrap("reading the due-table", err)
}

// Summary implements tasks.Summaries.
func (s *Store) Summary(ctx context.Context, conversation string) (tasks.Summary, error) {
	var v tasks.Summary
	err := s.view(ctx, func(c *snapshot) (err error) { v, err = rules.Summary(c, conversation); return err })
	return v, wrap("reading summary", err)
}

// PutSummary implements tasks.Summaries.
func (s *Store) PutSummary(ctx context.Context, conversation string, before uint64, v tasks.Summary) error {
	err := s.change(ctx, func(tx *rules.Tx) error { return tx.PutSummary(conversation, before, v) })
	return wrap("storing summary", err)
}

// Turns implements tasks.Summaries.
func (s *Store) Turns(ctx context.Context, conversation string, after uint64, limit int) ([]tasks.Turn, error) {
	var list []tasks.Turn
	err := s.view(ctx, func(c *snapshot) error {
		for _, t := range c.history[conversation] {
			if t.order > max(after, c.cuts[conversation]) && t.goal != nil && len(list) < limit {
				list = append(list, t.asTurn())
			}
		}
		return nil
	})
	return list, wrap("reading turns", err)
}

// Account implements rules.Snapshot.
func (c *snapshot) Account(id tasks.ID) (rules.Account, error) { return c.accounts[id], nil }

// Accounts implements rules.Snapshot.
func (c *snapshot) Accounts() ([]tasks.ID, error) {
	return slices.Sorted(maps.Keys(c.accounts)), nil
}

// Total implements rules.Snapshot.
func (c *snapshot) Total(of rules.TotalKey) (rules.Total, error) { return c.sums[of], nil }

// TotalKeys implements rules.Snapshot.
func (c *snapshot) TotalKeys() ([]rules.TotalKey, error) {
	return slices.Collect(maps.Keys(c.sums)), nil
}

// Spent implements rules.Snapshot.
func (c *snapshot) Spent(row rules.SpentKey) (tasks.Spent, error) {
	if spent, ok := c.spent[row]; ok {
		return spent, nil
	}
	return tasks.Spent{Day: row.Day, User: row.User, Chat: row.Chat, Model: row.Model}, nil
}

// Schedule implements rules.Snapshot.
func (c *snapshot) Schedule(id string) (tasks.Schedule, bool, error) {
	v, ok := c.schedules[id]
	return v, ok, nil
}

// Schedules implements rules.Snapshot; of all conversations when it is empty.
func (c *snapshot) Schedules(conversation string) ([]tasks.Schedule, error) {
	var list []tasks.Schedule
	for _, v := range c.schedules {
		if conversation == "" || v.Chat.Key() == conversation {
			list = append(list, v)
		}
	}
	return list, nil
}

// Summary implements rules.Snapshot.
func (c *snapshot) Summary(conversation string) (tasks.Summary, error) {
	return c.summaries[conversation], nil
}

// Invalidated implements rules.Snapshot.
func (c *snapshot) Invalidated(conversation string) (uint64, error) {
	return c.invalidated[conversation], nil
}

// commitLedger takes over what a transaction changed of the ledger, schedules and
// summaries.
func (c *snapshot) commitLedger(changes *rules.Changes) {
	for id, a := range changes.Accounts {
		c.accounts[id] = a
		if a.Empty() {
			delete(c.accounts, id)
		}
	}
	for of, sum := range changes.Totals {
		c.sums[of] = sum
		if sum == (rules.Total{}) {
			delete(c.sums, of)
		}
	}
	for _, row := range changes.SpentDeleted {
		delete(c.spent, row)
	}
	maps.Copy(c.spent, changes.Spent)
	maps.Copy(c.invalidated, changes.Invalidated)
	for id, v := range changes.Schedules {
		if v == nil {
			delete(c.schedules, id)
			continue
		}
		c.schedules[id] = *v
	}
	for conversation, v := range changes.Summaries {
		c.summaries[conversation] = v
		if v == (tasks.Summary{}) {
			delete(c.summaries, conversation)
		}
	}
}
