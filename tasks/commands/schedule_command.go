package commands

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"strconv"
	"strings"
	"time"

	"legwork/bot"
	"legwork/internal/clip"
	"legwork/internal/schedule"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/inbox"
)

// MaxSchedules is the maximum number of schedules of one chat, including its
// threads and topics. MaxAllSchedules is the maximum in all chats. Schedules of
// the config are not counted.
const (
	MaxSchedules    = 20
	MaxAllSchedules = 200
)

// scheduleCommand creates a schedule, lists the schedules, or acts on one by its
// number in the list.
func scheduleCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, rest string) (inbox.Reply, error) {
	words := strings.Fields(strings.ToLower(rest))
	if len(words) == 0 || len(words) == 1 && words[0] == "list" {
		return listSchedules(ctx, in, r)
	}
	verb, known := map[string]string{"pause": verbPause, "resume": verbResume, "delete": verbDelete, "run": verbRun, "show": verbShow}[words[0]]
	if !known || len(words) > 3 || len(words) == 3 && (words[2] != "yes" || verb != verbDelete) {
		return addSchedule(ctx, in, r, rest)
	}
	if len(words) == 3 {
		verb = verbDeleted
	}
	here, err := in.Schedules.InRoom(ctx, r.Message.Chat.Room())
	if err != nil {
		return inbox.Reply{}, err
	}
	n := 0
	if len(words) > 1 {
		n, _ = strconv.Atoi(words[1]) // 0 when it is no number
	}
	if n < 1 || n > len(here) {
		return in.ReplyText(r, "error.no_schedule", nil), nil
	}
	return scheduleAction(ctx, in, r, verb, here[n-1].ID)
}

// addSchedule creates a schedule from "WHEN WHAT".
func addSchedule(ctx context.Context, in *inbox.Inbox, r *inbox.Request, text string) (inbox.Reply, error) {
	zone, err := in.Settings.Timezone(ctx, r)
	if err != nil {
		return inbox.Reply{}, err
	}
	place, err := time.LoadLocation(zone)
	if err != nil {
		zone, place = "UTC", time.UTC
	}
	when, catchUp := cutCatchUp(text)
	spec, goal, err := schedule.Parse(when, in.Wall(), place)
	if bad, ok := errors.AsType[*schedule.Error](err); ok {
		return in.Reply(r, invalidTime(in, r, bad)), nil
	}
	switch {
	case err != nil:
		return inbox.Reply{}, err
	case goal == "":
		return in.ReplyText(r, "schedule.no_goal", map[string]any{"Text": cards.DescribeTimes(in.Texts, r.Lang, spec)}), nil
	case len(goal) > inbox.MaxGoal:
		return in.ReplyText(r, "error.goal_too_long", map[string]any{"Max": inbox.MaxGoal}), nil
	}
	m := r.Message
	s := tasks.Schedule{
		ID: scheduleID(m), Chat: m.Chat, From: m.From, Goal: goal, Spec: spec.String(), Words: strings.TrimSpace(strings.TrimSuffix(when, goal)),
		Timezone: zone, Language: r.Lang, CatchUp: catchUp || !spec.Again(), // a schedule that runs once must not be lost
		Made: in.Wall(), Next: spec.Next(in.Wall()), Team: m.Team, External: m.External,
	}
	s.Words = clip.Bytes(s.Words, maxTimeText)
	return storeSchedule(ctx, in, r, s)
}

// maxTimeText is the maximum length in bytes of the stored text about the time.
const maxTimeText = 400

// cutCatchUp removes the words at the beginning that ask to catch up missed runs,
// and reports whether they were there.
func cutCatchUp(text string) (rest string, wanted bool) {
	for _, wish := range []string{"catch up", "catch-up", "наверстать", "наверстывая", "补做"} {
		if len(text) >= len(wish) && strings.EqualFold(text[:len(wish)], wish) {
			return strings.TrimLeft(text[len(wish):], " ,:，：\t"), true
		}
	}
	return text, false
}

// scheduleID makes the id of a message's schedule. The id is the same in every
// delivery of the message, and short enough for a button.
func scheduleID(m bot.Message) string {
	sum := sha256.Sum256([]byte(m.Chat.Key() + "\x00" + m.Key))
	return "s" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:12])
}

// storeSchedule stores a new schedule if there is room for it.
func storeSchedule(ctx context.Context, in *inbox.Inbox, r *inbox.Request, s tasks.Schedule) (inbox.Reply, error) {
	in.Schedules.Lock()
	defer in.Schedules.Unlock()
	all, err := in.Schedules.All(ctx)
	if err != nil {
		return inbox.Reply{}, err
	}
	here, everywhere := 0, 0
	for _, other := range all {
		if other.Config || other.ID == s.ID || other.Over() {
			continue
		}
		everywhere++
		if other.Chat.Room() == s.Chat.Room() {
			here++
		}
	}
	switch {
	case here >= MaxSchedules:
		return in.ReplyText(r, "error.many_schedules", map[string]any{"Count": MaxSchedules}), nil
	case everywhere >= MaxAllSchedules:
		return in.ReplyText(r, "error.all_schedules", map[string]any{"Count": MaxAllSchedules}), nil
	}
	if err := in.Schedules.Put(ctx, s); err != nil {
		return inbox.Reply{}, err
	}
	in.Log.InfoContext(ctx, "schedule created", "schedule", s.ID, "chat", s.Chat.Key(), "by", s.From.Key(), "spec", s.Spec, "next", s.Next)
	c, err := scheduleCard(ctx, in, r, s)
	if err != nil {
		return inbox.Reply{}, err
	}
	n := inbox.Notice{Draft: bot.Draft{Text: in.Texts.Text(r.Lang, "schedule.made", nil) + "\n\n" + c.Text, Buttons: c.Buttons}}
	if !s.Chat.Private {
		n.Audience = inbox.ToChat
	}
	return in.Reply(r, n), nil
}

// invalidTime says why a text contains no valid time, and which forms are valid.
func invalidTime(in *inbox.Inbox, r *inbox.Request, bad *schedule.Error) inbox.Notice {
	data := map[string]any{"Text": cards.InCode(clip.Marked(bad.Text, 100)), "Allowed": strings.Join(bad.Among, ", ")}
	if bad.Code == schedule.BadField {
		data["Name"] = in.Texts.Text(r.Lang, "schedule.field_"+strings.ReplaceAll(bad.Field, " ", "_"), nil)
	}
	text := in.Texts.Text(r.Lang, "schedule.bad_"+bad.Code, data) + "\n\n" + in.Texts.Text(r.Lang, "schedule.how", nil)
	return inbox.TextNotice(in.SpellIn(r.Message.Chat, text))
}
