// Package scheduler opens the tasks of schedules when their time has come, and brings
// the schedules of the config into the store.
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

// Scheduler opens the tasks of schedules when their time has come.
type Scheduler struct {
	in      *inbox.Inbox
	wall    func() time.Time
	last    time.Time // of the wall clock, when it was looked at last
	cleaned time.Time // when what is over was dropped last
}

// New makes one that opens tasks through an inbox. wall is the clock on
// the wall; it may jump.
func New(in *inbox.Inbox, wall func() time.Time) *Scheduler {
	return &Scheduler{in: in, wall: func() time.Time { return wall().Round(0) }}
}

// How often the wall clock is looked at, since it may be set; how late a missed
// time is made up for without being asked to; from when on a task says that it
// is late; how long a schedule stays in the list when it is over; and how many
// are due at once at most; by how much the clock may be set back before what was
// done at later times counts as done by mistake.
const (
	wallGap      = time.Minute
	makeUp       = time.Hour
	lateAfter    = 2 * time.Minute
	overKept     = 7 * 24 * time.Hour
	maxDue       = 1000
	clockWarning = 5 * time.Minute
	clockAhead   = 26 * time.Hour // more than a day, and an hour in autumn
)

// Run works until ctx ends.
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
		wait, err := s.look(ctx)
		if err != nil && ctx.Err() == nil {
			s.in.Log.ErrorContext(ctx, "due schedules cannot be read", "cause", err)
		}
		timer.Reset(wait)
	}
}

// look opens what is due and returns when to look again.
func (s *Scheduler) look(ctx context.Context) (wait time.Duration, err error) {
	wait = wallGap
	defer tasks.Catch(&err)
	now := s.wall()
	if gone := now.Sub(s.last); !s.last.IsZero() && (gone < -clockWarning || gone > wallGap+clockWarning) {
		s.in.Log.WarnContext(ctx, "clock was set, or machine slept", "by", gone)
	}
	s.last = now
	if err := s.clean(ctx, now); err != nil {
		return wait, err
	}
	due, next, err := s.in.Store.Due(ctx, now, maxDue)
	if err != nil {
		return wait, fmt.Errorf("reading what is due: %w", err)
	}
	for _, v := range due {
		if _, err := s.in.Chats.Platform(v.Chat); err != nil {
			continue // it waits for a process with that platform
		}
		if err := s.fire(ctx, v.ID, now); err != nil && ctx.Err() == nil {
			s.in.Log.ErrorContext(ctx, "opening schedule's task failed", "schedule", v.ID, "cause", err)
		}
	}
	if !next.IsZero() {
		wait = min(wait, max(next.Sub(s.wall()), 10*time.Millisecond))
	}
	return wait, nil
}

// clean drops what was over long ago, and sets right what was moved on by a clock
// that was far ahead for a while: once an hour, and when the clock is set back.
func (s *Scheduler) clean(ctx context.Context, now time.Time) error {
	if gone := now.Sub(s.cleaned); gone >= 0 && gone < time.Hour {
		return nil
	}
	s.cleaned = now
	s.in.Schedules.Lock()
	defer s.in.Schedules.Unlock()
	all, err := s.in.Schedules.All(ctx)
	if err != nil {
		return err
	}
	for _, v := range all {
		if ahead := v.Last.Sub(now); ahead > clockAhead && !v.Over() {
			s.rearm(ctx, v, now)
			continue
		}
		ended := v.Last
		for _, t := range []time.Time{v.Skipped, v.Made} {
			if t.After(ended) {
				ended = t
			}
		}
		if v.Config || !v.Over() || now.Sub(ended) < overKept {
			continue
		}
		if err := s.in.Schedules.Drop(ctx, v.ID); err != nil {
			return err
		}
	}
	return nil
}

// rearm lets a schedule come again that was done at a time far ahead of now.
func (s *Scheduler) rearm(ctx context.Context, v tasks.Schedule, now time.Time) {
	spec, err := v.ReadSpec()
	if err == nil {
		s.in.Log.WarnContext(ctx, "schedule was done by a wrong clock, continuing from now", "schedule", v.ID, "last", v.Last)
		v.Last, v.Next = now, spec.Next(now)
		err = s.in.Schedules.Put(ctx, v)
	}
	if err != nil {
		s.in.Log.ErrorContext(ctx, "a schedule cannot be set right", "schedule", v.ID, "cause", err)
	}
}

