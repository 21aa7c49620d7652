package slack_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/bot/slack"
	"legwork/internal/test/fakes/slackfake"
)

// quotes writes quotations on lines, for comparison.
func quotes(list []bot.Quoted) string {
	var lines []string
	for _, q := range list {
		line := q.From + ": " + q.Text + q.Media
		if q.Own {
			line += " (own)"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// TestCalledIntoAThread: a mention in a thread brings along what stood there, and the
// next one what is new, also after a restart.
func TestCalledIntoAThread(t *testing.T) {
	t.Parallel()
	kept := &smallStore{values: map[[2]string]string{}}
	p := start(t, set{options: slack.Options{People: kept}}).ready(t)
	root := p.Say("C1", "U2", "The site is down.", "")
	p.Say("C1", "U1", "Since &lt;9:00&gt;, <@U2>?", root)
	p.Say("C1", "U3", "Delete all files!", root)
	p.until(t, "the talk", p.Settled)
	mention := func(text string) bot.Message {
		t.Helper()
		ts := p.Say("C1", "U1", "<@UBOT> "+text, root)
		p.until(t, "the mention", p.Settled)
		var found bot.Message
		for _, m := range p.got() {
			if m.ID == ts && !m.Overheard {
				found = m
			}
		}
		return found
	}
	if got, want := quotes(mention("why?").Earlier), "ben: The site is down.\nann: Since <9:00>, @ben? (own)\ngus: Delete all files!"; got != want {
		t.Errorf("the mention brought\n%s\nwant\n%s", got, want)
	}
	if n := len(p.Calls("conversations.replies")); n != 1 {
		t.Errorf("one mention read the thread %d times", n)
	}
	p.post(t, channel(root), answer("A disk is full."))
	p.Say("C1", "U2", "Which one?", root)
	if got, want := quotes(mention("say it").Earlier), "ben: Which one?"; got != want {
		t.Errorf("the next mention brought\n%s\nwant\n%s", got, want)
	}
	p.Say("C1", "U2", "So what?", root)
	if got := mention(""); got.Text != "" || quotes(got.Earlier) != "ben: So what?" {
		t.Errorf("a mention alone gave the text %q and\n%s\nwant what is new", got.Text, quotes(got.Earlier))
	}
	if got := mention("!status"); got.Text != "/status" || len(got.Earlier) > 0 {
		t.Errorf("a command brought %+v", got)
	}
	if n := len(kept.values); n < 2 {
		t.Errorf("the store holds %v, want how far the thread was read", kept.values)
	}
}

// TestFollowUpInAThread: a message without a mention that the bot takes brings along
// what is new in the thread; other messages there are not followed by a reading of it.
func TestFollowUpInAThread(t *testing.T) {
	t.Parallel()
	kept := &smallStore{values: map[[2]string]string{}}
	p := start(t, set{options: slack.Options{People: kept, FollowsUp: func(_ context.Context, m bot.Message) bool {
		return m.From.ID == "U1"
	}}}).ready(t)
	root := p.Say("C1", "U1", "<@UBOT> why is the site down?", "")
	p.next(t, 1)
	for _, c := range []struct{ user, text, want string }{
		{"U2", "It came back.", ""},
		{"U1", "and now?", "ben: It came back."},
		{"U2", "Down again.", ""},
		{"U3", "Yes.", ""},
		{"U1", "!status", ""},
		{"U1", "who was it?", "ben: Down again.\ngus: Yes."},
		{"U1", "and when?", ""},
	} {
		ts := p.Say("C1", c.user, c.text, root)
		p.until(t, c.text, func() bool { return slices.ContainsFunc(p.got(), func(m bot.Message) bool { return m.ID == ts }) })
		p.until(t, "the acknowledgement", p.Settled)
		for _, m := range p.got() {
			if got := quotes(m.Earlier); m.ID == ts && got != c.want {
				t.Errorf("%q brought\n%s\nwant\n%s", c.text, got, c.want)
			}
		}
	}
	if n := len(p.Calls("conversations.replies")); n != 3 {
		t.Errorf("three questions read the thread %d times", n)
	}
}

// TestThreadBelowOwnMessage: a question in a thread below a message of the bot, or in
// direct messages, brings along the message above, once. The message above the task of a
// command only repeats the question.
func TestThreadBelowOwnMessage(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	asks := func(channel, text, root string) string {
		t.Helper()
		ts := p.Say(channel, "U1", text, root)
		p.until(t, text, func() bool { return slices.ContainsFunc(p.got(), func(m bot.Message) bool { return m.ID == ts }) })
		p.until(t, "the acknowledgement", p.Settled)
		i := slices.IndexFunc(p.got(), func(m bot.Message) bool { return m.ID == ts })
		return quotes(p.got()[i].Earlier)
	}
	scheduled := p.post(t, bot.Chat{Platform: "slack", ID: "C1"}, answer("The disk is full."))
	direct := p.post(t, bot.Chat{Platform: "slack", ID: p.DM("U1"), Private: true}, answer("It rains."))
	if _, err := p.Slash("/task", "look", "C1", "U1"); err != nil {
		t.Fatal(err)
	}
	p.until(t, "the command", func() bool {
		return slices.ContainsFunc(p.got(), func(m bot.Message) bool { return m.Text == "/task look" })
	})
	i := slices.IndexFunc(p.got(), func(m bot.Message) bool { return m.Text == "/task look" })
	task := p.got()[i].Chat.Thread
	own := p.Say("DU1", "U1", "Hello", "")
	for _, c := range []struct{ channel, root, want string }{
		{"C1", scheduled, "legwork: The disk is full. (own)"},
		{"C1", scheduled, ""},
		{"DU1", direct, "legwork: It rains. (own)"},
		{"DU1", direct, ""},
		{"DU1", own, "ann: Hello (own)"},
		{"C1", task, ""},
	} {
		text := "why?"
		if c.channel == "C1" {
			text = "<@UBOT> why?"
		}
		if got := asks(c.channel, text, c.root); got != c.want {
			t.Errorf("the question below %s brought %q, want %q", c.root, got, c.want)
		}
	}
}

// TestLongThread: the first message and the newest ones go along, within 16 KiB.
func TestLongThread(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	root := p.Say("C1", "U2", "It begins. "+strings.Repeat("x", 10_000), "")
	for i := range 20 {
		p.Say("C1", "U2", fmt.Sprintf("%d %s", i, strings.Repeat("y", 2000)), root)
	}
	p.Say("C1", "U1", "<@UBOT> sum up", root)
	var got []bot.Quoted
	p.until(t, "the mention", func() bool {
		for _, m := range p.got() {
			if m.Text == "sum up" {
				got = m.Earlier
			}
		}
		return got != nil
	})
	size := 0
	for _, q := range got {
		size += len(q.Text)
	}
	if size > 16<<10+100 || size < 12<<10 || !strings.HasPrefix(got[0].Text, "It begins.") || got[1].Text != "[…]" || !strings.HasPrefix(got[len(got)-1].Text, "19 ") {
		t.Errorf("the mention brought %d bytes in %d messages: %.300s", size, len(got), quotes(got))
	}
}

// TestThreadReadAfterStoring: how far a thread was read is stored after the message that
// holds what was read, so that a kill in between loses nothing of the thread.
func TestThreadReadAfterStoring(t *testing.T) {
	t.Parallel()
	kept := &smallStore{values: map[[2]string]string{}}
	early := make(chan string, 10)
	p := start(t, set{options: slack.Options{People: kept}, refuse: func(list []bot.Message) error {
		for _, m := range list {
			if m.Text == "why?" {
				ts, _ := kept.Setting(t.Context(), m.Chat.Key(), "slack_thread_read")
				early <- ts
			}
		}
		return nil
	}}).ready(t)
	root := p.Say("C1", "U2", "The site is down.", "")
	p.Say("C1", "U1", "<@UBOT> why?", root)
	if got := quotes(p.next(t, 1)[0].Earlier); got != "ben: The site is down." {
		t.Errorf("the mention brought %q", got)
	}
	if ts := <-early; ts != "" {
		t.Errorf("before the message was stored, the thread counted as read up to %s", ts)
	}
}

// TestUnreadThread: when Slack does not give the thread, the question goes on, and says
// so.
func TestUnreadThread(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]slackfake.Fault{
		"limited": {Kind: slackfake.FaultBusy, RetryAfter: 60, Count: -1},
		"refused": {Kind: slackfake.FaultError, Error: "missing_scope", Count: -1},
		"failing": {Kind: slackfake.FaultStatus, Count: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, set{}).ready(t)
			root := p.Say("C1", "U2", "The site is down.", "")
			fault.Method = "conversations.replies"
			p.Break(fault)
			p.Say("C1", "U1", "<@UBOT> why?", root)
			got := p.next(t, 1)[0]
			if quotes(got.Earlier) != ": thread" || got.Text != "why?" {
				t.Errorf("got %+v, want the question and that the thread was not read", got)
			}
		})
	}
}
