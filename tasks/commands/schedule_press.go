package commands

import (
	"context"
	"errors"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/inbox"
	"legwork/tasks/policy"
)

// pressedSchedule handles the press of a button about a schedule.
func pressedSchedule(ctx context.Context, in *inbox.Inbox, r *inbox.Request, rest string) (inbox.Reply, error) {
	verb, id, _ := strings.Cut(rest, ":")
	if verb == verbList {
		return listSchedules(ctx, in, r)
	}
	return scheduleAction(ctx, in, r, verb, id)
}

// scheduleAction runs a verb for one of the chat's schedules.
func scheduleAction(ctx context.Context, in *inbox.Inbox, r *inbox.Request, verb, id string) (inbox.Reply, error) {
	in.Schedules.Lock()
	defer in.Schedules.Unlock()
	here, err := in.Schedules.InRoom(ctx, r.Message.Chat.Room())
	if err != nil {
		return inbox.Reply{}, err
	}
	i := slices.IndexFunc(here, func(s tasks.Schedule) bool { return s.ID == id })
	switch {
	case i < 0:
		s := in.Notice(r, "error.schedule_gone", nil)
		s.Replace.Pressed = true
		return in.Reply(r, s), nil
	case verb == verbShow:
		return showCard(ctx, in, r, here[i], "")
	case !policy.MayChangeSchedule(r.Admin, r.Message.From.Key(), here[i]):
		key := "error.not_your_schedule"
		if here[i].Config {
			key = "error.admin_needed"
		}
		return in.Refuse(r, key), nil
	}
	s := here[i]
	switch verb {
	case verbPause:
		return pauseSchedule(ctx, in, r, s)
	case verbResume:
		return resumeSchedule(ctx, in, r, s)
	case verbRun:
		return runSchedule(ctx, in, r, s)
	case verbDelete, verbDeleted:
		return deleteSchedule(ctx, in, r, s, i+1, verb == verbDeleted)
	}
	return in.ReplyText(r, "error.too_late", nil), nil
}

// showCard answers with a schedule's card, after a text about what was done. If a
// button was pressed, its message becomes the card.
func showCard(ctx context.Context, in *inbox.Inbox, r *inbox.Request, s tasks.Schedule, done string) (inbox.Reply, error) {
	c, err := scheduleCard(ctx, in, r, s)
	if err != nil {
		return inbox.Reply{}, err
	}
	return replyWith(in, r, done, c), nil
}

// replyWith answers with a draft. For a press, the text done is a short note and
// the draft replaces the message with the button.
func replyWith(in *inbox.Inbox, r *inbox.Request, done string, d bot.Draft) inbox.Reply {
	if r.Message.Kind != bot.MessagePress || in.Ephemeral(r.Message.Chat) {
		text := d.Text
		if done != "" {
			text = done + "\n\n" + d.Text
		}
		return in.Reply(r, inbox.Notice{Draft: bot.Draft{Kind: d.Kind, Text: text, Buttons: d.Buttons}})
	}
	return in.Reply(r, inbox.Notice{Draft: bot.Draft{Text: done}, Replace: inbox.Replace{Pressed: true, With: &d}})
}

func pauseSchedule(ctx context.Context, in *inbox.Inbox, r *inbox.Request, s tasks.Schedule) (inbox.Reply, error) {
	if !s.Paused {
		s = s.Pause()
		if err := in.Schedules.Put(ctx, s); err != nil {
			return inbox.Reply{}, err
		}
		in.Log.InfoContext(ctx, "schedule paused", "schedule", s.ID, "by", r.Message.From.Key())
	}
	return showCard(ctx, in, r, s, in.Texts.Text(r.Lang, "schedule.paused", nil))
}

// resumeSchedule resumes a schedule from now on. Runs that were skipped during the
// pause are not caught up.
func resumeSchedule(ctx context.Context, in *inbox.Inbox, r *inbox.Request, s tasks.Schedule) (inbox.Reply, error) {
	if s.Paused {
		resumed, err := s.Resume(in.Wall())
		if err != nil {
			in.Log.ErrorContext(ctx, "schedule not read", "schedule", s.ID, "cause", err)
			return in.ReplyText(r, "problem.internal", nil), nil
		}
		s = resumed
		if err := in.Schedules.Put(ctx, s); err != nil {
			return inbox.Reply{}, err
		}
		in.Log.InfoContext(ctx, "schedule resumed", "schedule", s.ID, "by", r.Message.From.Key())
	}
	return showCard(ctx, in, r, s, in.Texts.Text(r.Lang, "schedule.resumed", nil))
}

// deleteSchedule asks whether to delete a schedule, or deletes it when that is
// confirmed.
func deleteSchedule(ctx context.Context, in *inbox.Inbox, r *inbox.Request, s tasks.Schedule, n int, sure bool) (inbox.Reply, error) {
	about := map[string]any{"Text": cards.ScheduleTimes(in.Texts, r.Lang, s), "Goal": cards.PlainText(cards.Title(s.Goal)), "Count": n}
	switch {
	case s.Config:
		return in.ReplyText(r, "error.schedule_in_config", map[string]any{"Name": cards.InCode(s.Name)}), nil
	case !sure:
		d := bot.Draft{Kind: bot.KindNotice, Text: in.SpellIn(r.Message.Chat, in.Texts.Text(r.Lang, "schedule.delete", about)), Buttons: []bot.Button{
			in.Button(r.Lang, "button.delete", pressSchedule+verbDeleted+":"+s.ID), in.Button(r.Lang, "button.keep", pressSchedule+verbShow+":"+s.ID),
		}}
		d.Buttons[0].Style = bot.StyleDanger
		return replyWith(in, r, "", d), nil
	}
	if err := in.Schedules.Drop(ctx, s.ID); err != nil {
		return inbox.Reply{}, err
	}
	in.Log.InfoContext(ctx, "schedule deleted", "schedule", s.ID, "by", r.Message.From.Key())
	gone := in.Notice(r, "schedule.deleted", about)
	gone.Replace.Pressed = true
	return in.Reply(r, gone), nil
}

// runSchedule opens a schedule's task now, with the rights of the schedule's
// owner.
func runSchedule(ctx context.Context, in *inbox.Inbox, r *inbox.Request, s tasks.Schedule) (inbox.Reply, error) {
	item, err := inbox.ScheduleRun(ctx, in, r.Message.Key, s)
	switch {
	case errors.Is(err, inbox.ErrRuns):
		return in.Refuse(r, "error.schedule_running"), nil
	case errors.Is(err, inbox.ErrNoAccess):
		return in.ReplyText(r, "schedule.lost", map[string]any{"Name": cards.PlainText(cards.NameOf(s.From.Name, s.From.Key())), "Goal": cards.PlainText(cards.Title(s.Goal))}), nil
	case err != nil:
		return inbox.Reply{}, err
	}
	return inbox.Reply{Store: []tasks.Inbound{item}, Say: func(ctx context.Context, receipts []tasks.Receipt) inbox.Notice {
		if receipts[0].Opened {
			inbox.StoreRun(ctx, in, s.ID, receipts[0].Task)
		}
		n := in.Notice(r, "schedule.runs", nil)
		if r.Message.Kind == bot.MessagePress {
			n.Audience = inbox.ToAuthor
		}
		return n
	}}, nil
}
