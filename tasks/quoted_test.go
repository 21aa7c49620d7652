package tasks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/bot"
	"legwork/internal/form"
	"legwork/planner"
)

// pointing is a message of ann that brings bob's words along.
func (o *env) pointing(in bot.Chat, text string) bot.Message {
	m := o.by("ann", in, text)
	m.ReplyTo = "of bob"
	m.Earlier = []bot.Quoted{{From: "Bob\x00", Text: " It rains at rain.example.\nReally. ", Pointed: true}, {From: "Eve", Text: "  "}}
	return m
}

// TestQuotedMessages: what a person points at goes to the question as material, and
// never into it. Without words of their own, the question is the quotation.
func TestQuotedMessages(t *testing.T) {
	want := []bot.Quoted{{From: "Bob", Text: "It rains at rain.example.\nReally.", Pointed: true}}
	for text, goal := range map[string]string{
		"is he right?":       "is he right?",
		"":                   "> Bob: It rains at rain.example.\n> Really.",
		"/task is he right?": "is he right?",
		"/task":              "> Bob: It rains at rain.example.\n> Really.",
		"/plan":              "> Bob: It rains at rain.example.\n> Really.",
	} {
		o := newEnv(t)
		me := private("ann")
		o.send(o.pointing(me, text))
		live := o.live(me)
		if len(live) != 1 {
			t.Fatalf("%q opened %d tasks, want 1", text, len(live))
		}
		got := o.event(live[0], 1).Opening
		if diff := cmp.Diff(want, got.Earlier); diff != "" || got.Goal != goal {
			t.Errorf("%q opened the goal %q, want %q; quoted (-want +got):\n%s", text, got.Goal, goal, diff)
		}
	}
}

// TestQuotedInGuidance: a message that is added to a running task, too, brings along
// what it points at; but a reply to the task's own board repeats nothing of it.
func TestQuotedInGuidance(t *testing.T) {
	o := newEnv(t)
	me := private("ann")
	id := o.opens("ann", me, "go")
	o.plans(id)
	o.pass(time.Minute)
	h := o.send(o.pointing(me, "and this?"))
	board := o.by("ann", me, "faster")
	board.ReplyTo, board.Earlier = "board", []bot.Quoted{{From: "Legwork", Text: "Working", Pointed: true, Own: true}}
	o.send(board)
	var quoted []string
	for _, seq := range o.state(id).Guidance {
		e := o.event(id, seq)
		for _, q := range e.Earlier {
			quoted = append(quoted, e.Text+" <- "+q.From)
		}
	}
	if want := []string{"and this? <- Bob"}; !slices.Equal(quoted, want) {
		t.Errorf("the guidance quotes %q, want %q", quoted, want)
	}
	o.ends(id, "done")
	o.send(o.press("ann", me, h.data(t, o.text("button.separate", nil))))
	live := o.live(me)
	if len(live) != 1 || len(o.event(live[0], 1).Opening.Earlier) != 1 {
		t.Errorf("asked separately: %q, want one task with what the message points at", o.goals(me))
	}
}

// TestQuotedInHeldWords: words that came while a server's form was open keep what they
// point at when they become a question of their own.
func TestQuotedInHeldWords(t *testing.T) {
	q := form.Question{Message: "A note?", Fields: fieldsOf(t, `{"type":"object","properties":{"note":{"type":"string"}}}`)}
	s, id, _ := asksForm(t, q, false, private("ann"))
	me := private("ann")
	h := s.send(s.pointing(me, "is he right?"))
	s.send(s.press("ann", me, h.data(t, s.text("button.for_legwork", nil))))
	for _, live := range s.live(me) {
		if o := s.event(live, 1).Opening; live != id && (o.Goal != "is he right?" || len(o.Earlier) != 1 || o.Earlier[0].From != "Bob") {
			t.Errorf("the words became %q with %+v, want what they point at, too", o.Goal, o.Earlier)
		}
	}
	if n := len(s.live(me)); n != 2 {
		t.Errorf("%d live tasks, want a task of the words, too", n)
	}
	if s.state(id).Tainted != 0 {
		t.Error("the task of the form was tainted by words that it did not read")
	}
}

