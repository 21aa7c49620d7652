package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"legwork/conf"
	"legwork/tasks"
	"legwork/web"
)

// watch reloads the config when its file changes and on SIGHUP, until ctx ends.
func (d *daemon) watch(ctx context.Context) error {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	changed := make(chan struct{}, 1)
	also := func(...string) {}
	if d.source != fromEnvironment {
		watcher, err := conf.Watch(d.source, d.log, changed)
		if err != nil {
			d.log.Warn("the config file cannot be watched; send SIGHUP after changing it", "cause", err)
		} else {
			defer watcher.Close()
			also = watcher.Also
		}
	}
	also(d.app.config.Imported()...)
	told := news{config: d.source, tell: d.tellReload}
	var now bulletin
	later := time.NewTimer(time.Hour)
	defer later.Stop()
	for {
		later.Stop()
		if wait := told.report(ctx, time.Now(), now); wait > 0 {
			later.Reset(wait)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-later.C:
			continue
		case <-hup:
		case <-changed:
		}
		var files []string
		now, files = d.reload(ctx)
		also(files...)
	}
}

// reload reads the config again and uses it from the next message and call on.
// One with mistakes changes nothing. files are those beside the config file whose
// change is one of the config.
func (d *daemon) reload(ctx context.Context) (now bulletin, files []string) {
	path := d.source
	if path == fromEnvironment {
		path = ""
	}
	next, _, err := loadConfig(path, d.console)
	if err == nil {
		err = d.use(ctx, next)
	}
	if err != nil {
		d.app.metrics.Reloaded(err)
		d.log.Error("the changed config has mistakes; the one before stays in use", "config", d.source, "cause", err)
		var mistakes conf.Errors
		_ = errors.As(err, &mistakes) // a file with mistakes is about to be corrected
		record(ctx, d.app.store, d.log, tasks.AuditEntry{
			Action: "config.reload", Target: d.source, Detail: fmt.Sprintf("not used, mistakes: %d", max(1, len(mistakes))),
		})
		return bulletin{problem: d.hidden.String(firstLines(err.Error(), 5))}, append(d.app.config.Imported(), mistakes.Files()...)
	}
	d.app.metrics.Reloaded(nil)
	late := conf.Restart(d.started, d.app.config)
	if len(late) > 0 {
		d.log.Warn("some changes take effect only after a restart", "keys", late)
	}
	return bulletin{late: strings.Join(late, ", ")}, d.app.config.Imported()
}

// use swaps in what a running daemon can change. What can fail comes first: one
// that cannot be used changes nothing. The secrets of all configs so far stay
// hidden, since connections and calls under way hold on to theirs.
func (d *daemon) use(ctx context.Context, next *conf.Config) error {
	changed := conf.Changed(d.app.config, next)
	if len(changed) == 0 {
		return nil
	}
	d.secrets = union(d.secrets, next.Secrets())
	d.hidden.Set(d.secrets)
	d.credentials = union(d.credentials, next.Credentials())
	d.app.credentials.Set(d.credentials)
	fresh, err := d.models.prepare(next.LLM)
	if err != nil {
		return err
	}
	d.admit(access(d.app.config).Intersect(access(next))) // at once: new servers are waited for
	if err := d.app.tools.Reload(ctx, next.Tools); err != nil {
		d.admit(access(d.app.config))
		return fmt.Errorf("changing tools: %w", err)
	}
	d.models.use(fresh)
	d.app.executor.Use(promptRules(next, d.models))
	d.app.inbox.Use(inboxRules(next))
	d.app.alerts.Use(next.Alerts)
	d.app.expect(next)
	d.admit(access(next))
	if err := d.app.inbox.Schedule(ctx, configSchedules(next)); err != nil {
		d.log.Error("not all schedules of the changed config can be taken", "cause", err)
	}
	record(ctx, d.app.store, d.log, tasks.AuditEntry{
		Action: "config.reload", Target: d.source, Detail: "changed: " + strings.Join(append(changed, tokenChanges(d.app.config, next)...), ", "),
	})
	d.app.config = next
	select {
	case d.reloaded <- struct{}{}:
	default:
	}
	d.log.Info("the config was reloaded", "changed", changed)
	d.warn(next)
	return nil
}

// union is what is in one of two lists, each once.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// admit changes who may call.
func (d *daemon) admit(a web.Access) {
	d.programs.Store(len(a.Tokens) > 0)
	if d.web != nil {
		d.web.Use(a)
	}
}

// warn logs the oddities of a config.
func (d *daemon) warn(config *conf.Config) {
	for _, w := range config.Warnings() {
		d.log.Warn("an oddity in the config", "where", w.Error())
	}
}

// firstLines shortens a list of mistakes for a chat.
func firstLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	if len(lines) > n {
		lines = append(lines[:n], "…")
	}
	return strings.Join(lines, "\n")
}
