package enginetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/inbox"
	"legwork/tools"
)

// bookSignIn is the sign-in of Person at the server of the group "book".
func bookSignIn() tasks.Connection {
	return tasks.Connection{ConnectionID: tasks.ConnectionID{Server: "book", Person: Person.Key()}, Kind: "oauth", By: Person.Key(), Sealed: []byte("sealed")}
}

// signIn stores the sign-in at the server of the group "book".
func signIn(t *testing.T, env *Env) {
	t.Helper()
	if err := env.Store.PutConnection(t.Context(), bookSignIn()); err != nil {
		t.Fatal(err)
	}
}

// testSignInToList: a sub-task whose tools cannot be listed waits for a sign-in, and no
// model is called for it meanwhile.
func testSignInToList(t *testing.T, env *Env) {
	var signed atomic.Bool
	env.Tools.NeedSignIn = func(group, person string) []tools.SignIn {
		if group != "book" || signed.Load() {
			return nil
		}
		return []tools.SignIn{{Server: "book"}}
	}
	env.Model.Answer = calling([]string{`{}`}, []string{`{}`}) // the turn that waits counts as the first one
	ask(t, env, "1", "book it")
	e, _ := asking(t, env)
	if q := e.Question; q.Server != "book" || q.SignIn == nil || q.SignIn.Person != Person.Key() {
		t.Fatalf("question = %+v, want a sign-in of the asker at book", q)
	}
	if n := len(env.Model.Requests(llm.RoleWork)); n != 0 {
		t.Errorf("%d model calls before the sign-in, want none", n)
	}
	signed.Store(true)
	signIn(t, env)
	inbox.SignedIn(t.Context(), env.Inbox, bookSignIn().ConnectionID)
	if got := env.Answers(t, 1)[0].Text; !strings.Contains(got, "result of {}") {
		t.Errorf("answer = %q, want the result of the call", got)
	}
	if calls := env.Tools.Calls(); len(calls) != 1 {
		t.Errorf("calls = %q, want one", calls)
	}
}

// refuses is a server that takes calls only after ok reports true.
func refuses(env *Env, ok func() bool) {
	env.Tools.Serve = func(_ context.Context, c tools.Call) (tools.Result, error) {
		if !ok() {
			return tools.Result{Text: "it requires a sign-in", Failed: true, SignIn: &tools.SignIn{Server: "book"}}, nil
		}
		return tools.Result{Text: "result of " + string(c.Arguments)}, nil
	}
}

// testSignInDeclined: without a sign-in the task goes on without the call, and does not
// ask again.
func testSignInDeclined(t *testing.T, env *Env) {
	refuses(env, func() bool { return false })
	env.Model.Answer = calling([]string{`{"n":1}`}, []string{`{"n":2}`})
	ask(t, env, "1", "book it")
	_, a := asking(t, env)
	decide(t, env, a, planner.Decision{})
	if got := env.Answers(t, 1)[0].Text; !strings.Contains(got, "No person signed in") {
		t.Errorf("answer = %q, want that no person signed in", got)
	}
	if calls := env.Tools.Calls(); len(calls) != 2 {
		t.Errorf("calls = %q, want one for each turn", calls)
	}
}

// testSignInInVain: a server that requires a sign-in again and again gets two.
func testSignInInVain(t *testing.T, env *Env) {
	refuses(env, func() bool { return false })
	env.Model.Answer = calling([]string{`{}`})
	ask(t, env, "1", "book it")
	var before []planner.ActionID
	for range 2 {
		_, a := asking(t, env, before...)
		before = append(before, a.ID)
		decide(t, env, a, planner.Decision{Approve: true})
	}
	if got := env.Answers(t, 1)[0].Text; !strings.Contains(got, "No person signed in") {
		t.Errorf("answer = %q, want that no person signed in", got)
	}
	if calls := env.Tools.Calls(); len(calls) != 3 {
		t.Errorf("calls = %q, want three", calls)
	}
}

