package app

import (
	"context"
	"time"

	"legwork/conf"
	"legwork/internal/telemetry"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/alerts"
	"legwork/tasks/api"
	"legwork/tasks/policy"
	"legwork/tools/client"
)

// newAlerts builds the alerts to admins and webhooks.
func (d *daemon) newAlerts(config *conf.Config) *alerts.Alerts {
	service := api.New(api.Config{Store: d.core.store, Inbox: d.core.inbox, Webhooks: d.webhooks, Now: d.core.clock.Now})
	return alerts.New(alerts.Options{
		Store: d.core.store, NotifyAdmins: func(ctx context.Context, list []alerts.News) error { return alerts.PostNews(ctx, d.core.inbox, list) }, Servers: d.serverHealth, Models: d.modelHealth, Platforms: d.platformHealth, Hide: d.hidden, Log: d.log, Now: time.Now,
		Page: pageOf(config), Version: telemetry.ReadBuild().Version, Metrics: d.core.metrics, Trace: d.core.trace, Config: config.Alerts,
		Task: func(ctx context.Context, id tasks.ID) (api.Task, error) {
			return service.Get(ctx, api.Principal{Name: "alerts", Role: policy.RoleAdmin, Chats: []string{"*"}}, id)
		},
	})
}

// pageOf is the public address of the page in the browser, which is there while HTTP
// listens.
func pageOf(config *conf.Config) tasks.Page {
	if config.HTTP.Listen == "" {
		return ""
	}
	return tasks.Page(config.HTTP.PublicURL)
}

// webhooks lists the webhooks that can get the outcome of a task.
func (d *daemon) webhooks() []string { return d.core.alerts.Webhooks() }

// serverHealth is the health of the tool servers.
func (d *daemon) serverHealth() []alerts.Health {
	var list []alerts.Health
	for _, s := range d.core.tools.Status() {
		list = append(list, alerts.Health{Name: s.Name, Up: s.State == client.Ready, Down: s.State == client.Down, Problem: s.Err})
	}
	return list
}

// modelHealth is the health of the language models.
func (d *daemon) modelHealth() []alerts.Health {
	var list []alerts.Health
	for name, h := range d.models.Health() {
		list = append(list, alerts.Health{Name: name, Up: !h.Down, Down: h.Down, Problem: h.Cause, Hint: h.Hint})
	}
	return list
}

// platformHealth is the health of the platforms.
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

// reportReload tells the admins whether the config is in use, and the webhooks
// about its mistakes.
func (d *daemon) reportReload(ctx context.Context, key string, data any) {
	d.core.inbox.NotifyAdmins(ctx, key, data)
	fields, _ := data.(map[string]any)
	problem, _ := fields["Problem"].(string)
	switch key {
	case "admin.reload_failed":
		d.core.alerts.Raise(ctx, alerts.ReloadFailed, "The changed config has mistakes; the previous one stays in use.", d.source, problem)
	case "admin.reload_fixed":
		d.core.alerts.Raise(ctx, alerts.ReloadFixed, "The config is in use again.", d.source, "")
	}
}

// reportBudgets tells the webhooks that a budget was reached or has room again.
func (a *core) reportBudgets(ctx context.Context, reached bool, list []planner.Overdraft) error {
	return a.alerts.Budgets(ctx, reached, list)
}
