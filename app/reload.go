package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"legwork/app/cli"
	"legwork/app/data"
	"legwork/conf"
	"legwork/tasks"
	"legwork/tasks/scheduler"
	"legwork/web"
)

// watch reloads the config when its file changes and on SIGHUP, until ctx ends.
func (d *daemon) watch(ctx context.Context) error {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	changed := make(chan struct{}, 1)
	also := func(...string) {}
	if d.source != cli.FromEnvironment {
		watcher, err := conf.Watch(d.source, d.log, changed)
		if err != nil {
			d.log.Warn("watching the config file failed; send SIGHUP after changing it", "cause", err)
		} else {
			defer watcher.Close()
			also = watcher.Also
		}
	}
	also(d.config.Imported()...)
	notices := reloadNotices{config: d.source, tell: d.reportReload}
	var now reloadResult
	later := time.NewTimer(time.Hour)
	defer later.Stop()
	for {
		later.Stop()
		if wait := notices.report(ctx, time.Now(), now); wait > 0 {
			later.Reset(wait)
		}
		var asker chan<- reloadResult
		select {
		case <-ctx.Done():
			return nil
		case <-later.C:
			continue
		case <-hup:
		case <-changed:
		case asker = <-d.asked:
		}
		var files []string
		before := now
		now, files = d.reload(ctx)
		also(files...)
		if asker != nil {
			asker <- now
		}
		if before.problem != "" && now.problem == "" {
			d.log.Info("config mended, it is in use", "config", d.source)
		}
	}
}

// reload reads the config again and uses it from the next message and call on. A
// config with mistakes changes nothing. files are the imported files, which are
// watched too.
func (d *daemon) reload(ctx context.Context) (now reloadResult, files []string) {
	path := d.source
	if path == cli.FromEnvironment {
		path = ""
	}
	next, _, err := d.console.LoadConfig(path)
	if err == nil {
		if d.seat != nil {
			addOwner(next)
		}
		err = d.use(ctx, next)
	}
	if err != nil {
		d.core.metrics.Reloaded(err)
		d.log.Error("config rejected; the previous one stays in use", "config", d.source, "cause", err)
		var mistakes conf.Errors
		_ = errors.As(err, &mistakes) // the files with mistakes are watched, too
		data.Record(ctx, d.core.store, d.log, tasks.AuditEntry{
			Action: "config.reload", Target: d.source, Detail: fmt.Sprintf("not used, mistakes: %d", max(1, len(mistakes))),
		})
		return reloadResult{problem: d.hidden.String(cli.FirstLines(err.Error(), 5))}, append(d.config.Imported(), mistakes.Files()...)
	}
	d.core.metrics.Reloaded(nil)
	late := conf.Restart(d.core.config, d.config)
	if len(late) > 0 && !slices.Equal(late, d.late) {
		d.log.Warn("config changes need a restart", "keys", late)
	}
	d.late = late
	return reloadResult{late: strings.Join(late, ", ")}, d.config.Imported()
}

// use replaces the parts that a running daemon can change. Everything that can fail
// comes first, so that an unusable config changes nothing. The secrets of all
// configs so far stay hidden, because open connections and calls still use them.
func (d *daemon) use(ctx context.Context, next *conf.Config) error {
	changed := conf.Changed(d.config, next)
	if len(changed) == 0 {
		return nil
	}
	d.hidden.Add(next.Secrets()...)
	d.core.credentials.Add(next.Credentials()...)
	fresh, err := d.models.prepare(next.LLM)
	if err != nil {
		return err
	}
	d.admit(access(d.config).Intersect(access(next))) // at once, because starting the servers takes time
	if err := d.core.tools.Reload(ctx, next.Tools); err != nil {
		d.admit(access(d.config))
		return fmt.Errorf("changing tools: %w", err)
	}
	d.models.use(fresh)
	rules := promptRules(next, d.models)
	d.core.presenters.Use(rules)
	d.core.executor.Use(rules)
	d.core.inbox.Use(inboxRules(next))
	d.core.alerts.Use(next.Alerts)
	d.core.files.Store(&next.Files)
	d.core.expect(next)
	d.admit(access(next))
	if err := scheduler.ApplyConfig(ctx, d.core.inbox, configSchedules(next)); err != nil {
		d.log.Error("storing the schedules of the config failed", "cause", err)
	}
	data.Record(ctx, d.core.store, d.log, tasks.AuditEntry{
		Action: "config.reload", Target: d.source, Detail: "changed: " + strings.Join(append(changed, tokenChanges(d.config, next)...), ", "),
	})
	before := d.config.Warnings()
	d.config = next
	select {
	case d.reloaded <- struct{}{}:
	default:
	}
	d.warn(next, before)
	d.log.Info("config reloaded", "changed", changed)
	return nil
}

