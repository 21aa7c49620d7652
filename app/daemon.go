package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"legwork/app/cli"
	"legwork/conf"
	"legwork/internal/redact"
	"legwork/internal/telemetry"
	"legwork/llm/offline"
	"legwork/tasks"
	"legwork/tasks/inbox"
	"legwork/tasks/scheduler"
	"legwork/web"
)

// Serve runs the daemon, with every platform of the config at path, until ctx ends.
func Serve(ctx context.Context, path string, c cli.Console) error {
	if err := hideProcess(); err != nil {
		return err
	}
	config, source, err := c.LoadConfig(path)
	if err != nil {
		return err
	}
	if config.Telegram == nil && config.Slack == nil && config.HTTP.Listen == "" {
		return fmt.Errorf("%s names nothing to serve; add telegram or slack (\"legwork init\" asks for what they need), http.listen for the page and for programs, or use \"legwork chat\" in the terminal", source)
	}
	hidden := redact.New(config.Secrets())
	log := cli.NewLog(config.Log, c.Err, hidden)
	d, err := newDaemon(ctx, config, source, c, hidden, log, nil)
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		err = nil // stopped while the store was being opened
	case err == nil:
		d.core.printed = c.Out
		err = errors.Join(d.run(ctx), d.core.close())
		log.Info("stopped")
	}
	if err != nil {
		return errors.New(hidden.String(err.Error())) // it is printed without the log's redaction
	}
	return nil
}

// daemon is core with the platforms of its config and the HTTP API.
type daemon struct {
	core      *core
	models    *models
	log       *slog.Logger
	platforms []platform
	seat      *seat // of a demo; nil otherwise
	web       *web.Server
	language  string                   // of printed texts
	reloaded  chan struct{}            // gets a value after each reload; holds one
	asked     chan chan<- reloadResult // of those who want the config to be read now

	console cli.Console
	source  string // the config file, or "environment"
	hidden  *redact.Redactor

	hasTokens  atomic.Bool  // for programs
	storeTried atomic.Int64 // when a failing store was tried last, in Unix nanoseconds

	// Only watch uses the following fields.
	config *conf.Config // that is in use; core keeps that of the start
	late   []string     // keys whose change needs a restart
}

// newDaemon opens the store and builds all parts; nothing runs before run. The
// caller closes the daemon's core. s may be nil.
func newDaemon(ctx context.Context, config *conf.Config, source string, c cli.Console, hidden *redact.Redactor, log *slog.Logger, s *seat) (*daemon, error) {
	d := &daemon{seat: s, log: log, hidden: hidden, language: config.Language, reloaded: make(chan struct{}, 1), asked: make(chan chan<- reloadResult), source: source, console: c, config: config}
	d.hasTokens.Store(len(config.HTTP.Tokens) > 0)
	w, err := d.instruments(config)
	if err != nil {
		return nil, err
	}
	command, pace := "legwork serve", offline.Options{}
	if s != nil {
		command, pace = s.talk.command, demoPace
	}
	if d.models, err = newModels(config.LLM, pace, log, d.tellAdmins, w.metrics); err != nil {
		return nil, err
	}
	waiting, begun := &standby{d: d, listen: config.HTTP.Listen}, time.Now()
	d.core, err = openCore(ctx, config, command, w, log, waiting.wait)
	if err := waiting.end(time.Since(begun), err); err != nil {
		return nil, err
	}
	if err := d.buildPlatforms(ctx, config); err != nil {
		return nil, errors.Join(err, d.core.close())
	}
	return d, nil
}

// tellAdmins sends the admins a text after removing secrets of the config.
func (d *daemon) tellAdmins(key string, data map[string]any) {
	for name, value := range data {
		if text, ok := value.(string); ok {
			data[name] = d.hidden.String(text)
		}
	}
	d.core.inbox.NotifyAdmins(context.Background(), key, data) // Flush ends it
}

