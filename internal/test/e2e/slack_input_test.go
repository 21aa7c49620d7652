package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/slackfake"
	"legwork/tasks/inbox"
)

// TestSlackOddInput: whatever a person sends is answered with an answer or a
// sentence, or with silence where it is not meant for legwork; and the next
// question is answered as well.
func TestSlackOddInput(t *testing.T) {
	t.Parallel()
	say := func(text string) func(o *slackEnv) {
		return func(o *slackEnv) { o.Say(benDM, ben, text, "") }
	}
	for name, c := range map[string]struct {
		send func(o *slackEnv)
		want string // in Ben's direct messages; empty: silence
	}{
		"emoji only":     {say("👩‍👩‍👧‍👦🏳️‍🌈🔥"), "👩‍👩‍👧‍👦🏳️‍🌈🔥"},
		"right to left":  {say("שלום, מה השעה? \u202eevil"), "שלום, מה השעה?"},
		"empty":          {say("  \n\t "), ""},
		"Slack's markup": {say("one: <https://a.example/?q=1&amp;r=2|a link> &lt;b&gt; <@U1> <#C1|general> <!here> <mailto:x@y.example|x@y.example>"), "answers: one: a link (https://a.example/?q=1&r=2) <b>"},
		"a path":         {say("/etc/passwd is what?"), "/etc/passwd is what?"},
		"a stop word":    {say("stop"), "Nothing is running."},
		"no markup":      {say("a < b and <unclosed and <@> and <|> and < > x"), "a < b and <unclosed"},
		"another app":    {func(o *slackEnv) { o.Noise(o.DM(ben), "bot_message", "robot", "one: hello") }, ""},
		"somebody came":  {func(o *slackEnv) { o.Noise(general, "channel_join", ben, bots+"has joined") }, ""},
		"a new topic":    {func(o *slackEnv) { o.Noise(general, "channel_topic", ben, bots+"is the topic") }, ""},
		"its home":       {func(o *slackEnv) { o.OpenHome(ben) }, ""},
		"coming in":      {func(o *slackEnv) { o.Join(general, slackfake.BotUser); o.Join(general, ben) }, ""},
		"a strange event": {func(o *slackEnv) {
			o.Event(general, "tea_time", map[string]any{"user": ben, "text": bots + "one: hello"})
			o.Event("C99", "message", map[string]any{"user": "U99", "text": bots + "one: hello"})
		}, ""},
		"a file without words": {func(o *slackEnv) {
			o.Event(o.DM(ben), "message", map[string]any{"subtype": "file_share", "user": ben, "ts": "1700000000.000100", "channel_type": "im", "files": []any{map[string]any{"id": "F1"}}})
		}, "I can only read text here so far"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newSlackEnv(t, slackOptions{})
			s := o.opens()
			c.send(o)
			if c.want != "" {
				o.once(in(benDM), c.want)
			} else if o.passes(); o.count(in(benDM), "answers:")+len(o.said(in(general)))+len(o.models.Requests()) > 0 {
				t.Error("legwork answered what was not meant for it")
			}
			o.goesOn(ben)
			s.alive()
		})
	}
}

// TestSlackHugeMessage: one of 100 KB is answered; one that is too large costs
// a sentence.
func TestSlackHugeMessage(t *testing.T) {
	inBothModes(t, func(t *testing.T, r slackOptions) {
		r.think = func(q llmfake.Request) llmfake.Response {
			goal, _ := q.Tagged("goal")
			return llmfake.Say(fmt.Sprintf("%.9s and %d more bytes", goal, len(goal)-9))
		}
		o := newSlackEnv(t, r)
		o.opens()
		o.Say(benDM, ben, "first: 1 "+strings.Repeat("lorem ", 100_000/6), "")
		o.once(in(benDM), "first: 1  and ", " more bytes")
		o.Say(benDM, ben, "first: 2 "+strings.Repeat("x", inbox.MaxGoal), "")
		o.once(in(benDM), o.text("error.goal_too_long", map[string]any{"Max": inbox.MaxGoal}))
		o.goesOn(ben)
	})
}

// TestSlackEdited: a question that is changed while it is thought about is
// answered as it reads now; one that is deleted is not.
func TestSlackEdited(t *testing.T) {
	inBothModes(t, func(t *testing.T, r slackOptions) {
		gates := newGate(t)
		r.held = gates
		o := newSlackEnv(t, r)
		o.opens()
		asked := o.Say(general, ben, bots+"q1: desk held; desk alpha | safe beta", "")
		o.sees(under(general, asked), "◐ q1 desk held")
		gates.reached()
		if err := o.Server.Edit(general, asked, bots+"q1: desk held, but only the cheap ones"); err != nil {
			t.Fatal(err)
		}
		deleted := o.Say(general, ben, bots+"q2: desk held", "")
		card := o.sees(under(general, deleted), "◐ q2 desk held")
		gates.reachedBy(2)
		if err := o.Delete(general, deleted); err != nil {
			t.Fatal(err)
		}
		o.until("the end of what was deleted", func() bool {
			m, there := o.Message(general, card.TS)
			return !there || m.Stream == nil && !strings.Contains(o.Shown(m), "[Stop]")
		})
		o.passes()
		gates.opens()
		o.answers(under(general, asked), "value of q1 safe beta", "but only the cheap ones")
		o.passes()
		if n := o.count(under(general, deleted), "value of q2 desk held"); n > 0 {
			t.Errorf("the deleted question was answered %d times", n)
		}
	})
}

// TestSlackTwoQuestions: two messages within a second become one question; a
// second question is one of its own.
func TestSlackTwoQuestions(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{options: options{think: func(r llmfake.Request) llmfake.Response {
		goal, _ := r.Tagged("goal")
		said := r.AllTagged("guidance")
		if strings.HasPrefix(goal, "one") && len(said) == 0 {
			return llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultHang}} // until there is more
		}
		return llmfake.Say(fmt.Sprintf("%s, with %q", goal, said))
	}}})
	o.opens()
	o.Say(benDM, ben, "one: find a train", "")
	o.Say(benDM, ben, "to Paris, I mean", "")
	o.once(in(benDM), "one: find a train", "to Paris, I mean")
	first, second := o.asks(general, ben, "two: find a hotel"), o.asks(general, ben, "three: and a taxi")
	o.once(first, "two: find a hotel")
	o.once(second, "three: and a taxi")
}

// TestSlackGonePlaces: a channel that is archived, or that legwork is thrown out
// of, in the middle of a task costs that task's answer and nothing else.
func TestSlackGonePlaces(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]slackfake.Channel{
		"archived":   {ID: general, Name: "general", Archived: true},
		"thrown out": {ID: general, Name: "general", Outside: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := newGate(t)
			o := newSlackEnv(t, slackOptions{held: held})
			s := o.opens()
			thread := o.asks(general, ben, "q1: desk held")
			o.sees(thread, "◐ q1 desk held")
			held.reached()
			o.SetChannel(change)
			held.opens()
			s.logged("level=ERROR", "the outcome could not be shown")
			o.goesOn(ben)
			o.SetChannel(slackfake.Channel{ID: general, Name: "general"})
			o.once(o.asks(general, ben, "later: here again"), "answers: later: here again")
		})
	}
}
