package setup

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"legwork/bot/slack"
	"legwork/bot/telegram"
	"legwork/llm"
)

// The variables that hold secrets; the addresses of the model and the search, and
// the model's name, are offered from the environment too.
const (
	modelKey      = "OPENAI_API_KEY"
	modelURL      = "OPENAI_BASE_URL"
	modelName     = "OPENAI_MODEL"
	telegramToken = "TELEGRAM_BOT_TOKEN" //nolint:gosec // the name of a variable
	slackBotToken = "SLACK_BOT_TOKEN"    //nolint:gosec // the name of a variable
	slackAppToken = "SLACK_APP_TOKEN"    //nolint:gosec // the name of a variable
	searchURL     = "LEGWORK_SEARCH_URL"
)

// What is offered when nothing else is known.
const (
	usualURL   = "https://api.openai.com/v1"
	usualModel = "gpt-5-mini"
)

// mistake is one that a package finds in its part of the config.
type mistake struct{ path, problem string }

// wrong tells of the mistake in one key, if there is one.
func (t *talk) wrong(key string, mistakes []mistake) bool {
	i := slices.IndexFunc(mistakes, func(m mistake) bool { return m.path == key })
	if i >= 0 {
		t.note("init.problem", map[string]any{"Reason": mistakes[i].problem})
	}
	return i >= 0
}

func (t *talk) askModel(a *answers) error {
	a.url, a.model = cmp.Or(t.found(modelURL), usualURL), cmp.Or(t.found(modelName), usualModel)
	a.key.variable = modelKey
	for {
		if err := t.askEndpoint(a); err != nil {
			return err
		}
		again, err := t.try(func(ctx context.Context) (string, error) {
			return a.model, t.Try.Model(ctx, a.config())
		})
		if err != nil || !again {
			return err
		}
	}
}

// askEndpoint asks for what describes the model. Answers of an earlier round
// are offered.
func (t *talk) askEndpoint(a *answers) error {
	var err error
	for first := true; first || t.wrong("models.main.base_url", a.mistakes()); first = false {
		if a.url, err = t.line("init.url", nil, usual(a.url, first, usualURL)); err != nil {
			return err
		}
	}
	for first := true; first || t.wrong("models.main.api_key", a.mistakes()); first = false {
		if !first {
			a.key = credential{variable: modelKey}
		}
		if a.key, err = t.secret("init.key", a.key); err != nil {
			return err
		}
	}
	for first := true; first || t.wrong("models.main.model", a.mistakes()); first = false {
		if a.model, err = t.line("init.model", nil, usual(a.model, first, usualModel)); err != nil {
			return err
		}
	}
	return nil
}

// usual is what to offer: the answer before, unless it was just found wrong.
func usual(before string, fits bool, otherwise string) string {
	if fits {
		return before
	}
	return otherwise
}

func (a *answers) config() llm.ModelConfig {
	return llm.ModelConfig{BaseURL: a.url, APIKey: a.key.value, Model: a.model}
}

func (a *answers) mistakes() []mistake {
	var all []mistake
	for _, i := range (llm.Config{Models: map[string]llm.ModelConfig{"main": a.config()}}).Validate() {
		all = append(all, mistake{i.Path, i.Problem})
	}
	return all
}

func (t *talk) askTelegram(a *answers) error {
	a.telegram.variable = telegramToken
	for {
		var err error
		if a.telegram, err = t.secret("init.telegram", a.telegram); err != nil || a.telegram.value == "" {
			return err
		}
		config := telegram.Config{Token: a.telegram.value, APIURL: t.TelegramAPI}
		var mistakes []mistake
		for _, i := range config.Validate() {
			mistakes = append(mistakes, mistake{i.Path, i.Problem})
		}
		if t.wrong("token", mistakes) {
			a.telegram = credential{variable: telegramToken}
			continue
		}
		again, err := t.try(func(ctx context.Context) (string, error) { return t.Try.Telegram(ctx, config) })
		if err != nil || !again {
			return err
		}
	}
}

func (t *talk) askSlack(a *answers) error {
	a.slackBot.variable, a.slackApp.variable = slackBotToken, slackAppToken
	for {
		if err := t.askSlackTokens(a); err != nil || a.slackBot.value == "" {
			return err
		}
		again, err := t.try(func(ctx context.Context) (string, error) { return t.Try.Slack(ctx, a.slack(t.SlackAPI)) })
		if err != nil || !again {
			return err
		}
	}
}

// askSlackTokens asks for both tokens until they have the right shape; without
// a bot token there is no Slack.
func (t *talk) askSlackTokens(a *answers) error {
	var err error
	for _, one := range []struct {
		key, path string
		token     *credential
	}{{"init.slack", "bot_token", &a.slackBot}, {"init.slack_app", "app_token", &a.slackApp}} {
		for {
			if *one.token, err = t.secret(one.key, *one.token); err != nil {
				return err
			}
			if one.token == &a.slackBot && a.slackBot.value == "" {
				a.slackApp.value = ""
				return nil
			}
			var mistakes []mistake
			for _, i := range a.slack(t.SlackAPI).Validate() {
				mistakes = append(mistakes, mistake{i.Path, strings.TrimSpace(i.Problem)})
			}
			if !t.wrong(one.path, mistakes) {
				break
			}
			*one.token = credential{variable: one.token.variable}
		}
	}
	return nil
}

func (a *answers) slack(api string) slack.Config {
	return slack.Config{BotToken: a.slackBot.value, AppToken: a.slackApp.value, APIURL: api}
}

// askSearch asks for the address of a search; none is fine.
func (t *talk) askSearch(a *answers) error {
	known := t.found(searchURL)
	for {
		key := "init.search"
		if known != "" {
			key += "_known"
		}
		var err error
		a.search, err = t.line(key, nil, known)
		if a.search == skip {
			a.search = ""
		}
		if err != nil || a.search == "" {
			return err
		}
		if problem := t.Endpoint(a.search); problem != "" {
			t.note("init.problem", map[string]any{"Reason": problem})
			continue
		}
		again, err := t.try(func(ctx context.Context) (string, error) { return t.Try.Search(ctx, a.search) })
		if err != nil || !again {
			return err
		}
		known = a.search
	}
}
