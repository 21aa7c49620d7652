package enginetest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/inbox"
)

// testReview has a sub-task's model ask for a review: nothing is begun until a
// person has decided, and the model reads what they said.
func testReview(t *testing.T, env *Env) {
	env.Model.Answer = func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		last := r.Messages[len(r.Messages)-1]
		switch {
		case r.Role == llm.RolePlan:
			return llm.Reply{Text: `{"plan":[{"name":"look","description":"one"}]}`}, nil
		case r.Role == llm.RoleWork && len(env.Model.Requests(llm.RoleWork)) == 1:
			return llm.Reply{ToolCalls: []llm.ToolCall{{
				ID: "c", Name: planner.ToolUpdateState, Arguments: `{"values":{"draft":"so","status":"NEEDS_HUMAN_REVIEW"}}`,
			}}}, nil
		case r.Role == llm.RoleWork:
			for _, m := range r.Messages {
				if said := Between(m.Content, "guidance"); m.Role == llm.ToolRole && said != "" {
					return llm.Reply{Text: "told: " + said}, nil
				}
			}
		}
		return llm.Reply{Text: "told: " + Between(last.Content, "result")}, nil
	}
	ask(t, env, "1", "draft it")
	if err := env.Platform.Await(t.Context(), func() bool { return len(env.Platform.Posts(bot.KindQuestion)) > 0 }); err != nil {
		t.Fatal(err)
	}
	q := env.Platform.Posts(bot.KindQuestion)[0]
	if !strings.Contains(q.Text, "**`draft`**\n\n> so\n") || len(q.Buttons) != 2 || len(q.Buttons[1].Data) > 64 {
		t.Fatalf("question = %+v", q.Draft)
	}
	if n := len(env.Model.Requests("")); n != 2 {
		t.Errorf("%d model calls before the decision, want 2", n)
	}
	env.Ask(t, Message("2", "shorter please", time.Now()))
	env.Answers(t, 1)
	if work := env.Model.Requests(llm.RoleWork); len(work) != 2 || len(env.Model.Requests(llm.RoleReview)) != 1 {
		t.Errorf("%d turns and %d reviews, want 2 and 1: the message is for the next decision, too", len(work), len(env.Model.Requests(llm.RoleReview)))
	}
}

// testContext lets agents from outside work on a task: no model is called, and
// nothing is posted, until one of them hands in the answer.
func testContext(t *testing.T, env *Env) {
	r, err := inbox.StartTask(t.Context(), env.Inbox, inbox.TaskRequest{From: bot.Person{Platform: tasks.PlatformAgent, ID: "reader"}, Goal: "write", External: true})
	if err != nil {
		t.Fatal(err)
	}
	tell := func(e planner.Event) error {
		return inbox.ChangeTask(t.Context(), env.Inbox, r.Task, func(planner.State) ([]planner.Event, error) { return []planner.Event{e}, nil })
	}
	status := map[string]json.RawMessage{planner.KeyStatus: json.RawMessage(`"` + planner.NeedsHumanReview + `"`)}
	for _, e := range []planner.Event{
		{Type: planner.NoteAdded, By: "agent:reader", Note: &planner.Note{Type: "observation", Content: json.RawMessage(`"found"`)}},
		{Type: planner.StateSet, By: "agent:reader", Values: status},
	} {
		if err := tell(e); err != nil {
			t.Fatalf("%s: %v", e.Type, err)
		}
	}
	answer := planner.Event{Type: planner.Answered, By: "agent:writer", Text: "written"}
	if err := tell(answer); err == nil {
		t.Error("an agent answered while a person reviews")
	}
	state, err := env.Store.State(t.Context(), r.Task)
	if err != nil {
		t.Fatal(err)
	}
	if err := inbox.Decide(t.Context(), env.Inbox, r.Task, tasks.AskOf(planner.Todo(state)[0].ID), inbox.ProgramDecision{By: "api:ops", Approve: true}); err != nil {
		t.Fatal(err)
	}
	if err := tell(answer); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := tasks.Idle(ctx, env.Store, ""); err != nil {
		t.Fatal(err)
	}
	if state, err = env.Store.State(t.Context(), r.Task); err != nil || state.Outcome != planner.Done {
		t.Errorf("it ended %s, %v", state.Outcome, err)
	}
	if n, posts := len(env.Model.Requests("")), env.Platform.Posts(bot.KindAnswer); n != 0 || len(posts) != 0 {
		t.Errorf("%d model calls and %d posts, want none", n, len(posts))
	}
}

// testProgram has a program's task tell a chat: its outcome is there once, and
// says what it is about.
func testProgram(t *testing.T, env *Env) {
	for _, notify := range []*planner.Notify{nil, {Chat: &Chat}} {
		if _, err := inbox.StartTask(t.Context(), env.Inbox, inbox.TaskRequest{From: bot.Person{Platform: tasks.PlatformAPI, ID: "ops"}, Goal: "greet", Notify: notify}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := tasks.Idle(ctx, env.Store, ""); err != nil {
		t.Fatal(err)
	}
	want := env.Texts.Text("en", "notify.intro", map[string]any{"Name": `api\:ops`, "Goal": "greet"}) + "\n\nhello"
	if got := env.Answers(t, 1); len(got) != 1 || got[0].Text != want {
		t.Errorf("answers = %+v, want one: %q", got, want)
	}
	if n := len(env.Platform.Streamed()) + len(env.Platform.Posts(bot.KindBoard)); n != 0 {
		t.Errorf("%d frames were shown of tasks that have no chat", n)
	}
}
