package enginetest

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/i18n"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/alerts"
	"legwork/tasks/commands"
	"legwork/tasks/executor"
	"legwork/tasks/inbox"
	"legwork/tasks/presenter"
	"legwork/tools"
)

// Setup is what an engine under test is made of.
type Setup struct {
	Store      tasks.Store
	Executor   *executor.Executor
	Presenters *presenter.Presenters
	Log        *slog.Logger
	Now        func() time.Time
	Concurrent int
	InMemory   int          // tasks of a platform in memory; 0: as the engine likes
	Pause      *tasks.Pause // the switch for everything; nil: there is none
}

// Env is a whole legwork but for the engine: parts that follow a script around
// a store.
type Env struct {
	Setup
	Platform *Recorder
	Model    *Model
	Tools    *Tools
	Texts    *i18n.Texts
	Inbox    *inbox.Inbox
	Budgets  *alerts.BudgetWatch
	Engine   tasks.Engine
	Chats    tasks.Chats // holds Platform; Use takes it over
	Limits   planner.Limits
	Budget   tasks.BudgetRules
	Deciders []string                 // keys of the programs that may decide about calls
	Expire   time.Duration            // how long questions wait for a person; 0: for ever
	Rules    func(*tasks.PromptRules) // changes the rules in Use; may be nil
	stop     func()
}

// NewEnv makes the parts around a store; Start runs an engine over them.
func NewEnv(t testing.TB, store tasks.Store) *Env {
	t.Helper()
	texts, err := i18n.Load("")
	if err != nil {
		t.Fatalf("loading texts: %v", err)
	}
	env := &Env{Platform: NewRecorder(), Model: &Model{}, Tools: &Tools{}, Texts: texts, Limits: planner.DefaultLimits()}
	env.Chats = tasks.Chats{Chat.Platform: env.Platform}
	env.Model.Answer = Plain("hello")
	env.Tools.Make = func(_ context.Context, _, arguments string) (tools.Result, error) {
		return tools.Result{Text: "result of " + arguments}, nil
	}
	env.Setup = Setup{Log: slog.New(slog.DiscardHandler), Now: time.Now, Concurrent: 8}
	env.Use(store)
	return env
}

// Use puts the parts around another store, as a restart does.
func (env *Env) Use(store tasks.Store) {
	env.Store = store
	rules := tasks.PromptRules{
		Budget: env.Budget, Deciders: env.Deciders, Approvals: tasks.Approvals{Expire: env.Expire}, SharedState: true, Delegate: true, HasHearing: env.Model.Hear != nil,
	}
	if env.Rules != nil {
		env.Rules(&rules)
	}
	env.Presenters = presenter.New(presenter.Config{
		Store: store, Texts: env.Texts, Chats: env.Chats, Log: env.Log, Now: env.Now, Pause: env.Pause, Rules: rules,
	})
	env.Executor = executor.New(executor.Config{
		Store: store, Model: env.Model, Tools: env.Tools, Chats: env.Chats, Texts: env.Texts, Log: env.Log, Now: env.Now, Append: env.Presenters.Append, Pause: env.Pause, Prompts: rules,
	})
	env.Inbox = inbox.New(inbox.Config{
		Store: store, Wake: func(ctx context.Context, id tasks.ID) error { return env.Engine.Wake(ctx, id) },
		Texts: env.Texts, Chats: env.Chats, Log: env.Log, Now: env.Now, Tools: env.Tools, Pause: env.Pause,
		Commands: commands.All(), Presses: commands.Presses(), BudgetExtended: func() { env.Budgets.Extended() },
		Rules: inbox.Rules{Limits: env.Limits, Language: "en", Timezone: "UTC", Budget: env.Budget, Approvals: tasks.Approvals{Expire: env.Expire}},
	})
	env.Budgets = alerts.NewBudgetWatch(env.Inbox, nil)
}

// Start runs an engine until Stop.
func (env *Env) Start(build func(Setup) tasks.Engine) {
	env.Engine = build(env.Setup)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = env.Engine.Run(ctx)
	}()
	env.stop = func() { cancel(); <-done }
}

// Stop ends the engine and waits for it.
func (env *Env) Stop() { env.stop() }

// Plain is a model that gives one answer to everything, word by word.
func Plain(text string) func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
	return func(_ context.Context, _ llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
		for _, word := range strings.SplitAfter(text, " ") {
			stream(llm.Delta{Text: word})
		}
		return llm.Reply{Text: text, Usage: llm.Usage{Input: 10, Output: 2}}, nil
	}
}

// Planned is a model that plans once, lets each sub-task call its group's tool
// once with its description, and answers with the last message of its prompt.
func Planned(plan string) func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
	return func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		last := r.Messages[len(r.Messages)-1]
		switch {
		case r.Role == llm.RolePlan:
			return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "p", Name: planner.ToolPlan, Arguments: plan}}}, nil
		case r.Role == llm.RoleWork && last.Role != llm.ToolRole && len(r.Tools) > 0:
			return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "c", Name: r.Tools[0].Name, Arguments: `{"q":"` + Between(last.Content, "task") + `"}`}}}, nil
		}
		return llm.Reply{Text: r.Role + " saw: " + last.Content}, nil
	}
}

// Between returns what stands between <tag> and </tag>, trimmed.
func Between(text, tag string) string {
	_, rest, _ := strings.Cut(text, "<"+tag+">")
	body, _, _ := strings.Cut(rest, "</"+tag+">")
	return strings.TrimSpace(body)
}

// Answers waits for n outcomes and returns their texts.
func (env *Env) Answers(t testing.TB, n int) []Post {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := env.Platform.Await(ctx, func() bool { return len(env.Platform.Posts(bot.KindAnswer)) >= n }); err != nil {
		t.Fatalf("%d answers came, want %d", len(env.Platform.Posts(bot.KindAnswer)), n)
	}
	return env.Platform.Posts(bot.KindAnswer)
}

// Ask hands messages to the inbox.
func (env *Env) Ask(t testing.TB, messages ...bot.Message) {
	t.Helper()
	if err := env.Inbox.Handle(context.Background(), messages); err != nil {
		t.Fatalf("handling messages: %v", err)
	}
}
