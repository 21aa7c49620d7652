package tasks

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"

	"legwork/failpoint"
	"legwork/planner"
)

// tool makes one tool call, or finds out that it must not be made.
func (x *Executor) tool(ctx context.Context, v *View, a planner.Action) error {
	turn := v.State.Subtasks[a.Place.Subtask].Turns[a.Place.Turn]
	call := v.Event(turn.Seq).Reply.Calls[a.Place.Call]
	if a.Started && !failpoint.Fault("unknown-repeats") {
		x.Log.WarnContext(ctx, "a call was cut off and its outcome is unknown", "task", v.ID, "tool", call.Tool, "action", a.ID)
		return x.returned(ctx, v, a, planner.Result{Failed: true, Unknown: true})
	}
	verdict := x.Tools.Verdict(ctx, a.Group, call.Tool)
	if !slices.ContainsFunc(x.groups(ctx, v), func(g Group) bool { return g.Name == a.Group }) {
		return x.returned(ctx, v, a, planner.Result{Text: errRevoked.Error(), Failed: true})
	}
	if verdict.Refusal != "" && !a.Allowed {
		return x.returned(ctx, v, a, planner.Result{Text: verdict.Refusal, Failed: true})
	}
	if !verdict.Repeatable && !a.Started && !failpoint.Fault("started-not-stored") {
		if err := x.append(ctx, v.ID, planner.Event{Type: planner.Started, Action: a.ID}); err != nil {
			return err
		}
	}
	arguments := strings.TrimSpace(call.Arguments)
	if arguments == "" {
		arguments = "{}"
	}
	result, err := x.Tools.Call(ctx, ToolCall{Group: a.Group, Tool: call.Tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return err
	}
	if result.Failed {
		x.Log.InfoContext(ctx, "tool call failed", "task", v.ID, "tool", call.Tool, "cause", clipped(result.Text, 300))
	}
	if result.Bytes > 0 {
		x.Log.InfoContext(ctx, "a tool's result was cut", "task", v.ID, "tool", call.Tool, "bytes", result.Bytes, "kept", len(result.Text))
	}
	return x.returned(ctx, v, a, planner.Result{
		Text: result.Text, Failed: result.Failed, Unknown: result.Unknown, Bytes: result.Bytes, Show: result.Show,
	})
}

func (x *Executor) returned(ctx context.Context, v *View, a planner.Action, r planner.Result) error {
	if r.Text == "" && !r.Unknown {
		r.Text = x.Texts.Text(v.Opening().Language, "prompt.result_empty", nil)
	}
	if failpoint.Fault("returned-not-stored") && rand.N(4) == 0 {
		return nil
	}
	return x.append(ctx, v.ID, planner.Event{Type: planner.Returned, Action: a.ID, Result: &r})
}

// clipped shortens a text for a log line.
func clipped(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
