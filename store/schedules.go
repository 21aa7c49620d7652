package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
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
	err = t.view(ctx, "listing schedules", func(x *txn) error {
		list, err = timetable{x}.list(conversation)
		return err
	})
	return list, err
}

// PutSchedule implements tasks.Schedules.
func (t Timetable) PutSchedule(ctx context.Context, v tasks.Schedule) error {
	return t.update(ctx, "storing schedule", func(x *txn) error { return timetable{x}.put(v) })
}

// DropSchedule implements tasks.Schedules.
func (t Timetable) DropSchedule(ctx context.Context, id string) error {
	return t.update(ctx, "deleting schedule", func(x *txn) error { return timetable{x}.drop(id) })
}

// Due implements tasks.Schedules. It reads the due-table only as far as it returns
// schedules.
func (t Timetable) Due(ctx context.Context, now time.Time, limit int) (due []tasks.Schedule, next time.Time, err error) {
	err = t.view(ctx, "reading the due-table", func(x *txn) error {
		due, next = nil, time.Time{}
		for r, err := range x.Range(TableDue, nil, nil, Ascending) {
			if err != nil {
				return err
			}
			v, ok, err := timetable{x}.dueAt(r.Key)
			switch {
			case err != nil:
				return err
			case !ok:
				continue
			case v.Next.After(now) || len(due) >= limit:
				next = v.Next
				return nil
			}
			due = append(due, v)
		}
		return nil
	})
	return due, next, err
}

// timetable is the schedules, within a transaction.
type timetable struct{ *txn }

// isWaiting reports whether a schedule has an entry in the due-table.
func isWaiting(v tasks.Schedule) bool { return !v.Paused && !v.Next.IsZero() }

// find returns a schedule; false when there is none, or it is damaged.
func (x timetable) find(id string) (tasks.Schedule, bool, error) {
	v, ok, err := schedules.get(x, id)
	if errors.Is(err, tasks.ErrDamaged) {
		x.skip(TableSchedules, []byte(id), err)
		return tasks.Schedule{}, false, nil
	}
	return v, ok, err
}

// dueAt returns the schedule of an entry of the due-table; false when the schedule
// does not wait for that time, or is damaged.
func (x timetable) dueAt(key []byte) (tasks.Schedule, bool, error) {
	if len(key) <= timeBytes {
		return tasks.Schedule{}, false, nil
	}
	v, ok, err := x.find(string(key[timeBytes:]))
	return v, ok && isWaiting(v) && bytes.Equal(dueTimes.key(v), key), err
}

// list returns the schedules of a conversation, or all if it is empty, in the order
// in which they were made. It skips damaged ones.
func (x timetable) list(conversation string) (list []tasks.Schedule, err error) {
	for e, err := range schedules.sound(x.txn, nil, nil, Ascending) {
		if err != nil {
			return nil, err
		}
		if conversation == "" || e.value.Chat.Key() == conversation {
			list = append(list, e.value)
		}
	}
	slices.SortFunc(list, func(a, b tasks.Schedule) int {
		return cmp.Or(a.Made.Compare(b.Made), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

// put stores a schedule with its entry in the due-table.
func (x timetable) put(v tasks.Schedule) error {
	if v.ID == "" || len(v.ID) > MaxName {
		return fmt.Errorf("schedule with an id of %d bytes: it must have one of at most %d", len(v.ID), MaxName)
	}
	if err := checkConversation(v.Chat); err != nil {
		return err
	}
	v.Made, v.Next, v.Last = v.Made.Round(0).UTC(), v.Next.Round(0).UTC(), v.Last.Round(0).UTC()
	if err := x.deleteDue(v.ID); err != nil {
		return err
	}
	if err := schedules.put(x, v.ID, v); err != nil || !isWaiting(v) {
		return err
	}
	return dueTimes.put(x, v, struct{}{})
}

// drop deletes a schedule with its entry in the due-table.
func (x timetable) drop(id string) error {
	there, err := schedules.has(x, id)
	if err != nil || !there {
		return err
	}
	if err := x.deleteDue(id); err != nil {
		return err
	}
	return schedules.drop(x, id)
}

// deleteDue removes a schedule from the due-table. It searches for the entry of a
// damaged schedule, whose time is unknown.
func (x timetable) deleteDue(id string) error {
	old, ok, err := schedules.get(x, id)
	switch {
	case errors.Is(err, tasks.ErrDamaged):
	case err != nil || !ok || !isWaiting(old):
		return err
	default:
		return dueTimes.drop(x, old)
	}
	return dropTimeKeys(x, TableDue, id)
}

// fire advances the schedule of a delivery. ErrRefused if the schedule is not due at
// that time any more.
func (x timetable) fire(in tasks.Inbound) error {
	if in.Fire == nil {
		return nil
	}
	v, ok, err := x.dueFor(*in.Fire)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("schedule %q, fire time %s: %w", in.Fire.Schedule, in.Fire.At.UTC(), tasks.ErrRefused)
	}
	x.step("fired")
	v.Next, v.Last, v.LastTask = in.Fire.Next, in.Fire.At, in.ID
	return x.put(v)
}

// skipFiring advances a schedule whose fire time was stored before, so that the
// due-table does not list it for ever. f may be nil.
func (x timetable) skipFiring(f *tasks.Firing) error {
	if f == nil {
		return nil
	}
	v, ok, err := x.dueFor(*f)
	if err != nil || !ok {
		return err
	}
	v.Next = f.Next
	return x.put(v)
}

// dueFor returns the schedule of a fire time; false when it does not wait for that
// time.
func (x timetable) dueFor(f tasks.Firing) (tasks.Schedule, bool, error) {
	v, ok, err := x.find(f.Schedule)
	return v, ok && isWaiting(v) && v.Next.Equal(f.At), err
}

// move gives the schedules of a conversation to another one.
func (x timetable) move(from string, to bot.Chat) error {
	list, err := x.list(from)
	if err != nil {
		return err
	}
	for _, v := range list {
		v.Chat = to
		if err := x.put(v); err != nil {
			return err
		}
	}
	return nil
}

// forgetFirings removes deleted tasks from the schedules of a conversation.
func (x timetable) forgetFirings(conversation string) error {
	list, err := x.list(conversation)
	if err != nil {
		return err
	}
	for _, v := range list {
		if v.LastTask == "" {
			continue
		}
		there, err := taskRows.has(x, v.LastTask)
		if err != nil {
			return err
		}
		if there {
			continue
		}
		v.LastTask = ""
		if err := x.put(v); err != nil {
			return err
		}
	}
	return nil
}
