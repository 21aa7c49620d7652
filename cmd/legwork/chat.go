package main

import (
	"context"
	"strings"

	"legwork/app"
	"legwork/app/cli"
)

type chatCommand struct {
	Text   []string `arg:"" optional:"" help:"The question. Without one, an interactive chat starts, or standard input is read line by line when it is no terminal."`
	Config string   `placeholder:"FILE" help:"The config file. Default: config.yaml, or the environment where there is none."`
	Name   string   `placeholder:"NAME" default:"main" help:"The conversation, with a history of its own; the config may hold rules for terminal:NAME."`
	File   []string `placeholder:"PATH" sep:"none" type:"path" help:"A file that goes along with the question, or with the first one. It may be repeated."`
	JSON   bool     `help:"For programs: read one JSON object {\"id\", \"text\"} per line, write one JSON event per line."`
	Log    bool     `help:"Write the log to standard error. Without it, the log of an interactive chat and of one question is legwork.log in the data directory."`
}

// question joins the words of a question; it is empty when there are none. An empty
// argument is a mistake, for example an unset variable in a script.
func question(words []string) (string, error) {
	text := strings.TrimSpace(strings.Join(words, " "))
	if len(words) > 0 && text == "" {
		return "", cli.MisuseError("the question is empty; write what you want to know or have done")
	}
	return text, nil
}

// Run chats in the terminal with the configured models and tool groups.
func (command chatCommand) Run(ctx context.Context, c cli.Console) error {
	text, err := question(command.Text)
	if err != nil {
		return err
	}
	if command.JSON && text == "" && len(command.File) > 0 {
		return cli.MisuseError("--file needs a question when --json reads lines; name files in the lines: {\"id\", \"text\", \"files\"}")
	}
	return app.Chat(ctx, app.ChatOptions{Text: text, Files: command.File, Name: command.Name, JSON: command.JSON, Log: command.Log}, command.Config, c)
}

type demoCommand struct {
	Text []string `arg:"" optional:"" help:"The question. Without one, an interactive chat starts."`
	File []string `placeholder:"PATH" sep:"none" type:"path" help:"A file that goes along with the question, or with the first one. It may be repeated."`
}

// Run chats with the offline stand-in and the built-in tools.
func (command demoCommand) Run(ctx context.Context, c cli.Console) error {
	text, err := question(command.Text)
	if err != nil {
		return err
	}
	return app.Demo(ctx, text, command.File, c)
}
