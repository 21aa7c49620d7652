package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"legwork/app/control"
	"legwork/bot"
	"legwork/conf"
	"legwork/i18n"
	"legwork/internal/clock"
	"legwork/internal/redact"
	"legwork/llm"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/tasks"
	"legwork/tasks/alerts"
	"legwork/tasks/engine"
	"legwork/toolbox"
	"legwork/tools"
	"legwork/tools/builtin/memory"
)

// app is legwork but for its platforms: what keeps tasks, does them and knows
// the tools.
type app struct {
	config     *conf.Config
	command    string // what a second process reads when it finds the data in use
	log        *slog.Logger
	texts      *i18n.Texts
	store      *bolt.Store
	tools      *tools.Manager
	executor   *tasks.Executor
	engine     *engine.Engine
	inbox      *tasks.Inbox
	unattended bool // one question is asked, and nobody answers another
	pause      *tasks.Pause
	watchers
	credentials *redact.Redactor // of all configs so far: what tools return holds none
	clock       *clock.Steady    // by which things expire
	alerts      *alerts.Alerts   // of a daemon; nil otherwise

	forgotten atomic.Bool  // something was deleted whose bytes may still be there
	suspected atomic.Int64 // when admins were last told of a damaged task, in Unix seconds
}

// stopTime is how long the parts may take to stop.
const stopTime = 9 * time.Second

// openApp opens the store and prepares the tools. The caller connects the app
// to platforms before it starts it, and closes it.
func openApp(ctx context.Context, config *conf.Config, command string, w watchers, log *slog.Logger) (*app, error) {
	a := &app{config: config, command: command, log: log, watchers: w, clock: clock.New(), credentials: redact.New(config.Credentials())}
	var err error
	if a.texts, err = i18n.Load(config.TextsDir); err != nil {
		return nil, fmt.Errorf("loading texts: %w", err)
	}
	if a.store, err = openWatched(ctx, config, command, w.metrics, log); err != nil {
		return nil, err
	}
	if a.pause, err = tasks.OpenPause(ctx, a.store); err != nil {
		return nil, errors.Join(err, a.store.Close())
	}
	options := toolOptions(config, log)
	options.Metrics = w.metrics
	options.Known, options.OnChange = known{a.store}, func(c tools.Change) {
		a.inbox.ToolChanged(context.Background(), tasks.ToolChange(c)) // which stops with Flush
	}
	if a.tools, err = tools.New(config.Tools, options); err != nil {
		return nil, errors.Join(fmt.Errorf("preparing tools: %w", err), a.store.Close())
	}
	return a, nil
}

// toolOptions are those of every command that runs tool servers.
func toolOptions(config *conf.Config, log *slog.Logger) tools.Options {
	return tools.Options{Log: log, Version: readBuild().version, Base: config.Folder(), Data: config.DataDir}
}

// connect wires the tasks to a model and to the platforms that people are on.
// Nothing runs before start.
func (a *app) connect(model llm.Model, platforms ...bot.Platform) {
	prompts := promptRules(a.config, model)
	prompts.Budget.Unattended = a.unattended
	if m, ok := model.(*models); ok {
		m.pause.Store(a.pause)
	}
	chats := tasks.Chats{}
	for _, p := range platforms {
		chats[p.Name()] = p
	}
	a.executor = tasks.NewExecutor(tasks.ExecutorConfig{
		Store: a.store, Model: model, Tools: sealed{toolbox.New(a.tools), a.credentials}, Texts: a.texts, Chats: chats, Log: a.log, Now: a.clock.Now, Wall: time.Now,
		Pause: a.pause, Prompts: prompts, Reached: func(ctx context.Context, over planner.Overdraft) { a.inbox.BudgetReached(ctx, over) },
		Tracer: a.tracer, Clean: a.hidden.String,
	})
	a.engine = engine.New(engine.Config{
		Store: a.store, Executor: a.executor, Log: a.log, Now: a.clock.Now, Concurrent: a.config.Limits.ConcurrentTasks, Pause: a.pause,
		Damaged: a.damaged, Metrics: a.metrics,
	})
	a.inbox = tasks.NewInbox(tasks.InboxConfig{
		Store: a.store, Wake: a.engine.Wake, Texts: a.texts, Chats: chats, Log: a.log, Now: a.clock.Now, Wall: time.Now, Tools: toolbox.New(a.tools),
		Zones: zones(), Pause: a.pause, Load: a.engine.Load, Notes: notes(a.config.DataDir), Forgotten: func() { a.forgotten.Store(true) },
		Full: a.full(a.config.DataDir), Rules: inboxRules(a.config), Budgets: a.tellBudgets, Metrics: a.metrics, Tracer: a.tracer,
	})
}

// notes deletes what the built-in memory keeps in a folder of what was told in a
// chat.
func notes(dir string) func(context.Context, bot.Chat) (int, error) {
	return func(_ context.Context, chat bot.Chat) (int, error) { return memory.Forget(dir, chat.Room()) }
}

// start runs what every command needs.
func (a *app) start(parts *stack) {
	if err := a.serveControl(parts); err != nil {
		a.log.Warn("the control socket cannot be opened", "cause", err)
	}
	parts.start("rest", rest)
	config := a.config // a reload changes nothing of it
	parts.start("care", func(ctx context.Context) error { return a.care(ctx, config) })
	parts.start("tools", a.tools.Run)
	parts.start("engine", a.engine.Run)
	parts.start("summaries", a.executor.Remember)
	parts.start("notices", func(ctx context.Context) error {
		<-ctx.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime/2)
		defer cancel()
		a.inbox.Flush(ctx)
		return nil
	})
	parts.start("schedules", tasks.NewScheduler(a.inbox, time.Now).Run)
	parts.start("budgets", a.inbox.WatchBudgets)
}

// serveControl answers a second process that asks who holds the data.
func (a *app) serveControl(parts *stack) error {
	mux, since := http.NewServeMux(), time.Now()
	control.HandleStatus(mux, func(ctx context.Context) (control.Status, error) {
		live, err := a.store.Live(ctx, "")
		status := control.Status{PID: os.Getpid(), Command: a.command, Version: readBuild().version, Since: since, Live: len(live), Goroutines: runtime.NumGoroutine()}
		if by, on := a.pause.State(); on {
			status.Paused = fmt.Sprintf("by %s since %s", by.Name, by.At.Format(time.RFC3339))
		}
		return status, err
	})
	a.handlePause(mux)
	a.handleData(mux)
	a.handleTools(mux)
	server, err := control.Listen(a.config.DataDir, redact.Replies(mux, a.hidden, true))
	if err != nil {
		return err
	}
	parts.start("control socket", server.Serve)
	return nil
}

func (a *app) close() error { return a.store.Close() }
