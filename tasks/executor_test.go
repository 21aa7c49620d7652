package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/enginetest"
	"legwork/tasks/executor"
	"legwork/tools"
)

// does performs the wanted action of that id and returns the events it added.
func (d *inboxEnv) does(id tasks.ID, action planner.ActionID) []planner.Event {
	d.t.Helper()
	return d.doesOn(id, action, func(p executor.Display) executor.Display { return p })
}

// doesOn is does, with another display around the usual one.
func (d *inboxEnv) doesOn(id tasks.ID, action planner.ActionID, around func(executor.Display) executor.Display) []planner.Event {
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
	if err := d.Executor.Do(d.t.Context(), v, todo[i], around(p)); err != nil {
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

// TestDelegateByConfig: a sub-task can hand work on only where the config offers it.
func TestDelegateByConfig(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		d := newInboxEnv(t)
		d.Executor.Use(tasks.PromptRules{Delegate: allowed})
		id := d.planned("look")
		d.Model.Answer = func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
			if offered := slices.ContainsFunc(r.Tools, func(t llm.Tool) bool { return t.Name == planner.ToolDelegate }); offered != allowed {
				t.Errorf("allowed: %v; delegate is offered: %v", allowed, offered)
			}
			return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "c", Name: planner.ToolDelegate, Arguments: `{"name":"book","description":"book it"}`}}}, nil
		}
		got := d.does(id, planner.WorkID("1/a", 1, 0))
		if len(got) != 1 || len(got[0].Reply.Calls) != 1 || (got[0].Reply.Calls[0].Refusal == "") != allowed || len(d.state(id).Subtasks) == 3 != allowed {
			t.Errorf("allowed: %v; events = %+v", allowed, got)
		}
	}
}

// TestThoughtOfAPlan: the thought in the arguments of the tool plan is kept, rather than
// what the model wrote beside the call.
func TestThoughtOfAPlan(t *testing.T) {
	for _, reply := range []llm.Reply{
		{Text: "Let me see.", ToolCalls: []llm.ToolCall{{ID: "p", Name: planner.ToolPlan, Arguments: `{"thought":"Two places.","plan":[{"name":"look","description":"one"}]}`}}},
		{Text: `So: {"thought":"Two places.","plan":[{"name":"look","description":"one"}]}`, Thinking: "deep"},
	} {
		d := newInboxEnv(t)
		d.Ask(t, enginetest.Message("1", "go", time.Now()))
		id := d.live(enginetest.Chat)[0]
		d.Model.Answer = func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) { return reply, nil }
		got := d.does(id, planner.Todo(d.state(id))[0].ID)
		if len(got) != 1 || got[0].Reply == nil || len(got[0].Reply.Plan) != 1 || got[0].Reply.Thought != "Two places." {
			t.Errorf("%+v led to %+v, want its thought", reply, got)
		}
	}
}

// TestFindTools: a group whose tools are too large for the prompt is offered as a
// search that names what it hides. It never hides fewer than eight tools.
func TestFindTools(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","description":"` + strings.Repeat("x", 500) + `"}`)
	for _, n := range []int{7, 8, 300} {
		d := newInboxEnv(t)
		for i := range n {
			d.Tools.Many = append(d.Tools.Many, tools.Tool{Name: fmt.Sprintf("look.at_%03d", i), Exposed: fmt.Sprintf("look__at_%03d", i), Schema: schema})
		}
		d.Executor.Use(tasks.PromptRules{PromptBytes: func(string) int { return 20_000 }})
		id := d.planned("look")
		d.Model.Answer = func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
			return llm.Reply{Text: "ok"}, nil
		}
		d.does(id, planner.WorkID("1/a", 1, 0))
		offered := d.Model.Requests(llm.RoleWork)[0].Tools
		if n < 8 {
			if len(offered) != n+1 || offered[0].Name != "look__at_000" || offered[n].Name != planner.ToolAskPerson {
				t.Errorf("of %d tools %d are offered, want all, and ask_person: %+v", n, len(offered), offered)
			}
			continue
		}
		if len(offered) != 2 || offered[0].Name != "find_tools" {
			t.Fatalf("of %d tools these are offered: %+v", n, offered)
		}
		said := offered[0].Description
		shown := min(n, 2048/len("look__at_000, "))
		if got := strings.Count(said, "look__at_"); got != shown || len(said) > 2500 || strings.Contains(said, fmt.Sprintf(", and %d more.", n-shown)) == (shown == n) {
			t.Errorf("the search of %d tools names %d, want %d: %s", n, got, shown, said)
		}
	}
}

