package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"

	"legwork/internal/test/watch"
	"legwork/llm"
	"legwork/planner"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/engine"
	"legwork/tasks/enginetest"
	"legwork/tasks/policy"
)

var update = flag.Bool("update", false, "rewrite golden files")

// env is a whole legwork that programs talk to.
type env struct {
	kit *enginetest.Env
	*api.Service
	t testing.TB
}

// The principals of the tests.
var (
	viewer   = api.Principal{Name: "eve", Role: policy.RoleViewer, Chats: []string{"*"}}
	operator = api.Principal{Name: "ops", Role: policy.RoleOperator, Chats: []string{"*"}, Webhooks: []string{"*"}}
	admin    = api.Principal{Name: "root", Role: policy.RoleAdmin, Chats: []string{"*"}}
	agent    = api.Principal{Name: "scout", Role: policy.RoleAgent, Chats: []string{"api:*"}}
	stranger = api.Principal{Name: "far", Role: policy.RoleOperator, Chats: []string{"slack:C9"}}
)

// newEnv makes one; prepare, unless nil, changes it before it goes round.
func newEnv(t testing.TB, prepare func(*enginetest.Env)) *env {
	t.Helper()
	store := memory.New(nil)
	k := enginetest.NewEnv(t, store)
	if prepare != nil {
		prepare(k)
		k.Use(store)
	}
	k.Start(func(s enginetest.Setup) tasks.Engine {
		return engine.New(engine.Config{Store: s.Store, Executor: s.Executor, Presenters: s.Presenters, Log: s.Log, Now: s.Now, Concurrent: s.Concurrent, Pause: s.Pause})
	})
	t.Cleanup(k.Stop)
	s := api.New(api.Config{Store: store, Inbox: k.Inbox, Webhooks: func() []string { return []string{"ops"} }, Now: k.Now})
	return &env{kit: k, Service: s, t: t}
}

func (w *env) ctx() context.Context { return w.t.Context() }

// starts starts a task that must be taken.
func (w *env) starts(p api.Principal, n api.NewTask) api.Task {
	w.t.Helper()
	task, again, err := w.Start(w.ctx(), p, n)
	if err != nil || again {
		w.t.Fatalf("starting %+v: again %v, %v", n, again, err)
	}
	return task
}

// shares starts a context for agents from outside.
func (w *env) shares() api.Task {
	w.t.Helper()
	return w.starts(agent, api.NewTask{Goal: "review the literature", External: true})
}

// ends waits until a task is over.
func (w *env) ends(id tasks.ID) api.Task {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx(), watch.Patience)
	defer cancel()
	task, err := w.Wait(ctx, operator, id)
	if err != nil || task.Finished == nil {
		w.t.Fatalf("waiting for the end of %s: %+v, %v", id, task, err)
	}
	return task
}

// until waits for the state of a task to be as ok says.
func (w *env) until(id tasks.ID, what string, ok func(planner.State) bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx(), watch.Patience)
	defer cancel()
	for {
		changed := w.kit.Store.Changed(id)
		state, err := w.kit.Store.State(ctx, id)
		if err != nil {
			w.t.Fatal(err)
		}
		if ok(state) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			w.t.Fatalf("waiting until %s: it is %s, todo %+v", what, state.Status(), planner.Todo(state))
		}
	}
}

// asked waits until a task asks something other than before, and returns it.
func (w *env) asked(id tasks.ID, before string) api.Approval {
	w.t.Helper()
	var found api.Approval
	w.until(id, "a person is asked", func(planner.State) bool {
		list, _, err := w.Approvals(w.ctx(), operator, api.ApprovalQuery{Task: id})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, a := range list {
			if a.ID != before {
				found = a
				return true
			}
		}
		return false
	})
	return found
}

func (w *env) messages(id tasks.ID, types ...string) []api.Message {
	w.t.Helper()
	c, err := w.Context(w.ctx(), operator, id, api.ContextQuery{Types: types})
	if err != nil {
		w.t.Fatal(err)
	}
	return c.Messages
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// wrong fails unless err is an InvalidError of a field.
func wrong(t testing.TB, what string, err error, field string) {
	t.Helper()
	if invalid, ok := errors.AsType[*api.InvalidError](err); !ok || invalid.Field != field {
		t.Errorf("%s: got %v, want an InvalidError of %s", what, err, field)
	}
}

// refused fails unless err is the wanted one.
func refused(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	name = "testdata/" + name
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-update rewrites it); got\n%s\nwant\n%s", name, got, want)
	}
}

// plans is a model that plans what is given, and lets each sub-task call its
// tool once.
func plans(plan string) func(*enginetest.Env) {
	return func(k *enginetest.Env) { k.Model.Answer = enginetest.Planned(plan) }
}

const oneLook = `{"plan":[{"name":"look","description":"look it up"}]}`

// asksFirst is a model whose sub-task asks a person.
func asksFirst(k *enginetest.Env) {
	k.Model.Answer = func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		last := r.Messages[len(r.Messages)-1]
		switch {
		case r.Role == llm.RolePlan:
			return llm.Reply{Text: oneLook}, nil
		case r.Role == llm.RoleWork && last.Role != llm.ToolRole:
			return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "q", Name: planner.ToolAskPerson, Arguments: `{"question":"Which one?","choices":["red","blue"]}`}}}, nil
		}
		return llm.Reply{Text: "saw " + last.Content}, nil
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