// admit replaces the access to the API.
func (d *daemon) admit(a web.Access) {
	d.hasTokens.Store(len(a.Tokens) > 0)
	if d.web != nil {
		d.web.Use(a)
	}
}

// warn logs the warnings of a config that an earlier one did not have.
func (d *daemon) warn(config *conf.Config, before conf.Errors) {
	known := map[conf.Error]bool{}
	for _, w := range before {
		w.Line, w.Column = 0, 0 // lines above it may have come or gone
		known[w] = true
	}
	for _, w := range config.Warnings() {
		text := w.Error()
		if w.Line, w.Column = 0, 0; !known[w] {
			d.log.Warn("config warning", "warning", text)
		}
	}
}

// tokenChanges lists the tokens that were added, changed or removed, for the audit
// log.
func tokenChanges(before, after *conf.Config) (list []string) {
	old := map[string]conf.Token{}
	for _, t := range before.HTTP.Tokens {
		old[t.Name] = t
	}
	for _, t := range after.HTTP.Tokens {
		was, known := old[t.Name]
		delete(old, t.Name)
		switch {
		case !known:
			list = append(list, "token "+t.Name+" added with role "+t.Role)
		case !reflect.DeepEqual(was, t):
			list = append(list, "token "+t.Name+" changed, role "+t.Role)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		list = append(list, "token "+name+" removed")
	}
	return list
}

// reloadResult is the outcome of a reload for the admins.
type reloadResult struct {
	problem string // why the file is not in use; empty when it is
	late    string // keys whose change needs a restart; empty for none
}

// reloadNotices tells the admins each new result once, and seldom when the result
// changes all the time: an editor that saves while somebody types must not fill
// their chats. config and tell are needed.
type reloadNotices struct {
	tell   func(ctx context.Context, key string, data any)
	config string // name of the file

	told reloadResult
	at   time.Time     // of the last notice
	gap  time.Duration // between the last notice and the next one
}

// The shortest and the longest gap. It doubles with each notice and starts again
// after a silence of twice the longest gap.
const (
	shortestGap = time.Second
	longestGap  = time.Minute
)

// report tells the admins what has changed since the last notice. When that was
// too recent it tells nothing, and the caller calls report again after wait.
func (n *reloadNotices) report(ctx context.Context, now time.Time, b reloadResult) (wait time.Duration) {
	if b == n.told {
		return 0
	}
	if wait := n.gap - now.Sub(n.at); wait > 0 {
		return wait
	}
	switch {
	case b.problem != "":
		n.tell(ctx, "admin.reload_failed", map[string]any{"Config": n.config, "Problem": b.problem})
	case n.told.problem != "":
		n.tell(ctx, "admin.reload_fixed", map[string]any{"Config": n.config})
	}
	if b.problem != "" {
		b.late = n.told.late // a config that is not in use says nothing about restarts
	} else if b.late != "" && b.late != n.told.late {
		n.tell(ctx, "admin.reload_restart", map[string]any{"Keys": b.late})
	}
	if now.Sub(n.at) > 2*longestGap {
		n.gap = 0
	}
	n.gap = min(max(2*n.gap, shortestGap), longestGap)
	n.told, n.at = b, now
	return 0
}
