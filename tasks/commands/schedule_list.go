package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"legwork/bot"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/inbox"
	"legwork/tasks/policy"
)

// pressSchedule begins the data of buttons about schedules. A verb and the
// schedule's id follow.
const pressSchedule = "sched:"

// The verbs of the buttons about schedules.
const (
	verbShow    = "i"
	verbPause   = "p"
	verbResume  = "r"
	verbRun     = "n"
	verbDelete  = "d"
	verbDeleted = "x" // delete was confirmed
	verbList    = "l"
)

// listSchedules lists the schedules of the chat, with a button for each.
func listSchedules(ctx context.Context, in *inbox.Inbox, r *inbox.Request) (inbox.Reply, error) {
	d, err := scheduleList(ctx, in, r)
	if err != nil {
		return inbox.Reply{}, err
	}
	return replyWith(in, r, "", d), nil
}

func scheduleList(ctx context.Context, in *inbox.Inbox, r *inbox.Request) (bot.Draft, error) {
	here, err := in.Schedules.InRoom(ctx, r.Message.Chat.Room())
	if err != nil {
		return bot.Draft{}, err
	}
	if len(here) == 0 {
		text := in.Texts.Text(r.Lang, "schedule.none", nil) + "\n\n" + in.Texts.Text(r.Lang, "schedule.how", nil)
		return bot.Draft{Kind: bot.KindNotice, Text: in.SpellIn(r.Message.Chat, text)}, nil
	}
	zone, err := in.Settings.Zone(ctx, r)
	if err != nil {
		return bot.Draft{}, err
	}
	var lines []string
	var buttons []bot.Button
	for i, s := range here {
		state, err := scheduleState(ctx, in, r, s, zone)
		if err != nil {
			return bot.Draft{}, err
		}
		times := cards.ScheduleTimes(in.Texts, r.Lang, s)
		if s.Timezone != zone.String() {
			times += " (" + s.Timezone + ")"
		}
		lines = append(lines, fmt.Sprintf("%d. ", i+1)+in.Texts.Text(r.Lang, "schedule.line", map[string]any{
			"Text": times, "Goal": cards.PlainText(cards.Title(s.Goal)), "State": strings.Join(state, " · "), "Chat": otherThread(in, r.Lang, s, r.Message.Chat),
		}))
		if data := pressSchedule + verbShow + ":" + s.ID; len(buttons) < maxListed && len(data) <= inbox.MaxPressData {
			buttons = append(buttons, bot.Button{Label: fmt.Sprintf("%d", i+1), Data: data})
		}
	}
	text := in.Texts.Text(r.Lang, "schedule.list", map[string]any{"Timezone": zone.String()}) + "\n\n" + strings.Join(lines, "\n") +
		"\n\n" + in.Texts.Text(r.Lang, "schedule.commands", nil)
	return bot.Draft{Kind: bot.KindNotice, Text: in.SpellIn(r.Message.Chat, text), Buttons: buttons}, nil
}

// otherThread says that a schedule answers in another thread or topic of the chat.
// It is empty for schedules of this one.
func otherThread(in *inbox.Inbox, lang string, s tasks.Schedule, here bot.Chat) string {
	if s.Chat.Key() == here.Key() {
		return ""
	}
	return in.Texts.Text(lang, "schedule.elsewhere", nil)
}

// scheduleState lists the state of a schedule: its next run, the outcome of its
// last run, and the last skipped run.
func scheduleState(ctx context.Context, in *inbox.Inbox, r *inbox.Request, s tasks.Schedule, zone *time.Location) ([]string, error) {
	text := func(key string, at time.Time, state string) string {
		data := map[string]any{"State": state}
		if !at.IsZero() {
			data["Date"] = at.In(zone)
		}
		return in.Texts.Text(r.Lang, key, data)
	}
	var parts []string
	switch {
	case s.Paused && (s.Why == tasks.WhyAccess || s.Why == tasks.WhyBroken || s.Why == tasks.WhyUnseen):
		parts = append(parts, text("schedule.paused_"+s.Why, time.Time{}, ""))
	case s.Paused:
		parts = append(parts, text("schedule.paused_now", time.Time{}, ""))
	case s.Next.IsZero():
		parts = append(parts, text("schedule.over", time.Time{}, ""))
	default:
		parts = append(parts, text("schedule.next", s.Next, ""))
	}
	if s.LastTask != "" {
		state, err := in.Store.State(ctx, s.LastTask)
		switch {
		case err == nil:
			parts = append(parts, text("schedule.last", s.Last, cards.StatusText(in.Texts, r.Lang, state, 0)))
		case !errors.Is(err, tasks.ErrNoTask) && !errors.Is(err, tasks.ErrDamaged):
			return nil, fmt.Errorf("reading task %s: %w", s.LastTask, err)
		}
	}
	if !s.Skipped.IsZero() && (s.Why == tasks.WhyMissed || s.Why == tasks.WhyRunning) {
		parts = append(parts, text("schedule.left_out_"+s.Why, s.Skipped, ""))
	}
	return parts, nil
}

// scheduleCard shows one schedule with its buttons.
func scheduleCard(ctx context.Context, in *inbox.Inbox, r *inbox.Request, s tasks.Schedule) (bot.Draft, error) {
	zone, err := in.Settings.Zone(ctx, r)
	if err != nil {
		return bot.Draft{}, err
	}
	state, err := scheduleState(ctx, in, r, s, zone)
	if err != nil {
		return bot.Draft{}, err
	}
	text := func(key string, data map[string]any) string { return in.Texts.Text(r.Lang, key, data) }
	lines := slices.Concat(
		[]string{text("schedule.card", map[string]any{"Text": cards.ScheduleTimes(in.Texts, r.Lang, s), "Timezone": s.Timezone, "Goal": cards.PlainText(cards.Title(s.Goal))})},
		state,
	)
	maker := "schedule.maker"
	if s.Config {
		maker = "schedule.from_config"
	}
	lines = append(lines, text(maker, map[string]any{"Name": cards.PlainText(cards.NameOf(s.Name+s.From.Name, s.From.Key()))}))
	if s.CatchUp && !s.Config && !s.Over() {
		lines = append(lines, text("schedule.catches_up", nil))
	}
	return bot.Draft{Kind: bot.KindNotice, Text: strings.Join(lines, "\n- "), Buttons: scheduleButtons(in, r, s)}, nil
}

func scheduleButtons(in *inbox.Inbox, r *inbox.Request, s tasks.Schedule) []bot.Button {
	button := func(key, verb string) bot.Button { return in.Button(r.Lang, key, pressSchedule+verb+":"+s.ID) }
	buttons := []bot.Button{}
	if policy.MayChangeSchedule(r.Admin, r.Message.From.Key(), s) {
		switch {
		case s.Paused:
			buttons = append(buttons, button("button.schedule_resume", verbResume))
		case !s.Next.IsZero():
			buttons = append(buttons, button("button.schedule_pause", verbPause))
		}
		buttons = append(buttons, button("button.run_now", verbRun))
		if !s.Config {
			buttons = append(buttons, button("button.delete", verbDelete))
		}
	}
	return append(buttons, button("button.schedules", verbList))
}
