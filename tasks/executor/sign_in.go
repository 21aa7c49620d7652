package executor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"legwork/internal/form"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/policy"
	"legwork/tools"
)

// signInTool is the name in calls that wait for a sign-in. No model makes such a call:
// legwork makes it for a sub-task whose tools cannot be listed before a person signs in.
const signInTool = "legwork.sign_in"

// maxSignIns is how often one call waits for a sign-in: after the second one, the
// server does not know the person.
const maxSignIns = 2

// signInTurn is a turn of a sub-task that waits for the sign-ins that its group's servers
// require; nil when none has to be waited for. A server is waited for once in a sub-task,
// and not after people have said no.
func (x *Executor) signInTurn(v *tasks.View, a planner.Action) *planner.Event {
	if a.Role != llm.RoleWork || a.LastTurn || a.Place.Subtask >= len(v.State.Subtasks) {
		return nil
	}
	var calls []planner.Call
	for _, need := range x.Tools.SignIns(a.Group, asker(v)) {
		if x.canSignIn(v, need) && !waited(v, a.Place.Subtask, need.Server) && !declinedSignIn(v, need.Server) {
			calls = append(calls, planner.Call{ID: "sign_in_" + need.Server, Name: "sign_in", Tool: signInTool, Arguments: fmt.Sprintf(`{"server":%q}`, need.Server)})
		}
	}
	if calls == nil {
		return nil
	}
	return &planner.Event{Type: planner.Replied, Action: a.ID, Reply: &planner.Reply{Calls: calls}}
}

// signedIn does a call of signInTool.
func (x *Executor) signedIn(ctx context.Context, v *tasks.View, a planner.Action, call planner.Call) error {
	server := strings.TrimPrefix(call.ID, "sign_in_")
	if _, err := x.Tools.Tools(ctx, a.Group, asker(v)); ctx.Err() != nil { // waits for the server
		return ctx.Err()
	} else if err != nil {
		x.Log.WarnContext(ctx, "tools are missing", "task", v.ID, "group", a.Group, "cause", err)
	}
	list := x.Tools.SignIns(a.Group, asker(v))
	if i := slices.IndexFunc(list, func(s tools.SignIn) bool { return s.Server == server }); i >= 0 {
		return x.askSignIn(ctx, v, a, list[i])
	}
	return x.returned(ctx, v, a, planner.Result{Text: x.Texts.Text(v.Opening().Language, "prompt.signed_in", map[string]any{"Server": server})})
}

// askSignIn makes a call wait until a person has signed in. The call fails when no person
// can or wants to.
func (x *Executor) askSignIn(ctx context.Context, v *tasks.View, a planner.Action, need tools.SignIn) error {
	asked := 0
	for _, e := range v.Events {
		if e.Type == planner.Asked && e.Question.SignIn != nil && e.Action.SameCall(a.ID) {
			asked++
		}
	}
	if asked >= maxSignIns || !x.canSignIn(v, need) || declinedSignIn(v, need.Server) {
		return x.notSignedIn(ctx, v, a)
	}
	s := &planner.SignIn{Scopes: need.Scopes}
	if !need.Shared {
		s.Person = asker(v)
	}
	err := x.Append(ctx, v.ID, planner.Event{Type: planner.Asked, Action: a.ID, Question: &planner.Question{
		Server: need.Server, SignIn: s, Expires: x.rules.Load().Approvals.ExpiresAt(x.Now()),
		Form: &form.Question{Message: x.Texts.Text(v.Opening().Language, "sign_in.message", map[string]any{"Server": need.Server})},
	}})
	if err == nil {
		x.Log.InfoContext(ctx, "waiting for a sign-in", "task", v.ID, "server", need.Server, "person", s.Person, "scopes", need.Scopes)
	}
	return err
}

// goesWithout reports whether a person has said that a call goes on without a sign-in.
func goesWithout(v *tasks.View, a planner.Action) bool {
	seq := v.State.Call(a.Place).Elicited
	if seq == 0 || v.Event(seq).Question.SignIn == nil {
		return false
	}
	d := v.Decided(planner.FormID(seq, 0))
	return d != nil && !d.Decision.Approve
}

// notSignedIn ends a call for which no person has signed in.
func (x *Executor) notSignedIn(ctx context.Context, v *tasks.View, a planner.Action) error {
	return x.returned(ctx, v, a, planner.Result{Failed: true, Text: x.Texts.Text(v.Opening().Language, "prompt.not_signed_in", nil)})
}

// canSignIn reports whether there is a person who can sign in: programs cannot.
func (x *Executor) canSignIn(v *tasks.View, need tools.SignIn) bool {
	return need.Shared || !tasks.OfProgram(v.Opening().From)
}

// waited reports whether a sub-task has waited for a sign-in at a server.
func waited(v *tasks.View, subtask int, server string) bool {
	for _, turn := range v.State.Subtasks[subtask].Turns {
		if slices.ContainsFunc(v.Event(turn.Seq).Reply.Calls, func(c planner.Call) bool { return c.ID == "sign_in_"+server && c.Tool == signInTool }) {
			return true
		}
	}
	return false
}

// declinedSignIn reports whether people have told the task to go on without a server, or
// let the question expire.
func declinedSignIn(v *tasks.View, server string) bool {
	return slices.ContainsFunc(v.Events, func(e planner.Event) bool {
		if e.Type != planner.Asked || e.Question.SignIn == nil || e.Question.Server != server {
			return false
		}
		about := planner.FormID(e.Seq, 0)
		d := v.Decided(about)
		return d != nil && !d.Decision.Approve || d == nil && v.DecisionExpired(about)
	})
}

// ask asks people a question. A question about a sign-in that has been there before its
// card is decided already.
func (x *Executor) ask(ctx context.Context, v *tasks.View, a planner.Action, p Display) error {
	q := v.Event(a.ID.Seq).Question
	if a.ID.Subject != planner.SubjectForm || q == nil || q.SignIn == nil {
		return p.Ask(ctx, v, a)
	}
	c, err := x.Store.Connection(ctx, tasks.ConnectionID{Server: q.Server, Person: q.SignIn.Person})
	if err == nil && policy.SignedIn(v.Event(a.ID.Seq), c) {
		return x.Append(ctx, v.ID, planner.Event{Type: planner.Decided, Action: a.ID, By: c.By, Decision: &planner.Decision{Approve: true}})
	}
	return p.Ask(ctx, v, a)
}
