package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/bot"
	"legwork/internal/form"
	"legwork/internal/test/fakes/llmfake"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/enginetest"
	"legwork/tasks/policy"
	"legwork/tools"
)

// books is a model whose sub-task books as often as it is said, one call in each
// turn, each of which must be allowed.
func books(times int) func(*enginetest.Env) {
	return func(k *enginetest.Env) {
		k.Deciders = []string{"api:ops"}
		k.Tools.Judge = func(group, _ string) tools.Verdict {
			return tools.Verdict{Ask: group == "book", Definition: "d1", Free: []string{"n"}}
		}
		k.Model.Answer = func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
			if r.Role == llm.RolePlan {
				return llm.Reply{Text: `{"plan":[{"name":"book","description":"book it"}]}`}, nil
			}
			done, last := 0, r.Messages[len(r.Messages)-1]
			for _, m := range r.Messages {
				done += len(m.ToolCalls)
			}
			if r.Role == llm.RoleWork && done < times {
				return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "c", Name: "book", Arguments: fmt.Sprintf("{\"n\":%d,\"to\":\"Ro\u202eme\"}", done)}}}, nil
			}
			return llm.Reply{Text: "saw " + last.Content}, nil
		}
	}
}

func TestApproveCalls(t *testing.T) {
	w := newEnv(t, books(2))
	task := w.starts(agent, api.NewTask{Goal: "book twice"})
	ask := w.asked(task.ID, "")
	if ask.Kind != string(planner.SubjectCalls) || ask.AskedFor != "agent:scout" || ask.Goal != "book twice" || ask.Asked.IsZero() || len(ask.Calls) != 1 {
		t.Fatalf("asked is %+v", ask)
	}
	if c := ask.Calls[0]; c.Tool != "book.it" || !strings.Contains(string(c.Arguments), `"n":0`) || !strings.Contains(c.Shown, `Ro\u202eme`) {
		t.Errorf("the call is %+v", c)
	}
	if all, _, err := w.Approvals(t.Context(), viewer, api.ApprovalQuery{}); err != nil || len(all) != 1 || all[0].ID != ask.ID {
		t.Errorf("all approvals are %+v, %v", all, err)
	}
	if none, _, err := w.Approvals(t.Context(), stranger, api.ApprovalQuery{}); err != nil || len(none) != 0 {
		t.Errorf("a stranger sees %+v, %v", none, err)
	}
	_, _, err := w.Approvals(t.Context(), agent, api.ApprovalQuery{})
	refused(t, "an agent lists", err, api.ErrForbidden)
	_, err = w.Decide(t.Context(), agent, ask.ID, api.Decision{Approve: true})
	refused(t, "an agent decides", err, api.ErrForbidden)
	_, err = w.Decide(t.Context(), operator, ask.ID, api.Decision{Approve: true, Scope: planner.ScopeChat})
	wrong(t, "a grant for the chat", err, "scope")
	_, err = w.Decide(t.Context(), operator, ask.ID, api.Decision{Approve: true, Value: raw(`{"a":1}`)})
	wrong(t, "fields for calls", err, "value")
	for _, id := range []string{"", "x", ask.ID + "0", string(task.ID) + ".999.0", string(task.ID) + ".1.0", "." + ask.ID, string(task.ID) + ".+2.0"} {
		_, err = w.Decide(t.Context(), operator, id, api.Decision{Approve: true})
		refused(t, "approval "+id, err, api.ErrNotFound)
	}
	if _, err := w.Decide(t.Context(), operator, ask.ID, api.Decision{Approve: true, Scope: planner.ScopeTask}); err != nil {
		t.Fatal(err)
	}
	w.ends(task.ID)
	if calls := w.kit.Tools.Calls(); len(calls) != 2 {
		t.Errorf("calls are %q, want two by one decision", calls)
	}
	for _, other := range []api.Decision{{Approve: true}, {Approve: false}, {Approve: true, Scope: planner.ScopeTask, Comment: "well"}} {
		_, err = w.Decide(t.Context(), operator, ask.ID, other)
		refused(t, "after the end", err, api.ErrConflict)
		if says := "api:ops said yes at 20"; !strings.Contains(err.Error(), says) {
			t.Errorf("after the end: got %v, want %q in it", err, says)
		}
	}
	if again, err := w.Decide(t.Context(), operator, ask.ID, api.Decision{Approve: true, Scope: planner.ScopeTask}); err != nil || again.State != "done" {
		t.Errorf("the same decision again: got %+v, %v", again, err)
	}
	_, err = w.Decide(t.Context(), admin, ask.ID, api.Decision{Approve: true, Scope: planner.ScopeTask})
	refused(t, "the same by another", err, api.ErrConflict)
}

