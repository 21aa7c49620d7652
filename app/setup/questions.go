package setup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"legwork/bot/slack"
	"legwork/bot/telegram"
	"legwork/internal/issue"
	"legwork/llm"
)

// The variables with secrets, and those whose values are offered as answers.
const (
	modelKey      = "OPENAI_API_KEY"
	modelURL      = "OPENAI_BASE_URL"
	modelName     = "OPENAI_MODEL"
	telegramToken = "TELEGRAM_BOT_TOKEN" //nolint:gosec // the name of a variable
	slackBotToken = "SLACK_BOT_TOKEN"    //nolint:gosec // the name of a variable
	slackAppToken = "SLACK_APP_TOKEN"    //nolint:gosec // the name of a variable
	searchURL     = "LEGWORK_SEARCH_URL"
)

// The defaults of questions.
const (
	usualURL   = "https://api.openai.com/v1"
	usualModel = "gpt-5-mini"
)

// wrong prints the mistake in one key, if there is one.
func (t *dialog) wrong(key string, mistakes issue.List) bool {
	i := slices.IndexFunc(mistakes, func(i issue.Issue) bool { return i.Path == key })
	if i >= 0 {
		t.note("init.problem", map[string]any{"Reason": mistakes[i].Problem})
	}
	return i >= 0
}

func (t *dialog) askModel(a *answers) error {
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

// askEndpoint asks for address, key and name of the model. It offers the answers of an
// earlier round.
func (t *dialog) askEndpoint(a *answers) error {
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

// usual is the answer to offer: the previous one, unless it was wrong.
func usual(before string, fits bool, otherwise string) string {
	if fits {
		return before
	}
	return otherwise
}

func (a *answers) config() llm.ModelConfig {
	return llm.ModelConfig{BaseURL: a.url, APIKey: a.key.value, Model: a.model}
}

func (a *answers) mistakes() issue.List {
	return llm.Config{Models: map[string]llm.ModelConfig{"main": a.config()}}.Validate()
}

func (t *dialog) askTelegram(a *answers) error {
	a.telegram.variable = telegramToken
	for {
		var err error
		if a.telegram, err = t.secret("init.telegram", a.telegram); err != nil || a.telegram.value == "" {
			return err
		}
		config := telegram.Config{Token: a.telegram.value, APIURL: t.TelegramAPI}
		if t.wrong("token", config.Validate()) {
			a.telegram = credential{variable: telegramToken}
			continue
		}
		again, err := t.try(func(ctx context.Context) (string, error) { return t.Try.Telegram(ctx, config) })
		if err != nil || !again {
			return err
		}
	}
}

func (t *dialog) askSlack(a *answers) error {
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

// askSlackTokens asks for both tokens until they have the right form. Without a bot
// token there is no Slack.
func (t *dialog) askSlackTokens(a *answers) error {
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
			if !t.wrong(one.path, a.slack(t.SlackAPI).Validate()) {
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

// askSearch asks for the address of a search, which is optional.
func (t *dialog) askSearch(a *answers) error {
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

// usualBudget is the default daily budget, in tokens.
const usualBudget = "2000000"

// budget is the daily budget: tokens, or US dollars with the price of the model. All
// zero means no limit.
type budget struct {
	tokens        int64
	usd           float64
	input, output float64 // US dollars per million tokens
}

// askBudget asks for the daily budget. A budget in dollars needs the price of the
// model.
func (t *dialog) askBudget(a *answers) error {
	for {
		answer, err := t.line("init.budget", nil, usualBudget)
		if err != nil {
			return err
		}
		if answer == skip {
			a.budget = budget{}
			return nil
		}
		if usd, ok := strings.CutPrefix(answer, "$"); ok {
			if a.budget.usd, ok = amount(usd, 1e6); ok {
				return t.askPrice(a)
			}
		} else if n, ok := amount(strings.NewReplacer(" ", "", ",", "", "_", "").Replace(answer), 1e15); ok && n >= 1 {
			a.budget = budget{tokens: int64(n)}
			return nil
		}
		t.note("init.no_budget", nil)
	}
}

func (t *dialog) askPrice(a *answers) error {
	for {
		answer, err := t.line("init.price", nil, "")
		if err != nil {
			return err
		}
		if words := strings.Fields(answer); len(words) == 2 {
			input, ok := amount(words[0], 1e6)
			output, also := amount(words[1], 1e6)
			if ok && also {
				a.budget.input, a.budget.output = input, output
				return nil
			}
		}
		t.note("init.no_price", nil)
	}
}

// amount reads a number from 0 to most.
func amount(text string, most float64) (n float64, ok bool) {
	n, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(text), "$"), 64)
	return n, err == nil && n >= 0 && n <= most // not NaN
}

// plain writes a number without an exponent.
func plain(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// price is the model's key price in the config; empty without one.
func (b budget) price() string {
	if b.usd == 0 {
		return ""
	}
	return fmt.Sprintf("    price: {input: %s, output: %s}\n", plain(b.input), plain(b.output))
}

// line is the budget's key in the config; empty for no limit.
func (b budget) line() string {
	switch {
	case b.usd > 0:
		return "  day_usd: " + plain(b.usd)
	case b.tokens > 0:
		return fmt.Sprintf("  day_tokens: %d", b.tokens)
	}
	return ""
}
