package main

import (
	"context"
	"strings"
)

type chatCommand struct {
	Text   []string `arg:"" optional:"" help:"The question. Without one, an interactive chat starts, or standard input is read line by line when it is no terminal."`
	Config string   `placeholder:"FILE" help:"The config file. Default: config.yaml, or the environment where there is none."`
	Name   string   `placeholder:"NAME" default:"main" help:"The conversation, with a history of its own; the config may hold rules for terminal:NAME."`
	JSON   bool     `help:"For programs: read one JSON object {\"id\", \"text\"} per line, write one JSON event per line."`
}

// question is the question on a command line; empty when there is none.
// An argument that is empty, as of an unset variable in a script, is a mistake
// and no wish to chat.
func question(words []string) (string, error) {
	text := strings.TrimSpace(strings.Join(words, " "))
	if len(words) > 0 && text == "" {
		return "", misuse("the question is empty; write what you want to know or have done")
	}
	return text, nil
}

// Run chats in the terminal with the configured models and tool groups. Tasks
// that an earlier run left unfinished go on.
func (command chatCommand) Run(ctx context.Context, c console) error {
	text, err := question(command.Text)
	if err != nil {
		return err
	}
	config, _, err := loadConfig(command.Config, c)
	if err != nil {
		return err
	}
	talk := conversation{
		command: "legwork chat", text: text, chat: command.Name, json: command.JSON, banner: []string{"terminal.banner", "terminal.hint"},
	}
	log, closeLog, err := talk.log(config, c)
	if err != nil {
		return err
	}
	defer closeLog()
	models, err := newModels(config.LLM, log, func(string, map[string]any) {}, nil) // who sits there reads it in the answer
	if err != nil {
		return err
	}
	defer models.close()
	return talk.run(ctx, c, config, models, log)
}
