package main

import (
	"context"
	"fmt"
	"io"
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
	SearchAPI   string `name:"search-api" placeholder:"URL" help:"The address of a proxy in front of the search provider's API."`
}

// Run asks for a first configuration, tries each answer and writes the files.
// Answers may come from a pipe, one to a line.
func (command initCommand) Run(ctx context.Context, c cli.Console) error {
	for _, address := range []string{command.TelegramAPI, command.SlackAPI, command.SearchAPI} {
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
		TelegramAPI: command.TelegramAPI, SlackAPI: command.SlackAPI, SearchAPI: command.SearchAPI,
		Admin: conf.AdminProblem, SearchProblem: probe.SearchProblem, Schema: conf.Schema(), NewToken: firstToken,
		Try: setup.Try{Models: probe.Models, Model: probe.Model, Window: probe.Window, Telegram: telegram.Try, Slack: slack.Try, Search: probe.Search},
	}
	written, err := setup.Run(ctx, options)
	if err != nil {
		return err
	}
	config, _, err := c.LoadConfig(written.Config)
	if err != nil {
		return err
	}
	command.printNext(cli.Wrapping(c.Out), texts, written, probe.OllamaNotices(ctx, config.LLM))
	return nil
}

// firstToken makes the token for programs that init offers.
func firstToken() (token, line string) {
	token = newToken()
	return token, tokenNewCommand{Name: "init", Role: "operator"}.line(token)
}

// printNext lists the files that were written, shows the token and what a local model
// needs, and says what to do next.
func (command initCommand) printNext(out io.Writer, texts *i18n.Texts, written setup.Outcome, notices []string) {
	say := func(key, name, value string) {
		fmt.Fprintln(out, texts.Text(written.Language, key, map[string]any{name: value}))
	}
	fmt.Fprintln(out)
	for _, path := range []string{written.Config, written.Schema, written.EnvFile} {
		if path != "" {
			say("init.written", "Path", path)
		}
	}
	if written.Backup != "" {
		say("init.kept", "Path", written.Backup)
	}
	for _, notice := range notices {
		fmt.Fprintln(out, notice)
	}
	if written.Token != "" {
		fmt.Fprintln(out)
		say("init.token_once", "Token", written.Token)
	}
	file := ""
	if command.Config != cli.DefaultConfig {
		file = " --config " + command.Config
	}
	fmt.Fprintln(out)
	say("init.next", "", "")
	next := func(key, name string) {
		say(key, "Command", fmt.Sprintf("%-*s", len("legwork check --probe"+file), name+file))
	}
	next("init.next_check", "legwork check --probe")
	if len(written.Platforms) == 0 {
		next("init.next_chat", "legwork chat")
	}
	if len(written.Platforms) > 0 || written.Token != "" {
		next("init.next_serve", "legwork serve")
	}
	if len(written.Platforms) > 0 && !written.Admins {
		fmt.Fprintln(out)
		say("init.next_code", "", "")
		for _, platform := range written.Platforms {
			say("init.next_code_"+platform, "", "")
		}
	}
}
