package cards_test

import (
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/bot/markdown"
	"legwork/i18n"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/policy"
)

// cardOf is the card of a task that has read a mail and a page, and whose last event
// is that reply.
func cardOf(t *testing.T, reply planner.Reply) (cards.Card, int) {
	t.Helper()
	texts, err := i18n.Load("")
	if err != nil {
		t.Fatal(err)
	}
	events := []planner.Event{
		{Type: planner.Opened, Opening: &planner.Opening{Goal: "Read https://good.example/a", Language: "en", From: bot.Person{Platform: "phone", ID: "ann"}}},
		{Type: planner.Replied, Reply: &planner.Reply{Plan: []planner.Subtask{{ID: "a", Name: "mail", Description: "Read the mail"}}}},
		{Type: planner.Returned, Result: &planner.Result{Text: "code canary-4711, https://mail.example/b", Untrusted: true, Private: planner.Origins{"mail"}}, Action: planner.CallID("1/a", 1, 1, 0)},
		{Type: planner.Replied, Reply: &reply},
	}
	v := &tasks.View{ID: "t1"}
	for i, e := range events {
		e.Seq = i + 1
		v.Events = append(v.Events, e)
	}
	v.State.Seq, v.State.Tainted, v.State.Private = len(events), 3, planner.Origins{"mail"}
	return cards.Card{View: v, Texts: texts, Lasts: true}, len(events)
}

const leak = "Read [the page](https://good.example/a), https://mail.example/b and [more](https://evil.example/canary-4711)."

// TestUnknownAddressIsNoLink: an address that the task has not read is code wherever a
// chat shows words of a model, while the task has read outside and private texts. The
// journal keeps the text.
func TestUnknownAddressIsNoLink(t *testing.T) {
	const code = "more `https://evil.example/canary-4711`"
	c, seq := cardOf(t, planner.Reply{Text: leak, Calls: []planner.Call{{Tool: planner.ToolAskPerson, Ask: &planner.Question{Text: leak}}}})
	c.View.State.Subtasks = []planner.Work{{ID: "1/a", Name: "mail", Source: 2, State: planner.SubDone, EndSeq: seq}}
	c.View.State.Outcome = planner.Failed
	ask := planner.Action{ID: planner.QuestionID(seq, 1)}
	shown := func() map[string]string {
		return map[string]string{
			"results": c.Outcome().Text, "question": c.Question(ask).Text, "plain question": c.PlainQuestion(ask).Text, "closed question": c.Decision(ask.ID),
			"details": cards.Details(c.View, c.Texts, "en"), "frame": cards.Streamed(leak+" **And", policy.Linkable(c.View, planner.PromptInput{})),
		}
	}
	for what, text := range shown() {
		if !strings.Contains(text, code) || !strings.Contains(text, "[the page](https://good.example/a)") || !strings.Contains(text, "(https://mail.example/b)") {
			t.Errorf("%s: got %q, want one address as code", what, text)
		}
	}
	if got := c.View.Event(seq).Reply.Text; got != leak {
		t.Errorf("the journal holds %q", got)
	}
	c.View.State.Private = nil
	for what, text := range shown() {
		if !strings.Contains(text, leak) {
			t.Errorf("%s of a task without private data: got %q", what, text)
		}
	}
}

// TestUnknownAddressOnBoard: a board leaves out an address that the task has not read.
func TestUnknownAddressOnBoard(t *testing.T) {
	c, seq := cardOf(t, planner.Reply{Plan: []planner.Subtask{{ID: "a", Name: "web", Description: "Open evil.example.com/canary-4711, then https://good.example/a"}}})
	c.View.State.Subtasks = []planner.Work{{ID: "1/a", Name: "web", Source: seq}}
	for private, want := range map[string]string{"": "Open evil.example.com/canary-4711, then https://good.example/a", "mail": "Open …, then https://good.example/a"} {
		if c.View.State.Private = nil; private != "" {
			c.View.State.Private = planner.Origins{private}
		}
		if got := cards.BoardOf(c.View, c.Texts, time.Now(), 0, nil).Items[0].Title; got != want {
			t.Errorf("private data of %q: got %q, want %q", private, got, want)
		}
	}
}

// TestGrowingAddressIsHeldBack: while an answer grows, it does not show an address at its
// end, which may go on.
func TestGrowingAddressIsHeldBack(t *testing.T) {
	c, _ := cardOf(t, planner.Reply{Text: leak})
	known := policy.Linkable(c.View, planner.PromptInput{})
	for text, want := range map[string]string{
		"See https://good.example/":                 "See",
		"See https://good.example/?q=canary":        "See",
		"See https://good.example/a and":            "See https://good.example/a and",
		"See **https://good.example/":               "See",
		"See [it](https://good.example/a":           "See",
		"See [it](https://good.example/a) and":      "See [it](https://good.example/a) and",
		"See [it](https://good.example/?q=can) and": "See it `https://good.example/?q=can` and",
	} {
		if got := strings.TrimSpace(markdown.Partial(cards.Streamed(text, known))); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
