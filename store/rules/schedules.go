package rules

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"legwork/bot"
	"legwork/tasks"
)

// Schedule implements Snapshot.
func (s *Tx) Schedule(id string) (tasks.Schedule, bool, error) {
	if v, ok := s.changes.Schedules[id]; ok {
		if v == nil {
			return tasks.Schedule{}, false, nil
		}
		return *v, true, nil
	}
	return s.Snapshot.Schedule(id)
}

// Schedules implements Snapshot.
func (s *Tx) Schedules(conversation string) ([]tasks.Schedule, error) {
	list, err := s.Snapshot.Schedules(conversation)
	if err != nil {
		return nil, err
	}
	var all []tasks.Schedule
	for _, v := range list {
		if _, ok := s.changes.Schedules[v.ID]; !ok {
			all = append(all, v)
		}
	}
	for _, v := range s.changes.Schedules {
		if v != nil && (conversation == "" || v.Chat.Key() == conversation) {
			all = append(all, *v)
		}
	}
	return all, nil
}

// PutSchedule stores a schedule.
func (s *Tx) PutSchedule(v tasks.Schedule) error {
	if v.ID == "" || len(v.ID) > MaxName {
		return fmt.Errorf("schedule with an id of %d bytes: it must have one of at most %d", len(v.ID), MaxName)
	}
	if err := checkConversation(v.Chat); err != nil {
		return err
	}
	v.Made, v.Next, v.Last = v.Made.Round(0).UTC(), v.Next.Round(0).UTC(), v.Last.Round(0).UTC()
	put(&s.changes.Schedules, v.ID, &v)
	return nil
}

// DropSchedule deletes a schedule.
func (s *Tx) DropSchedule(id string) error {
	put(&s.changes.Schedules, id, nil)
	return nil
}

// IsWaiting reports whether a schedule has a place in the due-table.
func IsWaiting(v tasks.Schedule) bool { return !v.Paused && !v.Next.IsZero() }

// fire advances the schedule of a delivery, unless it is not due at that time any
// more.
func (s *Tx) fire(in tasks.Inbound) error {
	if in.Fire == nil {
		return nil
	}
	v, err := s.dueSchedule(*in.Fire)
	if err != nil {
		return err
	}
	if v == nil {
		return fmt.Errorf("schedule %q, fire time %s: %w", in.Fire.Schedule, in.Fire.At.UTC(), tasks.ErrRefused)
	}
	put(&s.changes.Operations, "fired", true)
	v.Next, v.Last, v.LastTask = in.Fire.Next, in.Fire.At, in.ID
	return s.PutSchedule(*v)
}

// skipFiring advances a schedule whose fire time was stored before, so that the
// due-table does not list it for ever.
func (s *Tx) skipFiring(f *tasks.Firing) error {
	if f == nil {
		return nil
	}
	v, err := s.dueSchedule(*f)
	if err != nil || v == nil {
		return err
	}
	v.Next = f.Next
	return s.PutSchedule(*v)
}

// dueSchedule returns the schedule that is due at the time of f; nil for none.
func (s *Tx) dueSchedule(f tasks.Firing) (*tasks.Schedule, error) {
	v, ok, err := s.Schedule(f.Schedule)
	switch {
	case errors.Is(err, tasks.ErrDamaged):
		return nil, nil //nolint:nilnil // it is not known when it is due
	case err != nil:
		return nil, err
	case !ok || !IsWaiting(v) || !v.Next.Equal(f.At):
		return nil, nil //nolint:nilnil // none is due
	}
	return &v, nil
}

// moveSchedules gives the schedules of a conversation to another one.
func (s *Tx) moveSchedules(from string, to bot.Chat) error {
	list, err := s.Schedules(from)
	if err != nil {
		return err
	}
	for _, v := range list {
		v.Chat = to
		if err := s.PutSchedule(v); err != nil {
			return err
		}
	}
	return nil
}

// forgetFirings removes deleted tasks from a conversation's schedules.
func (s *Tx) forgetFirings(conversation string) error {
	list, err := s.Schedules(conversation)
	if err != nil {
		return err
	}
	for _, v := range list {
		if v.LastTask == "" {
			continue
		}
		_, ok, err := s.Task(v.LastTask)
		if ok || errors.Is(err, tasks.ErrDamaged) {
			continue
		}
		if err != nil {
			return err
		}
		v.LastTask = ""
		if err := s.PutSchedule(v); err != nil {
			return err
		}
	}
	return nil
}

// SortSchedules sorts schedules by the order in which they were made.
func SortSchedules(list []tasks.Schedule) []tasks.Schedule {
	slices.SortFunc(list, func(a, b tasks.Schedule) int {
		return cmp.Or(a.Made.Compare(b.Made), cmp.Compare(a.ID, b.ID))
	})
	return list
}
