package tasks_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

// replies stores the reply of a model to a task's first action.
func (o *env) replies(id tasks.ID, text string) {
	o.t.Helper()
	o.add(id, planner.Event{Type: planner.Replied, Action: planner.Todo(o.state(id))[0].ID, Reply: &planner.Reply{Text: text}})
}

// TestPartAfterFastModel: a message that follows at once is a part of the question, also
// when the model has answered or planned already, as long as no answer was shown. Title,
// /history, /status and /retry have the whole question.
func TestPartAfterFastModel(t *testing.T) {
	for name, begin := range map[string]func(o *env, id tasks.ID){
		"nothing yet": func(*env, tasks.ID) {},
		"an answer":   func(o *env, id tasks.ID) { o.replies(id, "an answer to half of it") },
		"a plan":      func(o *env, id tasks.ID) { o.plans(id) },
	} {
		t.Run(name, func(t *testing.T) {
			o := newEnv(t)
			me := private("ann")
			id := o.opens("ann", me, "Compare")
			begin(o, id)
			o.pass(800 * time.Millisecond)
			if h := o.send(o.by("ann", me, "apples and pears")); h.text() != "" {
				t.Errorf("the second part was answered %q", h.text())
			}
			s, whole := o.state(id), "Compare\napples and pears"
			if s.Phase != planner.PhaseDeciding || s.Round != 0 || s.Answer != 0 || len(o.live(me)) != 1 {
				t.Fatalf("phase %q, round %d, answer %d, tasks %q; want one task that decides again", s.Phase, s.Round, s.Answer, o.live(me))
			}
			turns, err := o.store.History(t.Context(), me.Key(), "", 1<<20)
			if err != nil || len(turns) != 1 || turns[0].Goal != whole || turns[0].Answer != "" {
				t.Errorf("history = %+v, %v; want the whole question without an answer", turns, err)
			}
			row, err := o.store.Row(t.Context(), id)
			if err != nil || row.Goal != whole {
				t.Errorf("row = %+v, %v; want the whole question", row, err)
			}
			if got := o.say("ann", me, "/status"); !strings.Contains(got, "Compare apples and pears") {
				t.Errorf("/status = %q", got)
			}
			o.ends(id, "Pears.")
			if got := o.say("ann", me, "/history"); !strings.Contains(got, "Compare apples and pears") || !strings.Contains(got, "Pears") {
				t.Errorf("/history = %q", got)
			}
			o.pass(time.Minute)
			o.say("ann", me, "/retry")
			if got := o.asked(me); !slices.Equal(got, []string{whole, whole}) {
				t.Errorf("asked = %q after /retry, want the whole question twice", got)
			}
		})
	}
}

// TestPartTooLate: what follows an answer that was shown, or a call of a tool, is no part
// of the question; and the store refuses to show an answer that a part has replaced.
func TestPartTooLate(t *testing.T) {
	o := newEnv(t)
	me := private("ann")
	id := o.opens("ann", me, "one")
	o.replies(id, "an answer")
	o.add(id, planner.Event{Type: planner.SendStarted, Slot: planner.SlotAnswer})
	o.send(o.by("ann", me, "two"))
	if got := o.asked(me); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("asked = %q after an answer was shown, want two questions", got)
	}

	o = newEnv(t)
	id = o.opens("ann", me, "one")
	o.plans(id)
	o.add(id, planner.Event{Type: planner.Replied, Action: planner.Todo(o.state(id))[0].ID, Reply: &planner.Reply{Calls: []planner.Call{{ID: "c", Name: "look", Tool: "web.look"}}}})
	o.send(o.by("ann", me, "two"))
	if s := o.state(id); s.Round != 1 || len(s.Guidance) != 1 {
		t.Errorf("round %d, %d words of guidance; want the plan with guidance", s.Round, len(s.Guidance))
	}

	o = newEnv(t)
	id = o.opens("ann", me, "one")
	o.replies(id, "an answer")
	o.send(o.by("ann", me, "two"))
	err := o.store.Append(t.Context(), id, -1, 0, planner.Event{Type: planner.SendStarted, Slot: planner.SlotAnswer})
	if !errors.Is(err, tasks.ErrRefused) {
		t.Errorf("showing an answer to half of the question: got %v, want it refused", err)
	}
}

// TestPartsBySendingTime: the time at which messages were sent counts, not that of their
// delivery. After a message of almost the greatest length the next may come later.
func TestPartsBySendingTime(t *testing.T) {
	for _, c := range []struct {
		name string
		gap  time.Duration
		full bool
		want int // questions
	}{
		{"at once", time.Second, false, 1},
		{"later", 3 * time.Second, false, 2},
		{"after a full message", 3 * time.Second, true, 1},
		{"long after a full message", 20 * time.Second, true, 2},
	} {
		o := newEnv(t)
		me := private("ann")
		first, second := o.by("ann", me, "one"), o.by("ann", me, "two")
		first.Full, second.At = c.full, first.At.Add(c.gap)
		o.pass(time.Hour) // an outage
		o.send(first)
		o.pass(time.Minute)
		o.send(second)
		if got := o.asked(me); len(got) != c.want {
			t.Errorf("%s: asked %q, want %d questions", c.name, got, c.want)
		}
	}
}

// TestMostParts: what exceeds the most parts of a question is guidance.
func TestMostParts(t *testing.T) {
	o := newEnv(t)
	me := private("ann")
	for range 23 {
		o.send(o.by("ann", me, "piece"))
	}
	id := o.live(me)[0]
	if s := o.state(id); len(o.live(me)) != 1 || len(s.Parts) != 19 || len(s.Guidance) != 3 {
		t.Errorf("%d tasks, %d further parts, %d words of guidance; want 1, 19 and 3", len(o.live(me)), len(s.Parts), len(s.Guidance))
	}
}