// TestHistoryHoldsWhatWasBrought: a later question knows what an earlier one was
// about.
func TestHistoryHoldsWhatWasBrought(t *testing.T) {
	o := newEnv(t)
	me := private("ann")
	m := o.pointing(me, "is he right?")
	m.Earlier = append(m.Earlier, bot.Quoted{From: "Eve", Text: strings.Repeat("lunch ", 500)})
	o.send(m)
	o.ends(o.live(me)[0], "no")
	turns, err := o.store.History(t.Context(), me.Key(), "", 1<<20)
	if err != nil || len(turns) != 1 {
		t.Fatalf("the history is %v, %v", turns, err)
	}
	brought := turns[0].Brought
	if turns[0].Goal != "is he right?" || len(brought) != 2 || brought[0].Text != "It rains at rain.example.\nReally." || len(brought[1].Text) < 2900 {
		t.Errorf("the history holds %+v, want the question's own words beside what it brought along", turns[0])
	}
	if got := o.say("ann", me, "/history"); !strings.Contains(got, "is he right?") || strings.Contains(got, "rain.example") {
		t.Errorf("/history shows %q, want the question's own words", got)
	}
	o.say("ann", me, "/retry")
	if again := o.event(o.live(me)[0], 1).Opening; len(again.Earlier) != 2 {
		t.Errorf("/retry asks %+v, want what it points at, too", again)
	}
	if o.event(o.live(me)[0], 1).Type != planner.Opened {
		t.Error("the first event opens no task")
	}
}

// TestMediaInWords: what a message or a quoted message holds beside text becomes
// text where there are words for it.
func TestMediaInWords(t *testing.T) {
	place, me := bot.Facts{Name: "Opera", Text: "59.9, 10.7"}, private("ann")
	for name, c := range map[string]struct {
		change       func(*bot.Message)
		goal, quoted string
	}{
		"alone":         {func(m *bot.Message) { m.Media, m.Facts = "venue", place }, "Place: Opera (59.9, 10.7)", ""},
		"of a sticker":  {func(m *bot.Message) { m.Media, m.Facts = "sticker", bot.Facts{Text: "👍"} }, "Sticker: 👍", ""},
		"beside a text": {func(m *bot.Message) { m.Text, m.Media, m.Facts = "what is on?", "venue", place }, "what is on?\n\nPlace: Opera (59.9, 10.7)", ""},
		"forwarded": {func(m *bot.Message) {
			m.Media, m.Earlier = "venue", []bot.Quoted{{From: "Bob", Pointed: true, Media: "venue", Facts: place}}
		}, "> Bob: Place: Opera (59.9, 10.7)", "Place: Opera (59.9, 10.7)"},
		"replied to": {func(m *bot.Message) {
			m.Text, m.Earlier = "what is on?", []bot.Quoted{{From: "Bob", Pointed: true, Media: "poll", Facts: bot.Facts{Name: "When?", Text: "- now\n- later"}}}
		}, "what is on?", "Poll: When?\n- now\n- later"},
		"a photo replied to": {func(m *bot.Message) {
			m.Text, m.Earlier = "what is it?", []bot.Quoted{{From: "Bob", Text: "my house", Pointed: true, Media: "photo"}}
		}, "what is it?", "my house\n\n[legwork has not seen this: photo]"},
	} {
		o := newEnv(t)
		m := o.by("ann", me, "")
		c.change(&m)
		o.send(m)
		live := o.live(me)
		if len(live) != 1 {
			t.Fatalf("%s: %d tasks, want 1", name, len(live))
		}
		got, quoted := o.event(live[0], 1).Opening, ""
		for _, q := range got.Earlier {
			quoted += q.Text
		}
		if got.Goal != c.goal || quoted != c.quoted {
			t.Errorf("%s: the goal is %q with the quotation %q, want %q with %q", name, got.Goal, quoted, c.goal, c.quoted)
		}
	}
}

