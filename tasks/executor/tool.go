package executor

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"

	"legwork/internal/clip"
	"legwork/internal/form"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/policy"
	"legwork/tools"
)

// tool makes one tool call. It refuses the call if it is not allowed, and asks a
// person first if that is needed.
func (x *Executor) tool(ctx context.Context, v *tasks.View, a planner.Action, p Display) error {
	call := tasks.CallOf(v, a.Place)
	switch {
	case a.Started && a.Task > 0:
		return x.goOn(ctx, v, a, call, p)
	case a.Started:
		return x.unknownOutcome(ctx, v, a, call)
	case call.Make != nil:
		return x.makeFile(ctx, v, a, *call.Make)
	case goesWithout(v, a):
		return x.notSignedIn(ctx, v, a)
	}
	if !hasGroup(x.groups(ctx, v), a.Group) {
		return x.returned(ctx, v, a, planner.Result{Text: errRevoked.Error(), Failed: true})
	}
	switch call.Tool {
	case findTool:
		return x.find(ctx, v, a, call)
	case signInTool:
		return x.signedIn(ctx, v, a, call)
	}
	j := x.judge(ctx, v, a.Group, policy.Reading(v, a.Place.Subtask), call)
	switch {
	case j.verdict.SignIn != nil:
		return x.askSignIn(ctx, v, a, *j.verdict.SignIn)
	case j.verdict.Refusal != "":
		logWithCause(ctx, x.Log, j.verdict.Refusal).InfoContext(ctx, "tool call refused", "task", v.ID, "tool", call.Tool)
		return x.returned(ctx, v, a, planner.Result{Text: j.verdict.Refusal, Failed: true})
	case j.Ask && !policy.Approved(v, a.Place, j.Judgement):
		return x.askApproval(ctx, v, a)
	}
	if err := x.Pause.Gate(); err != nil { // judging the call may have taken a while
		return err
	}
	if (!j.verdict.Repeatable || j.Ask || j.grant != "") && !a.Started {
		if err := x.Append(ctx, v.ID, planner.Event{Type: planner.Started, Action: a.ID, Grant: j.grant}); err != nil {
			return err
		}
	}
	return x.makeCall(ctx, v, a, j, p)
}

// goOn takes up a call again that its server does as a task of its own. If the call would
// not be allowed any more, its outcome stays unknown.
func (x *Executor) goOn(ctx context.Context, v *tasks.View, a planner.Action, call planner.Call, p Display) error {
	if !hasGroup(x.groups(ctx, v), a.Group) {
		return x.unknownOutcome(ctx, v, a, call)
	}
	j := x.judge(ctx, v, a.Group, policy.Reading(v, a.Place.Subtask), call)
	if j.verdict.SignIn != nil {
		return x.askSignIn(ctx, v, a, *j.verdict.SignIn)
	}
	if j.verdict.Refusal != "" {
		return x.unknownOutcome(ctx, v, a, call)
	}
	if err := x.Pause.Gate(); err != nil {
		return err
	}
	return x.makeCall(ctx, v, a, j, p)
}

// unknownOutcome ends a call that was interrupted, so that its outcome is unknown.
func (x *Executor) unknownOutcome(ctx context.Context, v *tasks.View, a planner.Action, call planner.Call) error {
	x.Log.WarnContext(ctx, "call cut off, outcome unknown", "task", v.ID, "tool", call.Tool, "action", a.ID)
	verdict := x.Tools.Verdict(ctx, a.Group, asker(v), call.Tool, tasks.Arguments(call))
	r := planner.Result{Failed: true, Unknown: true, Identity: identity(v, call, verdict)}
	if v.State.Call(a.Place).Elicited > 0 {
		r.Text = x.Texts.Text(v.Opening().Language, "prompt.result_interrupted", nil)
	}
	return x.returned(ctx, v, a, r)
}

// asker is the key of the person whose sign-ins at servers the task uses.
func asker(v *tasks.View) string { return v.Opening().From.Key() }

