// Package executor does one action of a task: it calls a model or a tool, has the
// presenter ask people or show the outcome, and appends the result to the journal.
package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"legwork/files/read"
	"legwork/i18n"
	"legwork/internal/telemetry"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tools"
)

// Executor does single actions and appends their results. It is safe for concurrent
// use.
type Executor struct {
	Config
	rules      atomic.Pointer[tasks.PromptRules]
	budget     *budget
	averages   averages
	earlier    earlier
	files      earlierFiles
	summaries  *summaries
	modelCalls modelCalls    // running ones that people wait for
	writing    chan struct{} // holds a token while a file is made
	contents   *contents
	outlining  chan struct{} // holds a token while a task is summed up
}

// Config is what an Executor works with. All fields but Copies, Wall, Pause,
// Reached and Prompts are needed.
type Config struct {
	Store tasks.Store
	Model llm.Model
	Tools tasks.Toolbox
	Chats tasks.Chats // platforms that give files
	// Copies is a folder for copies of files, which last as long as a call. The caller
	// empties it at the start, since a kill leaves copies behind. Empty: the system's.
	Copies string
	Reader read.Reader // reads documents
	Texts  *i18n.Texts
	Log    *slog.Logger
	Now    func() time.Time // the clock for expiry and working time
	Wall   func() time.Time // the clock for days; nil: Now
	Pause  *tasks.Pause     // nil: never paused
	// Append stores the results of actions. It is Presenters.Append, which waits
	// while the disk is full.
	Append func(ctx context.Context, id tasks.ID, e ...planner.Event) error
	// Reached is called when a budget has no room; it may be nil.
	Reached func(context.Context, planner.Overdraft)
	Prompts tasks.PromptRules // initial rules; Use replaces them
	// Tracer traces actions and tasks; it may be nil.
	Tracer *telemetry.Tracer
}

// Display shows one task in its chat. *presenter.Presenter implements it.
type Display interface {
	// Ask asks people a question.
	Ask(ctx context.Context, v *tasks.View, a planner.Action) error
	// Show shows the outcome in the chat.
	Show(ctx context.Context, v *tasks.View) error
	// Stream shows the text of a model call while it grows. Call end when the
	// outcome of the call is stored. Addresses that known does not report are no links;
	// nil: all are known.
	Stream(a planner.Action, known func(address string) bool) (write func(llm.Delta), end func())
	// Progress sets the progress of a running call.
	Progress(action planner.ActionID, g tools.Progress)
}

// New makes an executor.
func New(cfg Config) *Executor {
	x := &Executor{Config: cfg, earlier: newEarlier(cfg.Store), files: newEarlierFiles(cfg.Store), writing: make(chan struct{}, 1), outlining: make(chan struct{}, 1)}
	x.contents = &contents{cfg: &x.Config, rules: &x.rules, reading: make(chan struct{}, maxReaders)}
	if x.Wall == nil {
		x.Wall = x.Now
	}
	x.Model = pausableModel{cfg.Model, cfg.Pause}
	x.budget = &budget{store: cfg.Store, log: cfg.Log, wall: x.Wall, rules: &x.rules, price: pricerOf(cfg.Model)}
	x.summaries = &summaries{
		cfg: &x.Config, rules: &x.rules, budget: x.budget, calls: &x.modelCalls,
		waiting: map[string]tasks.ID{}, working: map[string]bool{}, signal: make(chan struct{}, 1),
	}
	x.Use(cfg.Prompts)
	return x
}

// Summarise updates the summaries of conversations, until ctx ends.
func (x *Executor) Summarise(ctx context.Context) error { return x.summaries.run(ctx) }

// Use changes the rules, from the next action on.
func (x *Executor) Use(rules tasks.PromptRules) {
	if rules.HistoryBytes == 0 {
		rules.HistoryBytes = 16 << 10
	}
	x.rules.Store(&rules)
}