func TestDenyCalls(t *testing.T) {
	w := newEnv(t, books(1))
	task := w.starts(operator, api.NewTask{Goal: "book"})
	ask := w.asked(task.ID, "")
	if _, err := w.Decide(t.Context(), operator, ask.ID, api.Decision{Comment: "too dear"}); err != nil {
		t.Fatal(err)
	}
	task = w.ends(task.ID)
	if calls := w.kit.Tools.Calls(); len(calls) != 0 || task.Answer == nil || !strings.Contains(*task.Answer, "too dear") {
		t.Errorf("calls are %q, the answer %+v", calls, task.Answer)
	}
}

// TestForm: all fields of a form are filled in by one decision.
func TestForm(t *testing.T) {
	w := newEnv(t, func(k *enginetest.Env) {
		books(1)(k)
		k.Tools.Judge = nil
		k.Tools.Serve = func(ctx context.Context, c tools.Call) (tools.Result, error) {
			answer, err := c.Ask(ctx, form.Question{Message: "Which?", Fields: []form.Field{
				{Name: "n", Required: true, Schema: raw(`{"type":"integer","minimum":1}`)},
				{Name: "colour", Default: raw(`"red"`), Schema: raw(`{"type":"string"}`)},
				{Name: "note", Schema: raw(`{"type":"string"}`)},
			}})
			return tools.Result{Text: fmt.Sprintf("%s %s %s %q", answer.Action, answer.Values["n"], answer.Values["colour"], answer.Values["note"])}, err
		}
	})
	id := w.starts(operator, api.NewTask{Goal: "book"}).ID
	ask := w.asked(id, "")
	if ask.Kind != string(planner.SubjectForm) || ask.Text != "Which?" || !strings.Contains(string(ask.Details), `"name":"n","required":true,"schema":{"type":"integer","minimum":1}`) {
		t.Errorf("asked is %+v %s", ask, ask.Details)
	}
	for value, field := range map[string]string{`{}`: "value.n", `{"n":0}`: "value.n", `{"n":"x"}`: "value.n", `{"n":1,"m":2}`: "value", `[]`: "value", `"x"`: "value", `{"n":1,"note":2}`: "value.note", `{`: "value"} {
		_, err := w.Decide(t.Context(), operator, ask.ID, api.Decision{Approve: true, Value: raw(value)})
		wrong(t, value, err, field)
	}
	if _, err := w.Decide(t.Context(), operator, ask.ID, api.Decision{Approve: true, Value: raw(`{"n":3}`)}); err != nil {
		t.Fatal(err)
	}
	if task := w.ends(id); task.Answer == nil || !strings.Contains(*task.Answer, `accept 3 "red" ""`) {
		t.Errorf("the answer is %v, want what was filled in", *task.Answer)
	}
}

