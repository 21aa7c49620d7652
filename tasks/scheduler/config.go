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

// ConfigSchedule is a schedule of the config file. Its name identifies it;
// everything else may change.
type ConfigSchedule struct {
	Name     string
	When     string // the time alone, without the goal
	Goal     string
	Chat     bot.Chat
	As       bot.Person // the person whose rights and budgets it uses
	Timezone string
	Language string
	CatchUp  bool
}

// configID begins the ids of the config's schedules.
const configID = "c:"

// ApplyConfig stores the schedules of the config: it adds new ones and deletes the
// ones that the config no longer has. A changed schedule stays paused if it was,
// and keeps the outcome of its last run. The error lists the schedules that cannot
// be stored; the others are stored nevertheless.
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

// configured makes the stored form of a config's schedule. While its time is
// unchanged, its next run stays as it is, so an interval does not start again.
func configured(in *inbox.Inbox, c ConfigSchedule, old tasks.Schedule, known bool) (tasks.Schedule, error) {
	s := old
	s.ID, s.Name, s.Config = configID+c.Name, c.Name, true
	s.Chat, s.From, s.Goal, s.Language, s.CatchUp = c.Chat, c.As, c.Goal, c.Language, c.CatchUp
	if s.Why == tasks.WhyAccess && (old.From != s.From || old.Chat != s.Chat) {
		s.Paused, s.Why = false, "" // the change may give the owner access
	}
	if known && old.Words == c.When && old.Timezone == c.Timezone && s.Paused == old.Paused {
		return s, nil
	}
	spec, err := parseSpec(c.When, c.Timezone, in.Wall())
	if err != nil {
		return s, err
	}
	if !known {
		s.Made = in.Wall()
	}
	s.Words, s.Timezone, s.Spec, s.Next = c.When, c.Timezone, spec.String(), spec.Next(in.Wall())
	return s, nil
}

func parseSpec(when, timezone string, now time.Time) (schedule.Spec, error) {
	zone, err := time.LoadLocation(timezone)
	if err != nil {
		return schedule.Spec{}, fmt.Errorf("reading the time zone: %w", err)
	}
	return schedule.ParseAgain(when, now, zone)
}
