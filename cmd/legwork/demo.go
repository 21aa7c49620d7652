package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"legwork/bot/terminal"
	"legwork/conf"
	"legwork/llm"
	"legwork/llm/offline"
)

type demoCommand struct {
	Text []string `arg:"" optional:"" help:"The question. Without one, an interactive chat starts."`
}

// Run answers one question, or chats, with the offline stand-in and the
// built-in tools in a fresh data directory.
func (command demoCommand) Run(ctx context.Context, c console) error {
	dir, err := os.MkdirTemp("", "legwork-demo-")
	if err != nil {
		return fmt.Errorf("making a data directory: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	config := conf.Demo(dir)
	config.Log.Level = slog.LevelWarn.String()
	return converse(ctx, c, config, offline.New(offline.Options{}), conversation{
		command: "legwork demo", text: strings.Join(command.Text, " "), banner: []string{"demo.banner", "demo.hint", "terminal.hint"}, model: "llm/offline",
	})
}

// conversation is what the commands that chat differ in.
type conversation struct {
	command string
	text    string // the only question; empty for a chat
	json    bool
	banner  []string // keys of the texts that open an interactive chat
	model   string   // named in them
}

// converse runs legwork around the terminal until the person leaves.
func converse(ctx context.Context, c console, config *conf.Config, model llm.Model, talk conversation) error {
	screen := terminal.Config{In: c.in, Out: c.out, Err: c.err, JSON: talk.json, Text: talk.text}
	in, isIn := c.in.(*os.File)
	out, isOut := c.out.(*os.File)
	screen.Interactive = talk.text == "" && !talk.json && isIn && isOut && terminal.IsTerminal(in, out)
	log := newLog(config.Log, c)
	if screen.Interactive {
		log = slog.New(slog.DiscardHandler)
	}
	a, err := newApp(ctx, config, model, talk, screen, log)
	if err != nil {
		return err
	}
	err = a.run(ctx)
	if closed := a.close(); err == nil {
		err = closed
	}
	if err == nil && a.terminal.Failed() {
		return errFailed
	}
	return err
}
