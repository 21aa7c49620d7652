package executor

import (
	"context"
	"errors"
	"time"

	"legwork/bot/markdown"
	"legwork/internal/clip"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tools"
)

// maxShrinks is how often a prompt that is too long for its model is built again,
// each time half as long.
const maxShrinks = 2

// call makes a model call. If the endpoint finds the prompt too long, it builds a
// shorter one. The returned request is the last one that was sent, and the returned
// tools are those of its prompt.
func (x *Executor) call(ctx context.Context, v *tasks.View, a planner.Action, r llm.Request, tools []tools.Tool, stream func(llm.Delta)) (llm.Request, llm.Reply, []tools.Tool, error) {
	reply, err := x.Model.Call(ctx, r, stream)
	var paid llm.Usage
	for try := 0; try < maxShrinks; try++ {
		var failed *llm.Error
		if !errors.As(err, &failed) || failed.Problem != llm.TooLong {
			break
		}
		size := planner.Bytes(r.Messages)
		shorter, fewer, bad := prompting{x, v, a}.request(ctx, size/2)
		if bad != nil || planner.Bytes(shorter.Messages) >= size || failed.Usage != (llm.Usage{}) && r.BeforeRetry() != nil {
			break
		}
		shorter.BeforeRetry, shorter.MaxOutput = r.BeforeRetry, r.MaxOutput
		x.Log.InfoContext(ctx, "prompt too long, shortening it", "task", v.ID, "action", a.ID,
			"model", failed.Model, "bytes", size, "now", planner.Bytes(shorter.Messages), "cause", failed.Err)
		paid = paid.Add(failed.Usage)
		r, tools = shorter, fewer
		reply, err = x.Model.Call(ctx, r, stream)
	}
	reply.Usage = reply.Usage.Add(paid)
	var failed *llm.Error
	if paid != (llm.Usage{}) && errors.As(err, &failed) {
		whole := *failed
		whole.Usage = whole.Usage.Add(paid)
		err = &whole
	}
	return r, reply, tools, err
}

// maxPartial is how many bytes are stored of an answer that was cut off. Chats
// report a wait only from minReportedWait on, in whole seconds.
const (
	maxPartial      = 48 << 10
	minReportedWait = 10 * time.Second
)

// failedOrCut appends the event of a failed call, or of a plan or a tool call that was
// too long for its model.
func (x *Executor) failedOrCut(ctx context.Context, v *tasks.View, a planner.Action, sent *llm.RequestHash, tools []tools.Tool, known func(string) bool, err error) error {
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		if e, cut := (reading{v: v, a: a, groups: x.groups(ctx, v), tools: tools}).cutOff(failed); cut {
			x.Log.InfoContext(ctx, "reply not usable", "task", v.ID, "action", a.ID, "model", failed.Model, "cause", e.Problem.Reason)
			e.Request = sent
			return x.Append(ctx, v.ID, e)
		}
	}
	return x.callFailed(ctx, v, a, sent, known, err)
}

// callFailed appends the event of a failed call; sent is nil when no request was sent.
// The event holds the text that
// people could already read, unless a filter stopped it.
func (x *Executor) callFailed(ctx context.Context, v *tasks.View, a planner.Action, sent *llm.RequestHash, known func(string) bool, err error) error {
	e := planner.Event{Type: planner.CallFailed, Action: a.ID, Request: sent, Problem: &planner.Problem{Code: "internal", Reason: err.Error()}}
	var failed *llm.Error
	if errors.As(err, &failed) {
		e.Problem.Code, e.Problem.Usage = string(failed.Problem), failed.Usage
		if failed.Problem != llm.Filtered {
			e.Problem.Text = markdown.Unlinked(clip.Bytes(planner.StreamablePrefix(failed.Partial), maxPartial), known)
		}
		if failed.Wait >= minReportedWait {
			e.Problem.Wait = (failed.Wait + time.Second - 1).Truncate(time.Second)
		}
	}
	x.Log.ErrorContext(ctx, "model call failed", "task", v.ID, "action", a.ID, "cause", err)
	return x.Append(ctx, v.ID, e)
}
