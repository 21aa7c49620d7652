// Package app builds legwork from its config and runs it: the daemon with its
// platforms and HTTP listeners, chats in the terminal, reload, and an orderly
// start and stop. Only this package imports all others.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"legwork/app/control"
	"legwork/app/data"
	"legwork/app/tooladmin"
	"legwork/bot"
	"legwork/bot/terminal"
	botweb "legwork/bot/web"
	"legwork/conf"
	"legwork/files/read"
	"legwork/i18n"
	"legwork/internal/clock"
	"legwork/internal/redact"
	"legwork/internal/telemetry"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/alerts"
	"legwork/tasks/api"
	"legwork/tasks/commands"
	"legwork/tasks/connections"
	"legwork/tasks/engine"
	"legwork/tasks/executor"
	"legwork/tasks/inbox"
	"legwork/tasks/presenter"
	"legwork/tasks/scheduler"
	"legwork/tools"
	"legwork/tools/builtin/memory"
)

// core is what every command that runs tasks needs: the store, the tools, and what
// plans and executes. The daemon adds platforms to it, a chat adds the terminal.
type core struct {
	config     *conf.Config // of the start; a reload does not change it
	command    string       // shown to a second process that finds the data in use
	log        *slog.Logger
	texts      *i18n.Texts
	store      *data.Store
	keys       *data.Keys // seal the sign-ins at servers
	signedIn   *connections.Connections
	tools      *tools.Manager
	executor   *executor.Executor
	presenters *presenter.Presenters
	engine     *engine.Engine
	inbox      *inbox.Inbox
	budgets    *alerts.BudgetWatch
	unattended bool // there is one question, and no person to answer another
	pause      *tasks.Pause
	instruments
	credentials *redact.Redactor // of all configs so far; tool results must not contain them
	clock       *clock.Steady    // for expiry
	alerts      *alerts.Alerts   // of a daemon; nil otherwise
	hub         *terminal.Hub    // of a daemon, for chats that attach; nil otherwise
	webChat     *botweb.Web      // nil without an HTTP listener
	service     *api.Service     // nil without an HTTP listener
	printed     io.Writer        // the output of a daemon; nil otherwise
	codes       codes            // for changes that only people may make
	page        func() string    // see pageAddress; nil: there is no page

	files     atomic.Pointer[conf.Files] // the current limits; nil: those of config
	forgotten atomic.Bool                // data was deleted whose bytes may still be in the files
	suspected atomic.Int64               // when admins were last told about a damaged task, in Unix seconds
}

// StopTime is how long the parts may take to stop.
const StopTime = 9 * time.Second

// openCore opens the store and prepares the tools. The caller calls connect before
// start, and close at the end. While another process holds a database on a server,
// it calls standby and waits; nil: that is an error.
func openCore(ctx context.Context, config *conf.Config, command string, w instruments, log *slog.Logger, standby func(holder string)) (*core, error) {
	a := &core{config: config, command: command, log: log, instruments: w, clock: clock.New(), credentials: redact.New(config.Credentials())}
	var err error
	if a.texts, err = i18n.Load(config.TextsDir); err != nil {
		return nil, fmt.Errorf("loading texts: %w", err)
	}
	if a.store, err = data.OpenStandby(ctx, config, command, w.metrics, log, standby); err != nil {
		return nil, err
	}
	if a.keys, err = data.OpenKeys(ctx, config, a.store, log, a.hide); err != nil {
		return nil, errors.Join(err, a.store.Close())
	}
	if a.pause, err = tasks.OpenPause(ctx, a.store); err != nil {
		return nil, errors.Join(err, a.store.Close())
	}
	if err := emptyFolder(copiesFolder(config)); err != nil {
		return nil, errors.Join(fmt.Errorf("preparing folder for copies of files: %w", err), a.store.Close())
	}
	options := tooladmin.Options(config, log)
	options.Metrics = w.metrics
	options.Known, options.OnChange = tooladmin.Stored{Store: a.store}, func(c tools.Change) {
		commands.ToolChanged(context.Background(), a.inbox, c) // Flush ends it
	}
	a.signedIn = a.newConnections(config)
	options.Authorizers = a.signedIn
	if a.tools, err = tools.New(config.Tools, options); err != nil {
		return nil, errors.Join(fmt.Errorf("preparing tools: %w", err), a.store.Close())
	}
	return a, nil
}