// TestValuesOfForms: operators, admins and the agent that started the task read what
// was entered into the form of a server; viewers and other agents do not. All ways of
// reading tell a token the same.
func TestValuesOfForms(t *testing.T) {
	w := newEnv(t, func(k *enginetest.Env) {
		books(1)(k)
		k.Tools.Judge = nil
		k.Tools.Serve = func(ctx context.Context, c tools.Call) (tools.Result, error) {
			_, err := c.Ask(ctx, form.Question{Message: "Which?", Fields: []form.Field{{Name: "n", Required: true, Schema: raw(`{"type":"integer"}`)}}})
			return tools.Result{Text: "booked"}, err
		}
	})
	id := w.starts(agent, api.NewTask{Goal: "book"}).ID
	if _, err := w.Decide(t.Context(), operator, w.asked(id, "").ID, api.Decision{Approve: true, Value: raw(`{"n":4711}`)}); err != nil {
		t.Fatal(err)
	}
	w.ends(id)
	w.until(id, "it is over", func(s planner.State) bool { return s.Finished() })
	other := api.Principal{Name: "other", Role: policy.RoleAgent, Chats: []string{"*"}}
	for _, c := range []struct {
		by    api.Principal
		shown bool
	}{{operator, true}, {admin, true}, {agent, true}, {viewer, false}, {other, false}} {
		read, err := w.Context(t.Context(), c.by, id, api.ContextQuery{})
		if err != nil {
			t.Fatal(err)
		}
		var followed, fed []api.Message
		err = w.Follow(t.Context(), c.by, id, 0, nil, time.Minute, func(m api.Message) error {
			followed = append(followed, m)
			return nil
		}, quietly)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		from := uint64(0)
		err = w.FollowAll(ctx, c.by, &from, nil, time.Minute, func(m api.FeedMessage) error {
			if fed = append(fed, m.Message); len(fed) == len(read.Messages) {
				cancel()
			}
			return nil
		}, func(uint64) error { return nil }, func(uint64) error { return nil })
		cancel()
		refused(t, "the stream of all tasks", err, context.Canceled)
		if diff := cmp.Diff(read.Messages, followed) + cmp.Diff(read.Messages, fed); diff != "" {
			t.Errorf("%s: the context and the streams differ:\n%s", c.by.Key(), diff)
		}
		decided := 0
		for _, m := range read.Messages {
			if !strings.Contains(string(m.Content), `"field":"n"`) {
				continue
			}
			decided++
			whole, _, _, err := w.Content(t.Context(), c.by, id, m.Seq, 0, 0)
			if err != nil || whole != string(m.Content) || strings.Contains(whole, "4711") != c.shown {
				t.Errorf("%s reads %s and %s, %v; want the value: %v", c.by.Key(), m.Content, whole, err, c.shown)
			}
		}
		if decided != 1 {
			t.Errorf("%s reads %d decisions about the field, want 1", c.by.Key(), decided)
		}
	}
}

func TestQuestion(t *testing.T) {
	w := newEnv(t, asksFirst)
	id := w.starts(operator, api.NewTask{Goal: "find it"}).ID
	ask := w.asked(id, "")
	if ask.Kind != string(planner.SubjectQuestion) || ask.Text != "Which one?" || strings.Join(ask.Choices, " ") != "red blue" {
		t.Errorf("asked is %+v", ask)
	}
	_, err := w.Decide(t.Context(), operator, ask.ID, api.Decision{Approve: true})
	wrong(t, "no answer", err, "comment")
	if _, err := w.Decide(t.Context(), operator, ask.ID, api.Decision{Approve: true, Comment: "blue"}); err != nil {
		t.Fatal(err)
	}
	if task := w.ends(id); task.Answer == nil || !strings.Contains(*task.Answer, "blue") {
		t.Errorf("the answer is %v", task.Answer)
	}
}

// TestPlanApproval: a plan that was asked for in a chat is approved by a program.
func TestPlanApproval(t *testing.T) {
	for approve, state := range map[bool]string{true: "done", false: "stopped"} {
		w := newEnv(t, plans(oneLook))
		w.kit.Ask(t, enginetest.Message("1", "/plan find it", time.Now()))
		rows, _, err := w.List(t.Context(), operator, api.Query{})
		if err != nil || len(rows) != 1 {
			t.Fatalf("got %+v, %v", rows, err)
		}
		ask := w.asked(rows[0].ID, "")
		var plan struct {
			Subtasks []struct{ Name, Description string }
		}
		if err := json.Unmarshal(ask.Details, &plan); err != nil || ask.Kind != string(planner.SubjectPlan) || len(plan.Subtasks) != 1 || plan.Subtasks[0].Description != "look it up" {
			t.Errorf("asked is %+v, %v", ask, err)
		}
		if _, err := w.Decide(t.Context(), operator, ask.ID, api.Decision{Approve: approve}); err != nil {
			t.Fatal(err)
		}
		if task := w.ends(rows[0].ID); task.State != state {
			t.Errorf("approve %v: it is %s, want %s", approve, task.State, state)
		}
	}
}

