package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"legwork/bot"
	"legwork/bot/terminal"
	"legwork/conf"
	"legwork/i18n"
	"legwork/llm"
	"legwork/store/bolt"
	"legwork/store/control"
	"legwork/tasks"
	"legwork/tasks/local"
	"legwork/tools"
)

// app is legwork, wired from top to bottom around one terminal.
type app struct {
	config   *conf.Config
	command  string // what a second process reads when it finds the data in use
	json     bool   // a program is at the terminal
	log      *slog.Logger
	texts    *i18n.Texts
	store    *bolt.Store
	tools    *tools.Manager
	terminal *terminal.Terminal
	inbox    *tasks.Inbox
	engine   *local.Engine
}

// stopTime is how long the parts may take to stop.
const stopTime = 10 * time.Second

// newApp opens the store and wires everything; nothing runs before run. The
// caller closes the app. screen is filled in with what the wiring knows.
func newApp(ctx context.Context, config *conf.Config, model llm.Model, talk conversation, screen terminal.Config, log *slog.Logger) (*app, error) {
	a := &app{config: config, command: talk.command, json: talk.json, log: log}
	var err error
	if a.texts, err = i18n.Load(config.TextsDir); err != nil {
		return nil, fmt.Errorf("loading texts: %w", err)
	}
	if a.tools, err = tools.New(config.Tools, tools.Options{Log: log, Version: readBuild().version}); err != nil {
		return nil, fmt.Errorf("preparing tools: %w", err)
	}
	check, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the own program: %w", err)
	}
	a.store, err = bolt.Open(ctx, config.DataDir, bolt.Options{Command: talk.command, Log: log, CheckCommand: []string{check, "data", "verify", "--quick"}})
	if errors.Is(err, tasks.ErrDamaged) {
		return nil, fmt.Errorf("%w; put a backup of %s in its place, or move the file away to start with empty data", err, bolt.FileName)
	}
	if err != nil {
		return nil, err
	}
	screen.Texts, screen.Wait = a.texts, a.idle
	screen.Person = terminal.Login()
	person := bot.Person{Platform: terminal.Name, ID: screen.Person}
	screen.Language = func() string { return a.language(ctx, person) }
	screen.History = filepath.Join(config.DataDir, "input_history")
	if live, err := a.store.Live(ctx, ""); err == nil {
		screen.Resumed = len(live)
	}
	if !talk.json && talk.text == "" {
		screen.Banner = a.greeting(screen, talk)
	}
	a.terminal = terminal.New(screen)
	chats := tasks.Chats{terminal.Name: a.terminal}
	executor := tasks.NewExecutor(tasks.ExecutorConfig{
		Store: a.store, Model: model, Tools: toolbox{a.tools}, Texts: a.texts, Chats: chats, Log: log, Now: time.Now,
		Prompts: promptRules(config, model),
	})
	a.engine = local.New(local.Config{Store: a.store, Executor: executor, Log: log, Now: time.Now, Concurrent: config.Limits.ConcurrentTasks})
	a.inbox = tasks.NewInbox(tasks.InboxConfig{
		Store: a.store, Wake: a.engine.Wake, Texts: a.texts, Chats: chats, Log: log, Now: time.Now,
		Limits: config.Limits.Task(), Language: config.Language, Timezone: config.Timezone,
	})
	return a, nil
}

// run works until the terminal is left or ctx ends, then stops the parts in
// the opposite order of their start.
func (a *app) run(ctx context.Context) error {
	var parts stack
	defer parts.stop(a.log)
	if err := a.serveControl(&parts); err != nil {
		a.log.Warn("the control socket cannot be opened", "cause", err)
	}
	parts.start("rest", rest)
	parts.start("tools", a.tools.Run)
	parts.start("engine", a.engine.Run)
	return a.terminal.Run(ctx, a.inbox.Handle)
}

// serveControl answers a second process that asks who holds the data.
func (a *app) serveControl(parts *stack) error {
	mux, since := http.NewServeMux(), time.Now()
	control.HandleStatus(mux, func(ctx context.Context) (control.Status, error) {
		live, err := a.store.Live(ctx, "")
		return control.Status{PID: os.Getpid(), Command: a.command, Version: readBuild().version, Since: since, Live: len(live)}, err
	})
	server, err := control.Listen(a.config.DataDir, mux)
	if err != nil {
		return err
	}
	parts.start("control socket", server.Serve)
	return nil
}

func (a *app) close() error { return a.store.Close() }

// idle returns when no task is live: in the terminal's chat, or in any of those
// that a program names.
func (a *app) idle(ctx context.Context) error {
	chat := a.terminal.Chat().Key()
	if a.json {
		chat = ""
	}
	return tasks.Idle(ctx, a.store, chat)
}

// greeting opens an interactive chat; it tells of tasks that an earlier run
// left unfinished.
func (a *app) greeting(screen terminal.Config, talk conversation) string {
	data := map[string]any{"Version": readBuild().version, "Model": talk.model}
	var lines []string
	for _, key := range talk.banner {
		lines = append(lines, a.texts.Text(screen.Language(), key, data))
	}
	if screen.Resumed > 0 {
		lines = append(lines, a.texts.Text(screen.Language(), "terminal.resumed", map[string]any{"Count": screen.Resumed}))
	}
	return strings.Join(lines, "\n\n")
}

// language is what the person of the terminal has chosen, or the default.
func (a *app) language(ctx context.Context, person bot.Person) string {
	chosen, err := a.store.Setting(ctx, person.Key(), "language")
	if err != nil || chosen == "" {
		return a.config.Language
	}
	return chosen
}

// stack holds what runs in the background, in the order of its start.
type stack struct{ parts []part }

type part struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{}
	err    *error
}

// start runs a part in the background until stop.
func (s *stack) start(name string, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	p := part{name: name, cancel: cancel, done: make(chan struct{}), err: new(error)}
	s.parts = append(s.parts, p)
	go func() {
		defer close(p.done)
		*p.err = run(ctx)
	}()
}

// stop ends the parts, the last one first, and says which did not end in time.
func (s *stack) stop(log *slog.Logger) {
	deadline := time.After(stopTime)
	for i := len(s.parts) - 1; i >= 0; i-- {
		p := s.parts[i]
		p.cancel()
		select {
		case <-p.done:
			if err := *p.err; err != nil && !errors.Is(err, context.Canceled) {
				log.Error("a part stopped with an error", "part", p.name, "cause", err)
			}
		case <-deadline:
			log.Error("a part did not stop in time", "part", p.name)
			return
		}
	}
}
