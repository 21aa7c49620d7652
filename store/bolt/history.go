package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"

	"legwork/store/rules"
	"legwork/tasks"
)

// Cut implements rules.Snapshot.
func (b snapshot) Cut(conversation string) (uint64, error) {
	var cut uint64
	_, err := b.row(bucketCuts, []byte(conversation), &cut)
	return cut, err
}

// Settings implements rules.Snapshot. A damaged one is left out.
func (b snapshot) Settings(owner string) (map[string]string, error) {
	all := map[string]string{}
	prefix := namePrefix(owner)
	err := guard(func() error {
		c := b.bucket(bucketSettings).Cursor()
		for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = c.Next() {
			body, err := unseal(k, v)
			if err != nil {
				b.log.Error("setting skipped", "record", describe(bucketSettings, k), "cause", err)
				continue
			}
			all[string(k[len(prefix):])] = string(body)
		}
		return nil
	})
	return all, err
}

// Turn implements rules.Snapshot.
func (b snapshot) Turn(conversation string, after uint64) (rows []rules.HistoryRow, err error) {
	prefix := namePrefix(conversation)
	err = guard(func() error {
		c := b.bucket(bucketHistory).Cursor()
		k, v := c.Seek(historyKey(conversation, after+1, false))
		for ; bytes.HasPrefix(k, prefix) && len(k) == len(prefix)+9; k, v = c.Next() {
			order := binary.BigEndian.Uint64(k[len(prefix):])
			if len(rows) > 0 && rows[0].Order != order {
				return nil
			}
			row, err := historyRow(k, v)
			if err != nil {
				b.log.Error("history row skipped", "record", describe(bucketHistory, k), "cause", err)
				row = rules.HistoryRow{Order: order, Answer: k[len(prefix)+8] == 1, Task: b.taskWithOrder(order)}
			}
			row.Conversation = conversation
			rows = append(rows, row)
		}
		return nil
	})
	return rows, err
}

// taskWithOrder finds a task by its order among all tasks; empty when none has it.
func (b snapshot) taskWithOrder(order uint64) tasks.ID {
	c := b.bucket(bucketTasks).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		var t rules.Task
		if unsealJSON(k, v, &t) == nil && t.Order == order {
			return tasks.ID(k)
		}
	}
	return ""
}

// Summary implements tasks.Summaries. A damaged one counts as missing: older
// turns are summarised anew.
func (s *Store) Summary(ctx context.Context, conversation string) (tasks.Summary, error) {
	var v tasks.Summary
	err := s.view(ctx, func(b snapshot) (err error) { v, err = rules.Summary(b, conversation); return err })
	return v, wrap("reading summary", err)
}

// PutSummary implements tasks.Summaries.
func (s *Store) PutSummary(ctx context.Context, conversation string, before uint64, v tasks.Summary) error {
	return s.change(ctx, "storing summary", func(tx *rules.Tx) error { return tx.PutSummary(conversation, before, v) })
}

// Turns implements tasks.Summaries. A damaged goal costs its turn, a damaged
// answer is left out.
func (s *Store) Turns(ctx context.Context, conversation string, after uint64, limit int) ([]tasks.Turn, error) {
	var list []tasks.Turn
	err := s.view(ctx, func(b snapshot) error {
		cut, err := b.Cut(conversation)
		if err != nil {
			return err
		}
		prefix := namePrefix(conversation)
		c := b.bucket(bucketHistory).Cursor()
		k, v := c.Seek(historyKey(conversation, max(after, cut)+1, false))
		for ; bytes.HasPrefix(k, prefix) && len(k) == len(prefix)+9; k, v = c.Next() {
			order := binary.BigEndian.Uint64(k[len(prefix):])
			n := len(list)
			row, err := historyRow(k, v)
			switch {
			case err != nil:
				b.log.Error("history row skipped", "record", describe(bucketHistory, k), "cause", err)
			case row.Answer && n > 0 && list[n-1].Order == order:
				list[n-1] = rules.WithAnswer(list[n-1], row)
			case !row.Answer && n >= limit:
				return nil
			case !row.Answer:
				list = append(list, rules.TurnOf(row))
			}
		}
		return nil
	})
	return list, wrap("reading turns", err)
}

// Summary implements rules.Snapshot.
func (b snapshot) Summary(conversation string) (v tasks.Summary, err error) {
	if conversation == "" {
		return v, nil
	}
	_, err = b.row(bucketSummaries, []byte(conversation), &v)
	if errors.Is(err, tasks.ErrDamaged) {
		b.log.Error("summary skipped", "cause", err)
		return tasks.Summary{}, nil
	}
	return v, err
}

// Invalidated implements rules.Snapshot. Only the writer asks.
func (b snapshot) Invalidated(conversation string) (uint64, error) {
	b.cache.mu.Lock()
	defer b.cache.mu.Unlock()
	order, _ := b.cache.invalidated.Get(conversation)
	return order, nil
}

// putSummaries writes summaries.
func putSummaries(b snapshot, c *rules.Changes) error {
	for conversation, v := range c.Summaries {
		write := func() error { return putJSON(b.tx, bucketSummaries, []byte(conversation), v) }
		if v == (tasks.Summary{}) {
			write = func() error { return b.bucket(bucketSummaries).Delete([]byte(conversation)) }
		}
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}