// TestForwardedParts: a comment and the messages that are forwarded with it are one
// question; the history holds each forwarded message once.
func TestForwardedParts(t *testing.T) {
	o := newEnv(t)
	me := private("ann")
	forward := func(text string) bot.Message {
		m := o.by("ann", me, "")
		m.Earlier = []bot.Quoted{{From: "Bob", Text: text, Pointed: true}}
		return m
	}
	o.send(o.by("ann", me, "Who is right?"))
	o.send(forward("The moon is green."), forward("It is grey."))
	turns, err := o.store.History(t.Context(), me.Key(), "", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if len(turns) != 1 || turns[0].Goal != "Who is right?" || len(turns[0].Brought) != 2 {
		t.Errorf("the history holds %+v, want one question with both messages", turns)
	}
	if s := o.state(o.live(me)[0]); s.Tainted == 0 {
		t.Error("the task read words of others and does not know it")
	}
	o = newEnv(t)
	o.send(forward("It is grey."))
	if got := o.asked(me); !slices.Equal(got, []string{"> Bob: It is grey."}) {
		t.Errorf("asked = %q, want the forwarded message once", got)
	}
}

// TestEditedPart: an edit of a part that changes nothing asks nothing; another one
// corrects the whole question, while the task runs and after it.
func TestEditedPart(t *testing.T) {
	o := newEnv(t)
	me := private("ann")
	second := o.by("ann", me, "aples")
	o.send(o.by("ann", me, "Compare pears and"), second)
	id := o.live(me)[0]
	edit := func(text string) {
		t.Helper()
		m := o.by("ann", me, text)
		m.Kind, m.ID = bot.MessageEdit, second.ID
		o.send(m)
	}
	edit("aples")
	if got := o.said(id); len(got) != 0 || len(o.live(me)) != 1 {
		t.Errorf("an edit that changes nothing: guidance %q, %d tasks", got, len(o.live(me)))
	}
	edit("apples")
	edit("apples")
	if got := o.said(id); len(got) != 1 || !strings.Contains(got[0], "Compare pears and\napples") {
		t.Errorf("guidance = %q, want a correction of the whole question", got)
	}
	o.ends(id, "Pears.")
	o.pass(time.Minute)
	edit("aples")
	edit("plums")
	if got := o.asked(me); len(got) != 2 || got[1] != "Compare pears and\nplums" {
		t.Errorf("asked = %q, want the corrected question at last", got)
	}
}

// TestEditedPartAfterRetry: a question that is asked again still has its parts: an edit
// of one of them corrects the whole question, while the new task runs and after it.
func TestEditedPartAfterRetry(t *testing.T) {
	o := newEnv(t)
	me := private("ann")
	first, second := o.by("ann", me, "Compare pears and"), o.by("ann", me, "aples")
	o.send(first, second)
	o.ends(o.live(me)[0], "Pears.")
	o.pass(time.Minute)
	o.say("ann", me, "/retry")
	id := o.live(me)[0]
	edit := func(of bot.Message, text string) {
		t.Helper()
		m := o.by("ann", me, text)
		m.Kind, m.ID = bot.MessageEdit, of.ID
		o.send(m)
	}
	edit(second, "aples")
	edit(second, "apples")
	edit(first, "Compare plums and")
	got := o.said(id)
	if len(got) != 2 || !strings.Contains(got[0], "Compare pears and\napples") || !strings.Contains(got[1], "Compare plums and\napples") || len(o.live(me)) != 1 {
		t.Fatalf("guidance = %q, %d tasks; want two corrections of the whole question", got, len(o.live(me)))
	}
	o.ends(id, "Plums.")
	o.pass(time.Minute)
	edit(second, "cherries")
	o.ends(o.live(me)[0], "Cherries.")
	o.pass(time.Minute)
	edit(first, "Compare kiwis and")
	if got := o.asked(me); got[len(got)-1] != "Compare kiwis and\ncherries" {
		t.Errorf("asked = %q, want both corrections at last", got)
	}
}

// TestForwardedFirst: the words of a forwarded message are material, and not in the goal,
// also when the question follows it and is asked again.
func TestForwardedFirst(t *testing.T) {
	o := newEnv(t)
	me := private("ann")
	m := o.by("ann", me, "")
	m.Earlier = []bot.Quoted{{From: "Bob", Text: "The moon is green.", Pointed: true}}
	o.send(m, o.by("ann", me, "Is he right?"))
	for range 2 {
		id := o.live(me)[0]
		v := tasks.NewView(o.store, id)
		if err := v.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if asked := v.Opening(); asked.Goal != "Is he right?" || len(asked.Earlier) != 1 {
			t.Errorf("the goal is %q with %+v, want the person's words with the message as material", asked.Goal, asked.Earlier)
		}
		o.ends(id, "No.")
		o.pass(time.Minute)
		o.say("ann", me, "/retry")
	}
}

// TestDeletedPart: without a message that the person deleted, the question is another one.
func TestDeletedPart(t *testing.T) {
	o := newEnv(t)
	me := private("ann")
	second := o.by("ann", me, "and plums")
	o.send(o.by("ann", me, "apples"), second)
	m := o.by("ann", me, "")
	m.Kind, m.ID = bot.MessageDeletion, second.ID
	o.send(m)
	if got := o.asked(me); !slices.Equal(got, []string{"apples"}) {
		t.Errorf("asked = %q, want the message that is left", got)
	}
}
