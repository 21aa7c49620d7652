package main

import (
	"context"
	"time"

	"legwork/conf"
	"legwork/planner"
	"legwork/store/backup"
	"legwork/tasks"
	"legwork/tasks/alerts"
	"legwork/tasks/api"
	"legwork/tools/client"
)

// newAlerts wires what tells admins and webhooks of what needs them.
func (d *daemon) newAlerts(config *conf.Config) *alerts.Alerts {
	service := api.New(api.Config{Store: d.app.store, Inbox: d.app.inbox, Webhooks: d.webhooks, Now: d.app.clock.Now})
	return alerts.New(alerts.Options{
		Store: d.app.store, Tell: d.app.inbox.TellNews, Servers: d.servers, Models: d.modelHealth, Platforms: d.platformHealth, Hide: d.hidden, Log: d.log, Now: time.Now,
		Version: readBuild().version, Metrics: d.app.metrics, Trace: d.app.trace, Config: config.Alerts,
		Task: func(ctx context.Context, id tasks.ID) (api.Task, error) {
			return service.Get(ctx, api.Principal{Name: "alerts", Role: api.RoleAdmin, Chats: []string{"*"}}, id)
		},
	})
}

// webhooks lists the names that the outcome of a task can be sent to.
func (d *daemon) webhooks() []string { return d.app.alerts.Webhooks() }

// servers tells how the tool servers stand.
func (d *daemon) servers() []alerts.Health {
	var list []alerts.Health
	for _, s := range d.app.tools.Status() {
		list = append(list, alerts.Health{Name: s.Name, Up: s.State == client.Ready, Down: s.State == client.Down, Problem: s.Err})
	}
	return list
}

// modelHealth tells how the language models stand.
func (d *daemon) modelHealth() []alerts.Health {
	var list []alerts.Health
	for name, h := range d.models.Health() {
		list = append(list, alerts.Health{Name: name, Up: !h.Down, Down: h.Down, Problem: h.Cause, Hint: h.Hint})
	}
	return list
}

// platformHealth tells how the platforms stand.
func (d *daemon) platformHealth() []alerts.Health {
	var list []alerts.Health
	for _, p := range d.platforms {
		h := alerts.Health{Name: p.Name(), Up: true}
		if err := p.Ready(); err != nil {
			h = alerts.Health{Name: p.Name(), Down: true, Problem: err.Error()}
		}
		list = append(list, h)
	}
	return list
}

// tellReload tells the admins how the config stands, and the webhooks of what is
// wrong with it.
func (d *daemon) tellReload(ctx context.Context, key string, data any) {
	d.app.inbox.TellAdmins(ctx, key, data)
	fields, _ := data.(map[string]any)
	problem, _ := fields["Problem"].(string)
	switch key {
	case "admin.reload_failed":
		d.app.alerts.Raise(ctx, alerts.ReloadFailed, "The changed config has mistakes; the one before stays in use.", d.source, problem)
	case "admin.reload_fixed":
		d.app.alerts.Raise(ctx, alerts.ReloadFixed, "The config is in use again.", d.source, "")
	}
}

// raiseCare tells the webhooks what is wrong with backups, or with the data.
func (a *app) raiseCare(ctx context.Context, n backup.Notice) {
	kind, summary := alerts.BackupFailed, "A backup could not be made."
	switch n.Kind {
	case backup.NoticeLow:
		kind, summary = alerts.DiskLow, "The disk of the data is nearly full; new work is refused."
	case backup.NoticeDamaged:
		kind, summary = alerts.DataDamaged, "A part of the stored data is damaged."
	}
	a.alerts.Raise(ctx, kind, summary, n.File, firstLines(n.Text, 5))
}

// tellBudgets tells the webhooks of a daemon how budgets stand.
func (a *app) tellBudgets(ctx context.Context, reached bool, list []planner.Overdraft) error {
	return a.alerts.Budgets(ctx, reached, list)
}
