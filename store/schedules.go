package store

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"legwork/bot"
	"legwork/tasks"
)

// Timetable implements tasks.Schedules.
type Timetable struct{ *core }

// Schedules implements tasks.Schedules. It leaves out damaged ones.
func (t Timetable) Schedules(ctx context.Context, conversation string) (list []tasks.Schedule, err error) {
	err = t.read(ctx, "listing schedules", func(x *txn) { list = timetable{x}.list(conversation) })
	return list, err
}

// PutSchedule implements tasks.Schedules.
func (t Timetable) PutSchedule(ctx context.Context, v tasks.Schedule) error {
	if v.ID == "" || len(v.ID) > MaxName {
		return fmt.Errorf("schedule with an id of %d bytes: it must have one of at most %d", len(v.ID), MaxName)
	}
	if err := checkConversation(v.Chat); err != nil {
		return err
	}
	return t.update(ctx, "storing schedule", func(x *txn) { timetable{x}.put(v) })
}

// DropSchedule implements tasks.Schedules.
func (t Timetable) DropSchedule(ctx context.Context, id string) error {
	return t.update(ctx, "deleting schedule", func(x *txn) { timetable{x}.drop(id) })
}

// Due implements tasks.Schedules. It reads the due-table only as far as it returns
// schedules. It leaves out an entry whose schedule does not wait for that time, or is
// damaged.
func (t Timetable) Due(ctx context.Context, now time.Time, limit int) (due []tasks.Schedule, next time.Time, err error) {
	err = t.read(ctx, "reading the due-table", func(x *txn) {
		due, next = nil, time.Time{}
		for r := range records(x, TableDue, nil, nil, Ascending) {
			v, ok := timetable{x}.waiting(string(r.Key[min(timeBytes, len(r.Key)):]))
			switch {
			case !ok || !bytes.Equal(dueTimes.key(v), r.Key):
			case v.Next.After(now) || len(due) >= limit:
				next = v.Next
				return
			default:
				due = append(due, v)
			}
		}
	})
	return due, next, err
}

// timetable is the schedules, within a transaction.
type timetable struct{ *txn }

// isWaiting reports whether a schedule has an entry in the due-table.
func isWaiting(v tasks.Schedule) bool { return !v.Paused && !v.Next.IsZero() }

// waiting returns a schedule with an entry in the due-table; false when there is none,
// or it is damaged.
func (x timetable) waiting(id string) (tasks.Schedule, bool) {
	v, ok, damaged := schedules.get(x, id)
	if damaged != nil {
		x.skip(TableSchedules, []byte(id), damaged)
		return tasks.Schedule{}, false
	}
	return v, ok && isWaiting(v)
}

// list returns the schedules of a conversation, or all if it is empty, in the order
// in which they were made. It skips damaged ones.
func (x timetable) list(conversation string) (list []tasks.Schedule) {
	for e := range schedules.sound(x, nil, nil, Ascending) {
		if conversation == "" || e.value.Chat.Key() == conversation {
			list = append(list, e.value)
		}
	}
	slices.SortFunc(list, func(a, b tasks.Schedule) int {
		return cmp.Or(a.Made.Compare(b.Made), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// put stores a schedule with its entry in the due-table.
func (x timetable) put(v tasks.Schedule) {
	v.Made, v.Next, v.Last = v.Made.Round(0).UTC(), v.Next.Round(0).UTC(), v.Last.Round(0).UTC()
	x.deleteDue(v.ID)
	schedules.put(x, v.ID, v)
	if isWaiting(v) {
		dueTimes.put(x, v, struct{}{})
	}
}

// drop deletes a schedule with its entry in the due-table.
func (x timetable) drop(id string) {
	x.deleteDue(id)
	schedules.drop(x, id)
}

// deleteDue removes a schedule from the due-table. It searches for the entry of a
// damaged schedule, whose time is unknown.
func (x timetable) deleteDue(id string) {
	old, ok, damaged := schedules.get(x, id)
	switch {
	case damaged != nil:
		dropTimeKeys(x, TableDue, id)
	case ok && isWaiting(old):
		dueTimes.drop(x, old)
	}
}

// fire advances the schedule of a delivery. ErrRefused if the schedule is not due at
// that time any more.
func (x timetable) fire(in tasks.Inbound) error {
	if in.Fire == nil {
		return nil
	}
	v, ok := x.waiting(in.Fire.Schedule)
	if !ok || !v.Next.Equal(in.Fire.At) {
		return fmt.Errorf("schedule %q, fire time %s: %w", in.Fire.Schedule, in.Fire.At.UTC(), tasks.ErrRefused)
	}
	x.step("fired")
	v.Next, v.Last, v.LastTask = in.Fire.Next, in.Fire.At, in.ID
	x.put(v)
	return nil
}

// skipFiring advances a schedule whose fire time was stored before, so that the
// due-table does not list it for ever. f may be nil.
func (x timetable) skipFiring(f *tasks.Firing) {
	if f == nil {
		return
	}
	if v, ok := x.waiting(f.Schedule); ok && v.Next.Equal(f.At) {
		v.Next = f.Next
		x.put(v)
	}
}

// move gives the schedules of a conversation to another one.
func (x timetable) move(from string, to bot.Chat) {
	for _, v := range x.list(from) {
		v.Chat = to
		x.put(v)
	}
}

// forgetFirings removes deleted tasks from the schedules of a conversation.
func (x timetable) forgetFirings(conversation string) {
	for _, v := range x.list(conversation) {
		if v.LastTask != "" && !taskRows.has(x, v.LastTask) {
			v.LastTask = ""
			x.put(v)
		}
	}
}
