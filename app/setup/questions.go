package setup

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"legwork/bot/slack"
	"legwork/bot/telegram"
	"legwork/tools/builtin/search"
)

// The variables with secrets, and those whose values are offered as answers.
const (
	telegramToken = "TELEGRAM_BOT_TOKEN" //nolint:gosec // the name of a variable
	slackBotToken = "SLACK_BOT_TOKEN"    //nolint:gosec // the name of a variable
	slackAppToken = "SLACK_APP_TOKEN"    //nolint:gosec // the name of a variable
	searchURL     = "LEGWORK_SEARCH_URL"
)

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
		failed, err := t.try(func(ctx context.Context) (string, error) { return t.Try.Telegram(ctx, config) })
		if err != nil || failed == nil {
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
		failed, err := t.try(func(ctx context.Context) (string, error) { return t.Try.Slack(ctx, a.slack(t.SlackAPI)) })
		if err != nil || failed == nil {
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

// askSearch asks for a web search, which is optional: a provider with a key by number
// or name, or the address of an own search.
func (t *dialog) askSearch(a *answers) error {
	sites := search.Sites()
	var names, notes []string
	usual := t.found(searchURL)
	for _, site := range sites {
		names, notes = append(names, site.Label), append(notes, site.KeysAt)
		if usual == "" && t.found(keyVariable(site)) != "" {
			usual = site.Label
		}
	}
	names, notes = append(names, "SearXNG"), append(notes, t.Texts.Text(t.language, "init.own_search", nil))
	for {
		key := "init.search"
		if usual != "" {
			key += "_known"
		}
		answer, err := t.lineBelow(key, nil, menu(names, notes), usual)
		if err != nil {
			return err
		}
		if answer == "" || answer == skip {
			a.search = searchChoice{}
			return nil
		}
		i, outside := t.pick(answer, names)
		if outside {
			continue
		}
		if i < 0 {
			i = slices.IndexFunc(sites, func(s search.Site) bool { return s.Name == plainName(answer) })
		}
		if i >= 0 && i < len(sites) {
			err = t.askSearchKey(a, sites[i])
		} else if a.search = (searchChoice{url: answer}); i == len(sites) {
			a.search.url, err = t.line("init.search_url", nil, t.found(searchURL))
		}
		for err == nil && !a.search.none() { // once for each key; without a key another search is chosen
			if problem := t.SearchProblem(a.search.options()); problem != "" {
				if a.search.provider.Name == "" {
					problem = t.Texts.Text(t.language, "init.no_search_url", nil)
				}
				t.note("init.failed", map[string]any{"Reason": problem})
				break
			}
			failed, err := t.try(func(ctx context.Context) (string, error) {
				return a.search.title(), t.Try.Search(ctx, a.search.options())
			})
			if err != nil || failed == nil {
				return err
			}
			usual = a.search.title()
			if a.search.provider.Name == "" {
				break
			}
			if err := t.askSearchKey(a, a.search.provider); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// keyVariable is the variable of a provider's API key.
func keyVariable(s search.Site) string { return strings.ToUpper(s.Name) + "_API_KEY" }

// askSearchKey asks for the API key of a provider.
func (t *dialog) askSearchKey(a *answers, site search.Site) error {
	c := a.search.key
	if c.variable != keyVariable(site) {
		c = credential{variable: keyVariable(site)}
	}
	c, err := t.secretOf("init.search_key", map[string]any{"Provider": site.Label}, c)
	a.search = searchChoice{provider: site, key: c, base: t.SearchAPI}
	return err
}

// askToken offers a token for programs.
func (t *dialog) askToken(a *answers) error {
	for {
		answer, err := t.line("init.token", nil, t.Texts.Text(t.language, "init.no", nil))
		if err != nil {
			return err
		}
		switch word := strings.ToLower(answer); {
		case slices.Contains([]string{"y", "yes", strings.ToLower(t.Texts.Text(t.language, "init.yes", nil))}, word):
			a.token, a.tokenLine = t.NewToken()
			return nil
		case slices.Contains([]string{"n", "no", skip, strings.ToLower(t.Texts.Text(t.language, "init.no", nil))}, word):
			return nil
		}
		t.note("init.yes_or_no", nil)
	}
}

// usualBudget is the default daily budget, in tokens.
const usualBudget = 2000000

// budget is the daily budget: tokens, or US dollars with the price of the model. Without
// a price it is both. All zero means no limit.
type budget struct {
	tokens int64
	usd    float64
	price  string // the model's key price in the config; empty: unknown or not needed
}

// askBudget asks for the daily budget. A budget in dollars needs the price of the
// model.
func (t *dialog) askBudget(a *answers) error {
	for {
		answer, err := t.line("init.budget", nil, strconv.Itoa(usualBudget))
		if err != nil {
			return err
		}
		if answer == skip {
			a.budget = budget{}
			return nil
		}
		if usd, ok := strings.CutPrefix(answer, "$"); ok {
			if n, ok := amount(usd, 1e6); ok && n > 0 {
				a.budget = budget{usd: n}
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
		if answer == "" || answer == skip {
			a.budget.tokens = usualBudget
			t.note("init.without_price", map[string]any{"Tokens": usualBudget})
			return nil
		}
		if words := strings.Fields(answer); len(words) == 2 {
			input, ok := amount(words[0], 1e6)
			output, also := amount(words[1], 1e6)
			if ok && also {
				a.budget.price = fmt.Sprintf("    price: {input: %s, output: %s}\n", plain(input), plain(output))
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

// lines are the budget's keys in the config; empty for no limit.
func (b budget) lines() string {
	var lines string
	if b.usd > 0 {
		lines += "  day_usd: " + plain(b.usd) + "\n"
	}
	if b.tokens > 0 {
		lines += fmt.Sprintf("  day_tokens: %d\n", b.tokens)
	}
	return lines
}
