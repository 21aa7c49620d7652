package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"legwork/bot"
	"legwork/i18n"
	"legwork/internal/test/fakes/llmfake"
	"legwork/llm"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/tasks"
	"legwork/tasks/commands"
	"legwork/tasks/engine"
	"legwork/tasks/enginetest"
	"legwork/tasks/executor"
	"legwork/tasks/inbox"
	"legwork/tasks/presenter"
	"legwork/tools"
)

// engineEnv is a whole legwork, wired as the command does it, but with a fake model
// behind a socket and a platform that only records.
type engineEnv struct {
	store    *bolt.Store
	fake     *llmfake.Server
	models   *llm.Models
	platform *enginetest.Recorder
	inbox    *inbox.Inbox
	engine   *engine.Engine

	cancel context.CancelFunc
	work   sync.WaitGroup
	asked  int
}

// groups are the tool groups of the rig: one tool of each built-in server.
func groups() tools.Config {
	return tools.Config{
		Servers: map[string]tools.ServerConfig{"clock": {Builtin: "clock"}, "math": {Builtin: "math"}},
		Groups: map[string]tools.GroupConfig{
			"clock": {Description: "The time in a place or time zone.", Servers: []string{"clock"}, Tools: []string{"time_in"}, ReadOnly: []string{"*"}},
			"math":  {Description: "Exact arithmetic.", Servers: []string{"math"}, ReadOnly: []string{"*"}},
		},
	}
}

// newEngineEnv starts everything, with the platform that only records. toolDelay is
// added to each tool call. Close it.
func newEngineEnv(dir string, respond func(llmfake.Request) llmfake.Response, toolDelay time.Duration) (*engineEnv, error) {
	return newEngineEnvOf(groups(), dir, respond, toolDelay)
}

// newEngineEnvOf is newRig with other groups.
func newEngineEnvOf(groups tools.Config, dir string, respond func(llmfake.Request) llmfake.Response, toolDelay time.Duration) (*engineEnv, error) {
	return recorded(groups, dir, respond, toolDelay, telemetryOf{})
}

// newObservedEnv is newRig with somebody who is told what it does.
func newObservedEnv(dir string, respond func(llmfake.Request) llmfake.Response, e telemetryOf) (*engineEnv, error) {
	return recorded(groups(), dir, respond, 0, e)
}

func recorded(groups tools.Config, dir string, respond func(llmfake.Request) llmfake.Response, toolDelay time.Duration, e telemetryOf) (*engineEnv, error) {
	recorder := enginetest.NewRecorder()
	r, err := assemble(groups, dir, llmfake.Options{Respond: respond}, toolDelay, 8, e, recorder)
	if err != nil {
		return nil, err
	}
	r.platform = recorder
	return r, nil
}

// assemble starts everything, with those groups, for those platforms, which
// the caller runs; concurrent tasks work at a time, and e receives the
// telemetry.
func assemble(groups tools.Config, dir string, fake llmfake.Options, toolDelay time.Duration, concurrent int, e telemetryOf, platforms ...bot.Platform) (*engineEnv, error) {
	log := slog.New(slog.DiscardHandler)
	texts, err := i18n.Load("")
	if err != nil {
		return nil, err
	}
	manager, err := tools.New(groups, tools.Options{Metrics: e.metrics})
	if err != nil {
		return nil, err
	}
	r := &engineEnv{}
	if r.fake, err = llmfake.Start(fake); err != nil {
		return nil, err
	}
	r.models, err = llm.New(llm.Config{Models: map[string]llm.ModelConfig{"main": {BaseURL: r.fake.URL, APIKey: "bench", Model: "bench"}}}, llm.Options{Metrics: e.metrics})
	if err != nil {
		return nil, err
	}
	if r.store, err = bolt.Open(context.Background(), dir, bolt.Options{Metrics: e.metrics}); err != nil {
		return nil, err
	}
	chats := tasks.Chats{}
	for _, p := range platforms {
		chats[p.Name()] = p
	}
	presenters := presenter.New(presenter.Config{Store: r.store, Texts: texts, Chats: chats, Log: log, Now: time.Now})
	executor := executor.New(executor.Config{
		Store: r.store, Model: r.models, Tools: slowly{manager, toolDelay}, Texts: texts, Log: log, Now: time.Now,
		Append: presenters.Append, Prompts: tasks.PromptRules{PromptBytes: r.models.PromptBytes}, Tracer: e.tracer,
	})
	r.engine = engine.New(engine.Config{Store: r.store, Executor: executor, Presenters: presenters, Log: log, Now: time.Now, Concurrent: concurrent, Metrics: e.metrics})
	r.inbox = inbox.New(inbox.Config{
		Commands: commands.All(), Presses: commands.Presses(),
		Store: r.store, Wake: r.engine.Wake, Texts: texts, Chats: chats, Log: log, Now: time.Now, Tools: manager,
		Rules:   inbox.Rules{Limits: planner.DefaultLimits(), Language: "en", Timezone: "Europe/Berlin"},
		Metrics: e.metrics, Tracer: e.tracer,
	})
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	for _, run := range []func(context.Context) error{manager.Run, r.engine.Run} {
		r.work.Go(func() { _ = run(ctx) }) // both end without an error when ctx does
	}
	return r, nil
}

// close ends everything and tells what the model's endpoint complained of.
func (r *engineEnv) close() error {
	r.cancel()
	r.work.Wait()
	r.models.Close()
	err := errors.Join(r.fake.Close(), r.store.Close())
	for _, v := range r.fake.Violations() {
		err = errors.Join(err, fmt.Errorf("the model's endpoint refused a request: %s", v))
	}
	return err
}

// ask hands a question to the inbox, in a chat of its own, and returns how long
// it took until the answer was posted, and the answer.
func (r *engineEnv) ask(ctx context.Context, goal string) (time.Duration, string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r.asked++
	key := fmt.Sprintf("q%d", r.asked)
	message := enginetest.Message(key, goal, time.Now())
	message.Chat = bot.Chat{Platform: enginetest.Chat.Platform, ID: key, Private: true}
	began := time.Now()
	if err := r.inbox.Handle(ctx, []bot.Message{message}); err != nil {
		return 0, "", err
	}
	var answer enginetest.Post
	err := r.platform.Await(ctx, func() bool {
		for _, p := range r.platform.Posts(bot.KindAnswer) {
			if p.Chat.ID == key {
				answer = p
				return true
			}
		}
		return false
	})
	took := time.Since(began)
	if err == nil && answer.Failed {
		err = fmt.Errorf("the task failed: %s", answer.Text)
	}
	if err != nil {
		return 0, "", fmt.Errorf("waiting for the answer: %w", err)
	}
	// What follows the answer is not measured, and must not disturb what is.
	return took, answer.Text, tasks.Idle(ctx, r.store, message.Chat.Key())
}

// slowly makes each tool call take that much longer.
type slowly struct {
	tasks.Toolbox
	delay time.Duration
}

func (t slowly) Call(ctx context.Context, c tools.Call) (tools.Result, error) {
	select {
	case <-ctx.Done():
		return tools.Result{}, ctx.Err()
	case <-time.After(t.delay):
	}
	return t.Toolbox.Call(ctx, c)
}
