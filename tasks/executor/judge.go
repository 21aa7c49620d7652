package executor

import (
	"context"
	"slices"

	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/policy"
	"legwork/tasks/policy/flow"
	"legwork/tools"
)

// judgement is the result of checking a call before it is made.
type judgement struct {
	policy.Judgement
	call    planner.Call
	verdict tools.Verdict
	grant   string // id of the standing grant that allows the call without a question; empty: none
}

// judge checks whether a call of a sub-task may be made, and whether a person has to
// allow it. read returns the sources of the sub-task.
func (x *Executor) judge(ctx context.Context, v *tasks.View, group string, read func() []flow.Source, call planner.Call) judgement {
	j := judgement{call: call, verdict: x.Tools.Verdict(ctx, group, asker(v), call.Tool, tasks.Arguments(call))}
	rules := x.rules.Load()
	j.Judgement = policy.JudgeCall(v, read, call, j.verdict, flow.Open(rules.Trust))
	if !j.Ask {
		return j
	}
	grants, err := tasks.ChatGrants(ctx, x.Store, v.Opening().Chat, x.Now())
	if err != nil {
		x.Log.ErrorContext(ctx, "grants of a chat not read", "task", v.ID, "cause", err)
	}
	j.grant = policy.StandingGrant(v, call.Tool, j.verdict.Definition, j.Judgement, grants,
		func(token string) bool { return slices.Contains(rules.Deciders, token) },
		func(person string) bool { return tasks.IsAdmin(ctx, x.Store, rules.Admins, person) })
	j.Ask = j.grant == ""
	return j
}

// askApproval asks one question about all calls of a turn that need approval and do
// not have it yet.
func (x *Executor) askApproval(ctx context.Context, v *tasks.View, a planner.Action) error {
	q := planner.Question{Expires: x.rules.Load().Approvals.ExpiresAt(x.Now())}
	at := a.Place
	turn, read := v.State.Subtasks[at.Subtask].Turns[at.Turn], policy.Reading(v, at.Subtask)
	for at.Call = range turn.Calls {
		c, call := turn.Calls[at.Call], tasks.CallOf(v, at)
		if c.Kind != planner.CallTool || c.Step != planner.StepOpen || call.Tool == findTool || call.Tool == signInTool {
			continue
		}
		j := x.judge(ctx, v, a.Group, read, call)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if j.verdict.Refusal == "" && j.Ask && !policy.Approved(v, at, j.Judgement) {
			if j.Person {
				q.Person = asker(v)
			}
			q.Calls = append(q.Calls, planner.Approval{
				Call: at.Call, Tool: call.Tool, Definition: j.verdict.Definition, Hash: j.Hash, Values: j.Values, Leaves: j.Leaves,
			})
		}
	}
	if err := x.Append(ctx, v.ID, planner.Event{Type: planner.Asked, Action: a.ID, Question: &q}); err != nil {
		return err
	}
	var names []string
	for _, c := range q.Calls {
		names = append(names, c.Tool)
	}
	x.Log.InfoContext(ctx, "approval requested", "task", v.ID, "action", a.ID, "tools", names)
	return nil
}

// hasGroup reports whether a group of that name is among them.
func hasGroup(groups []tools.Group, name string) bool {
	return slices.ContainsFunc(groups, func(g tools.Group) bool { return g.Name == name })
}
