package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/policy"
	"legwork/tasks/steps"
)

// Inspector shows how tasks came to their answers. It is safe for concurrent use.
type Inspector struct {
	*Service

	// Models builds prompts again and sums tasks up; *executor.Executor implements it.
	// Nil: neither is there.
	Models Models
}

// Models builds the requests of models.
type Models interface {
	// Rebuild builds the request of a model action of a task as it was then.
	Rebuild(ctx context.Context, v *tasks.View, a planner.Action) (llm.Request, error)
	// Outline has a model sum a task up in a few lines.
	Outline(ctx context.Context, id tasks.ID) ([]string, error)
}

// Steps are the steps of a task with the sums over them.
type Steps struct {
	Items    []Step `json:"items" doc:"The steps, in the order in which they became possible."`
	Seq      int    `json:"seq" doc:"The number of the newest message that they follow from."`
	Critical Path   `json:"critical" doc:"The critical path: the chain of steps, each of which made the next one possible, that leads to the last step."`
	Model    int64  `json:"model_ms" doc:"What all model calls took together, in milliseconds. Steps run beside each other, so that the sums may exceed the time that has passed."`
	Tool     int64  `json:"tool_ms" doc:"The same of all tool calls."`
	Waiting  int64  `json:"waiting_ms" doc:"The same of all waiting for people, budgets, room and earlier tasks."`
}

// Path is the length of the critical path and its parts, in milliseconds.
type Path struct {
	All     int64 `json:"all_ms" doc:"Its length in milliseconds."`
	Model   int64 `json:"model_ms" doc:"Of that, model calls."`
	Tool    int64 `json:"tool_ms" doc:"Of that, tool calls."`
	Waiting int64 `json:"waiting_ms" doc:"Of that, waiting for people and earlier tasks."`
}

// Step is one step of a task.
type Step struct {
	ID       string      `json:"id" doc:"Its id, such as 'plan 1.0' or 'tool 1/a turn 1 call 2.0'."`
	Kind     steps.Kind  `json:"kind" doc:"'plan', 'review', 'work', 'answer' (model calls), 'tool', 'ask' (a person decides), 'file' (a file is read), 'show' (the outcome goes to the chat), 'queue' (an earlier task comes first)."`
	Name     string      `json:"name,omitempty" doc:"For a tool call, 'server.tool'; for 'ask', what it is about: 'calls', 'question', 'form', 'plan', 'budget', 'review', 'goal'; for a file, its name."`
	Subtask  string      `json:"subtask,omitempty" doc:"The sub-task, such as '1/a'. Left out for steps of the whole task."`
	Group    string      `json:"group,omitempty" doc:"The tool group of the sub-task."`
	Model    string      `json:"model,omitempty" doc:"The model that replied."`
	State    steps.State `json:"state" doc:"'waiting', 'running', 'done', 'failed', 'cancelled'."`
	Error    string      `json:"error,omitempty" doc:"For 'failed', the key of the reason: that of a model call, or 'denied', 'expired', 'tool' (its result says what went wrong), 'unknown' (its outcome is not known)."`
	After    string      `json:"after,omitempty" doc:"The step whose end made this one possible."`
	Wanted   Time        `json:"wanted_at" doc:"When it became possible."`
	Started  *Time       `json:"started_at" doc:"When it first ran; null before that."`
	Ended    *Time       `json:"ended_at" doc:"When it ended; null before that."`
	Took     int64       `json:"took_ms" doc:"How long it ran, in milliseconds."`
	Waited   int64       `json:"wait_ms" doc:"How long it waited: for people, a budget, room, or while legwork was down."`
	Critical int64       `json:"critical_ms" doc:"Its part of the critical path, in milliseconds; 0: it is not on it."`
	Usage    Usage       `json:"usage" doc:"What it used."`
	Reply    int         `json:"call_seq,omitempty" doc:"For a tool call, the number of the message with its arguments."`
	Call     int         `json:"call,omitempty" doc:"For a tool call, which call of that message it is, from 1."`
	Seq      int         `json:"seq,omitempty" doc:"The number of the message with its result. Left out before that."`
}

