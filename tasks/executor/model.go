package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"legwork/internal/clip"
	"legwork/internal/plainjson"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tools"
)

// model makes one model call and appends what it said.
func (x *Executor) model(ctx context.Context, v *tasks.View, a planner.Action, p Display) error {
	if v.State.PromptPending {
		return x.writeOut(ctx, v, a)
	}
	promptInput, tools, err := x.promptInput(ctx, v, a)
	if err != nil {
		return err
	}
	request, err := planner.Prompt(v.State, v.Journal(ctx), a, promptInput)
	if errors.Is(err, planner.ErrTooLong) {
		return x.callFailed(ctx, v, a, &llm.Error{Problem: llm.TooLong, Err: err, Hint: "a model with more context_tokens would take it"})
	}
	if err != nil {
		return err
	}
	request, aside, leave, err := x.reserveOrShrink(ctx, v, a, promptInput, request)
	if over, reached := errors.AsType[*tasks.BudgetError](err); reached {
		return x.overdrawn(ctx, v, a, aside, over.Overdraft)
	}
	if err != nil {
		return err
	}
	defer leave()
	request.BeforeRetry = x.again(ctx, v.ID, aside)
	var stream func(llm.Delta)
	if a.Final {
		write, end := p.Stream(a)
		defer end()
		stream = write
	}
	reply, tools, err := x.call(ctx, v, a, request, tools, stream)
	switch {
	case err == nil:
		err = x.replied(ctx, v, a, reply, tools)
	case ctx.Err() != nil:
		err = ctx.Err()
	case !errors.Is(err, tasks.ErrPaused): // then it is made again when nothing is paused
		err = x.callFailed(ctx, v, a, err)
	}
	if err != nil { // no event tells what it has cost
		x.settle(ctx, v.ID, tasks.ReservationID{Action: a.ID}, reply.Usage)
	}
	return err
}

// replied appends what a model said.
func (x *Executor) replied(ctx context.Context, v *tasks.View, a planner.Action, reply llm.Reply, tools []tools.Tool) error {
	e := x.read(v, a, reply, tools)
	keepThought(e, reply.Text, reply.Thinking)
	if err := x.fetch(ctx, v, e); err != nil {
		return err
	}
	if e.Type == planner.Malformed {
		x.Log.InfoContext(ctx, "a reply cannot be used", "task", v.ID, "action", a.ID, "model", reply.Model, "reason", e.Problem.Reason)
	}
	x.noteRefusals(ctx, v, a, e)
	if e.Reply != nil && len(e.Reply.Plan) > 0 {
		if err := x.estimatePlan(ctx, v, e.Reply); err != nil {
			x.Log.WarnContext(ctx, "it cannot be told what a plan may cost", "task", v.ID, "cause", err)
		}
	}
	events := []planner.Event{e}
	if next := planner.Apply(v.State, e); next.Phase == planner.PhaseShowing && next.Slot(planner.SlotAnswer).Name == "" {
		// The intent to show goes into the same commit as what is shown.
		events = append(events, planner.Event{Type: planner.SendStarted, Slot: planner.SlotAnswer})
	}
	err := x.Append(ctx, v.ID, events...)
	if len(events) > 1 && tasks.Superseded(err) {
		err = x.Append(ctx, v.ID, e)
	}
	if err == nil {
		x.recordUsage(v, a, e)
	}
	return err
}

