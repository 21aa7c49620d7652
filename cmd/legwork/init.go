package main

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"

	"legwork/app/cli"
	"legwork/app/probe"
	"legwork/app/setup"
	"legwork/bot/slack"
	"legwork/bot/telegram"
	"legwork/conf"
	"legwork/i18n"
)

type initCommand struct {
	Config      string `placeholder:"FILE" default:"config.yaml" help:"The config file to write; keys and tokens go into .env beside it."`
	Force       bool   `help:"Replace a config file that exists; the old one is kept as FILE.bak."`
	TelegramAPI string `name:"telegram-api" placeholder:"URL" help:"The address of your own Bot API server."`
	SlackAPI    string `name:"slack-api" placeholder:"URL" help:"The address of a Web API in place of Slack's own."`
}

// Run asks for a first configuration, tries each answer and writes the files.
// Answers may come from a pipe, one to a line.
func (command initCommand) Run(ctx context.Context, c cli.Console) error {
	for _, address := range []string{command.TelegramAPI, command.SlackAPI} {
		if u, err := url.Parse(address); err != nil || address != "" && u.Host == "" {
			return cli.MisuseError(fmt.Sprintf("%q is not the address of a server; write http://... or https://...", address))
		}
	}
	texts, err := i18n.Load("")
	if err != nil {
		return fmt.Errorf("loading texts: %w", err)
	}
	noEnvironment := func(string) (string, bool) { return "", false }
	saved, _, err := conf.WithEnvFile(filepath.Dir(command.Config), noEnvironment)
	if err != nil {
		return err
	}
	options := setup.Options{
		In: c.In, Out: c.Out, Texts: texts,
		Config: command.Config, EnvFile: conf.EnvFile, Replace: command.Force, Environment: c.Env, Saved: saved,
		TelegramAPI: command.TelegramAPI, SlackAPI: command.SlackAPI, Admin: conf.AdminProblem, Endpoint: probe.SearchProblem,
		Try: setup.Try{Model: probe.Model, Telegram: telegram.Try, Slack: slack.Try, Search: probe.Search},
	}
	written, err := setup.Run(ctx, options)
	if err != nil {
		return err
	}
	config, _, err := c.LoadConfig(written.Config)
	if err != nil {
		return err
	}
	say := func(key, name, value string) {
		fmt.Fprintln(c.Out, texts.Text(config.Language, key, map[string]any{name: value}))
	}
	fmt.Fprintln(c.Out)
	for _, path := range []string{written.Config, written.EnvFile} {
		if path != "" {
			say("init.written", "Path", path)
		}
	}
	if written.Backup != "" {
		say("init.kept", "Path", written.Backup)
	}
	next := "legwork chat"
	if written.Platforms {
		next = "legwork serve"
	}
	if command.Config != cli.DefaultConfig {
		next += " --config " + command.Config
	}
	say("init.next", "Command", next)
	return nil
}
