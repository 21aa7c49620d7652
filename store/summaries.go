package store

import (
	"context"
	"errors"
	"fmt"

	"legwork/tasks"
)

// Summary implements tasks.Summaries. A damaged one counts as missing: older turns
// are summarised anew.
func (c Conversations) Summary(ctx context.Context, conversation string) (v tasks.Summary, err error) {
	err = c.view(ctx, "reading summary", func(x *txn) error {
		v, err = turns{x}.summary(conversation)
		return err
	})
	return v, err
}

// PutSummary implements tasks.Summaries.
func (c Conversations) PutSummary(ctx context.Context, conversation string, before uint64, v tasks.Summary) error {
	return c.update(ctx, "storing summary", func(x *txn) error { return turns{x}.putSummary(conversation, before, v) })
}

// storedSummary returns the summary of a conversation, cut or not; its zero value
// when there is none, or it is damaged.
func (x turns) storedSummary(conversation string) (tasks.Summary, error) {
	v, _, err := summaries.get(x, conversation)
	if errors.Is(err, tasks.ErrDamaged) {
		x.skip(TableSummaries, []byte(conversation), err)
		return tasks.Summary{}, nil
	}
	return v, err
}

// summary returns the summary of a conversation, unless the conversation was cut
// after it.
func (x turns) summary(conversation string) (tasks.Summary, error) {
	v, err := x.storedSummary(conversation)
	if err != nil || v.Until == 0 {
		return tasks.Summary{}, err
	}
	cut, err := x.cut(conversation)
	if err != nil || cut >= v.Until {
		return tasks.Summary{}, err
	}
	return v, nil
}

// putSummary stores a summary in place of the one that ended with the turn before.
func (x turns) putSummary(conversation string, before uint64, v tasks.Summary) error {
	now, err := x.summary(conversation)
	if err != nil {
		return err
	}
	cut, err := x.cut(conversation)
	if err != nil {
		return err
	}
	altered := x.cache.alteredUpTo(conversation)
	if now.Until != before || v.Until <= max(before, cut, altered) {
		return fmt.Errorf("summary of %s up to turn %d, made after turn %d; there is one up to %d, and turns up to %d are no longer what they were: %w",
			conversation, v.Until, before, now.Until, max(cut, altered), tasks.ErrConflict)
	}
	rows, err := x.at(turnKey{conversation, v.Until})
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return fmt.Errorf("summary of %s up to turn %d, which is not there: %w", conversation, v.Until, tasks.ErrConflict)
	}
	v.At = v.At.Round(0).UTC()
	x.step("summarised")
	return summaries.put(x, conversation, v)
}

// alter notes that turns of a conversation are deleted, or moved to it. From then on
// the store refuses a summary of the turns as they are now.
func (x turns) alter(conversation string) error {
	order, _, err := metaNumbers.get(x, metaOrder)
	if err == nil {
		x.cache.alter(conversation, order)
	}
	return err
}

// dropSummary deletes the summary of a conversation whose turns are deleted.
func (x turns) dropSummary(conversation string, d *tasks.Deleted) error {
	if err := x.alter(conversation); err != nil {
		return err
	}
	there, err := summaries.has(x, conversation)
	if err != nil || !there {
		return err
	}
	d.Summaries++
	return summaries.drop(x, conversation)
}

// moveSummary gives the summary of a conversation to another one. If both have a
// summary, it keeps one that leaves out no turn of the other conversation. Without
// such a summary, prompts read the turns themselves.
func (x turns) moveSummary(from, to string) error {
	var kept tasks.Summary
	for _, c := range [][2]string{{to, from}, {from, to}} {
		v, err := x.summary(c[0])
		if err != nil {
			return err
		}
		apart, err := x.startsAfter(c[1], v.Until)
		if err != nil {
			return err
		}
		if v.Until > 0 && apart {
			kept = v
		}
	}
	for conversation, v := range map[string]tasks.Summary{from: {}, to: kept} {
		old, err := x.storedSummary(conversation)
		switch {
		case err != nil || old == v:
		case v.Until == 0:
			err = summaries.drop(x, conversation)
		default:
			err = summaries.put(x, conversation, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// startsAfter reports whether a conversation has no turn up to that order, except
// cut ones.
func (x turns) startsAfter(conversation string, order uint64) (bool, error) {
	cut, err := x.cut(conversation)
	if err != nil {
		return false, err
	}
	rows, err := x.next(conversation, cut)
	return len(rows) == 0 || rows[0].Order > order, err
}