// fire opens the task of a schedule that is due, or leaves that out. Missed
// times count as one, the newest, however many there were.
func (s *Scheduler) fire(ctx context.Context, id string, now time.Time) (err error) {
	defer tasks.Catch(&err)
	s.in.Schedules.Lock()
	defer s.in.Schedules.Unlock()
	v, ok, err := s.in.Schedules.Find(ctx, id)
	if err != nil || !ok || v.Paused || v.Next.IsZero() || v.Next.After(now) {
		return err // somebody was faster
	}
	spec, err := v.ReadSpec()
	if err != nil {
		s.in.Log.ErrorContext(ctx, "schedule unreadable, paused", "schedule", id, "cause", err)
		return s.pause(ctx, v, tasks.WhyBroken)
	}
	at := spec.Newest(v.Next, now)
	if at.IsZero() {
		at = v.Next // the rules of its time zone were changed
	}
	next := spec.Next(now)
	if now.Sub(at) > makeUp && !v.CatchUp {
		return s.leaveOut(ctx, v, tasks.WhyMissed, at, next)
	}
	busy, err := s.in.Schedules.LastTaskRuns(ctx, v)
	if err != nil {
		return err
	}
	if busy {
		return s.leaveOut(ctx, v, tasks.WhyRunning, at, next)
	}
	unseen, err := s.in.Schedules.LastAnswerUnseen(ctx, v)
	if err != nil {
		return err
	}
	if unseen { // the next one would stay unread, too, and would cost
		s.in.Log.WarnContext(ctx, "schedule's last answer not delivered, schedule paused", "schedule", id, "chat", v.Chat.Key())
		return s.pause(ctx, v, tasks.WhyUnseen)
	}
	return s.open(ctx, v, now, at, next)
}

func (s *Scheduler) pause(ctx context.Context, v tasks.Schedule, why string) error {
	v.Paused, v.Why = true, why
	return s.in.Schedules.Put(ctx, v)
}

// leaveOut moves a schedule on without a task.
func (s *Scheduler) leaveOut(ctx context.Context, v tasks.Schedule, why string, at, next time.Time) error {
	s.in.Log.WarnContext(ctx, "schedule time skipped", "schedule", v.ID, "due", at, "why", why, "next", next)
	v.Skipped, v.Why, v.Next = at, why, next
	return s.in.Schedules.Put(ctx, v)
}

// open opens the task, once however often it is tried.
func (s *Scheduler) open(ctx context.Context, v tasks.Schedule, now, at, next time.Time) error {
	o, admitted, err := inbox.ScheduleOpening(ctx, s.in, v)
	if err != nil {
		return err
	}
	if !admitted {
		return s.lose(ctx, v)
	}
	key, data := "schedule.intro", map[string]any{"Text": cards.ScheduleTimes(s.in.Texts, o.Language, v)}
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
		return nil // it was paused, deleted or opened meanwhile
	case r.Err != nil:
		return fmt.Errorf("opening the task: %w", r.Err)
	default:
		s.in.Log.InfoContext(ctx, "a schedule's task was opened", "schedule", v.ID, "task", r.Task, "due", at, "next", next)
		if err := s.in.Wake(ctx, r.Task); err != nil {
			return fmt.Errorf("waking task %s: %w", r.Task, err)
		}
	}
	return nil
}

// lose pauses a schedule whose person may not use legwork there any more, and
// says so in its chat.
func (s *Scheduler) lose(ctx context.Context, v tasks.Schedule) error {
	s.in.Log.WarnContext(ctx, "schedule's owner lost access, schedule paused", "schedule", v.ID, "person", v.From.Key(), "chat", v.Chat.Key())
	if err := s.pause(ctx, v, tasks.WhyAccess); err != nil {
		return err
	}
	lang, err := s.in.Language(ctx, v.From.Key(), v.Language)
	if err != nil {
		return err
	}
	text := s.in.Texts.Text(lang, "schedule.lost", map[string]any{
		"Goal": cards.PlainText(cards.Title(v.Goal)), "Name": cards.PlainText(cards.NameOf(v.From.Name, v.From.Key())),
	})
	s.in.Send(ctx, bot.Message{Chat: v.Chat, From: v.From}, inbox.TextNotice(s.in.Spell(v.Chat, text)))
	return nil
}