// testSignInAcrossRestart kills the engine before a sign-in, after it was stored, and after
// the task has learnt of it: the call is never made twice, and is lost only where it is
// not known whether it was made.
func testSignInAcrossRestart(t *testing.T, open func(t *testing.T) Reopener, build func(Setup) tasks.Engine) {
	for _, moment := range []string{"asked", "stored", "decided"} {
		t.Run(moment, func(t *testing.T) {
			store := open(t)
			env := NewEnv(t, store)
			var made atomic.Int32
			connected := func() bool {
				_, err := env.Store.Connection(context.Background(), bookSignIn().ConnectionID)
				return err == nil
			}
			refuses(env, func() bool { return connected() && made.Add(1) > 0 })
			env.Model.Answer = calling([]string{`{}`})
			env.Start(build)
			ask(t, env, "1", "book it")
			asking(t, env)
			if moment != "asked" {
				signIn(t, env)
			}
			if moment == "decided" {
				inbox.SignedIn(t.Context(), env.Inbox, bookSignIn().ConnectionID)
			}
			again := store.Again()
			env.Stop()
			env.Use(again)
			env.Start(build)
			defer env.Stop()
			if moment == "asked" {
				signIn(t, env)
				inbox.SignedIn(t.Context(), env.Inbox, bookSignIn().ConnectionID)
			}
			got := env.Answers(t, 1)[0].Text
			unknown := moment == "decided" && strings.Contains(got, env.Texts.Text("en", "prompt.result_unknown", nil))
			if made.Load() > 1 || !unknown && (made.Load() != 1 || !strings.Contains(got, "result of {}")) {
				t.Errorf("the call was made %d times, and the answer is %q; want the result of one call", made.Load(), got)
			}
		})
	}
}

// testActsUnasked: after the words of another person, a call with the asker's sign-in waits
// for the asker alone, unless the group lets it use the sign-in. The audit log names the
// person whose sign-in a call has used.
func testActsUnasked(t *testing.T, env *Env) {
	var allowed []string
	env.Tools.Judge = func(string, string) tools.Verdict {
		return tools.Verdict{Repeatable: true, Never: true, Identity: tools.IdentityPerson, ActFor: allowed, Definition: "d1"}
	}
	guided := make(chan any) // holds a token for each task that was guided
	call := calling([]string{`{}`})
	env.Model.Answer = func(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
		if r.Role == llm.RoleWork && !slices.ContainsFunc(r.Messages, func(m llm.Message) bool { return m.Role == llm.ToolRole }) {
			<-guided
		}
		return call(ctx, r, stream)
	}
	ask(t, env, "1", "book it")
	id := onlyTask(t, env)
	guides(t, env, id, "book the large one")
	guided <- nil
	e, a := asking(t, env)
	if e.Question.Person != Person.Key() || len(e.Question.Calls) != 1 {
		t.Fatalf("question = %+v, want one that the asker alone decides", e.Question)
	}
	admin := inbox.ProgramDecision{By: "api:ops", Approve: true, Admin: true}
	var refused *inbox.ArgumentError
	if err := inbox.Decide(t.Context(), env.Inbox, id, tasks.AskOf(a.ID), admin); !errors.As(err, &refused) {
		t.Errorf("an admin allowed it: got %v, want that the asker alone can", err)
	}
	decide(t, env, a, planner.Decision{Approve: true})
	env.Answers(t, 1)
	if calls := env.Tools.Calls(); len(calls) != 1 {
		t.Errorf("calls = %q, want one", calls)
	}
	log, err := env.Store.AuditLog(t.Context(), 0, 10)
	if err != nil || !slices.ContainsFunc(log, func(e tasks.AuditEntry) bool {
		return e.Action == "tool.call" && e.Who == Person.Key() && e.Target == "book.it"
	}) {
		t.Errorf("audit log = %+v, %v; want the call with the person's sign-in", log, err)
	}

	allowed = []string{tools.ActForOthers}
	ask(t, env, "2", "book it again")
	id = onlyTask(t, env)
	guides(t, env, id, "the small one")
	guided <- nil
	env.Answers(t, 2)
	if calls := env.Tools.Calls(); len(calls) != 2 {
		t.Errorf("calls = %q, want a second one without a question", calls)
	}
}

// guides adds the words of another person to a task whose only sub-task works.
func guides(t *testing.T, env *Env, id tasks.ID, text string) {
	t.Helper()
	for {
		changed := env.Store.Changed(id)
		s, err := env.Store.State(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Subtasks) > 0 {
			break
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatal("no sub-task began")
		}
	}
	if err := env.Store.Append(t.Context(), id, -1, 0, planner.Event{Type: planner.GuidanceAdded, By: "recorder:bob", Text: text}); err != nil {
		t.Fatal(err)
	}
}