// hide keeps a sealing key, or a secret that a person gave, out of logs and of what tools
// return.
func (a *core) hide(forms ...string) {
	a.hidden.Add(forms...)
	a.credentials.Add(forms...)
}

// copiesFolder is where copies of files are that the processes which read them, and
// tools, get.
// Their paths are absolute, since such a process may work in another folder.
func copiesFolder(config *conf.Config) string {
	folder := filepath.Join(config.DataDir, "tmp")
	if full, err := filepath.Abs(folder); err == nil {
		return full
	}
	return folder
}

// cacheFolder is where the compiled code of the PDF library is kept. A demo has no data
// directory that stays.
func cacheFolder(config *conf.Config, command string) string {
	if folder, err := os.UserCacheDir(); err == nil && command == demoCommand {
		return filepath.Join(folder, "legwork")
	}
	return filepath.Join(config.DataDir, "cache")
}

// emptyFolder makes a folder, and removes what a killed process has left in it.
func emptyFolder(path string) error {
	return errors.Join(os.RemoveAll(path), os.MkdirAll(path, 0o700))
}

// connect builds executor, engine and inbox for a model and platforms. Nothing runs
// before start.
func (a *core) connect(model llm.Model, platforms ...bot.Platform) {
	prompts := promptRules(a.config, model)
	prompts.Budget.Unattended = a.unattended
	if m, ok := model.(*models); ok {
		m.pause.Store(a.pause)
	}
	chats := tasks.Chats{}
	for _, p := range platforms {
		chats[p.Name()] = p
	}
	a.presenters = presenter.New(presenter.Config{
		Store: a.store, Texts: a.texts, Chats: chats, Log: a.log, Now: a.clock.Now, Pause: a.pause, Rules: prompts, Clean: a.hidden.String, Page: pageOf(a.config),
		SignInWanted: func(ctx context.Context, server string) { inbox.SignInWanted(ctx, a.inbox, server) },
	})
	a.executor = executor.New(executor.Config{
		Store: a.store, Model: model, Tools: redactedTools{a.tools, a.credentials}, Chats: chats, Copies: copiesFolder(a.config), Reader: read.Reader{Cache: cacheFolder(a.config, a.command)}, Texts: a.texts, Log: a.log, Now: a.clock.Now, Wall: time.Now,
		Append: a.presenters.Append, Pause: a.pause, Prompts: prompts, Reached: func(_ context.Context, over planner.Overdraft) { a.budgets.Reached(over) },
		Tracer: a.tracer,
	})
	a.engine = engine.New(engine.Config{
		Store: a.store, Executor: a.executor, Presenters: a.presenters, Log: a.log, Now: a.clock.Now, Concurrent: a.config.Limits.ConcurrentTasks, Pause: a.pause,
		Damaged: a.damaged, Metrics: a.metrics,
	})
	a.inbox = inbox.New(inbox.Config{
		Store: a.store, Wake: a.engine.Wake, Texts: a.texts, Chats: chats, Log: a.log, Now: a.clock.Now, Wall: time.Now, Tools: a.tools, Links: pageOf(a.config),
		Zones: zones(), Pause: a.pause, Load: a.engine.Load, Notes: forgetNotes(a.config.DataDir), Forgotten: func() { a.forgotten.Store(true) },
		Full: diskFull(a.config.DataDir), Rules: inboxRules(a.config), Commands: commands.All(), Presses: commands.Presses(), Page: a.pageURL, SignIns: signIns{a.signedIn, a}, Shared: a.hub != nil, BudgetExtended: func() { a.budgets.Extended() }, Metrics: a.metrics, Tracer: a.tracer,
	})
	a.budgets = alerts.NewBudgetWatch(a.inbox, a.reportBudgets)
}

