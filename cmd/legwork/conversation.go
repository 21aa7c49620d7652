package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"legwork/bot/terminal"
	"legwork/conf"
	"legwork/llm"
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
		return newLog(l, c.err), func() {}, nil
	}
	if err := os.MkdirAll(config.DataDir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("creating data directory: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(config.DataDir, "legwork.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("opening log: %w", err)
	}
	return newLog(config.Log, file), func() { _ = file.Close() }, nil
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
	a, err := newApp(ctx, config, model, talk, screen, log)
	if err != nil {
		return err
	}
	err = a.run(ctx)
	if closed := a.close(); err == nil {
		err = closed
	}
	if err == nil && a.terminal.Failed() && !screen.Interactive { // who sat there has read it
		return errFailed
	}
	return err
}

func newLog(l conf.Log, out io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.Level)); err != nil {
		level = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: level}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(out, options))
	}
	return slog.New(slog.NewTextHandler(out, options))
}