// TestArgumentsReadTwoWays: a call with a repeated key is refused, because the
// person might read one value and the server the other.
func TestArgumentsReadTwoWays(t *testing.T) {
	for _, args := range []string{
		`{"to":"ann","\u0074o":"mallory"}`,
		`{"to":"ann","\u0074o":"mallory","Day":"today"}`, // the last key is not the property's own
		`{"arguments":{"to":"ann","to":"mallory"}}`,
	} {
		d := newInboxEnv(t)
		d.Tools.Many = []tools.Tool{{Name: "look.up", Exposed: "look", Schema: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"},"day":{"type":"string"}}}`)}}
		id := d.planned("look")
		d.Model.Answer = func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
			return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "c", Name: "look", Arguments: args}}}, nil
		}
		got := d.does(id, planner.WorkID("1/a", 1, 0))
		if len(got) != 1 || len(got[0].Reply.Calls) != 1 || got[0].Reply.Calls[0].Tool != "" || !strings.Contains(got[0].Reply.Calls[0].Refusal, `"to" twice`) {
			t.Errorf("%s: events = %+v, want a call that is refused for its key", args, got)
		}
	}
}

// TestArgumentsBecomeWhatTheSchemaWants: the journal, and so an approval, holds the
// arguments as the server gets them.
func TestArgumentsBecomeWhatTheSchemaWants(t *testing.T) {
	d := newInboxEnv(t)
	d.Tools.Many = []tools.Tool{{Name: "look.up", Exposed: "look", Schema: json.RawMessage(`{"type":"object","properties":{"days":{"type":"integer"},"place":{"type":"string"},"full":{"type":"boolean"}}}`)}}
	id := d.planned("look")
	d.Model.Answer = func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
		return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "c", Name: "look", Arguments: `{"days":"2","place":null,"full":"true"}`}}}, nil
	}
	got := d.does(id, planner.WorkID("1/a", 1, 0))
	if len(got) != 1 || len(got[0].Reply.Calls) != 1 || got[0].Reply.Calls[0].Arguments != `{"days":2,"full":true}` {
		t.Errorf("events = %+v, want the arguments of the schema's types", got)
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

// TestBroughtMessagesStay: a later question sees the messages that an earlier one brought
// along, and its task has read words of outsiders then.
func TestBroughtMessagesStay(t *testing.T) {
	for name, c := range map[string]struct {
		said    bot.Quoted
		tainted bool
	}{
		"of others":  {bot.Quoted{From: "Eve", Text: "the site is down"}, true},
		"of her own": {bot.Quoted{From: "Ann", Text: "the site is down", Own: true}, false},
		"pointed at": {bot.Quoted{From: "Eve", Text: "the site is down", Pointed: true}, true},
	} {
		d := newInboxEnv(t)
		var second tasks.ID
		for _, text := range []string{"why?", "since when?"} {
			m := from("ann", text, text)
			m.Standalone = true
			if second == "" {
				m.Earlier = []bot.Quoted{c.said}
			}
			d.Ask(t, m)
			second = d.live(group)[0]
			d.does(second, planner.Todo(d.state(second))[0].ID)
			if text == "why?" {
				d.does(second, planner.ShowID())
			}
		}
		request := d.Model.Requests(llm.RolePlan)[1]
		if text := request.Messages[1].Content; !strings.Contains(text, "\nthe site is down\n</earlier_message>") || strings.Contains(text, "<goal>\nwhy?") {
			t.Errorf("%s: the second question saw\n%s\nwant the message as data", name, text)
		}
		if got := d.state(second).Tainted > 0; got != c.tainted {
			t.Errorf("%s: the second task has read words of outsiders: %v, want %v", name, got, c.tainted)
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
	if !strings.Contains(text, "user: <earlier_question>\n<data>\nwords of bob\n</data>\n</earlier_question>\n") || !strings.Contains(text, "user: <earlier_question>\nwords of ann\n</earlier_question>\n") {
		t.Errorf("the third question saw\n%s\nwant the words of bob marked as data, those of ann not", text[len(requests[2].Messages[0].Content):])
	}
}

// TestWhatModelsWriteInPlaceOfTheProtocol: replies of each role as small models write
// them, and what becomes of each.
func TestWhatModelsWriteInPlaceOfTheProtocol(t *testing.T) {
	const (
		plan   = `{"plan": [{"name": "look", "description": "x"}]}`
		shorty = "shorter"
	)
	cut := func(text string, calls ...llm.ToolCall) error {
		return &llm.Error{Problem: llm.CutOff, Model: "main", Length: true, Partial: text, Calls: calls, Usage: llm.Usage{Output: 7}}
	}
	plans := func(args string) llm.ToolCall { return llm.ToolCall{ID: "c", Name: "plan", Arguments: args} }
	for name, c := range map[string]struct {
		reply llm.Reply
		err   error
		want  planner.EventType
		told  string // part of the reason
		size  int    // sub-tasks
	}{
		"two calls of plan":            {reply: llm.Reply{ToolCalls: []llm.ToolCall{plans(plan), plans(`{"plan": [{"name": "book", "description": "y"}]}`)}}, want: planner.Replied, size: 2},
		"a call of another tool":       {reply: llm.Reply{ToolCalls: []llm.ToolCall{plans(plan), {ID: "d", Name: "fly", Arguments: "{}"}}}, want: planner.Malformed, told: `There is no tool "fly" here`},
		"a call as text":               {reply: llm.Reply{Text: `{"tool_calls": [{"name": "plan", "arguments": ` + plan + `}]}`}, want: planner.Replied, size: 1},
		"a plan cut by length":         {err: cut(`{"plan": [{"name": "look", "descr`), want: planner.Malformed, told: shorty},
		"a call of plan cut by length": {err: cut("", plans(`{"plan": [{"name": "look", "descr`)), want: planner.Malformed, told: shorty},
		"an answer cut by length":      {err: cut("Once upon a time"), want: planner.CallFailed},
		"thinking cut by length":       {err: cut(""), want: planner.CallFailed},
		"a plan cut by the line":       {err: &llm.Error{Problem: llm.CutOff, Partial: `{"plan": [{"name": "look", "descr`}, want: planner.CallFailed},
	} {
		t.Run(name, func(t *testing.T) {
			d := newInboxEnv(t)
			d.Ask(t, enginetest.Message("1", "go", time.Now()))
			id := d.live(enginetest.Chat)[0]
			d.Model.Answer = func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) { return c.reply, c.err }
			got := d.does(id, planner.Todo(d.state(id))[0].ID)
			if len(got) != 1 || got[0].Type != c.want {
				t.Fatalf("got %+v, want %s", got, c.want)
			}
			if r := got[0].Reply; r != nil && len(r.Plan) != c.size {
				t.Errorf("the plan is %+v, want %d sub-tasks", r.Plan, c.size)
			}
			if p := got[0].Problem; p != nil && (!strings.Contains(p.Reason, c.told) || c.err != nil && c.want == planner.Malformed && p.Usage.Output != 7) {
				t.Errorf("the problem is %+v, want %q in the reason and the usage", p, c.told)
			}
		})
	}
}

// TestCallsThatWorkersWriteAsText: people never read them.
func TestCallsThatWorkersWriteAsText(t *testing.T) {
	for text, told := range map[string]string{
		`<tool_call>{"name": "look", "arguments": {"q": "x"`:                     "cannot be read",
		"Let me see.\n<tool_call>\nlook at it\n</tool_call>":                     "cannot be read",
		"Let me see:\n```json\n{\"name\": \"look\", \"arguments\": {}}\n```":     "No more tools can be called",
		"Now:\n```json\n{\"name\": \"get_state\", \"arguments\": {}}\n```":       "No more tools can be called",
		`{"plan": [{"name": "look", "description": "x"}]}`:                       "A plan is not wanted here",
		"The protocol has these:\n```json\n{\"tool_calls\": [{\"id\": 1}]}\n```": "",
	} {
		d := newInboxEnv(t)
		id := d.planned("look")
		d.Model.Answer = func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
			return llm.Reply{Text: text}, nil
		}
		got := d.does(id, planner.WorkID("1/a", 1, 0))
		switch {
		case len(got) != 1, (got[0].Type == planner.Malformed) != (told != ""):
			t.Errorf("%q became %+v", text, got)
		case told != "" && !strings.Contains(got[0].Problem.Reason, told):
			t.Errorf("%q: told %q, want %q", text, got[0].Problem.Reason, told)
		}
	}
	d := newInboxEnv(t)
	id := d.planned("look")
	d.Model.Answer = func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
		return llm.Reply{}, &llm.Error{Problem: llm.CutOff, Length: true, Calls: []llm.ToolCall{{ID: "c", Name: "look", Arguments: `{"q": "x`}}}
	}
	if got := d.does(id, planner.WorkID("1/a", 1, 0)); len(got) != 1 || got[0].Type != planner.Malformed || !strings.Contains(got[0].Problem.Reason, "shorter arguments") {
		t.Errorf("a call cut by length became %+v, want it to be given back", got)
	}
}

