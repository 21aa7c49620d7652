package tasks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/planner"
)

// pressedSchedule takes the press of a button about a schedule.
func (in *Inbox) pressedSchedule(ctx context.Context, r *routed, rest string) error {
	verb, id, _ := strings.Cut(rest, ":")
	if verb == verbList {
		return in.listSchedules(ctx, r)
	}
	return in.aboutSchedule(ctx, r, verb, id)
}

// aboutSchedule does something about one of the chat's schedules.
func (in *Inbox) aboutSchedule(ctx context.Context, r *routed, verb, id string) error {
	in.agenda.mu.Lock()
	defer in.agenda.mu.Unlock()
	here, err := in.schedulesHere(ctx, r.message.Chat)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(here, func(s Schedule) bool { return s.ID == id })
	switch {
	case i < 0:
		s := in.sentence(*r, "error.schedule_gone", nil)
		s.instead = true
		in.reply(r, s)
		return nil
	case verb == verbShow:
		return in.showCard(ctx, r, here[i], "")
	case !r.mayChange(here[i]):
		key := "error.not_your_schedule"
		if here[i].Config {
			key = "error.admin_needed"
		}
		in.refuse(r, key)
		return nil
	}
	s := here[i]
	switch verb {
	case verbPause:
		return in.pauseSchedule(ctx, r, s)
	case verbResume:
		return in.resumeSchedule(ctx, r, s)
	case verbRun:
		return in.runSchedule(ctx, r, s)
	case verbDelete, verbDeleted:
		return in.deleteSchedule(ctx, r, s, i+1, verb == verbDeleted)
	}
	in.say(r, "error.too_late", nil)
	return nil
}

// showCard answers with a schedule's card, after a word about what was done. The
// message whose button was pressed becomes the card.
func (in *Inbox) showCard(ctx context.Context, r *routed, s Schedule, done string) error {
	c, err := in.card(ctx, r, s)
	if err != nil {
		return err
	}
	in.replyWith(r, done, c)
	return nil
}

// replyWith answers with a draft. A press gets the word alone, as a note that
// passes, and the draft in place of the message whose button it was.
func (in *Inbox) replyWith(r *routed, done string, d bot.Draft) {
	if r.message.Kind != bot.MessagePress || in.passing(r.message.Chat) {
		text := d.Text
		if done != "" {
			text = done + "\n\n" + d.Text
		}
		in.reply(r, said{text: text, buttons: d.Buttons, kind: d.Kind})
		return
	}
	in.reply(r, said{text: done, instead: true, becomes: &d})
}

func (in *Inbox) pauseSchedule(ctx context.Context, r *routed, s Schedule) error {
	if !s.Paused {
		s.Paused, s.Why = true, ""
		if err := in.putSchedule(ctx, s); err != nil {
			return err
		}
		in.Log.InfoContext(ctx, "a schedule was paused", "schedule", s.ID, "by", r.message.From.Key())
	}
	return in.showCard(ctx, r, s, in.Texts.Text(r.lang, "schedule.paused", nil))
}

// resumeSchedule lets one come again, from now on: what was left out meanwhile
// is not made up for.
func (in *Inbox) resumeSchedule(ctx context.Context, r *routed, s Schedule) error {
	if s.Paused {
		spec, err := s.readSpec()
		if err != nil {
			in.Log.ErrorContext(ctx, "a schedule cannot be read", "schedule", s.ID, "cause", err)
			in.say(r, "problem.internal", nil)
			return nil
		}
		if s.Why == WhyUnseen {
			s.LastTask = "" // or it would be paused again
		}
		s.Paused, s.Why, s.Next = false, "", spec.Next(in.Wall())
		if err := in.putSchedule(ctx, s); err != nil {
			return err
		}
		in.Log.InfoContext(ctx, "a schedule goes on", "schedule", s.ID, "by", r.message.From.Key())
	}
	return in.showCard(ctx, r, s, in.Texts.Text(r.lang, "schedule.resumed", nil))
}

