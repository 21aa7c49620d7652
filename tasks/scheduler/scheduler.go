// Package scheduler opens the tasks of schedules at their times, and stores the
// schedules of the config.
package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"legwork/bot"
	"legwork/internal/failpoint"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/inbox"
)

// Scheduler opens the tasks of schedules at their times.
type Scheduler struct {
	in        *inbox.Inbox
	wall      func() time.Time
	lastLook  time.Time // wall time of the last look
	lastClean time.Time // when clean last ran
}

// New makes a scheduler that opens tasks through an inbox. wall is the wall clock,
// which may jump.
func New(in *inbox.Inbox, wall func() time.Time) *Scheduler {
	return &Scheduler{in: in, wall: func() time.Time { return wall().Round(0) }}
}

// Times and limits of the scheduler.
const (
	lookInterval  = time.Minute        // maximum time between two looks at the wall clock, which may be set
	catchUpWithin = time.Hour          // a missed run is caught up within this time, even if the schedule does not ask for it
	lateAfter     = 2 * time.Minute    // a task that starts later than this says so
	endedKept     = 7 * 24 * time.Hour // how long an ended schedule stays in the list
	maxDue        = 1000               // due schedules in one look
	clockWarning  = 5 * time.Minute    // a larger jump of the clock is logged
	maxClockLead  = 26 * time.Hour     // a last run further in the future was an error of the clock: more than a day and an hour in autumn
)

// Run opens tasks until ctx ends.
func (s *Scheduler) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-s.in.Schedules.Changed():
		}
		wait, err := s.openDue(ctx)
		if err != nil && ctx.Err() == nil {
			s.in.Log.ErrorContext(ctx, "due schedules not read", "cause", err)
		}
		timer.Reset(wait)
	}
}

// openDue opens the tasks of due schedules and returns how long to wait until the
// next look.
func (s *Scheduler) openDue(ctx context.Context) (wait time.Duration, err error) {
	wait = lookInterval
	defer tasks.Catch(&err)
	now := s.wall()
	if gone := now.Sub(s.lastLook); !s.lastLook.IsZero() && (gone < -clockWarning || gone > lookInterval+clockWarning) {
		s.in.Log.WarnContext(ctx, "clock jumped", "by", gone)
	}
	s.lastLook = now
	if err := s.clean(ctx, now); err != nil {
		return wait, err
	}
	due, next, err := s.in.Store.Due(ctx, now, maxDue)
	if err != nil {
		return wait, fmt.Errorf("reading due schedules: %w", err)
	}
	for _, v := range due {
		if _, err := s.in.Chats.Platform(v.Chat); err != nil {
			continue // another process serves that platform
		}
		if err := s.fire(ctx, v.ID, now); err != nil && ctx.Err() == nil {
			s.in.Log.ErrorContext(ctx, "scheduled task not opened", "schedule", v.ID, "cause", err)
		}
	}
	if !next.IsZero() {
		wait = min(wait, max(next.Sub(s.wall()), 10*time.Millisecond))
	}
	return wait, nil
}

// clean deletes schedules that ended long ago, and corrects schedules that ran
// while the clock was far ahead. It runs once an hour, and when the clock was set
// back.
func (s *Scheduler) clean(ctx context.Context, now time.Time) error {
	if gone := now.Sub(s.lastClean); gone >= 0 && gone < time.Hour {
		return nil
	}
	s.lastClean = now
	s.in.Schedules.Lock()
	defer s.in.Schedules.Unlock()
	all, err := s.in.Schedules.All(ctx)
	if err != nil {
		return err
	}
	for _, v := range all {
		if ahead := v.Last.Sub(now); ahead > maxClockLead && !v.Over() {
			s.correct(ctx, v, now)
			continue
		}
		ended := v.Last
		for _, t := range []time.Time{v.Skipped, v.Made} {
			if t.After(ended) {
				ended = t
			}
		}
		if v.Config || !v.Over() || now.Sub(ended) < endedKept {
			continue
		}
		if err := s.in.Schedules.Drop(ctx, v.ID); err != nil {
			return err
		}
	}
	return nil
}

// correct corrects a schedule whose last run is far in the future: it continues from
// now.
func (s *Scheduler) correct(ctx context.Context, v tasks.Schedule, now time.Time) {
	spec, err := v.ReadSpec()
	if err == nil {
		s.in.Log.WarnContext(ctx, "schedule corrected after clock error", "schedule", v.ID, "last", v.Last)
		v.Last, v.Next = now, spec.Next(now)
		err = s.in.Schedules.Put(ctx, v)
	}
	if err != nil {
		s.in.Log.ErrorContext(ctx, "schedule not corrected", "schedule", v.ID, "cause", err)
	}
}