// TestThinkingAloneIsGivenBackOnce: then the task says that no reply came.
func TestThinkingAloneIsGivenBackOnce(t *testing.T) {
	thinks := func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
		return llm.Reply{Text: "<thought>I have to look it up", Thinking: "hm"}, nil
	}
	for name, open := range map[string]func(*inboxEnv) tasks.ID{
		"plan": func(d *inboxEnv) tasks.ID {
			d.Ask(t, enginetest.Message("1", "What does Go 1.26 cost?", time.Now()))
			return d.live(enginetest.Chat)[0]
		},
		"work": func(d *inboxEnv) tasks.ID { return d.planned("look") },
	} {
		d := newInboxEnv(t)
		id := open(d)
		d.Model.Answer = thinks
		if got := d.does(id, planner.Todo(d.state(id))[0].ID); len(got) != 1 || got[0].Type != planner.Malformed || !strings.Contains(got[0].Problem.Reason, "nothing outside of thinking") {
			t.Fatalf("%s: events = %+v, want the thinking to be given back", name, got)
		}
		if got := d.does(id, planner.Todo(d.state(id))[0].ID); len(got) == 0 || got[0].Type != planner.CallFailed || got[0].Problem.Code != string(llm.Garbage) {
			t.Errorf("%s: events = %+v, want the call to fail", name, got)
		}
	}
}

