package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"legwork/conf"
	"legwork/llm/offline"
)

type demoCommand struct {
	Text []string `arg:"" optional:"" help:"The question. Without one, an interactive chat starts."`
}

// demoPace is slow enough for a person to see the sub-tasks run side by side
// and the answer stream.
var demoPace = offline.Options{Delay: 400 * time.Millisecond, WordDelay: 15 * time.Millisecond}

// Run answers one question, or chats, with the offline stand-in and the
// built-in tools in a fresh data directory.
func (command demoCommand) Run(ctx context.Context, c console) error {
	text, err := question(command.Text)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "legwork-demo-")
	if err != nil {
		return fmt.Errorf("making a data directory: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	config := conf.Demo(dir)
	config.Log.Level = slog.LevelWarn.String()
	pace := offline.Options{}
	if text == "" {
		pace = demoPace
	}
	talk := conversation{
		command: "legwork demo", text: text, banner: []string{"demo.banner", "demo.hint", "terminal.hint"}, model: "llm/offline",
	}
	log, closeLog, err := talk.log(config, c)
	if err != nil {
		return err
	}
	defer closeLog()
	return talk.run(ctx, c, config, offline.New(pace), log)
}
