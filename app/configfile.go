package app

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"legwork/app/cli"
	"legwork/app/confedit"
	"legwork/app/data"
	"legwork/conf"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// configFile lets admins edit the config file in a browser.
func (d *daemon) configFile(config *conf.Config) *confedit.Editor {
	path := d.source
	if path == cli.FromEnvironment {
		path = ""
	}
	return confedit.New(confedit.Config{
		Path: path, Folder: filepath.Join(config.DataDir, "config-versions"), Now: time.Now,
		Env:    func() (func(string) (string, bool), error) { return d.console.EnvOf(path) },
		Reload: d.reloadNow,
		Code: func(ctx context.Context, id string, change confedit.Change) (time.Time, error) {
			return d.core.showCode(ctx, id, func(lang, code string) string {
				return d.core.texts.Text(lang, "config.code", map[string]any{"Name": cards.InCode(change.Who), "Keys": cards.InCode(strings.Join(change.Keys, ", ")), "Code": code})
			})
		},
		Fits:   func(id, code string) bool { return d.core.codes.fits(id, code, d.core.clock.Now()) },
		Record: func(ctx context.Context, e tasks.AuditEntry) { data.Record(ctx, d.core.store, d.log, e) },
	})
}

// reloadTime is how long somebody waits for a reload. One that starts tool servers can
// take longer.
const reloadTime = 20 * time.Second

// reloadNow lets the process use the config file as it is now. problem says why it does
// not; restart lists the keys that take effect after a restart.
func (d *daemon) reloadNow(ctx context.Context) (problem string, restart []string) {
	ctx, cancel := context.WithTimeout(ctx, reloadTime)
	defer cancel()
	reply := make(chan reloadResult, 1)
	select {
	case d.asked <- reply:
		select {
		case now := <-reply:
			if now.late != "" {
				restart = strings.Split(now.late, ", ")
			}
			return now.problem, restart
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
	return "legwork still works on the change; its log says how it ends", nil
}