// Prompt is the prompt of a model call.
type Prompt struct {
	Model    string          `json:"model" doc:"The model that replied, or the role when it has not replied."`
	Messages []PromptMessage `json:"messages" doc:"The messages, in order."`
	Tools    []PromptTool    `json:"tools" doc:"The tools that the model was offered."`
	Exact    bool            `json:"exact" doc:"'true': this is what was sent, as a hash in the journal shows."`
	Note     string          `json:"note,omitempty" doc:"Why it may not be what was sent."`
}

// PromptMessage is one message of a prompt.
type PromptMessage struct {
	Role    string           `json:"role" doc:"'system', 'user', 'assistant', 'tool'."`
	Content string           `json:"content" doc:"Its text."`
	Calls   []PromptToolCall `json:"tool_calls,omitempty" doc:"Tool calls of the model."`
	CallID  string           `json:"tool_call_id,omitempty" doc:"For a result, the id of its call."`
	Images  int              `json:"images,omitempty" doc:"How many pictures follow the text."`
}

// PromptToolCall is a tool call in a prompt.
type PromptToolCall struct {
	ID        string `json:"id" doc:"The model's id of the call."`
	Name      string `json:"name" doc:"The name of the tool."`
	Arguments string `json:"arguments" doc:"The arguments, as the model wrote them."`
}

// PromptTool is a tool in a prompt.
type PromptTool struct {
	Name        string          `json:"name" doc:"The name of the tool."`
	Description string          `json:"description" doc:"Its description."`
	Schema      json.RawMessage `json:"schema" doc:"The JSON Schema of its arguments."`
}

// Steps reads the steps of a task. ErrNotFound.
func (s *Inspector) Steps(ctx context.Context, p Principal, id tasks.ID) (Steps, error) {
	if _, err := s.authorize(ctx, p, policy.OpRead, id); err != nil {
		return Steps{}, err
	}
	events, err := s.Store.Load(ctx, id, 0)
	if err != nil {
		return Steps{}, readError(id, err)
	}
	r := steps.Of(events, s.Now())
	ms := func(d time.Duration) int64 { return d.Milliseconds() }
	out := Steps{
		Items: make([]Step, len(r.Steps)), Seq: r.State.Seq, Model: ms(r.Model), Tool: ms(r.Tool), Waiting: ms(r.Waiting),
		Critical: Path{All: ms(r.Path), Model: ms(r.PathModel), Tool: ms(r.PathTool), Waiting: ms(r.PathWaiting)},
	}
	for i := range r.Steps {
		step := &r.Steps[i]
		out.Items[i] = Step{
			ID: step.ID, Kind: step.Kind, Name: step.Name, Subtask: step.Subtask, Group: step.Group, Model: step.Model,
			State: step.State, Error: step.Error, Wanted: Time{step.Wanted}, Started: timeOrNil(step.Started), Ended: timeOrNil(step.Ended),
			Took: ms(step.Took), Waited: ms(step.Waited), Critical: ms(step.Critical), Usage: usageOf(step.Usage), Reply: step.Reply, Seq: step.Seq,
		}
		if step.Kind == steps.KindTool {
			out.Items[i].Call = step.Action().Call
		}
		if step.After >= 0 {
			out.Items[i].After = r.Steps[step.After].ID
		}
	}
	return out, nil
}

// maxRebuilt is how many moments Prompt tries. The task may have gone on between the
// event that made a model call possible and the call itself.
const maxRebuilt = 8

// Prompt builds the prompt of a model call again, from the journal before the call and
// from the settings, tools and earlier conversation of today. step is the id of the
// step. ErrNotFound.
func (s *Inspector) Prompt(ctx context.Context, p Principal, id tasks.ID, step string) (Prompt, error) {
	if _, err := s.authorize(ctx, p, policy.OpInspect, id); err != nil {
		return Prompt{}, err
	}
	if s.Models == nil {
		return Prompt{}, notFoundError("prompts cannot be built here")
	}
	v := tasks.NewView(s.Store, id)
	if err := v.Refresh(ctx); err != nil {
		return Prompt{}, readError(id, err)
	}
	list := steps.Of(v.Events, s.Now()).Steps
	i := slices.IndexFunc(list, func(one steps.Step) bool { return one.ID == step && one.Kind.Model() })
	if i < 0 {
		return Prompt{}, notFoundError(fmt.Sprintf("the task has no model call %q", step))
	}
	found := &list[i]
	end := cmp.Or(found.Seq, v.State.Seq+1)
	sent := v.Event(found.Seq).Request
	if v.Event(found.Seq).Action != found.Action() { // another event ended it
		sent = nil
	}
	var first llm.Request
	for seq := found.Since; seq < end && seq < found.Since+maxRebuilt; seq++ {
		request, err := s.rebuild(ctx, v.Before(seq+1), found.Action())
		switch {
		case err != nil && seq == found.Since:
			return Prompt{}, err
		case err != nil: // it was not wanted at that moment
			continue
		case seq == found.Since:
			first = request
		}
		if sent != nil && request.Hash() == *sent {
			return promptOf(found, request, ""), nil
		}
		if sent == nil {
			break
		}
	}
	return promptOf(found, first, promptNote(first, sent, found.State.Ended())), nil
}