// deleteSchedule asks whether one is to be deleted, or deletes it.
func (in *Inbox) deleteSchedule(ctx context.Context, r *routed, s Schedule, n int, sure bool) error {
	about := map[string]any{"Text": s.comes(in.Texts, r.lang), "Goal": plainText(title(s.Goal)), "Count": n}
	switch {
	case s.Config:
		in.say(r, "error.schedule_in_config", map[string]any{"Name": inCode(s.Name)})
		return nil
	case !sure:
		d := bot.Draft{Kind: bot.KindNotice, Text: in.spell(r.message.Chat, in.Texts.Text(r.lang, "schedule.delete", about)), Buttons: []bot.Button{
			in.button(r.lang, "button.delete", pressSchedule+verbDeleted+":"+s.ID), in.button(r.lang, "button.keep", pressSchedule+verbShow+":"+s.ID),
		}}
		d.Buttons[0].Style = bot.StyleDanger
		in.replyWith(r, "", d)
		return nil
	}
	if err := in.Store.DropSchedule(ctx, s.ID); err != nil {
		return fmt.Errorf("deleting schedule: %w", err)
	}
	in.Log.InfoContext(ctx, "a schedule was deleted", "schedule", s.ID, "by", r.message.From.Key())
	in.agenda.ring()
	gone := in.sentence(*r, "schedule.deleted", about)
	gone.instead = true
	in.reply(r, gone)
	return nil
}

// runSchedule opens a schedule's task now, on behalf of its person.
func (in *Inbox) runSchedule(ctx context.Context, r *routed, s Schedule) error {
	busy, err := in.lastRuns(ctx, s)
	if err != nil {
		return err
	}
	if busy {
		in.refuse(r, "error.schedule_running")
		return nil
	}
	o, admitted, err := in.scheduled(ctx, s)
	if err != nil {
		return err
	}
	if !admitted {
		in.say(r, "schedule.lost", map[string]any{"Name": plainText(nameOf(s.From.Name, s.From.Key())), "Goal": plainText(title(s.Goal))})
		return nil
	}
	o.Intro = in.Texts.Text(o.Language, "schedule.intro_now", map[string]any{"Text": s.comes(in.Texts, o.Language)})
	item := in.opens(r.message.Key, s.Chat, o)
	r.store = []Inbound{item}
	r.reply = func(ctx context.Context, receipts []Receipt) said {
		if receipts[0].Opened {
			in.ran(ctx, s.ID, receipts[0].Task)
		}
		a := in.sentence(*r, "schedule.runs", nil)
		a.aside = r.message.Kind == bot.MessagePress
		return a
	}
	return nil
}

// ran notes the task of a schedule that was run by hand.
func (in *Inbox) ran(ctx context.Context, id string, task ID) {
	in.agenda.mu.Lock()
	defer in.agenda.mu.Unlock()
	all, err := in.Store.Schedules(ctx, "")
	i := slices.IndexFunc(all, func(s Schedule) bool { return s.ID == id })
	if err == nil && i >= 0 {
		all[i].LastTask, all[i].Last = task, in.Wall()
		err = in.Store.PutSchedule(ctx, all[i])
	}
	if err != nil {
		in.Log.ErrorContext(ctx, "the run of a schedule could not be noted", "schedule", id, "cause", err)
	}
}

// scheduled is what the task of a schedule begins with; admitted is false when
// its person may not use legwork there any more.
func (in *Inbox) scheduled(ctx context.Context, s Schedule) (o *planner.Opening, admitted bool, err error) {
	r := &routed{rules: in.rules.Load(), message: bot.Message{Chat: s.Chat, From: s.From, Team: s.Team, External: s.External}}
	if admitted, err = in.admit(ctx, r); err != nil || !admitted {
		return nil, false, err
	}
	if r.lang, err = in.language(ctx, s.From.Key(), s.Language); err != nil {
		return nil, true, err
	}
	if o, err = in.opening(ctx, r, s.Goal); err != nil {
		return nil, true, err
	}
	o.Timezone = s.Timezone
	return o, true, nil
}