// identity is the sign-in that a call uses; nil for none.
func identity(v *tasks.View, call planner.Call, verdict tools.Verdict) *planner.Identity {
	switch verdict.Identity {
	case "":
		return nil
	case tools.IdentityPerson:
		return &planner.Identity{Tool: call.Tool, Person: asker(v)}
	}
	return &planner.Identity{Tool: call.Tool}
}

// makeCall makes a call that is allowed.
func (x *Executor) makeCall(ctx context.Context, v *tasks.View, a planner.Action, j judgement, p Display) error {
	opening := v.Opening()
	lent, giveBack, err := x.lend(ctx, v, a, tasks.Arguments(j.call))
	if err != nil {
		return err
	}
	defer giveBack()
	answers := x.serverQuestions(v, a, j)
	call := tools.Call{
		Group: a.Group, Tool: j.call.Tool, Arguments: tasks.Arguments(j.call), Definition: j.verdict.Definition, Files: lent,
		Chat: opening.Chat.Room(), Person: opening.From.Key(), Private: opening.Chat.Private, Hops: opening.Hops + 1,
		Progress: func(g tools.Progress) { p.Progress(a.ID, g) },
		Ask:      answers.ask, Sample: answers.sample, Resume: answers.resume(),
		Began: func(ctx context.Context, state json.RawMessage) error {
			return x.Append(ctx, v.ID, planner.Event{Type: planner.Started, Action: a.ID, State: state})
		},
	}
	result, err := x.Tools.Call(ctx, call)
	for n := 0; err == nil && n < maxQuestions && result.Question != nil && answers.declines(*result.Question); n++ {
		call.Resume = &tools.Resume{State: result.State, Answer: form.Answer{Action: form.Decline}}
		result, err = x.Tools.Call(ctx, call)
	}
	if err != nil {
		answers.settle(ctx)
		return err
	}
	if result.Question != nil && answers.declines(*result.Question) {
		result = tools.Result{Text: errTooManyQuestions.Error(), Failed: true}
	}
	if result.Question != nil {
		return answers.askThenRepeat(ctx, result)
	}
	if result.SignIn != nil {
		answers.settle(ctx) // the event that asks does not hold the cost
		return x.askSignIn(ctx, v, a, *result.SignIn)
	}
	if result.Failed {
		logWithCause(ctx, x.Log, result.Text).InfoContext(ctx, "tool call failed", "task", v.ID, "tool", j.call.Tool, "bytes", len(result.Text))
	}
	if result.Bytes > 0 {
		x.Log.InfoContext(ctx, "tool result cut", "task", v.ID, "tool", j.call.Tool, "bytes", result.Bytes, "kept", len(result.Text))
	}
	var note struct{ Text string }
	if j.verdict.Remembers && !result.Failed {
		_ = json.Unmarshal(tasks.Arguments(j.call), &note) // the server has taken them
	}
	var private planner.Origins
	if server, _, _ := strings.Cut(j.call.Tool, "."); !j.verdict.Public {
		private = planner.Origins{server}
	}
	err = x.returned(ctx, v, a, planner.Result{
		Returned: x.keepReturned(ctx, v, a, result), Text: result.Text, Failed: result.Failed, Unknown: result.Unknown, Bytes: result.Bytes, Show: result.Show, Images: result.Images,
		Untrusted: !j.verdict.Trusted, Private: private, Sources: j.verdict.Sources, Usage: answers.used(), Remembered: note.Text, Secret: answers.secret, Identity: identity(v, j.call, j.verdict),
	})
	if err != nil { // the task may have been stopped
		answers.settle(ctx)
	}
	return err
}

// logWithCause returns the log with a cause that may quote people, models and tools.
// It adds the cause only when debug messages are logged.
func logWithCause(ctx context.Context, log *slog.Logger, cause string) *slog.Logger {
	if !log.Enabled(ctx, slog.LevelDebug) {
		return log
	}
	return log.With("cause", clip.Marked(cause, 300))
}

func (x *Executor) returned(ctx context.Context, v *tasks.View, a planner.Action, r planner.Result) error {
	if r.Text == "" && !r.Unknown {
		r.Text = x.Texts.Text(v.Opening().Language, "prompt.result_empty", nil)
	}
	return x.Append(ctx, v.ID, planner.Event{Type: planner.Returned, Action: a.ID, Result: &r})
}