// rebuild builds the request of an action that a view wants.
func (s *Inspector) rebuild(ctx context.Context, v *tasks.View, id planner.ActionID) (llm.Request, error) {
	for _, a := range planner.Todo(v.State) {
		if a.ID == id {
			request, err := s.Models.Rebuild(ctx, v, a)
			if errors.Is(err, planner.ErrTooLong) {
				return request, notFoundError("nothing was sent: the question is too long for the model")
			}
			return request, err
		}
	}
	return llm.Request{}, notFoundError(fmt.Sprintf("the task does not want %q at that moment", id))
}

// promptNote says why a prompt may not be what was sent.
func promptNote(r llm.Request, sent *llm.RequestHash, ended bool) string {
	now := r.Hash()
	switch {
	case sent == nil && !ended:
		return "The call is under way; this is its prompt as it would be built now."
	case sent == nil:
		return "The journal holds no hash of what was sent: the call did not end with a reply, or an older version of legwork made it."
	case sent.Messages == now.Messages:
		return "The messages are what was sent. The definitions of the tools have changed since."
	case sent.Tools == now.Tools:
		return "The definitions of the tools are what was sent. The messages are not: the instructions, the texts, the earlier conversation or the limits of the model have changed since, or the prompt was shortened."
	}
	return "Neither messages nor tools are what was sent: the config, the tools or the earlier conversation have changed since."
}

// promptOf is a request for people; note is empty when it is what was sent.
func promptOf(step *steps.Step, r llm.Request, note string) Prompt {
	out := Prompt{Model: cmp.Or(step.Model, r.Model, r.Role), Messages: make([]PromptMessage, len(r.Messages)), Tools: make([]PromptTool, len(r.Tools)), Exact: note == "", Note: note}
	for i, m := range r.Messages {
		out.Messages[i] = PromptMessage{Role: m.Role, Content: m.Content, CallID: m.ToolCallID, Images: len(m.Images)}
		for _, c := range m.ToolCalls {
			out.Messages[i].Calls = append(out.Messages[i].Calls, PromptToolCall(c))
		}
	}
	for i, t := range r.Tools {
		out.Tools[i] = PromptTool(t)
	}
	return out
}

// Outline has a model sum a task up in five lines. It costs money, which counts in the
// budgets of the day. ErrNotFound, ErrForbidden, ErrBusy while legwork is paused,
// ErrConflict when a budget has no room.
func (s *Inspector) Outline(ctx context.Context, p Principal, id tasks.ID) ([]string, error) {
	if _, err := s.authorize(ctx, p, policy.OpOutline, id); err != nil {
		return nil, err
	}
	if s.Models == nil {
		return nil, notFoundError("no model is here that sums tasks up")
	}
	lines, err := s.Models.Outline(ctx, id)
	over, reached := errors.AsType[*tasks.BudgetError](err)
	switch {
	case reached:
		return nil, fmt.Errorf("%w: the budget %s has no room for a summary; an admin can raise it in the config, or ask again tomorrow", ErrConflict, over.Overdraft.Budget)
	case errors.Is(err, tasks.ErrPaused):
		return nil, fmt.Errorf("%w: legwork is paused until an admin resumes it", ErrBusy)
	case errors.Is(err, tasks.ErrNoTask):
		return nil, ErrNotFound
	case err != nil:
		if failed, ok := errors.AsType[*llm.Error](err); ok {
			return nil, fmt.Errorf("%w: the model gave no summary (%s); try again later", ErrBusy, failed.Problem)
		}
		return nil, fmt.Errorf("summing task %s up: %w", id, err)
	}
	return lines, nil
}
