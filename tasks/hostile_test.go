package tasks_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/enginetest"
	"legwork/tools"
)

// TestListedGroupMoves: everybody in a group that the config lists is heard on
// when the platform gives it another id, and the admins learn of that once.
func TestListedGroupMoves(t *testing.T) {
	o := newEnv(t)
	hall, grown := room("hall"), room("grown")
	o.opens("carol", hall, "before")
	for range 2 {
		m := bot.Message{Key: "moved", Chat: hall, Kind: bot.MessageMove, MovedTo: grown}
		told := o.send(m).posts
		for _, p := range told {
			if !strings.Contains(p.Text, "phone:hall") || !strings.Contains(p.Text, "phone:grown") || !p.Chat.Private {
				t.Errorf("in %s: %q", p.Chat.Key(), p.Text)
			}
		}
		o.restart()
		o.send(o.by("carol", grown, "/task after"))
		o.send(o.by("eve", room("elsewhere"), "/task elsewhere"))
	}
	if got := o.goals(grown); !slices.Equal(got, []string{"before", "after", "after"}) {
		t.Errorf("in the group's new place: %q", got)
	}
	if got := o.goals(room("elsewhere")); len(got) > 0 {
		t.Errorf("in a group that is not listed: %q", got)
	}
	n := 0
	for _, p := range o.phone.posts {
		if strings.Contains(p.Text, "phone:grown") {
			n++
		}
	}
	if n != 2 {
		t.Errorf("two admins were told %d times in all", n)
	}
}

// TestAnswerIsEdited: who mends a slip in an answer asks nothing new; the task
// learns of it.
func TestAnswerIsEdited(t *testing.T) {
	o := newEnv(t)
	me := private("ann")
	id := o.opens("ann", me, "go")
	o.plans(id)
	o.add(id, planner.Event{Type: planner.Replied, Action: planner.Todo(o.state(id))[0].ID, Reply: &planner.Reply{Calls: []planner.Call{
		{ID: "c", Name: planner.ToolAskPerson, Arguments: "{}", Ask: &planner.Question{Text: "Which city?"}},
	}}})
	o.pass(time.Minute)
	m := o.by("ann", me, "Berln")
	o.send(m)
	m.Key, m.Text, m.Kind = "edited", "Berlin", bot.MessageEdit
	o.send(m)
	if got := o.goals(me); !slices.Equal(got, []string{"go"}) {
		t.Errorf("tasks %q", got)
	}
	if got := o.said(id); len(got) != 1 || !strings.Contains(got[0], "Berlin") {
		t.Errorf("the task heard %q", got)
	}
	m.Key, m.Kind, m.Text = "deleted", bot.MessageDeletion, ""
	o.send(m)
	if got := o.state(id); got.Settled() {
		t.Errorf("the task ended when its answer was deleted: %q", got.Outcome)
	}
}

// TestCommandAboveAnothersTask: a command that an admin writes in the thread of
// somebody's running task opens a task of its own, as it says.
func TestCommandAboveAnothersTask(t *testing.T) {
	for _, command := range []string{"/plan", "/task"} {
		o := newEnv(t)
		hall := room("hall")
		o.plans(o.opens("ann", hall, "go"))
		o.pass(time.Minute)
		m := o.by("boss", hall, command+" something")
		m.Overheard, m.InThread = true, true
		o.send(m)
		if got := o.goals(hall); !slices.Equal(got, []string{"go", "something"}) {
			t.Errorf("%s of an admin: tasks %q", command, got)
		}
	}
}

// TestPanicIsOneMessagesOwn: a message that brings a fault to light is answered
// once, and those that came with it are taken.
func TestPanicIsOneMessagesOwn(t *testing.T) {
	o := newEnv(t)
	o.inbox.Zones = func(string) ([]string, string) { panic("planted") }
	var log bytes.Buffer
	o.inbox.Log = slog.New(slog.NewTextHandler(&log, nil))
	bad, good := o.by("ann", private("ann"), "/timezone nowhere"), o.by("bob", private("bob"), "go")
	if got := o.send(bad, good).text(); got != o.text("problem.internal", nil) {
		t.Errorf("said %q", got)
	}
	if got := o.send(bad, good).text(); got != "" {
		t.Errorf("delivered again: said %q", got)
	}
	if got := o.goals(private("bob")); !slices.Equal(got, []string{"go"}) {
		t.Errorf("its content: %q", got)
	}
	if got := log.String(); !strings.Contains(got, "planted") || !strings.Contains(got, "hostile_test.go") {
		t.Errorf("the log does not say where it was: %s", got)
	}
}

