package store

import (
	"context"
	"fmt"
	"reflect"

	"legwork/tasks"
)

// Summary implements tasks.Summaries. A damaged one counts as missing: older turns
// are summarised anew.
func (c Conversations) Summary(ctx context.Context, conversation string) (v tasks.Summary, err error) {
	err = c.read(ctx, "reading summary", func(x *txn) { v = turns{x}.summary(conversation) })
	return v, err
}

// PutSummary implements tasks.Summaries.
func (c Conversations) PutSummary(ctx context.Context, conversation string, before uint64, v tasks.Summary) error {
	return c.update(ctx, "storing summary", func(tx *txn) {
		x := turns{tx}
		now, gone := x.summary(conversation), max(x.cut(conversation), x.cache.alteredUpTo(conversation))
		switch {
		case now.Until != before || v.Until <= max(before, gone):
			x.fail(fmt.Errorf("summary of %s up to turn %d, made after turn %d; there is one up to %d, and turns up to %d are no longer what they were: %w",
				conversation, v.Until, before, now.Until, gone, tasks.ErrConflict))
		case len(x.at(turnKey{conversation, v.Until})) == 0:
			x.fail(fmt.Errorf("summary of %s up to turn %d, which is not there: %w", conversation, v.Until, tasks.ErrConflict))
		default:
			v.At = v.At.Round(0).UTC()
			x.step("summarised")
			summaries.put(x, conversation, v)
		}
	})
}

// storedSummary returns the summary of a conversation, cut or not; its zero value
// when there is none, or it is damaged.
func (x turns) storedSummary(conversation string) tasks.Summary {
	v, _, damaged := summaries.get(x, conversation)
	if damaged != nil {
		x.skip(TableSummaries, []byte(conversation), damaged)
		return tasks.Summary{}
	}
	return v
}

// summary returns the summary of a conversation, unless the conversation was cut
// after it.
func (x turns) summary(conversation string) tasks.Summary {
	v := x.storedSummary(conversation)
	if v.Until <= x.cut(conversation) {
		return tasks.Summary{}
	}
	return v
}

// alter notes that turns of a conversation are deleted, or moved to it. From then on
// the store refuses a summary of the turns as they are now.
func (x turns) alter(conversation string) { x.cache.alter(conversation, x.newest()) }

// dropSummary deletes the summary of a conversation whose turns are deleted.
func (x turns) dropSummary(conversation string, d *tasks.Deleted) {
	x.alter(conversation)
	if summaries.has(x, conversation) {
		d.Summaries++
		summaries.drop(x, conversation)
	}
}

// moveSummary gives the summary of a conversation to another one. If both have a
// summary, it keeps one that leaves out no turn of the other conversation. Without
// such a summary, prompts read the turns themselves.
func (x turns) moveSummary(from, to string) {
	var kept tasks.Summary
	for _, c := range [][2]string{{to, from}, {from, to}} {
		v, rows := x.summary(c[0]), x.next(c[1], x.cut(c[1]))
		if v.Until > 0 && (len(rows) == 0 || rows[0].Order > v.Until) {
			kept = v
		}
	}
	for conversation, v := range map[string]tasks.Summary{from: {}, to: kept} {
		switch {
		case reflect.DeepEqual(x.storedSummary(conversation), v):
		case v.Until == 0:
			summaries.drop(x, conversation)
		default:
			summaries.put(x, conversation, v)
		}
	}
}
