package app

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"legwork/bot"
	"legwork/bot/ratelimit"
	"legwork/bot/slack"
	"legwork/bot/telegram"
	"legwork/conf"
	"legwork/i18n"
	"legwork/tasks/commands"
)

// platform is a bot.Platform that knows whether it is connected.
type platform interface {
	bot.Platform
	// Ready is nil while it is connected, and the problem otherwise.
	Ready() error
}

// buildPlatforms builds the platforms and the HTTP listeners.
func (d *daemon) buildPlatforms(ctx context.Context, config *conf.Config) error {
	hooks := map[string]http.Handler{}
	if c := config.Telegram; c != nil {
		t, err := telegram.New(*c, telegram.Options{
			RateLimiter: ratelimit.WithMetrics(ratelimit.New(ratelimit.Telegram()...), telegram.Name, d.core.metrics), Log: d.log, Now: time.Now, Metrics: d.core.metrics,
			Commands: func() map[string][]telegram.Command { return telegramCommands(config.TextsDir, d.log) },
		})
		if err != nil {
			return err
		}
		d.platforms = append(d.platforms, t)
		if h := t.Handler(); h != nil && c.Mode == telegram.ModeWebhook {
			hooks["/telegram/webhook"] = h
		}
	}
	if c := config.Slack; c != nil {
		s, err := slack.New(*c, slack.Options{
			RateLimiter: ratelimit.WithMetrics(ratelimit.New(ratelimit.Slack()...), slack.Name, d.core.metrics), Log: d.log, Now: time.Now, Metrics: d.core.metrics,
			Admit:     func(ctx context.Context, m bot.Message) bool { return d.core.inbox.Admits(ctx, m) },
			FollowsUp: func(ctx context.Context, m bot.Message) bool { return d.core.inbox.FollowsUp(ctx, m) }, People: d.core.store,
		})
		if err != nil {
			return err
		}
		d.platforms = append(d.platforms, s)
		if c.Mode == slack.ModeHTTP {
			for _, path := range []string{"/slack/events", "/slack/commands", "/slack/interactions"} {
				hooks[path] = s.Handler()
			}
		}
	}
	return d.listen(ctx, config, hooks)
}

// telegramCommands are the entries of the menu by language. The texts are loaded
// for this call alone, so that unused languages do not stay in memory.
func telegramCommands(textsDir string, log *slog.Logger) map[string][]telegram.Command {
	menu := map[string][]telegram.Command{}
	texts, err := i18n.Load(textsDir)
	if err != nil {
		log.Error("reading the texts of the Telegram menu failed", "cause", err)
		return menu
	}
	for _, language := range i18n.Languages() {
		for _, name := range commands.Names() {
			menu[language.Code] = append(menu[language.Code], telegram.Command{
				Name: name, Description: texts.Text(language.Code, "command."+name, nil),
			})
		}
	}
	return menu
}