// fire opens the task of a due schedule, or skips the run. Several missed runs
// count as one, the newest.
func (s *Scheduler) fire(ctx context.Context, id string, now time.Time) (err error) {
	defer tasks.Catch(&err)
	s.in.Schedules.Lock()
	defer s.in.Schedules.Unlock()
	v, ok, err := s.in.Schedules.Find(ctx, id)
	if err != nil || !ok || v.Paused || v.Next.IsZero() || v.Next.After(now) {
		return err // another process or a person has changed it since
	}
	spec, err := v.ReadSpec()
	if err != nil {
		s.in.Log.ErrorContext(ctx, "schedule paused, spec not read", "schedule", id, "cause", err)
		return s.pause(ctx, v, tasks.WhyBroken)
	}
	at := spec.Newest(v.Next, now)
	if at.IsZero() {
		at = v.Next // the rules of its time zone have changed
	}
	next := spec.Next(now)
	if now.Sub(at) > catchUpWithin && !v.CatchUp {
		return s.skip(ctx, v, tasks.WhyMissed, at, next)
	}
	busy, err := s.in.Schedules.LastTaskRuns(ctx, v)
	if err != nil {
		return err
	}
	if busy {
		return s.skip(ctx, v, tasks.WhyRunning, at, next)
	}
	unseen, err := s.in.Schedules.LastAnswerUnseen(ctx, v)
	if err != nil {
		return err
	}
	if unseen { // the next answer would cost money and not be shown either
		s.in.Log.WarnContext(ctx, "schedule paused, last answer not shown", "schedule", id, "chat", v.Chat.Key())
		return s.pause(ctx, v, tasks.WhyUnseen)
	}
	return s.open(ctx, v, now, at, next)
}

func (s *Scheduler) pause(ctx context.Context, v tasks.Schedule, why string) error {
	v.Paused, v.Why = true, why
	return s.in.Schedules.Put(ctx, v)
}

// skip skips a run: it sets the next time without opening a task.
func (s *Scheduler) skip(ctx context.Context, v tasks.Schedule, why string, at, next time.Time) error {
	s.in.Log.WarnContext(ctx, "schedule run skipped", "schedule", v.ID, "due", at, "why", why, "next", next)
	v.Skipped, v.Why, v.Next = at, why, next
	return s.in.Schedules.Put(ctx, v)
}

// open opens the task of a run. Repeated attempts open it only once.
func (s *Scheduler) open(ctx context.Context, v tasks.Schedule, now, at, next time.Time) error {
	o, admitted, err := inbox.ScheduleOpening(ctx, s.in, v)
	if err != nil {
		return err
	}
	if !admitted {
		return s.pauseWithoutAccess(ctx, v)
	}
	key, data := "schedule.intro", map[string]any{"Text": cards.ScheduleTimes(s.in.Texts, o.Language, v), "Goal": cards.PlainText(cards.Title(v.Goal))}
	if now.Sub(at) > lateAfter {
		key, data["Date"] = "schedule.intro_late", cards.InZone(at, v.Timezone)
	}
	o.Intro = s.in.Texts.Text(o.Language, key, data)
	item := s.in.OpeningDelivery(fmt.Sprintf("schedule:%s:%d", v.ID, v.Next.Unix()), v.Chat, o)
	item.Fire = &tasks.Firing{Schedule: v.ID, At: v.Next, Next: next}
	failpoint.Hit("fire.before")
	receipts, err := s.in.Store.Open(ctx, []tasks.Inbound{item})
	if err != nil {
		return fmt.Errorf("opening the task: %w", err)
	}
	failpoint.Hit("fire.after")
	switch r := receipts[0]; {
	case errors.Is(r.Err, tasks.ErrRefused), r.Again && r.Task == "":
		return nil // it was paused, deleted or opened since
	case r.Err != nil:
		return fmt.Errorf("opening the task: %w", r.Err)
	default:
		s.in.Log.InfoContext(ctx, "scheduled task opened", "schedule", v.ID, "task", r.Task, "due", at, "next", next)
		if err := s.in.Wake(ctx, r.Task); err != nil {
			return fmt.Errorf("waking task %s: %w", r.Task, err)
		}
	}
	return nil
}

// pauseWithoutAccess pauses a schedule whose owner has lost access to its chat, and says so
// there.
func (s *Scheduler) pauseWithoutAccess(ctx context.Context, v tasks.Schedule) error {
	s.in.Log.WarnContext(ctx, "schedule paused, owner without access", "schedule", v.ID, "person", v.From.Key(), "chat", v.Chat.Key())
	if err := s.pause(ctx, v, tasks.WhyAccess); err != nil {
		return err
	}
	lang, err := s.in.Settings.Language(ctx, v.From.Key(), v.Language)
	if err != nil {
		return err
	}
	text := s.in.Texts.Text(lang, "schedule.lost", map[string]any{
		"Goal": cards.PlainText(cards.Title(v.Goal)), "Name": cards.PlainText(cards.NameOf(v.From.Name, v.From.Key())),
	})
	s.in.Send(ctx, bot.Message{Chat: v.Chat, From: v.From}, inbox.TextNotice(s.in.SpellIn(v.Chat, text)))
	return nil
}