// TestMovedGroupKeepsItsSettings: what the config allows in a group, and says to
// the model there, holds on when the group has another id.
func TestMovedGroupKeepsItsSettings(t *testing.T) {
	d := newInboxEnv(t)
	old, grown := bot.Chat{Platform: "recorder", ID: "old"}, bot.Chat{Platform: "recorder", ID: "grown"}
	d.Executor.Use(tasks.PromptRules{ChatSettings: map[string]tasks.ChatSettings{
		old.Key(): {Groups: []string{"look"}, Instructions: "Be brief."},
	}})
	m := enginetest.Message("1", "go", time.Now())
	m.Chat = grown
	d.Ask(t, bot.Message{Key: "0", Chat: old, Kind: bot.MessageMove, MovedTo: grown}, m)
	prompt := ""
	d.Model.Answer = func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		for _, m := range r.Messages {
			prompt += m.Content
		}
		return llm.Reply{Text: "done"}, nil
	}
	id := d.live(grown)[0]
	d.does(id, planner.Todo(d.state(id))[0].ID)
	if !strings.Contains(prompt, "Be brief.") || !strings.Contains(prompt, "Looks things up.") || strings.Contains(prompt, "Books things.") {
		t.Errorf("the prompt in the group's new place:\n%s", prompt)
	}
}

// FuzzInbox hands it texts and presses as platforms may bring them: each batch
// is taken, every press is ended once, and what is stored is valid text.
func FuzzInbox(f *testing.F) {
	for _, seed := range [][2]string{
		{"hello", ""},
		{"/task@bot do\nthis", "a:01J:question.1.0:0"},
		{"/timezone ../x\x00\xff", "u:TASK:2"},
		{"/forget yes", "f:yes:1795000000"},
		{"/start CODE", "x:TASK:3"},
		{"/model ", "m:big"},
		{"//", "g:a:phone:eve"},
		{"/lang \u202eru", "r:TASK"},
		{strings.Repeat("/", 1000), "d:TASK"},
		{"/approvals revoke \x00", "p:TASK:1.0:o"},
		{"/approvals accept -", "q:TASK:-1.9:1"},
		{"/prompt a b=c", "v:-1"},
		{"/cancel", "t:a:"},
	} {
		f.Add(seed[0], seed[1], false, false)
		f.Add(seed[0], seed[1], true, true)
	}
	f.Fuzz(func(t *testing.T, text, press string, edited, overheard bool) {
		o := newEnv(t)
		hall := room("hall")
		id := o.opens("ann", hall, "go")
		m := o.by("ann", hall, text)
		m.Overheard = overheard
		if edited {
			m.Kind = bot.MessageEdit
		}
		o.send(m)
		if press != "" {
			h := o.send(o.press("boss", hall, strings.ReplaceAll(press, "TASK", string(id))))
			if len(h.answers) != 1 {
				t.Errorf("the press %q of %q was ended %d times, want once", press, text, len(h.answers))
			}
		}
		for _, goal := range o.goals(hall) {
			if !utf8.ValidString(goal) || strings.Contains(goal, "\x00") {
				t.Errorf("the goal %q is stored", goal)
			}
		}
		for _, p := range o.phone.posts {
			if p.Kind != bot.KindNotice || p.Text == "" || !utf8.ValidString(p.Text) {
				t.Errorf("posted %+v", p)
			}
		}
	})
}

// FuzzPrompt takes what may be written after the name of a prompt: the task that
// it opens has arguments that the prompt knows, each of them with a value.
func FuzzPrompt(f *testing.F) {
	for _, seed := range []string{"", "city=Rome days=2", "Rome days=", `days="2" mood='a b`, "city=city=x\nmood=\u202e", "=", "days=1 days=2 days="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o := newEnv(t)
		o.toolbox = &gated{prompts: []tools.Prompt{{Name: "travel/plan", Arguments: []tools.PromptArgument{{Name: "city"}, {Name: "days"}, {Name: "mood"}}}}}
		o.restart()
		o.send(o.by("ann", private("ann"), "/prompt plan "+text))
		for _, id := range o.live(private("ann")) {
			opening := o.event(id, 1).Opening
			if opening.Prompt == nil {
				t.Fatalf("%q opened %q", text, opening.Goal)
			}
			for name, value := range opening.Prompt.Arguments {
				made := strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "")
				if name != "city" && name != "days" && name != "mood" || value == "" || !strings.Contains(made, value) {
					t.Errorf("%q gave %s=%q", text, name, value)
				}
			}
		}
	})
}
