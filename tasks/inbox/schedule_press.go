package inbox

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// pressedSchedule takes the press of a button about a schedule.
func pressedSchedule(ctx context.Context, in *Inbox, r *Request, rest string) (Reply, error) {
	verb, id, _ := strings.Cut(rest, ":")
	if verb == verbList {
		return listSchedules(ctx, in, r)
	}
	return aboutSchedule(ctx, in, r, verb, id)
}

// aboutSchedule does something about one of the chat's schedules.
func aboutSchedule(ctx context.Context, in *Inbox, r *Request, verb, id string) (Reply, error) {
	in.schedulesLock.mu.Lock()
	defer in.schedulesLock.mu.Unlock()
	here, err := schedulesHere(ctx, in, r.Message.Chat)
	if err != nil {
		return Reply{}, err
	}
	i := slices.IndexFunc(here, func(s tasks.Schedule) bool { return s.ID == id })
	switch {
	case i < 0:
		s := in.notice(r, "error.schedule_gone", nil)
		s.Replace.Pressed = true
		return in.reply(r, s), nil
	case verb == verbShow:
		return showCard(ctx, in, r, here[i], "")
	case !r.mayChange(here[i]):
		key := "error.not_your_schedule"
		if here[i].Config {
			key = "error.admin_needed"
		}
		return in.refuse(r, key), nil
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
	return in.replyText(r, "error.too_late", nil), nil
}

// showCard answers with a schedule's card, after a word about what was done. The
// message whose button was pressed becomes the card.
func showCard(ctx context.Context, in *Inbox, r *Request, s tasks.Schedule, done string) (Reply, error) {
	c, err := scheduleCard(ctx, in, r, s)
	if err != nil {
		return Reply{}, err
	}
	return replyWith(in, r, done, c), nil
}

// replyWith answers with a draft. A press gets the word alone, as a note that
// passes, and the draft in place of the message whose button it was.
func replyWith(in *Inbox, r *Request, done string, d bot.Draft) Reply {
	if r.Message.Kind != bot.MessagePress || in.passing(r.Message.Chat) {
		text := d.Text
		if done != "" {
			text = done + "\n\n" + d.Text
		}
		return in.reply(r, Notice{Draft: bot.Draft{Kind: d.Kind, Text: text, Buttons: d.Buttons}})
	}
	return in.reply(r, Notice{Draft: bot.Draft{Text: done}, Replace: Replace{Pressed: true, With: &d}})
}

func pauseSchedule(ctx context.Context, in *Inbox, r *Request, s tasks.Schedule) (Reply, error) {
	if !s.Paused {
		s.Paused, s.Why = true, ""
		if err := putSchedule(ctx, in, s); err != nil {
			return Reply{}, err
		}
		in.Log.InfoContext(ctx, "a schedule was paused", "schedule", s.ID, "by", r.Message.From.Key())
	}
	return showCard(ctx, in, r, s, in.Texts.Text(r.Lang, "schedule.paused", nil))
}

// resumeSchedule resumes a schedule from now on: times that were left out
// meanwhile are not caught up.
func resumeSchedule(ctx context.Context, in *Inbox, r *Request, s tasks.Schedule) (Reply, error) {
	if s.Paused {
		spec, err := s.ReadSpec()
		if err != nil {
			in.Log.ErrorContext(ctx, "a schedule cannot be read", "schedule", s.ID, "cause", err)
			return in.replyText(r, "problem.internal", nil), nil
		}
		if s.Why == tasks.WhyUnseen {
			s.LastTask = "" // or it would be paused again
		}
		s.Paused, s.Why, s.Next = false, "", spec.Next(in.Wall())
		if err := putSchedule(ctx, in, s); err != nil {
			return Reply{}, err
		}
		in.Log.InfoContext(ctx, "a schedule goes on", "schedule", s.ID, "by", r.Message.From.Key())
	}
	return showCard(ctx, in, r, s, in.Texts.Text(r.Lang, "schedule.resumed", nil))
}

// deleteSchedule asks whether one is to be deleted, or deletes it.
func deleteSchedule(ctx context.Context, in *Inbox, r *Request, s tasks.Schedule, n int, sure bool) (Reply, error) {
	about := map[string]any{"Text": cards.ScheduleTimes(in.Texts, r.Lang, s), "Goal": cards.PlainText(cards.Title(s.Goal)), "Count": n}
	switch {
	case s.Config:
		return in.replyText(r, "error.schedule_in_config", map[string]any{"Name": cards.InCode(s.Name)}), nil
	case !sure:
		d := bot.Draft{Kind: bot.KindNotice, Text: in.spell(r.Message.Chat, in.Texts.Text(r.Lang, "schedule.delete", about)), Buttons: []bot.Button{
			in.button(r.Lang, "button.delete", pressSchedule+verbDeleted+":"+s.ID), in.button(r.Lang, "button.keep", pressSchedule+verbShow+":"+s.ID),
		}}
		d.Buttons[0].Style = bot.StyleDanger
		return replyWith(in, r, "", d), nil
	}
	if err := in.Store.DropSchedule(ctx, s.ID); err != nil {
		return Reply{}, fmt.Errorf("deleting schedule: %w", err)
	}
	in.Log.InfoContext(ctx, "a schedule was deleted", "schedule", s.ID, "by", r.Message.From.Key())
	in.schedulesLock.ring()
	gone := in.notice(r, "schedule.deleted", about)
	gone.Replace.Pressed = true
	return in.reply(r, gone), nil
}

// runSchedule opens a schedule's task now, on behalf of its person.
func runSchedule(ctx context.Context, in *Inbox, r *Request, s tasks.Schedule) (Reply, error) {
	busy, err := lastTaskRuns(ctx, in, s)
	if err != nil {
		return Reply{}, err
	}
	if busy {
		return in.refuse(r, "error.schedule_running"), nil
	}
	o, admitted, err := scheduleOpening(ctx, in, s)
	if err != nil {
		return Reply{}, err
	}
	if !admitted {
		return in.replyText(r, "schedule.lost", map[string]any{"Name": cards.PlainText(cards.NameOf(s.From.Name, s.From.Key())), "Goal": cards.PlainText(cards.Title(s.Goal))}), nil
	}
	o.Intro = in.Texts.Text(o.Language, "schedule.intro_now", map[string]any{"Text": cards.ScheduleTimes(in.Texts, o.Language, s)})
	item := in.opens(r.Message.Key, s.Chat, o)
	return Reply{Store: []tasks.Inbound{item}, Say: func(ctx context.Context, receipts []tasks.Receipt) Notice {
		if receipts[0].Opened {
			noteRun(ctx, in, s.ID, receipts[0].Task)
		}
		n := in.notice(r, "schedule.runs", nil)
		if r.Message.Kind == bot.MessagePress {
			n.Audience = ToAuthor
		}
		return n
	}}, nil
}

// noteRun notes the task of a schedule that was run by hand.
func noteRun(ctx context.Context, in *Inbox, id string, task tasks.ID) {
	in.schedulesLock.mu.Lock()
	defer in.schedulesLock.mu.Unlock()
	all, err := in.Store.Schedules(ctx, "")
	i := slices.IndexFunc(all, func(s tasks.Schedule) bool { return s.ID == id })
	if err == nil && i >= 0 {
		all[i].LastTask, all[i].Last = task, in.Wall()
		err = in.Store.PutSchedule(ctx, all[i])
	}
	if err != nil {
		in.Log.ErrorContext(ctx, "the run of a schedule could not be noted", "schedule", id, "cause", err)
	}
}

// scheduleOpening is what the task of a schedule begins with; admitted is false when
// its person may not use legwork there any more.
func scheduleOpening(ctx context.Context, in *Inbox, s tasks.Schedule) (o *planner.Opening, admitted bool, err error) {
	r := &Request{Rules: in.rules.Load(), Message: bot.Message{Chat: s.Chat, From: s.From, Team: s.Team, External: s.External}}
	if admitted, r.Admin, err = in.admit(ctx, r.Message, r.Rules.Access); err != nil || !admitted {
		return nil, false, err
	}
	if r.Lang, err = in.language(ctx, s.From.Key(), s.Language); err != nil {
		return nil, true, err
	}
	if o, err = in.opening(ctx, r, s.Goal); err != nil {
		return nil, true, err
	}
	o.Timezone = s.Timezone
	return o, true, nil
}
