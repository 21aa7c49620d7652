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

// How many schedules there may be that were made in one chat, with its threads
// and topics, and in all chats. Those of the config are not counted.
const (
	MaxSchedules    = 20
	MaxAllSchedules = 200
)

// scheduleCommand makes one, lists them, or does something about one by its number in
// the list.
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
		n, _ = strconv.Atoi(words[1]) // 0 for what is none
	}
	if n < 1 || n > len(here) {
		return in.ReplyText(r, "error.no_schedule", nil), nil
	}
	return aboutSchedule(ctx, in, r, verb, here[n-1].ID)
}

// addSchedule makes a schedule of "WHEN WHAT".
func addSchedule(ctx context.Context, in *inbox.Inbox, r *inbox.Request, text string) (inbox.Reply, error) {
	zone, err := in.Timezone(ctx, r)
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
		return in.Reply(r, notUnderstood(in, r, bad)), nil
	}
	switch {
	case err != nil:
		return inbox.Reply{}, err
	case goal == "":
		return in.ReplyText(r, "schedule.no_goal", map[string]any{"Text": cards.Comes(in.Texts, r.Lang, spec)}), nil
	case len(goal) > inbox.MaxGoal:
		return in.ReplyText(r, "error.goal_too_long", map[string]any{"Max": inbox.MaxGoal}), nil
	}
	m := r.Message
	s := tasks.Schedule{
		ID: scheduleID(m), Chat: m.Chat, From: m.From, Goal: goal, Spec: spec.String(), Words: strings.TrimSpace(strings.TrimSuffix(when, goal)),
		Timezone: zone, Language: r.Lang, CatchUp: catchUp || !spec.Again(), // a schedule that runs once must not be lost
		Made: in.Wall(), Next: spec.Next(in.Wall()), Team: m.Team, External: m.External,
	}
	s.Words = clip.Bytes(s.Words, maxWords)
	return keepSchedule(ctx, in, r, s)
}

// maxWords is how much of what somebody wrote about the time is kept, in bytes.
const maxWords = 400

// cutCatchUp takes the wish off that a missed time be made up for.
func cutCatchUp(text string) (rest string, wanted bool) {
	for _, wish := range []string{"catch up", "catch-up", "наверстать", "наверстывая", "补做"} {
		if len(text) >= len(wish) && strings.EqualFold(text[:len(wish)], wish) {
			return strings.TrimLeft(text[len(wish):], " ,:，：\t"), true
		}
	}
	return text, false
}

// scheduleID is the same whenever a message is delivered, and short enough for a
// button.
func scheduleID(m bot.Message) string {
	sum := sha256.Sum256([]byte(m.Chat.Key() + "\x00" + m.Key))
	return "s" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:12])
}

// keepSchedule stores a new one, when there is room for it.
func keepSchedule(ctx context.Context, in *inbox.Inbox, r *inbox.Request, s tasks.Schedule) (inbox.Reply, error) {
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
	in.Log.InfoContext(ctx, "a schedule was made", "schedule", s.ID, "chat", s.Chat.Key(), "by", s.From.Key(), "spec", s.Spec, "next", s.Next)
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

// notUnderstood says why a text tells no time, and what is understood.
func notUnderstood(in *inbox.Inbox, r *inbox.Request, bad *schedule.Error) inbox.Notice {
	data := map[string]any{"Text": cards.InCode(clip.Marked(bad.Text, 100)), "Allowed": strings.Join(bad.Among, ", ")}
	if bad.Code == schedule.BadField {
		data["Name"] = in.Texts.Text(r.Lang, "schedule.field_"+strings.ReplaceAll(bad.Field, " ", "_"), nil)
	}
	text := in.Texts.Text(r.Lang, "schedule.bad_"+bad.Code, data) + "\n\n" + in.Texts.Text(r.Lang, "schedule.how", nil)
	return inbox.TextNotice(in.Spell(r.Message.Chat, text))
}
