package executor

import (
	"context"

	"legwork/internal/telemetry"
	"legwork/planner"
	"legwork/tasks"
)

// begin begins the span of an action, in the trace of its task.
func (x *Executor) begin(ctx context.Context, v *tasks.View, a *planner.Action) (context.Context, *telemetry.Span) {
	if x.Tracer == nil {
		return ctx, nil
	}
	name := string(a.Kind)
	if a.Role != "" {
		name = a.Role
	}
	ctx, span := telemetry.Start(x.Tracer.Resume(ctx, string(v.ID), v.Opening().Trace), telemetry.Internal, name)
	span.Text(telemetry.TaskID, string(v.ID))
	span.Text(telemetry.ActionID, a.ID.String())
	span.Text(telemetry.GroupKey, a.Group)
	if a.Role == "work" && a.Place.Subtask >= 0 && a.Place.Subtask < len(v.State.Subtasks) {
		span.Text(telemetry.Operation, telemetry.InvokeAgent)
		span.Text(telemetry.SubtaskID, v.State.Subtasks[a.Place.Subtask].ID)
	}
	return ctx, span
}

// Ended ends the trace of a task that is over, so that the trace is whole. The
// caller that saw the task end calls it, once: a second call would count the
// task's spans twice.
func (x *Executor) Ended(ctx context.Context, v *tasks.View) {
	if x.Tracer == nil || !v.State.Finished() {
		return
	}
	opening := v.Opening()
	span := x.Tracer.TaskSpan(ctx, string(v.ID), opening.Trace, v.State.Opened)
	span.Text(telemetry.TaskID, string(v.ID))
	span.Text(telemetry.PlatformKey, opening.Chat.Platform)
	span.Text(telemetry.OutcomeKey, v.State.Status())
	span.Number(telemetry.Rounds, v.State.Round)
	span.Number(telemetry.Subtasks, len(v.State.Subtasks))
	span.Number(telemetry.InputTokens, v.State.Usage.Input)
	span.Number(telemetry.OutputTokens, v.State.Usage.Output)
	if v.State.Outcome == planner.Failed {
		span.Fail(v.State.Reason)
	}
	span.EndAt(v.State.Last)
}
