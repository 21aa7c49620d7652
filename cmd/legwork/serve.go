package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"legwork/bot"
	"legwork/bot/ratelimit"
	"legwork/bot/slack"
	"legwork/bot/telegram"
	"legwork/conf"
	"legwork/i18n"
	"legwork/internal/redact"
	"legwork/tasks"
	"legwork/web"
)

type serveCommand struct {
	Config string `placeholder:"FILE" help:"The config file. Default: config.yaml, or the environment where there is none."`
}

// Run is the daemon: every configured platform, until ctx ends.
func (command serveCommand) Run(ctx context.Context, c console) error {
	config, source, err := loadConfig(command.Config, c)
	if err != nil {
		return err
	}
	if config.Telegram == nil && config.Slack == nil && len(config.HTTP.Tokens) == 0 {
		return fmt.Errorf("%s names nothing to serve; add telegram or slack (\"legwork init\" asks for what they need), http.tokens for programs (\"legwork token new\"), or use \"legwork chat\" in the terminal", source)
	}
	hidden := redact.New(config.Secrets())
	log := newLog(config.Log, c.err, hidden)
	d, err := newDaemon(ctx, config, hidden, log)
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		err = nil // told to stop while the store was being opened
	case err == nil:
		d.source, d.console = source, c
		err = errors.Join(d.run(ctx), d.app.close())
	}
	if err != nil {
		return errors.New(hidden.String(err.Error())) // it is printed as the log is
	}
	return nil
}

// daemon is legwork with the platforms of its config, and the API.
type daemon struct {
	app       *app
	models    *models
	log       *slog.Logger
	platforms []platform
	web       *web.Server
	language  string        // of what is printed
	reloaded  chan struct{} // rung when the rules have changed; holds one

	console console
	source  string // the config file, or "environment"
	hidden  *redact.Redactor

	programs   atomic.Bool  // there are tokens
	storeTried atomic.Int64 // when a store that could not write was tried last, in Unix nanoseconds

	// What follows is touched by watch only.
	started     *conf.Config // of the parts that a reload does not change
	secrets     []string     // of all configs so far
	credentials []string     // those of them that are taken out of what tools return
}

// platform is what the daemon needs of a bot.Platform beyond what tasks do.
type platform interface {
	bot.Platform
	// Ready is nil while it is connected; otherwise it says what is wrong.
	Ready() error
}

// newDaemon opens the store and wires everything; nothing runs before run. The
// caller closes the daemon's app.
func newDaemon(ctx context.Context, config *conf.Config, hidden *redact.Redactor, log *slog.Logger) (*daemon, error) {
	d := &daemon{log: log, hidden: hidden, language: config.Language, reloaded: make(chan struct{}, 1), started: config, secrets: config.Secrets(), credentials: config.Credentials()}
	d.programs.Store(len(config.HTTP.Tokens) > 0)
	w, err := d.watched(config)
	if err != nil {
		return nil, err
	}
	if d.models, err = newModels(config.LLM, log, d.tellAdmins, w.metrics); err != nil {
		return nil, err
	}
	if d.app, err = openApp(ctx, config, "legwork serve", w, log); err != nil {
		return nil, err
	}
	if err := d.wire(ctx, config); err != nil {
		return nil, errors.Join(err, d.app.close())
	}
	return d, nil
}

// tellAdmins tells the admins something that may hold secrets of the config.
func (d *daemon) tellAdmins(key string, data map[string]any) {
	for name, value := range data {
		if text, ok := value.(string); ok {
			data[name] = d.hidden.String(text)
		}
	}
	d.app.inbox.TellAdmins(context.Background(), key, data) // which stops with Flush
}

// wire makes the platforms and what listens for them.
func (d *daemon) wire(ctx context.Context, config *conf.Config) error {
	hooks := map[string]http.Handler{}
	if c := config.Telegram; c != nil {
		t, err := telegram.New(*c, telegram.Options{
			Pacer: ratelimit.Measured(ratelimit.New(ratelimit.Telegram()...), telegram.Name, d.app.metrics), Log: d.log, Now: time.Now, Metrics: d.app.metrics,
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
			Pacer: ratelimit.Measured(ratelimit.New(ratelimit.Slack()...), slack.Name, d.app.metrics), Log: d.log, Now: time.Now, Metrics: d.app.metrics,
			Admit: func(ctx context.Context, m bot.Message) bool { return d.app.inbox.Admits(ctx, m) },
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

// telegramCommands are the entries of the menu, by language. Their texts are not
// the app's, so that languages that nobody speaks do not stay in memory.
func telegramCommands(textsDir string, log *slog.Logger) map[string][]telegram.Command {
	menu := map[string][]telegram.Command{}
	texts, err := i18n.Load(textsDir)
	if err != nil {
		log.Error("the commands of the menu cannot be read", "cause", err)
		return menu
	}
	for _, language := range i18n.Languages() {
		for _, name := range tasks.CommandNames() {
			menu[language.Code] = append(menu[language.Code], telegram.Command{
				Name: name, Description: texts.Text(language.Code, "command."+name, nil),
			})
		}
	}
	return menu
}

// run works until ctx ends or a part fails, then stops the parts in the
// opposite order of their start.
func (d *daemon) run(ctx context.Context) error {
	defer d.models.close()
	var parts stack
	defer parts.stop(d.log)
	if err := d.app.inbox.Schedule(ctx, configSchedules(d.app.config)); err != nil {
		d.log.Error("not all schedules of the config can be taken", "cause", err)
	}
	d.app.alerts = d.newAlerts(d.app.config)
	if d.app.tracer != nil {
		parts.start("traces", d.app.tracer.Run) // ends last: there is something to tell until then
	}
	d.app.start(&parts)
	parts.start("alerts", d.app.alerts.Run)
	if d.web != nil {
		parts.start("http", d.web.Run)
	}
	for _, p := range d.platforms {
		parts.start(p.Name(), func(ctx context.Context) error { return p.Run(ctx, d.app.inbox.Handle) })
	}
	if len(d.platforms) > 0 { // otherwise there is nobody who could be the first admin
		parts.start("first admin", d.offerClaim)
	}
	d.warn(d.app.config)
	parts.start("reload", d.watch) // from now on the config is its
	d.log.Info("serving", "config", d.source, "version", readBuild().version, "pid", os.Getpid())
	select {
	case <-ctx.Done():
		d.log.Info("stopping")
		return nil
	case err := <-parts.failed:
		return err
	}
}