// writeOut asks the server for the prompt that is the task's goal.
func (x *Executor) writeOut(ctx context.Context, v *tasks.View, a planner.Action) error {
	want := v.Opening().Prompt
	err := errRevoked
	text := ""
	if x.has(ctx, v, want.Group) {
		text, err = x.Tools.Prompt(ctx, want.Group, want.Name, want.Arguments)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil && strings.TrimSpace(text) != "" {
		return x.Append(ctx, v.ID, planner.Event{Type: planner.PromptExpanded, Action: a.ID, Text: text})
	}
	if err == nil {
		err = errEmpty
	}
	x.Log.WarnContext(ctx, "a server's prompt cannot be written out", "task", v.ID, "prompt", want.Name, "cause", err)
	return x.Append(ctx, v.ID, planner.Event{Type: planner.CallFailed, Action: a.ID, Problem: &planner.Problem{Code: "prompt", Reason: err.Error()}})
}

// noteRefusals logs the tool calls of a reply that cannot be made.
func (x *Executor) noteRefusals(ctx context.Context, v *tasks.View, a planner.Action, e planner.Event) {
	if e.Reply == nil {
		return
	}
	for _, c := range e.Reply.Calls {
		if c.Refusal != "" {
			x.logWithCause(ctx, c.Refusal).InfoContext(ctx, "a tool call cannot be made", "task", v.ID, "action", a.ID, "tool", clip.Marked(c.Name, 100))
		}
	}
}

// names are those of the groups that the asker can use.
func (x *Executor) names(v *tasks.View) []string {
	list := make([]string, 0, 8)
	for _, g := range x.groups(context.Background(), v) {
		list = append(list, g.Name)
	}
	return list
}

// read turns a reply into its event: the plan is parsed and its dependencies
// resolved, tool calls are matched with tools.
func (x *Executor) read(v *tasks.View, a planner.Action, r llm.Reply, tools []tools.Tool) planner.Event {
	e := planner.Event{Type: planner.Replied, Action: a.ID, Reply: &planner.Reply{Usage: r.Usage, Model: r.Model}}
	var err error
	switch a.Role {
	case llm.RoleWork:
		err = x.readWork(e.Reply, v, a, r, tools)
	case llm.RoleAnswer:
		e.Reply.Text, err = x.prose(v, r.Text)
	default:
		err = x.readDecision(e.Reply, v, r)
	}
	if err == nil {
		return e
	}
	text := r.Text
	for _, c := range r.ToolCalls {
		text += "\n" + c.Arguments
	}
	problem := &planner.Problem{Code: planner.ReasonUnreadable, Reason: err.Error(), Text: clip.Marked(text, 4000), Usage: r.Usage}
	return planner.Event{Type: planner.Malformed, Action: a.ID, Problem: problem}
}

var (
	// errRevoked is for models, too.
	errRevoked = errors.New("the group is not, or no longer, open to this person in this chat")
	errNoTools = errors.New("there are no tools here: write the text itself")
	errEmpty   = errors.New("the reply is empty: write the text")
	errPlan    = errors.New("a plan is not wanted here: write the text itself")
	errCalls   = errors.New("no more tools can be called: write the text from what is known")
)

// prose is the text of a reply that is to be nothing but text. People never
// see a plan; a list of other things with names and descriptions is none.
func (x *Executor) prose(v *tasks.View, text string) (string, error) {
	parsed, err := planner.ParseReply(text, planner.ParseOptions{Groups: x.names(v)})
	switch {
	case planner.VisibleText(text) == "":
		return "", errEmpty
	case err != nil || parsed.IsPlan:
		return "", errPlan
	case callsInText(text):
		return "", errCalls
	}
	return parsed.Answer, nil
}

// callsInText reports that a text is tool calls as a model without tool calling
// writes them, where none are taken any more.
func callsInText(text string) bool {
	var calls struct {
		List []json.RawMessage `json:"tool_calls"`
	}
	from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	return from >= 0 && from < to && json.Unmarshal([]byte(text[from:to+1]), &calls) == nil && len(calls.List) > 0
}

// readDecision reads the reply of a planning model: a plan, as a tool call or
// in its text, or the answer.
func (x *Executor) readDecision(out *planner.Reply, v *tasks.View, r llm.Reply) error {
	groups := x.groups(context.Background(), v)
	readOnly := map[string]bool{}
	options := planner.ParseOptions{Groups: []string{}, Max: v.State.Limits.Subtasks}
	for _, g := range groups {
		options.Groups = append(options.Groups, g.Name)
		readOnly[g.Name] = g.ReadOnly
	}
	for _, w := range v.State.Subtasks {
		options.Known = append(options.Known, w.ID)
	}
	parsed, err := parseDecision(r, options)
	if err != nil {
		return err
	}
	if !parsed.IsPlan {
		if out.Text = parsed.Answer; out.Text == "" {
			return errEmpty
		}
		return nil
	}
	out.IsPlan = true
	out.Plan = planner.Qualify(parsed.Plan, v.State.Round+1, options.Known, func(group string) bool { return readOnly[group] })
	if repeats(v, out.Plan) {
		return errors.New("every sub-task of this plan has been done already; use the results, plan only what is missing, or return an empty plan")
	}
	return nil
}

func parseDecision(r llm.Reply, options planner.ParseOptions) (planner.Parsed, error) {
	for i := len(r.ToolCalls) - 1; i >= 0; i-- {
		if r.ToolCalls[i].Name == planner.ToolPlan {
			return planner.ParsePlanArguments(r.ToolCalls[i].Arguments, options)
		}
	}
	if len(r.ToolCalls) > 0 {
		return planner.Parsed{}, fmt.Errorf("there is no tool %q here: plan sub-tasks with the tool %q, or answer in text", r.ToolCalls[0].Name, planner.ToolPlan)
	}
	return planner.ParseReply(r.Text, options)
}

// repeats reports that a plan asks only for what was done before; what failed
// may be tried again, as long as there are rounds.
func repeats(v *tasks.View, plan []planner.Subtask) bool {
	type work struct{ name, description string }
	done := map[work]bool{}
	for _, w := range v.State.Subtasks {
		if w.Parent == nil && w.State != planner.SubFailed {
			done[work{w.Name, planner.Description(w, v.Event)}] = true
		}
	}
	for _, p := range plan {
		if !done[work{p.Name, p.Description}] {
			return false
		}
	}
	return len(plan) > 0
}

// readWork reads the reply of a sub-task's model: tool calls, or its result.
func (x *Executor) readWork(out *planner.Reply, v *tasks.View, a planner.Action, r llm.Reply, tools []tools.Tool) error {
	out.Text = planner.VisibleText(r.Text)
	if len(r.ToolCalls) == 0 {
		var err error
		out.Text, err = x.prose(v, r.Text)
		return err
	}
	if a.Group == planner.LLMTool {
		return errNoTools
	}
	if len(r.ToolCalls) > maxCalls {
		return fmt.Errorf("at most %d tool calls in one reply", maxCalls)
	}
	groups := x.names(v)
	delegated := v.State.Subtasks[a.Place.Subtask].Parent != nil
	seen := map[string]bool{}
	for i, c := range r.ToolCalls {
		call := planner.Call{ID: c.ID, Name: c.Name, Arguments: c.Arguments}
		if call.ID == "" || seen[call.ID] {
			call.ID = fmt.Sprintf("call_%d_%d", v.State.Seq, i)
		}
		seen[call.ID] = true
		call = match(call, tools, groups, delegated)
		if call.Ask != nil {
			call.Ask.Expires = x.expires()
		}
		out.Calls = append(out.Calls, call)
	}
	return nil
}

// maxCalls is how many tool calls one reply may hold.
const maxCalls = 32

// match finds the tool that a call means. A group's tool hides a machine's tool
// of the same name.
func match(c planner.Call, listed []tools.Tool, groups []string, delegated bool) planner.Call {
	names := make([]string, 0, len(listed))
	for _, t := range listed {
		if t.Exposed == c.Name || t.Name == c.Name {
			if key, twice := plainjson.RepeatedKey([]byte(c.Arguments)); twice {
				c.Refusal = fmt.Sprintf("the arguments have the key %q twice in one object, and can be read in two ways: write it once", key)
				return c
			}
			c.Tool = t.Name
			return c
		}
		names = append(names, t.Exposed)
	}
	if own, ok := planner.MachineCall(c, groups, delegated); ok {
		return own
	}
	c.Refusal = fmt.Sprintf("there is no tool %q here; the tools are %v", c.Name, names)
	if slices.ContainsFunc(listed, func(t tools.Tool) bool { return t.Name == findTool }) {
		c.Refusal = fmt.Sprintf("there is no tool %q here; find_tools finds the tools that there are", c.Name)
	}
	return c
}
