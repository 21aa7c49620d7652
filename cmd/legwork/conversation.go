package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/bot/terminal"
	"legwork/conf"
	"legwork/internal/redact"
	"legwork/internal/telemetry"
	"legwork/llm"
	"legwork/tasks"
)

// conversation is what the commands that chat differ in.
type conversation struct {
	command string
	text    string // the only question; empty for a chat
	chat    string // name of the conversation; empty for the terminal's default
	json    bool
	banner  []string // keys of the texts that open an interactive chat
	model   string   // named in them
}

// interactive reports whether a person sits at both ends.
func (talk conversation) interactive(c console) bool {
	in, isIn := c.in.(*os.File)
	out, isOut := c.out.(*os.File)
	return talk.text == "" && !talk.json && isIn && isOut && terminal.IsTerminal(in, out)
}

// log makes the logger that the config asks for: on standard error, or in the
// data directory for an interactive chat, whose screen has no room for it. Who
// asks a single question sees no lines of the level info beside its progress.
func (talk conversation) log(config *conf.Config, c console) (*slog.Logger, func(), error) {
	if !talk.interactive(c) {
		l := config.Log
		if talk.text != "" && !talk.json && l.Level == "info" {
			l.Level = "warn"
		}
		return newLog(l, c.err, redact.New(config.Secrets())), func() {}, nil
	}
	if err := os.MkdirAll(config.DataDir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("creating data directory: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(config.DataDir, "legwork.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("opening log: %w", err)
	}
	return newLog(config.Log, file, redact.New(config.Secrets())), func() { _ = file.Close() }, nil
}

// run works around the terminal until the person leaves.
func (talk conversation) run(ctx context.Context, c console, config *conf.Config, model llm.Model, log *slog.Logger) error {
	screen := terminal.Config{
		In: c.in, Out: c.out, Err: c.err, Chat: talk.chat, JSON: talk.json, Text: talk.text, Interactive: talk.interactive(c),
	}
	if talk.json && talk.text != "" {
		line, err := json.Marshal(map[string]string{"id": rand.Text(), "text": talk.text})
		if err != nil {
			return fmt.Errorf("writing the question: %w", err)
		}
		screen.In, screen.Text = bytes.NewReader(line), ""
	}
	a, err := openApp(ctx, config, talk.command, watchers{hidden: redact.New(config.Secrets())}, log)
	if err != nil {
		return err
	}
	a.unattended = talk.text != ""
	t := talk.terminal(ctx, a, screen)
	config.Access.Admins = append(slices.Clip(config.Access.Admins), t.Person().Key()) // who sits here owns the data
	a.connect(model, t)
	err = talk.chatIn(ctx, a, t)
	if closed := a.close(); err == nil {
		err = closed
	}
	if err == nil && t.Failed() && !screen.Interactive { // who sat there has read it
		return errFailed
	}
	return err
}

// chatIn works until the terminal is left or ctx ends, then stops the parts in
// the opposite order of their start.
func (talk conversation) chatIn(ctx context.Context, a *app, t *terminal.Terminal) error {
	var parts stack
	defer parts.stop(a.log)
	a.start(&parts)
	return t.Run(ctx, a.inbox.Handle)
}

// terminal makes the platform of a conversation. screen is filled in with what
// the wiring knows.
func (talk conversation) terminal(ctx context.Context, a *app, screen terminal.Config) *terminal.Terminal {
	screen.Texts, screen.Person = a.texts, terminal.Login()
	person := bot.Person{Platform: terminal.Name, ID: screen.Person}
	screen.Language = func() string {
		chosen, err := a.store.Setting(ctx, person.Key(), "language")
		if err != nil {
			chosen = ""
		}
		return cmp.Or(chosen, a.config.Language)
	}
	screen.History = filepath.Join(a.config.DataDir, "input_history")
	if live, err := a.store.Live(ctx, ""); err == nil {
		screen.Resumed = len(live)
	}
	if !talk.json && talk.text == "" {
		screen.Banner = talk.greeting(a, screen)
	}
	var t *terminal.Terminal
	screen.Wait = func(ctx context.Context) error {
		if talk.json { // a program names conversations of its own
			return tasks.Idle(ctx, a.store, "")
		}
		return tasks.Idle(ctx, a.store, t.Chat().Key())
	}
	t = terminal.New(screen)
	return t
}

// greeting opens an interactive chat; it tells of tasks that an earlier run
// left unfinished.
func (talk conversation) greeting(a *app, screen terminal.Config) string {
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

// newLog makes a logger whose lines hold no secrets.
func newLog(l conf.Log, out io.Writer, hidden *redact.Redactor) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.Level)); err != nil {
		level = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler = slog.NewTextHandler(out, options)
	if l.Format == "json" {
		handler = slog.NewJSONHandler(out, options)
	}
	return slog.New(telemetry.LogHandler(redact.Handler(handler, hidden)))
}
