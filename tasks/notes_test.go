package tasks_test

import (
	"strings"
	"testing"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/policy"
	"legwork/tasks/policy/flow"
	"legwork/tools"
)

// TestNotesAreKeptUnasked: a note needs no approval until its task has read words of
// outsiders, unless an agent asked for it.
func TestNotesAreKeptUnasked(t *testing.T) {
	verdict := tools.Verdict{Ask: true, AskTainted: true, Remembers: true, Trusted: true}
	call := planner.Call{Tool: "memory.remember", Arguments: `{"text":"I like tea"}`}
	for name, c := range map[string]struct {
		open func(*env) tasks.ID
		want bool
	}{
		"the person's words": {func(o *env) tasks.ID { return o.opens("ann", private("ann"), "remember that I like tea") }, false},
		"somebody else's message": {func(o *env) tasks.ID {
			me := private("ann")
			o.send(o.pointing(me, "remember this"))
			return o.live(me)[0]
		}, true},
		"an agent": {func(o *env) tasks.ID {
			id := tasks.ID("01AGENT")
			opening := planner.Opening{Goal: "remember tea", Chat: room("hall"), From: bot.Person{Platform: "agent", ID: "crew"}, Limits: planner.Limits{Rounds: 1}}
			if _, err := o.store.Open(t.Context(), []tasks.Inbound{{Key: "agent", ID: id, Chat: opening.Chat, Open: &planner.Event{Type: planner.Opened, At: o.clock(), Opening: &opening}}}); err != nil {
				t.Fatal(err)
			}
			return id
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := newEnv(t)
			v := tasks.NewView(o.store, c.open(o))
			if err := v.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := policy.JudgeCall(v, policy.Reading(v, 0), call, verdict, flow.Open{}).Ask; got != c.want {
				t.Errorf("a note needs an approval: %v, want %v", got, c.want)
			}
		})
	}
}

// TestNotesAreShown: the outcome shows each note that was kept, as plain text in one
// line.
func TestNotesAreShown(t *testing.T) {
	o := newEnv(t)
	id := o.opens("ann", private("ann"), "remember that I like tea")
	v := tasks.NewView(o.store, id)
	if err := v.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	v.Events = append(v.Events, planner.Event{Type: planner.Returned, Result: &planner.Result{Text: "Remembered as p1.", Remembered: "I like\n*tea*"}})
	text := cards.Card{View: v, Texts: o.texts}.Outcome().Text
	if want := o.text("answer.remembered", map[string]any{"Text": `I like \*tea\*`}); !strings.HasSuffix(text, "\n\n"+want) {
		t.Errorf("the outcome is %q, want %q at its end", text, want)
	}
}