// TestDoubtfulCallsAreGivenBackOnce: data in which an agent or a tool is named under
// another key is the answer or the result when the model sends it again.
func TestDoubtfulCallsAreGivenBackOnce(t *testing.T) {
	const quiz = `{"category": "look", "question": "What is 2+2?"}`
	for name, open := range map[string]func(*inboxEnv) tasks.ID{
		"plan": func(d *inboxEnv) tasks.ID {
			d.Ask(t, enginetest.Message("1", "Write a question of a quiz as JSON", time.Now()))
			return d.live(enginetest.Chat)[0]
		},
		"work": func(d *inboxEnv) tasks.ID { return d.planned("look") },
	} {
		d := newInboxEnv(t)
		d.Tools.Many = []tools.Tool{{Name: "look.up", Exposed: "look"}}
		id := open(d)
		d.Model.Answer = func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
			return llm.Reply{Text: quiz}, nil
		}
		if got := d.does(id, planner.Todo(d.state(id))[0].ID); len(got) != 1 || got[0].Type != planner.Malformed {
			t.Fatalf("%s: events = %+v, want the reply to be given back", name, got)
		}
		if got := d.does(id, planner.Todo(d.state(id))[0].ID); len(got) == 0 || got[0].Type != planner.Replied || got[0].Reply.Text != quiz {
			t.Errorf("%s: events = %+v, want the second reply to count", name, got)
		}
	}
}

// TestAnnouncementsAreGivenBackOnce: a promise of work is no answer, since legwork
// does nothing then. When the model sends the same reply again, it is the answer.
func TestAnnouncementsAreGivenBackOnce(t *testing.T) {
	const announced = "I'll use `look` to find the price of Go 1.26."
	d := newInboxEnv(t)
	d.Ask(t, enginetest.Message("1", "What does Go 1.26 cost?", time.Now()))
	id := d.live(enginetest.Chat)[0]
	d.Model.Answer = func(_ context.Context, _ llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
		stream(llm.Delta{Text: announced[:30]})
		stream(llm.Delta{Text: announced[30:]})
		return llm.Reply{Text: announced}, nil
	}
	if got := d.does(id, planner.Todo(d.state(id))[0].ID); len(got) != 1 || got[0].Type != planner.Malformed || !strings.Contains(got[0].Problem.Reason, "only announces work") {
		t.Fatalf("events = %+v, want the announcement to be given back", got)
	}
	got := d.does(id, planner.Todo(d.state(id))[0].ID)
	if len(got) == 0 || got[0].Type != planner.Replied || got[0].Reply.Text != announced {
		t.Errorf("events = %+v, want the second reply to be the answer", got)
	}
}