// TestGoalApproval: a program says what to do with a file that came to a chat without
// words.
func TestGoalApproval(t *testing.T) {
	for approve, state := range map[bool]string{true: "done", false: "stopped"} {
		w := newEnv(t, func(k *enginetest.Env) {
			k.Platform.Give = func(_ context.Context, _ bot.Attachment, to io.Writer) error {
				_, err := to.Write(llmfake.OGG(1))
				return err
			}
			k.Model.Hear = func(context.Context, llm.Transcription) (llm.Transcript, error) {
				return llm.Transcript{Text: "spoken words"}, nil
			}
		})
		m := enginetest.Message("1", "", time.Now())
		m.Files = []bot.Attachment{{Ref: "f", Kind: bot.AttachAudio, Name: "talk.ogg"}}
		w.kit.Ask(t, m)
		rows, _, err := w.List(t.Context(), operator, api.Query{})
		if err != nil || len(rows) != 1 {
			t.Fatalf("got %+v, %v", rows, err)
		}
		ask := w.asked(rows[0].ID, "")
		if ask.Kind != "goal" || string(ask.Details) != `{"files":["talk.ogg"]}` {
			t.Errorf("asked is %+v with %s", ask, ask.Details)
		}
		if approve {
			_, err := w.Decide(t.Context(), operator, ask.ID, api.Decision{Approve: true})
			wrong(t, "a yes without a wish", err, "comment")
		}
		if _, err := w.Decide(t.Context(), operator, ask.ID, api.Decision{Approve: approve, Comment: "sum it up"}); err != nil {
			t.Fatal(err)
		}
		if task := w.ends(rows[0].ID); task.State != state {
			t.Errorf("approve %v: it is %s, want %s", approve, task.State, state)
		}
	}
}

// TestBudget: a reached budget is extended by admins, or by who asked where the
// config says so.
func TestBudget(t *testing.T) {
	for _, c := range []struct {
		asker bool
		who   api.Principal
		want  error
	}{
		{false, operator, api.ErrForbidden},
		{true, operator, api.ErrForbidden},
		{false, admin, nil},
		{true, api.Principal{Name: "other", Role: policy.RoleOperator, Chats: []string{"*"}}, nil},
	} {
		held, called := make(chan any), make(chan any, 10)
		w := newEnv(t, func(k *enginetest.Env) {
			plans(oneLook)(k)
			k.Budget.AskerExtends = c.asker
			k.Tools.Make = func(ctx context.Context, _, _ string) (tools.Result, error) {
				called <- nil
				select {
				case <-held:
				case <-ctx.Done():
				}
				return tools.Result{Text: "found"}, ctx.Err()
			}
		})
		starter := api.Principal{Name: "other", Role: policy.RoleOperator, Chats: []string{"*"}}
		id := w.starts(starter, api.NewTask{Goal: "find it"}).ID
		<-called
		over := planner.Overdraft{Budget: tasks.BudgetTaskUSD, Limit: 1_000_000, Spent: 990_000, Wanted: 50_000, Extend: 500_000}
		if err := w.kit.Store.Append(t.Context(), id, -1, 0, planner.Event{Type: planner.BudgetReached, Budget: over.Budget, Overdraft: &over}); err != nil {
			t.Fatal(err)
		}
		ask := w.asked(id, "")
		if ask.Kind != string(planner.SubjectBudget) || !strings.Contains(string(ask.Details), `"extend_by":0.5`) {
			t.Errorf("asked is %+v", ask)
		}
		_, err := w.Decide(t.Context(), c.who, ask.ID, api.Decision{Approve: true})
		refused(t, fmt.Sprintf("%+v", c), err, c.want)
		if c.want != nil {
			if _, err := w.Decide(t.Context(), c.who, ask.ID, api.Decision{}); err != nil {
				t.Errorf("a no by %s: %v", c.who.Name, err)
			}
		}
		close(held)
		task := w.ends(id)
		if (task.Reason == planner.ReasonBudget) != (c.want != nil) || c.want != nil && !strings.Contains(task.Problem, "budget") {
			t.Errorf("%+v: it ended %s by %q: %q", c, task.State, task.Reason, task.Problem)
		}
	}
}

