package conf

import (
	"fmt"
	"strings"

	"legwork/bot/slack"
	"legwork/bot/telegram"
	"legwork/llm"
)

// The environment variables that FromEnv reads.
const (
	envKey            = "OPENAI_API_KEY"
	envURL            = "OPENAI_BASE_URL"
	envModel          = "OPENAI_MODEL"
	envTelegramToken  = "TELEGRAM_BOT_TOKEN"      //nolint:gosec // the name of a variable
	envTelegramSecret = "TELEGRAM_WEBHOOK_SECRET" //nolint:gosec // the name of a variable
	envSlackBot       = "SLACK_BOT_TOKEN"         //nolint:gosec // the name of a variable
	envSlackApp       = "SLACK_APP_TOKEN"         //nolint:gosec // the name of a variable
	envSlackSecret    = "SLACK_SIGNING_SECRET"    //nolint:gosec // the name of a variable
	envAdmins         = "LEGWORK_ADMINS"
	envSearch         = "LEGWORK_SEARCH_URL"
)

// defaultModel is asked for when the environment names none.
const defaultModel = "gpt-5-mini"

// FromEnv makes a config from environment variables alone. env looks up a
// variable, as os.LookupEnv does; an empty one counts as not set. The error is
// an Errors that names variables.
//
// OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL give the one model, which
// plays every role. The tool groups are clock, math and web, and search when
// LEGWORK_SEARCH_URL is the address of a SearXNG-compatible endpoint.
//
// TELEGRAM_BOT_TOKEN connects to Telegram. TELEGRAM_WEBHOOK_SECRET is checked
// and kept, but messages are still asked for: having them delivered takes a
// public address too, which only a config file can name.
//
// SLACK_BOT_TOKEN connects to Slack: by Socket Mode when SLACK_APP_TOKEN is
// set, else by deliveries when SLACK_SIGNING_SECRET is.
//
// LEGWORK_ADMINS lists admins: telegram:123,slack:U1.
//
// OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS say where traces go,
// also where there is a config file that does not.
func FromEnv(env func(string) (string, bool)) (*Config, error) {
	get := func(name string) string {
		value, _ := env(name)
		return strings.TrimSpace(value)
	}
	key, url, model := get(envKey), get(envURL), get(envModel)
	if key == "" && url == "" {
		return nil, Errors{{File: "environment", Problem: "no model is configured; set " + envKey +
			", or " + envURL + " for any OpenAI-compatible endpoint (and " + envModel +
			"), or name a config file with --config; \"legwork init\" writes one; \"legwork demo\" needs none of them"}}
	}
	if model == "" {
		model = defaultModel
	}
	config := Default()
	config.LLM.Models = map[string]llm.ModelConfig{"main": {BaseURL: url, APIKey: key, Model: model}}
	config.Tools = envTools(get(envSearch))
	config.Platforms.fromEnv(get)
	config.Telemetry.fromEnv(get)
	if errs := config.envMistakes(); len(errs) > 0 {
		return nil, errs
	}
	return config, nil
}

// fromEnv fills in the platforms whose variables are set.
func (p *Platforms) fromEnv(get func(string) string) {
	if token, secret := get(envTelegramToken), get(envTelegramSecret); token != "" || secret != "" {
		p.Telegram = &telegram.Config{Token: token, Webhook: telegram.Webhook{Secret: secret}}
	}
	if s := (slack.Config{BotToken: get(envSlackBot), AppToken: get(envSlackApp), SigningSecret: get(envSlackSecret)}); s != (slack.Config{}) {
		if s.AppToken == "" && s.SigningSecret != "" {
			s.Mode = slack.ModeHTTP
		}
		p.Slack = &s
	}
	for admin := range strings.SplitSeq(get(envAdmins), ",") {
		if admin = strings.TrimSpace(admin); admin != "" {
			p.Access.Admins = append(p.Access.Admins, admin)
		}
	}
}

// envMistakes lists what is wrong, by the names of the variables.
func (c *Config) envMistakes() Errors {
	variables := map[string]string{
		"models.main.api_key":     envKey,
		"models.main.base_url":    envURL,
		"models.main.model":       envModel,
		"telegram.token":          envTelegramToken,
		"telegram.webhook.secret": envTelegramSecret,
		"slack.bot_token":         envSlackBot,
		"slack.app_token":         envSlackApp,
		"slack.signing_secret":    envSlackSecret,

		"telemetry.otlp_endpoint": envOTLP,

		"servers.search.options":     envSearch,
		"servers.search.options.url": envSearch,
	}
	for i := range c.Access.Admins {
		variables[fmt.Sprintf("access.admins[%d]", i)] = envAdmins
	}
	var l issues
	for _, i := range c.LLM.Validate() {
		l.add(i.Path, "%s", i.Problem)
	}
	for _, i := range c.Tools.Validate() {
		l.add(i.Path, "%s", i.Problem)
	}
	c.ownPlatforms(&l)
	c.Telemetry.validate(&l)
	var errs Errors
	for _, i := range l {
		key := i.path
		if variable, ok := variables[key]; ok {
			key = variable
		}
		errs = append(errs, Error{File: "environment", Key: key, Problem: i.problem})
	}
	return errs
}
