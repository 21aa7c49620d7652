package executor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/policy"
	"legwork/tools"
)

// judgement is what is found about a call before it is made.
type judgement struct {
	call    planner.Call
	verdict tools.Verdict
	ask     bool   // a person must agree to exactly this call
	reason  string // why, beyond that it may change things: ReasonHost and so on
	detail  string // what the reason is about
	grant   string // the standing grant that spares the question
	hash    string // of tool, definition and arguments
}

// judge finds out whether a call of a sub-task may be made as it is. Standing
// grants cover a tool as long as its definition stays. Once the task has read
// words of outsiders, they cover only targets that it knew before.
func (x *Executor) judge(ctx context.Context, v *tasks.View, group string, call planner.Call) judgement {
	j := judgement{call: call, verdict: x.Tools.Verdict(ctx, group, call.Tool, tasks.Arguments(call))}
	j.hash = callHash(call, j.verdict.Definition)
	j.ask = j.verdict.Ask
	if v.State.Tainted > 0 && !j.verdict.Never {
		if j.reason, j.detail = policy.UnknownTarget(v, call); j.reason != "" {
			j.ask = true
			return j
		}
	}
	if j.ask {
		if j.grant = x.standing(ctx, v, call.Tool, j.verdict.Definition); j.grant != "" {
			j.ask = false
		}
	}
	return j
}

// standing names the grant that covers a tool; empty for none. Those of an admin,
// or of a program's token, hold as long as they are one.
func (x *Executor) standing(ctx context.Context, v *tasks.View, tool, definition string) string {
	covers := planner.Grant{Tool: tool, Definition: definition}
	for _, g := range v.State.Granted {
		if g.Grant == covers && (g.By == v.Opening().From.Key() || slices.Contains(x.rules.Load().Deciders, g.By) || tasks.IsAdmin(ctx, x.Store, x.rules.Load().Admins, g.By)) {
			return fmt.Sprintf("task:%d", g.Seq)
		}
	}
	grants, err := tasks.ChatGrants(ctx, x.Store, v.Opening().Chat, x.Now())
	if err != nil {
		x.Log.ErrorContext(ctx, "the grants of a chat cannot be read", "task", v.ID, "cause", err)
	}
	for _, g := range grants {
		if g.Grant == covers && tasks.IsAdmin(ctx, x.Store, x.rules.Load().Admins, g.By) {
			return "chat:" + g.ID
		}
	}
	return ""
}

// callHash binds an approval to one call: another tool, another definition of it
// or other arguments, to the byte, are another call.
func callHash(call planner.Call, definition string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{call.Tool, definition, string(tasks.Arguments(call))}, "\x00")))
	return hex.EncodeToString(sum[:])
}

// agreed reports that a person has agreed to exactly this call.
func agreed(v *tasks.View, at planner.Place, j judgement) bool {
	c := v.State.Call(at)
	if !c.Allowed {
		return false
	}
	q := v.Event(c.Approved).Question
	return q != nil && slices.ContainsFunc(q.Calls, func(a planner.Approval) bool { return a.Call == at.Call && a.Hash == j.hash })
}

// askApproval asks once about all calls of a turn that need it and are not
// allowed yet.
func (x *Executor) askApproval(ctx context.Context, v *tasks.View, a planner.Action) error {
	q := planner.Question{Expires: x.expires()}
	at := a.Place
	turn := v.State.Subtasks[at.Subtask].Turns[at.Turn]
	for at.Call = range turn.Calls {
		c, call := turn.Calls[at.Call], tasks.CallOf(v, at)
		if c.Kind != planner.CallTool || c.Step != planner.StepOpen || call.Tool == findTool {
			continue
		}
		j := x.judge(ctx, v, a.Group, call)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if j.verdict.Refusal == "" && j.ask && !agreed(v, at, j) {
			q.Calls = append(q.Calls, planner.Approval{
				Call: at.Call, Tool: call.Tool, Definition: j.verdict.Definition, Hash: j.hash, Reason: j.reason, Detail: j.detail,
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
	x.Log.InfoContext(ctx, "a person is asked for approval", "task", v.ID, "action", a.ID, "tools", names)
	return nil
}

// expires is when a question that is asked now lapses; zero for never.
func (x *Executor) expires() time.Time {
	if d := x.rules.Load().Approvals.Expire; d > 0 {
		return x.Now().Add(d)
	}
	return time.Time{}
}

// has reports that the asker can use a group in the chat.
func (x *Executor) has(ctx context.Context, v *tasks.View, group string) bool {
	return slices.ContainsFunc(x.groups(ctx, v), func(g tools.Group) bool { return g.Name == group })
}