// TestEditKeepsEarlier: a corrected question has what the question brought along, which
// the edit need not bring again.
func TestEditKeepsEarlier(t *testing.T) {
	o := newEnv(t)
	hall := room("hall")
	bob := bot.Quoted{From: "Bob", Text: "It rains."}
	m := o.by("ann", hall, "why?")
	m.Earlier = []bot.Quoted{bob}
	o.send(m)
	o.ends(o.live(hall)[0], "A cloud.")
	o.pass(time.Minute)
	for i, brings := range [][]bot.Quoted{nil, {bob}, {bob, {From: "Eve", Text: "It snows."}}} {
		m.Key, m.Kind, m.Earlier = fmt.Sprint("edit ", i), bot.MessageEdit, brings
		m.Text = fmt.Sprint("why in Paris? ", i)
		o.send(m)
		id := o.live(hall)[0]
		if got, want := o.event(id, 1).Opening.Earlier, max(1, len(brings)); len(got) != want || got[0].Text != bob.Text {
			t.Errorf("the corrected question brings %+v, want %d messages, the first of Bob", got, want)
		}
		o.ends(id, "A cloud.")
		o.pass(time.Minute)
	}
}

// TestQuotedAnswerBringsLabels: a question that points at an answer of the bot has the
// labels of that answer. Of an answer that cannot be found, nothing is known.
func TestQuotedAnswerBringsLabels(t *testing.T) {
	hall := room("hall")
	thread := hall
	thread.Thread = "7"
	for name, c := range map[string]struct {
		reads planner.Result
		in    bot.Chat
		id    string
		cut   bool
		want  planner.Labels
	}{
		"public":      {planner.Result{Text: "x"}, hall, "answer", false, planner.Labels{}},
		"of mail":     {planner.Result{Text: "x", Untrusted: true, Private: planner.Origins{"mail"}}, hall, "answer", false, planner.Labels{Outside: true, Private: planner.Origins{"mail"}}},
		"of web":      {planner.Result{Text: "x", Untrusted: true}, hall, "answer", false, planner.Labels{Outside: true}},
		"in a thread": {planner.Result{Text: "x", Untrusted: true}, thread, "answer", false, planner.Labels{Outside: true}},
		"cut off":     {planner.Result{Text: "x"}, hall, "answer", true, planner.Unlabelled()},
		"elsewhere":   {planner.Result{Text: "x"}, hall, "", false, planner.Unlabelled()},
		"unknown":     {planner.Result{Text: "x"}, hall, "notice", false, planner.Unlabelled()},
	} {
		o := newEnv(t)
		first := o.opens("ann", hall, "go")
		o.plans(first)
		o.add(first, planner.Event{Type: planner.Replied, Action: planner.WorkID("1/a", 1, 0), Reply: &planner.Reply{Calls: []planner.Call{{ID: "c", Name: "look", Tool: "x.look"}}}},
			planner.Event{Type: planner.Returned, Action: planner.CallID("1/a", 1, 1, 0), Result: &c.reads})
		o.ends(first, "done")
		o.pass(time.Minute)
		if c.cut {
			o.say("ann", hall, "/new")
		}
		m := o.by("ann", c.in, "send that on")
		m.ReplyTo, m.Earlier = "answer", []bot.Quoted{{From: "Legwork", Text: "done", Pointed: true, Own: true, Bot: true, ID: c.id}}
		o.send(m)
		live := o.live(c.in)
		if len(live) != 1 {
			t.Fatalf("%s: %d tasks, want 1", name, len(live))
		}
		s := o.state(live[0])
		if got := s.Labels(); !cmp.Equal(got, c.want) {
			t.Errorf("%s: the task has %+v, want %+v", name, got, c.want)
		}
	}
}

// TestQuestionThatQuotesIsOfOutsiders: a question without words of its own quotes words
// of others. The history knows that, also before there is an answer.
func TestQuestionThatQuotesIsOfOutsiders(t *testing.T) {
	o := newEnv(t)
	me := private("ann")
	o.send(o.pointing(me, ""))
	turns, err := o.store.History(t.Context(), me.Key(), "", 1<<20)
	if err != nil || len(turns) != 1 || !turns[0].Tainted {
		t.Errorf("the history is %+v, %v, want a turn with words of outsiders", turns, err)
	}
}
