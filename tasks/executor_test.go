package tasks_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/enginetest"
)

// does performs the wanted action of that id and returns the events it added.
func (d *inboxEnv) does(id tasks.ID, action planner.ActionID) []planner.Event {
	d.t.Helper()
	v := tasks.NewView(d.store, id)
	if err := v.Refresh(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
	p, err := d.Presenters.Open(id, v.Opening())
	if err != nil {
		d.t.Fatal(err)
	}
	todo := planner.Todo(v.State)
	i := slices.IndexFunc(todo, func(a planner.Action) bool { return a.ID == action })
	if i < 0 {
		d.t.Fatalf("%q is not wanted; todo %v", action, todo)
	}
	if err := d.Executor.Do(d.t.Context(), v, todo[i], p); err != nil {
		d.t.Fatalf("doing %q: %v", action, err)
	}
	events, err := d.store.Load(d.t.Context(), id, v.State.Seq)
	if err != nil {
		d.t.Fatal(err)
	}
	return events
}

// planned makes a task of one sub-task of a group beside an llm_tool.
func (d *inboxEnv) planned(name string) tasks.ID {
	d.t.Helper()
	d.Ask(d.t, enginetest.Message("1", "go", time.Now()))
	id := d.live(enginetest.Chat)[0]
	d.add(id, planner.Event{Type: planner.Replied, Action: planner.Todo(d.state(id))[0].ID, Reply: &planner.Reply{IsPlan: true, Plan: []planner.Subtask{
		{ID: "1/a", Name: name, Description: "one"}, {ID: "1/b", Name: planner.LLMTool, Description: "two"},
	}}})
	return id
}

// TestModelAloneHasNoTools: llm_tool cannot call the machine's tools. Otherwise a
// text that it reads could make it delegate.
func TestModelAloneHasNoTools(t *testing.T) {
	d := newInboxEnv(t)
	id := d.planned("look")
	d.Model.Answer = func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
		return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "c", Name: planner.ToolDelegate, Arguments: `{"name":"book","description":"book it"}`}}}, nil
	}
	got := d.does(id, planner.WorkID("1/b", 1, 0))
	if len(got) != 1 || got[0].Type != planner.Malformed || len(d.state(id).Subtasks) != 2 {
		t.Errorf("events = %+v, want the reply to be given back", got)
	}
}

// TestArgumentsReadTwoWays: a call with a repeated key is refused, because the
// person might read one value and the server the other.
func TestArgumentsReadTwoWays(t *testing.T) {
	d := newInboxEnv(t)
	id := d.planned("look")
	d.Model.Answer = func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
		return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "c", Name: "look", Arguments: `{"to":"ann","\u0074o":"mallory"}`}}}, nil
	}
	got := d.does(id, planner.WorkID("1/a", 1, 0))
	if len(got) != 1 || len(got[0].Reply.Calls) != 1 || got[0].Reply.Calls[0].Tool != "" || !strings.Contains(got[0].Reply.Calls[0].Refusal, `"to" twice`) {
		t.Errorf("events = %+v, want a call that is refused for its key", got)
	}
}

// TestRevokedGroup: a group that the asker may no longer use offers no tools, and an
// open call of it is not made.
func TestRevokedGroup(t *testing.T) {
	d := newInboxEnv(t)
	id := d.planned("secret")
	d.Model.Answer = func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		for _, tool := range r.Tools {
			if tool.Name == "secret" {
				t.Error("the tool is offered")
			}
		}
		return llm.Reply{Text: "ok"}, nil
	}
	d.does(id, planner.WorkID("1/a", 1, 0))

	d = newInboxEnv(t)
	id = d.planned("secret")
	d.add(id, planner.Event{Type: planner.Replied, Action: planner.WorkID("1/a", 1, 0), Reply: &planner.Reply{Calls: []planner.Call{{ID: "c", Name: "secret", Tool: "secret.it"}}}})
	got := d.does(id, planner.CallID("1/a", 1, 1, 0))
	if len(d.Tools.Calls()) != 0 || len(got) != 1 || got[0].Result == nil || !got[0].Result.Failed {
		t.Errorf("calls = %q, events = %+v; want a refusal", d.Tools.Calls(), got)
	}
}