// pageURL is the address of the page, empty when there is none.
func (a *core) pageURL() string {
	if a.page == nil {
		return ""
	}
	return a.page()
}

// forgetNotes deletes the notes that the built-in memory server keeps about a
// chat.
func forgetNotes(dir string) func(context.Context, bot.Chat) (int, error) {
	return func(_ context.Context, chat bot.Chat) (int, error) { return memory.Forget(dir, chat.Room()) }
}

// start starts the parts that every command needs.
func (a *core) start(parts *lifecycle) {
	if err := a.serveControl(parts); err != nil {
		a.log.Warn("opening the control socket failed", "cause", err)
	}
	parts.start("memory", releaseMemory)
	parts.start("database", a.holdDatabase)
	parts.start("maintenance", a.maintain)
	parts.start("tools", a.tools.Run)
	parts.start("engine", a.engine.Run)
	parts.start("summaries", a.executor.Summarise)
	parts.start("notices", func(ctx context.Context) error {
		<-ctx.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), StopTime/2)
		defer cancel()
		a.inbox.Flush(ctx)
		return nil
	})
	parts.start("schedules", scheduler.New(a.inbox, time.Now).Run)
	parts.start("budgets", a.budgets.Run)
	if a.webChat != nil {
		parts.start(botweb.Name, func(ctx context.Context) error { return a.webChat.Run(ctx, a.inbox.Handle) })
	}
}

// serveControl answers the commands of a second process.
func (a *core) serveControl(parts *lifecycle) error {
	mux, since := http.NewServeMux(), time.Now()
	control.HandleStatus(mux, func(ctx context.Context) (control.Status, error) {
		live, err := a.store.Live(ctx, "")
		status := control.Status{PID: os.Getpid(), Command: a.command, Version: telemetry.ReadBuild().Version, Since: since, Live: len(live), Chats: a.hub != nil, Goroutines: runtime.NumGoroutine()}
		if by, on := a.pause.State(); on {
			status.Paused = fmt.Sprintf("by %s since %s", by.Name, by.At.Format(time.RFC3339))
		}
		return status, err
	})
	a.handlePause(mux)
	if a.hub != nil {
		a.handleChats(mux)
	}
	a.admin().Handle(mux)
	tooladmin.Handle(mux, a.tools, a.store, a.log, a.confirmAccept)
	server, err := control.Listen(a.config.DataDir, redact.Replies(mux, a.hidden, true))
	if err != nil {
		return err
	}
	parts.start("control socket", server.Serve)
	return nil
}

func (a *core) close() error { return a.store.Close() }

// redactedTools removes the credentials of the config from what tools return. A
// server that reveals its environment then reveals them to no model and no chat,
// and they are not stored.
type redactedTools struct {
	*tools.Manager
	credentials *redact.Redactor
}

var (
	_ tasks.Toolbox   = redactedTools{}
	_ tasks.Inventory = (*tools.Manager)(nil)
)

// Call implements tasks.Manager.
func (s redactedTools) Call(ctx context.Context, c tools.Call) (tools.Result, error) {
	if report := c.Progress; report != nil {
		c.Progress = func(p tools.Progress) {
			p.Message = s.credentials.Known(p.Message)
			report(p)
		}
	}
	result, err := s.Manager.Call(ctx, c)
	result.Text = s.credentials.Known(result.Text)
	return result, err
}

// Details implements api.Servers.
func (s redactedTools) Details() []tools.ServerDetails {
	list := s.Manager.Details()
	for _, server := range list {
		for i := range server.Failures {
			server.Failures[i].Text = s.credentials.Known(server.Failures[i].Text)
		}
	}
	return list
}

// Prompt implements tasks.Manager.
func (s redactedTools) Prompt(ctx context.Context, group, name string, arguments map[string]string) (string, error) {
	text, err := s.Manager.Prompt(ctx, group, name, arguments)
	return s.credentials.Known(text), err
}
