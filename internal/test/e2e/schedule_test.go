package e2e_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"legwork/internal/test/fakes/telegramfake"
)

// turns waits until a message holds all words.
func (b *telegramEnv) turns(chat int64, id int, words ...string) telegramfake.Message {
	b.t.Helper()
	return b.meets(chat, fmt.Sprintf("message %d with %q", id, words), func(m telegramfake.Message) bool {
		return m.ID == id && holdsAll(m.Text, words)
	})
}

// TestTelegramSchedule: one is made in words, and listed, run, paused and deleted
// by tap, all in one message.
func TestTelegramSchedule(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{haste: 20})
	b.opens()
	chat := b.bob.ID
	b.Say(chat, b.bob, "/timezone Berlin")
	b.sees(chat, "Europe/Berlin")
	b.Say(chat, b.bob, "/schedule every weekday 9:00 q1: say the news")
	card := b.offers(chat, "All schedules", "Scheduled.", "Every weekday at 09:00 (Europe/Berlin): q1: say the news", "09:00")
	b.taps(b.bob, chat, card.ID, "All schedules")
	b.turns(chat, card.ID, "1. Every weekday at 09:00", "next: ")
	b.taps(b.bob, chat, card.ID, "1")
	b.turns(chat, card.ID, "owner: Bob")
	if p := b.taps(b.bob, chat, card.ID, "Run now"); p.Text != b.says("schedule.runs", nil) {
		t.Errorf("Run now says %q", p.Text)
	}
	answer := b.once(chat, "[q1] answers")
	if !strings.HasPrefix(answer.Text, "Scheduled, run now: Every weekday at 09:00 · q1: say the news\n") {
		t.Errorf("the answer is %q, want one that says that it was scheduled", answer.Text)
	}
	if p := b.taps(b.bob, chat, card.ID, "Pause"); p.Text != b.says("schedule.paused", nil) {
		t.Errorf("Pause says %q", p.Text)
	}
	b.turns(chat, card.ID, "paused", "last: ")
	b.taps(b.bob, chat, card.ID, "Resume")
	b.turns(chat, card.ID, "next: ")
	b.taps(b.bob, chat, card.ID, "Delete")
	b.turns(chat, card.ID, "Delete this schedule?")
	b.taps(b.bob, chat, card.ID, "Keep")
	b.turns(chat, card.ID, "owner: Bob")
	b.taps(b.bob, chat, card.ID, "Delete")
	b.turns(chat, card.ID, "Delete this schedule?")
	b.taps(b.bob, chat, card.ID, "Delete")
	if gone := b.turns(chat, card.ID, "Deleted: Every weekday at 09:00"); len(gone.Buttons) != 0 {
		t.Errorf("the message of what was deleted has the buttons %v", gone.Buttons)
	}
	b.Say(chat, b.bob, "/schedule")
	b.sees(chat, b.says("schedule.none", nil))
}

// TestScheduleKilled: a kill just before or after the task of a schedule is stored
// lets it be done once, after the restart.
func TestScheduleKilled(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"fire.before:1", "fire.after:1"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			hasty(t) // is built before the time counts
			now := time.Now().UTC()
			due := now.Add(75 * time.Second).Truncate(time.Minute)
			ahead := due.Sub(now) - 5*time.Second
			b := newTelegramEnv(t, telegramOptions{haste: 20, options: options{more: fmt.Sprintf(
				"schedules:\n  - {name: news, when: every day %s, text: 'q1: say the news', chat: 'telegram:1'}\n", due.Format("15:04"))}})
			b.Say(b.ann.ID, b.ann, "/status") // so that the bot may write to her
			run := func(point string) *program {
				cmd := b.command("serve")
				cmd.Env = append(cmd.Env, "LEGWORK_AHEAD="+ahead.String(), "LEGWORK_FAILPOINT="+point)
				return b.launch(cmd)
			}
			first := run(point)
			if first.code(); first.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the first life ended with %v, want a kill", first.cmd.ProcessState)
			}
			run("")
			answer := b.once(b.ann.ID, "[q1] answers")
			if !strings.HasPrefix(answer.Text, "Scheduled: Every day at "+due.Format("15:04")) {
				t.Errorf("the answer is %q", answer.Text)
			}
			b.passes()
			b.once(b.ann.ID, "[q1] answers")
			if n := len(b.asked("q1: say the news")); point == "fire.before:1" && n != 1 || n > 2 {
				t.Errorf("the model was asked %d times", n)
			}
			b.Say(b.ann.ID, b.ann, "/schedule show 1")
			b.sees(b.ann.ID, "from the configuration: news")
		})
	}
}

// TestSlackSchedule: one is made by /legwork schedule for all to see, run by
// tap in its message, and changed by its owner alone.
func TestSlackSchedule(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{})
	o.opens()
	o.slash("/legwork", "schedule every weekday 9:00 q1: say the news", general, ben)
	card := o.offers(in(general), "Run now", "Every weekday at 09:00 (UTC): q1: say the news")
	if card.To != "" {
		t.Errorf("only %s sees that something was scheduled", card.To)
	}
	o.taps(card, "Run now", ben)
	o.once(in(general), "Scheduled, run now: Every weekday at 09:00", "[q1] answers")
	o.taps(card, "Pause", ben)
	card = o.offers(in(general), "Resume", "paused")
	o.taps(card, "Delete", ben)
	card = o.offers(in(general), "Keep", "Delete this schedule?", "/legwork schedule delete 1 yes")
	o.taps(card, "Delete", ben)
	o.sees(in(general), "Deleted: Every weekday at 09:00")
}

// TestScheduleReload: schedules of the config come, change and go with it.
// People who have not made them leave them alone, an admin may pause them.
func TestScheduleReload(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{})
	s := b.opens()
	chat := b.group(b.Supergroup("Friends", b.ann, b.bob))
	entry := fmt.Sprintf("schedules:\n  - {name: news, when: every weekday 9:00, text: say the news, chat: 'telegram:%d', timezone: Europe/Berlin}\n", chat)
	b.changes(s, "log: {level: debug}", entry+"log: {level: debug}", "config reloaded", "schedules")
	b.Say(chat, b.bob, "/schedule@legwork_bot")
	b.sees(chat, "1. Every weekday at 09:00 (Europe/Berlin): say the news")
	b.Say(chat, b.bob, "/schedule@legwork_bot pause 1")
	b.sees(chat, b.says("error.admin_needed", nil))
	b.Say(chat, b.ann, "/schedule@legwork_bot pause 1")
	b.sees(chat, "Paused.", "from the configuration: news")
	b.changes(s, "say the news", "say the weather", "config reloaded", "schedules")
	b.Say(chat, b.ann, "/schedule@legwork_bot show 1")
	b.sees(chat, "say the weather", "paused")
	b.changes(s, "when: every weekday 9:00", "when: every weekday", "config rejected", "has no time of the day")
	b.changes(s, strings.Replace(strings.Replace(entry, "say the news", "say the weather", 1), "every weekday 9:00", "every weekday", 1), "", "config reloaded", "schedules")
	b.Say(chat, b.ann, "/schedule@legwork_bot")
	b.sees(chat, b.says("schedule.none", nil))
}
