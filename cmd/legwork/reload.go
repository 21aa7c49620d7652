package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"legwork/conf"
)

// watch reloads the config when its file changes and on SIGHUP, until ctx ends.
func (d *daemon) watch(ctx context.Context) error {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	changed := make(chan struct{}, 1)
	if d.source != fromEnvironment {
		stop, err := conf.Watch(d.source, d.log, changed)
		if err != nil {
			d.log.Warn("the config file cannot be watched; send SIGHUP after changing it", "cause", err)
		} else {
			defer stop()
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hup:
		case <-changed:
		}
		d.reload(ctx)
	}
}

// reload reads the config again and uses it from the next message and call on.
// One with mistakes changes nothing; the admins are told.
func (d *daemon) reload(ctx context.Context) {
	path := d.source
	if path == fromEnvironment {
		path = ""
	}
	next, _, err := loadConfig(path, d.console)
	if err == nil {
		err = d.use(ctx, next)
	}
	if err != nil {
		d.log.Error("the changed config has mistakes; the one before stays in use", "config", d.source, "cause", err)
		d.app.inbox.TellAdmins(ctx, "admin.reload_failed", map[string]any{"Config": d.source, "Problem": firstLines(err.Error(), 5)})
	} else if d.broken {
		d.app.inbox.TellAdmins(ctx, "admin.reload_fixed", map[string]any{"Config": d.source})
	}
	d.broken = err != nil
}

// use swaps in what a running daemon can change. What can fail comes first.
func (d *daemon) use(ctx context.Context, next *conf.Config) error {
	before := d.app.config
	changed := conf.Changed(before, next)
	if len(changed) == 0 {
		return nil
	}
	d.hidden.Set(append(before.Secrets(), next.Secrets()...))
	if err := d.app.tools.Reload(ctx, next.Tools); err != nil {
		return fmt.Errorf("changing tools: %w", err)
	}
	if err := d.models.use(next.LLM); err != nil {
		return err
	}
	d.app.executor.Use(promptRules(next, d.models))
	d.app.inbox.Use(inboxRules(next))
	d.app.config = next
	d.log.Info("the config was reloaded", "changed", changed)
	if late := conf.Restart(before, next); len(late) > 0 {
		d.log.Warn("some changes take effect only after a restart", "keys", late)
		d.app.inbox.TellAdmins(ctx, "admin.reload_restart", map[string]any{"Keys": strings.Join(late, ", ")})
	}
	return nil
}

// firstLines shortens a list of mistakes for a chat.
func firstLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	if len(lines) > n {
		lines = append(lines[:n], "…")
	}
	return strings.Join(lines, "\n")
}