// TestInternalErrorNamesTheTask: the message names the task, by which the admin
// finds the cause in the log.
func TestInternalErrorNamesTheTask(t *testing.T) {
	d := newInboxEnv(t)
	d.Ask(t, enginetest.Message("1", "go", time.Now()))
	id := d.live(enginetest.Chat)[0]
	d.add(id, planner.Event{Type: planner.CallFailed, Action: planner.Todo(d.state(id))[0].ID, Problem: &planner.Problem{Code: "internal"}})
	d.does(id, planner.ShowID())
	if got := d.Platform.Posts("answer"); len(got) != 1 || !strings.Contains(got[0].Text, string(id)) {
		t.Errorf("answers = %+v, want one that names %s", got, id)
	}
}

// TestListsAreNoPlans: a result that lists things with names and descriptions is not
// a plan.
func TestListsAreNoPlans(t *testing.T) {
	d := newInboxEnv(t)
	id := d.planned("look")
	for action, c := range map[planner.ActionID]struct {
		text string
		want planner.EventType
	}{
		planner.WorkID("1/a", 1, 0): {`[{"name": "Hotel A", "description": "nice"}, {"name": "Hotel B", "description": "far"}]`, planner.Replied},
		planner.WorkID("1/b", 1, 0): {`[{"name": "look", "description": "one"}]`, planner.Malformed},
	} {
		d.Model.Answer = func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
			return llm.Reply{Text: c.text}, nil
		}
		if got := d.does(id, action); len(got) != 1 || got[0].Type != c.want {
			t.Errorf("%s became %+v, want %s", c.text, got, c.want)
		}
	}
}

// TestFailedWorkIsTriedAgain: a plan may repeat a failed sub-task. A plan that only
// repeats finished ones is refused.
func TestFailedWorkIsTriedAgain(t *testing.T) {
	for _, c := range []struct {
		end  planner.Event
		want planner.EventType
	}{
		{planner.Event{Type: planner.CallFailed, Problem: &planner.Problem{Code: "unreachable"}}, planner.Replied},
		{planner.Event{Type: planner.Replied, Reply: &planner.Reply{Text: "found"}}, planner.Malformed},
	} {
		d := newInboxEnv(t)
		id := d.planned("look")
		for _, action := range planner.Todo(d.state(id)) {
			e := c.end
			e.Action = action.ID
			d.add(id, e)
		}
		d.Model.Answer = func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
			return llm.Reply{Text: `{"plan":[{"name":"look","description":"one"}]}`}, nil
		}
		if got := d.does(id, planner.Todo(d.state(id))[0].ID); len(got) != 1 || got[0].Type != c.want {
			t.Errorf("after %s the same plan became %+v, want %s", c.end.Type, got, c.want)
		}
	}
}

// TestWordsOfOthersAreData: in a group, prompts mark the questions of other people
// as data, but not those of the asker.
func TestWordsOfOthersAreData(t *testing.T) {
	d := newInboxEnv(t)
	for i, person := range []string{"bob", "ann", "ann"} {
		m := from(person, string(rune('1'+i)), "words of "+person)
		m.Standalone = true
		d.Ask(t, m)
		id := d.live(group)[0]
		d.does(id, planner.Todo(d.state(id))[0].ID)
		d.does(id, planner.ShowID())
	}
	requests := d.Model.Requests(llm.RolePlan)
	text := ""
	for _, m := range requests[2].Messages {
		text += m.Role + ": " + m.Content + "\n"
	}
	if !strings.Contains(text, "user: <data>\nwords of bob\n</data>") || !strings.Contains(text, "user: words of ann") {
		t.Errorf("the third question saw\n%s\nwant the words of bob marked as data, those of ann not", text[len(requests[2].Messages[0].Content):])
	}
}