// Do performs one action of the task that v shows and appends the outcome. It
// returns nil when the outcome is stored, or when the task no longer wants it. Any
// other error is the context's, or means that the store did not take the outcome.
// Then the task still wants the action, and the caller can repeat it safely if it is
// repeatable or not yet started. A panic fails only this action. While everything is
// paused, model and tool calls return ErrPaused. An action that waits for a budget
// returns ErrHeld.
func (x *Executor) Do(ctx context.Context, v *tasks.View, a planner.Action, p Display) error {
	ctx, span := x.begin(ctx, v, &a)
	err := x.do(ctx, v, a, p)
	var fault *tasks.PanicError
	if errors.As(err, &fault) {
		err = x.panicked(ctx, v, a, fault)
	}
	if tasks.Superseded(err) {
		span.Text(telemetry.OutcomeKey, "superseded")
		span.End(nil)
		return nil
	}
	span.End(err)
	if err != nil {
		return fmt.Errorf("doing %q: %w", a.ID, err)
	}
	return nil
}

func (x *Executor) do(ctx context.Context, v *tasks.View, a planner.Action, p Display) (err error) {
	defer tasks.Catch(&err)
	if a.Kind == planner.KindModel || a.Kind == planner.KindTool || a.Kind == planner.KindFetch {
		if err := x.Pause.Gate(); err != nil {
			return err
		}
	}
	switch a.Kind {
	case planner.KindModel:
		x.modelCalls.begin()
		defer x.modelCalls.end()
		err = x.model(ctx, v, a, p)
	case planner.KindTool:
		err = x.tool(ctx, v, a, p)
	case planner.KindFetch:
		err = x.fetch(ctx, v, a)
	case planner.KindAsk:
		err = x.ask(ctx, v, a, p)
	case planner.KindShow:
		if err = p.Show(ctx, v); err == nil {
			x.summaries.enqueue(v.Opening().Chat.Key(), v.ID)
		}
	default:
		err = fmt.Errorf("no such kind of action: %q", a.Kind)
	}
	return err
}

// panicked ends an action that panicked: repeating it would cost money again and
// panic again. Only a question is asked again.
func (x *Executor) panicked(ctx context.Context, v *tasks.View, a planner.Action, fault *tasks.PanicError) error {
	x.Log.ErrorContext(ctx, "action panicked", "task", v.ID, "action", a.ID, "cause", fault)
	e := planner.Event{Type: planner.CallFailed, Action: a.ID, Problem: &planner.Problem{Code: "internal", Reason: fault.Error()}}
	switch a.Kind {
	case planner.KindTool:
		e = planner.Event{Type: planner.Returned, Action: a.ID, Result: &planner.Result{Failed: true, Unknown: true}}
	case planner.KindFetch:
		e = planner.Event{Type: planner.FileRead, Action: a.ID, Read: &planner.ReadFile{Problem: "bounds"}}
	case planner.KindAsk:
		return fault
	}
	return x.Append(ctx, v.ID, e)
}

// pausableModel is a model that refuses calls while everything is paused.
type pausableModel struct {
	llm.Model
	pause *tasks.Pause
}

// Call implements llm.Model.
func (g pausableModel) Call(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
	if err := g.pause.Gate(); err != nil {
		return llm.Reply{}, err
	}
	reply, err := g.Model.Call(ctx, r, stream)
	var failed *llm.Error
	if errors.As(err, &failed) && failed.Problem == llm.Held {
		return reply, fmt.Errorf("%w: %w", tasks.ErrPaused, err)
	}
	return reply, err
}

// configured is a model as the config has it, which may do more than Call. Only Call
// looks at the pause.
func configured(m llm.Model) llm.Model {
	if p, pausable := m.(pausableModel); pausable {
		return p.Model
	}
	return m
}

// begin starts the span of an action, in the trace of its task.
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

// Ended ends the trace of a task that has ended. Call it once per task: a second
// call would count the task's spans twice.
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
	all, _ := v.State.PlannedSubtasks()
	span.Number(telemetry.Subtasks, all)
	span.Number(telemetry.InputTokens, v.State.Usage.Input)
	span.Number(telemetry.OutputTokens, v.State.Usage.Output)
	if v.State.Outcome == planner.Failed {
		span.Fail(v.State.Reason)
	}
	span.EndAt(v.State.Last)
}
