package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"legwork/bot"
	"legwork/internal/schedule"
	"legwork/tasks"
	"legwork/tasks/inbox"
)

// ConfigSchedule is one that the config file makes. Its name is what it is known
// by: everything else may change.
type ConfigSchedule struct {
	Name     string
	When     string // without what is to be done
	Goal     string
	Chat     bot.Chat
	As       bot.Person // whose rights and budgets it has
	Timezone string
	Language string
	CatchUp  bool
}

// configID begins the ids of schedules of the config.
const configID = "c:"

// ApplyConfig brings the schedules of the config into the store: it adds new ones and
// deletes those that are gone. A changed one stays paused if it was, and keeps the
// outcome of its last time. A schedule that cannot be taken is in the error, and the
// others are taken all the same.
func ApplyConfig(ctx context.Context, in *inbox.Inbox, list []ConfigSchedule) error {
	in.Schedules.Lock()
	defer in.Schedules.Unlock()
	all, err := in.Schedules.All(ctx)
	if err != nil {
		return err
	}
	before := map[string]tasks.Schedule{}
	for _, s := range all {
		if s.Config {
			before[s.ID] = s
		}
	}
	var errs []error
	for _, c := range list {
		id := configID + c.Name
		old, known := before[id]
		delete(before, id)
		s, err := configured(in, c, old, known)
		if err == nil && (!known || s != old) {
			err = in.Schedules.Put(ctx, s)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("schedule %q of the config: %w", c.Name, err))
		}
	}
	for id := range before {
		if err := in.Schedules.Drop(ctx, id); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// configured is a schedule of the config as it is stored. As long as its time is
// written the same, its next one stays: an interval is not counted anew.
func configured(in *inbox.Inbox, c ConfigSchedule, old tasks.Schedule, known bool) (tasks.Schedule, error) {
	s := old
	s.ID, s.Name, s.Config = configID+c.Name, c.Name, true
	s.Chat, s.From, s.Goal, s.Language, s.CatchUp = c.Chat, c.As, c.Goal, c.Language, c.CatchUp
	if s.Why == tasks.WhyAccess && (old.From != s.From || old.Chat != s.Chat) {
		s.Paused, s.Why = false, "" // that is what it was changed for
	}
	if known && old.Words == c.When && old.Timezone == c.Timezone && s.Paused == old.Paused {
		return s, nil
	}
	spec, err := readAgain(c.When, c.Timezone, in.Wall())
	if err != nil {
		return s, err
	}
	if !known {
		s.Made = in.Wall()
	}
	s.Words, s.Timezone, s.Spec, s.Next = c.When, c.Timezone, spec.String(), spec.Next(in.Wall())
	return s, nil
}

func readAgain(when, timezone string, now time.Time) (schedule.Spec, error) {
	zone, err := time.LoadLocation(timezone)
	if err != nil {
		return schedule.Spec{}, fmt.Errorf("reading the time zone: %w", err)
	}
	return schedule.ParseAgain(when, now, zone)
}