func TestCancel(t *testing.T) {
	w := newEnv(t, asksFirst)
	mine, other := w.starts(agent, api.NewTask{Goal: "x"}).ID, w.starts(operator, api.NewTask{Goal: "y"}).ID
	w.asked(mine, "")
	w.asked(other, "")
	_, err := w.Cancel(t.Context(), agent, other)
	refused(t, "an agent cancels what is another's", err, api.ErrForbidden)
	_, _, err = w.Retry(t.Context(), agent, mine, "")
	refused(t, "a retry of what is not over", err, api.ErrConflict)
	for range 2 {
		if _, err := w.Cancel(t.Context(), agent, mine); err != nil {
			t.Errorf("canceling: %v", err)
		}
	}
	task := w.ends(mine)
	if task.State != "stopped" || task.Reason != planner.ReasonStopped || task.Problem == "" {
		t.Errorf("it is %+v", task)
	}
	if got := w.messages(mine, api.TypeStatus); !strings.Contains(fmt.Sprint(got), "agent:scout") {
		t.Errorf("the context does not tell who stopped it: %+v", got)
	}
	if _, err := w.Cancel(t.Context(), operator, other); err != nil {
		t.Error(err)
	}
	w.ends(other)
}

func TestRetry(t *testing.T) {
	w := newEnv(t, nil)
	first := w.ends(w.starts(agent, api.NewTask{Goal: "x", Groups: []string{"look"}}).ID)
	again, repeated, err := w.Retry(t.Context(), agent, first.ID, "r")
	if err != nil || repeated || again.ID == first.ID || again.Goal != "x" || again.From != "agent:scout" {
		t.Errorf("got %+v, %v, %v", again, repeated, err)
	}
	same, repeated, err := w.Retry(t.Context(), agent, first.ID, "r")
	if err != nil || !repeated || same.ID != again.ID {
		t.Errorf("the same key gives %+v, %v, %v", same, repeated, err)
	}
	w.ends(again.ID)
	if goal := w.messages(again.ID, api.TypeGoal); !strings.Contains(string(goal[0].Content), `"groups":["look"]`) {
		t.Errorf("it begins with %s", goal[0].Content)
	}
	_, _, err = w.Retry(t.Context(), agent, again.ID, "r")
	refused(t, "the key for another task", err, api.ErrKeyReused)

	told := w.ends(w.starts(operator, api.NewTask{Goal: "x", Notify: &api.Notify{Webhook: "ops"}}).ID)
	for _, c := range []struct {
		who  api.Principal
		want string
	}{{operator, `{"webhook":"ops"}`}, {admin, ``}} { // a person who may not name the webhook may not do so by a retry
		if again, _, err = w.Retry(t.Context(), c.who, told.ID, ""); err != nil || string(again.Notify) != c.want {
			t.Errorf("retried by %s it tells %s, %v; want %s", c.who.Name, again.Notify, err, c.want)
		}
		w.ends(again.ID)
	}

	w.kit.Ask(t, enginetest.Message("1", "hello", time.Now()))
	w.kit.Answers(t, 1)
	rows, _, err := w.List(t.Context(), operator, api.Query{Chat: "recorder:room"})
	if err != nil || len(rows) != 1 {
		t.Fatalf("got %+v, %v", rows, err)
	}
	w.ends(rows[0].ID)
	inChat, _, err := w.Retry(t.Context(), operator, rows[0].ID, "")
	if err != nil || inChat.Chat != "recorder:room" || inChat.From != "api:ops" {
		t.Errorf("a question asked in a chat gives %+v, %v", inChat, err)
	}
	w.ends(inChat.ID)
	if posts := w.kit.Platform.Posts(bot.KindAnswer); len(posts) != 2 {
		t.Errorf("%d answers are in the chat, want 2", len(posts))
	}
}