// run works until ctx ends or a part fails, then stops all parts.
func (d *daemon) run(ctx context.Context) error {
	defer d.models.close()
	var parts lifecycle
	defer parts.stop(d.log)
	if err := scheduler.ApplyConfig(ctx, d.core.inbox, configSchedules(d.core.config)); err != nil {
		d.log.Error("storing the schedules of the config failed", "cause", err)
	}
	d.core.alerts = d.newAlerts(d.core.config)
	if d.core.tracer != nil {
		parts.start("traces", d.core.tracer.Run) // stops last, because the other parts still trace
	}
	d.core.start(&parts)
	parts.start("alerts", d.core.alerts.Run)
	if d.web != nil {
		parts.start("http", d.web.Run)
	}
	for _, p := range d.platforms {
		parts.start(p.Name(), func(ctx context.Context) error { return p.Run(ctx, d.core.inbox.Handle) })
	}
	if d.core.hub != nil {
		parts.start("attached chats", func(ctx context.Context) error { return d.core.hub.Run(ctx, d.core.inbox.Handle) })
	}
	if len(d.platforms) > 0 { // otherwise there would be no way to become the first admin
		parts.start("first admin", d.offerClaim)
	}
	d.offerPage(ctx)
	d.warn(d.core.config, nil)
	parts.start("reload", d.watch)
	d.log.Info("serving", "config", d.source, "version", telemetry.ReadBuild().Version, "pid", os.Getpid())
	if d.seat != nil {
		return d.core.sit(ctx, &parts, d.seat.terminal)
	}
	select {
	case <-ctx.Done():
		d.log.Info("stopping")
		return nil
	case f := <-parts.failed:
		d.log.Info("stopping")
		return parts.returned(f)
	}
}

// offerPage prints a link to the page for the person at this machine, unless others
// can sign in: with a token, by OIDC, or by a link that they get in a chat.
func (d *daemon) offerPage(ctx context.Context) {
	config, out, text := d.core.config.HTTP, d.console.Out, "serve.page"
	if d.seat != nil {
		out, text = d.seat.notes(d.console), "demo.page"
	}
	if len(d.platforms) > 0 || len(config.Tokens) > 0 || config.OIDC.Issuer != "" {
		return
	}
	link, err := d.core.ownerLink(ctx)
	switch {
	case errors.Is(err, inbox.ErrNoPage):
	case err != nil:
		d.log.ErrorContext(ctx, "making a sign-in link failed", "cause", err)
	default:
		fmt.Fprintln(out, d.core.texts.Text(d.language, text, map[string]any{"Link": link, "Minutes": int(tasks.LinkTime.Minutes())}))
	}
}

// offerClaim prints a code while there is no admin. The person who enters it
// becomes the first admin. An expired code is replaced.
func (d *daemon) offerClaim(ctx context.Context) error {
	for {
		code, err := inbox.NewClaim(ctx, d.core.inbox)
		var again <-chan time.Time
		switch {
		case err != nil:
			d.log.ErrorContext(ctx, "making a code for the first admin failed", "cause", err)
			again = time.After(time.Minute)
		case code != "":
			fmt.Fprintln(cli.Wrapping(d.console.Out), d.claimText(code))
			again = time.After(inbox.ClaimTime)
		}
		if !d.awaitClaim(ctx, code, again) {
			return nil
		}
	}
}

// claimText says how to become the first admin on the platforms of the config.
func (d *daemon) claimText(code string) string {
	var ways []string
	for _, p := range d.platforms {
		ways = append(ways, d.core.texts.Text(d.language, "serve.claim_"+p.Name(), map[string]any{"Code": code}))
	}
	return d.core.texts.Text(d.language, "serve.claim", map[string]any{"Ways": strings.Join(ways, ", ")})
}

// awaitClaim returns true when another code may be needed: when again fires, and
// after a reload, which may have removed the last admin, unless a code is still
// valid. It returns false when ctx has ended.
func (d *daemon) awaitClaim(ctx context.Context, code string, again <-chan time.Time) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-again:
			return true
		case <-d.reloaded:
			if code == "" {
				return true
			}
		}
	}
}