// TestPromisesOfASubtaskAreGivenBackOnce: the text of an agent that has called no tool
// and only says what it is going to do is no result.
func TestPromisesOfASubtaskAreGivenBackOnce(t *testing.T) {
	const promise = "I will now search for the release date of Go 1.26. Please wait."
	d := newInboxEnv(t)
	d.Tools.Many = []tools.Tool{{Name: "look.up", Exposed: "look"}}
	d.Ask(t, enginetest.Message("1", "When was Go 1.26 released?", time.Now()))
	id := d.live(enginetest.Chat)[0]
	d.add(id, planner.Event{Type: planner.Replied, Action: planner.Todo(d.state(id))[0].ID, Reply: &planner.Reply{IsPlan: true, Plan: []planner.Subtask{
		{ID: "1/a", Name: "look", Description: "Find the release date of Go 1.26"},
	}}})
	d.Model.Answer = func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
		return llm.Reply{Text: promise}, nil
	}
	if got := d.does(id, planner.Todo(d.state(id))[0].ID); len(got) != 1 || got[0].Type != planner.Malformed || !strings.Contains(got[0].Problem.Reason, "no work has been done") {
		t.Fatalf("events = %+v, want the promise to be given back", got)
	}
	got := d.does(id, planner.Todo(d.state(id))[0].ID)
	if len(got) == 0 || got[0].Type != planner.Replied || got[0].Reply.Text != promise {
		t.Errorf("events = %+v, want the second reply to be the result", got)
	}
}

// lateTools is a toolbox whose group look is not described before its server is ready.
type lateTools struct {
	tasks.Toolbox
	ready bool
}

func (l *lateTools) Groups() []tools.Group {
	groups := l.Toolbox.Groups()
	if !l.ready {
		groups[2].Description, groups[2].ReadOnly = "Tools of look", false
	}
	return groups
}

func (l *lateTools) Tools(ctx context.Context, group, person string) ([]tools.Tool, error) {
	l.ready = l.ready || group == "look"
	return l.Toolbox.Tools(ctx, group, person)
}

// TestThePlanWaitsForServers: at the start of the program the planner would know nothing
// of a server but its name, and the review would begin with another system text.
func TestThePlanWaitsForServers(t *testing.T) {
	d := newInboxEnv(t)
	d.Executor.Tools = &lateTools{Toolbox: d.Tools}
	d.Ask(t, enginetest.Message("1", "When was Go 1.26 released?", time.Now()))
	id := d.live(enginetest.Chat)[0]
	d.Model.Answer = func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		if system := r.Messages[0].Content; !strings.Contains(system, "- look: Looks things up. (only reads)") {
			t.Errorf("the system text is\n%s\nwant the description of look", system)
		}
		return llm.Reply{Text: "In February 2026."}, nil
	}
	d.does(id, planner.Todo(d.state(id))[0].ID)
}

// TestAnswersInJSONAreKept: an object around an answer is left out, unless the person
// asked for JSON.
func TestAnswersInJSONAreKept(t *testing.T) {
	for goal, want := range map[string]string{
		"What is the capital of France?":                                "Paris",
		"What is the capital of France? Reply as json with \"answer\".": `{"answer": "Paris"}`,
	} {
		d := newInboxEnv(t)
		d.Ask(t, enginetest.Message("1", goal, time.Now()))
		id := d.live(enginetest.Chat)[0]
		d.Model.Answer = func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
			return llm.Reply{Text: `{"answer": "Paris"}`}, nil
		}
		if got := d.does(id, planner.Todo(d.state(id))[0].ID); len(got) == 0 || got[0].Type != planner.Replied || got[0].Reply.Text != want {
			t.Errorf("%s: events = %+v, want the answer %s", goal, got, want)
		}
	}
}
