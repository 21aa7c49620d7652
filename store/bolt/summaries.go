package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"legwork/store/rules"
	"legwork/tasks"
)

// Summary implements tasks.Summaries. A damaged one is none: what is older is
// summarised anew.
func (s *Store) Summary(ctx context.Context, conversation string) (tasks.Summary, error) {
	var v tasks.Summary
	err := s.view(ctx, func(b snapshot) (err error) { v, err = rules.Summary(b, conversation); return err })
	if err != nil {
		return tasks.Summary{}, fmt.Errorf("reading summary: %w", err)
	}
	return v, nil
}

// PutSummary implements tasks.Summaries.
func (s *Store) PutSummary(ctx context.Context, conversation string, before uint64, v tasks.Summary) error {
	err := s.submit(ctx, func(stage *rules.Tx) error { return stage.PutSummary(conversation, before, v) })
	if err != nil {
		return fmt.Errorf("storing summary: %w", err)
	}
	return nil
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
				b.log.Error("leaving out a text of the history", "record", describe(bucketHistory, k), "error", err)
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
	if err != nil {
		return nil, fmt.Errorf("reading turns: %w", err)
	}
	return list, nil
}

// Summary implements rules.Snapshot.
func (b snapshot) Summary(conversation string) (v tasks.Summary, err error) {
	if conversation == "" {
		return v, nil
	}
	_, err = b.row(bucketSummaries, []byte(conversation), &v)
	if errors.Is(err, tasks.ErrDamaged) {
		b.log.Error("leaving out a summary", "error", err)
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
