package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"legwork/bot/slack"
	"legwork/bot/telegram"
	"legwork/conf"
	"legwork/i18n"
	"legwork/internal/setup"
	"legwork/llm"
	"legwork/tools"
)

type initCommand struct {
	Config      string `placeholder:"FILE" default:"config.yaml" help:"The config file to write; keys and tokens go into .env beside it."`
	Force       bool   `help:"Replace a config file that exists; the old one is kept as FILE.bak."`
	TelegramAPI string `name:"telegram-api" placeholder:"URL" help:"A Bot API server of your own."`
	SlackAPI    string `name:"slack-api" placeholder:"URL" help:"A Web API other than Slack's own."`
}

// Run asks for a first configuration, tries each answer and writes the files.
// Answers may come from a pipe, one to a line.
func (command initCommand) Run(ctx context.Context, c console) error {
	for _, address := range []string{command.TelegramAPI, command.SlackAPI} {
		if u, err := url.Parse(address); err != nil || address != "" && u.Host == "" {
			return misuse(fmt.Sprintf("%q is not the address of a server; write http://... or https://...", address))
		}
	}
	texts, err := i18n.Load("")
	if err != nil {
		return fmt.Errorf("loading texts: %w", err)
	}
	nothing := func(string) (string, bool) { return "", false }
	saved, _, err := conf.WithEnvFile(filepath.Dir(command.Config), nothing)
	if err != nil {
		return err
	}
	options := setup.Options{
		In: c.in, Out: c.out, Texts: texts, Language: locale(c.env), Timezone: timezone(c.env),
		Config: command.Config, EnvFile: conf.EnvFile, Replace: command.Force, Environment: c.env, Saved: saved,
		TelegramAPI: command.TelegramAPI, SlackAPI: command.SlackAPI, Admin: conf.AdminProblem, Endpoint: endpointProblem,
		Try: setup.Try{Model: tryModel, Telegram: telegram.Try, Slack: slack.Try, Search: trySearch},
	}
	written, err := setup.Run(ctx, options)
	if err != nil {
		return err
	}
	config, _, err := loadConfig(written.Config, c)
	if err != nil {
		return err
	}
	say := func(key, name, value string) {
		fmt.Fprintln(c.out, texts.Text(config.Language, key, map[string]any{name: value}))
	}
	fmt.Fprintln(c.out)
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
	if command.Config != defaultConfig {
		next += " --config " + command.Config
	}
	say("init.next", "Command", next)
	return nil
}

// tryModel calls a model once.
func tryModel(ctx context.Context, config llm.ModelConfig) error {
	rows, err := probeModels(ctx, llm.Config{Models: map[string]llm.ModelConfig{"main": config}})
	if err == nil && rows[0].problem != "" {
		err = errors.New(rows[0].problem)
	}
	return err
}

// searchWith is the built-in server that asks the search at that address.
func searchWith(url string) tools.ServerConfig {
	return tools.ServerConfig{Builtin: "search", Options: map[string]any{"url": url}}
}

func endpointProblem(url string) string {
	for _, issue := range (tools.Config{Servers: map[string]tools.ServerConfig{"search": searchWith(url)}}).Validate() {
		return issue.Problem
	}
	return ""
}

// toModel is what a failed search tells a model, in front of what an admin has
// to do.
const toModel = "work without searching and tell the person that an admin has to "

// trySearch searches once.
func trySearch(ctx context.Context, url string) (found string, err error) {
	manager, err := tools.New(tools.Config{Servers: map[string]tools.ServerConfig{"search": searchWith(url)}}, tools.Options{})
	if err != nil {
		return "", err
	}
	ended := during(ctx, manager, func(ctx context.Context) {
		call := tools.Call{}
		call.Tool, call.Arguments = "search.search", json.RawMessage(`{"query": "weather", "limit": 1}`)
		var result tools.Result
		if result, err = manager.Set().Call(ctx, "search", call); err == nil && result.Failed {
			err = errors.New(strings.Replace(flat(result.Text), toModel, "", 1))
		}
	})
	return url, errors.Join(err, ended)
}

// locale is the language of the environment, or the default one.
func locale(env func(string) (string, bool)) string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if value, _ := env(name); value != "" {
			return i18n.Match(value)
		}
	}
	return ""
}

// timezone is that of the environment or the machine; UTC when neither says.
func timezone(env func(string) (string, bool)) string {
	name, _ := env("TZ")
	if name = strings.TrimPrefix(name, ":"); name == "" {
		link, _ := os.Readlink("/etc/localtime")
		_, name, _ = strings.Cut(link, "zoneinfo/")
	}
	if _, err := time.LoadLocation(name); err != nil || name == "" || name == "Local" {
		return "UTC"
	}
	return name
}
