package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"legwork/bot/slack"
	"legwork/bot/telegram"
	"legwork/conf"
	"legwork/internal/redact"
	"legwork/internal/telemetry"
	"legwork/llm"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tools/client"
	"legwork/web"
)

// watchers are who is told of what the app does, and what nobody is told. Metrics
// and tracer may be nil.
type watchers struct {
	metrics *telemetry.Metrics
	tracer  *telemetry.Tracer
	hidden  *redact.Redactor // never nil
}

// watched makes those of the daemon.
func (d *daemon) watched(config *conf.Config) (w watchers, err error) {
	build := readBuild()
	w.hidden = d.hidden
	w.metrics = telemetry.NewMetrics(telemetry.MetricsConfig{
		Build: telemetry.Build{Version: build.version, Commit: build.commit, Go: build.goVersion},
		Now:   time.Now, Read: d.read, Clean: d.hidden.String,
	})
	w.expect(config)
	w.tracer, err = telemetry.NewTracer(telemetry.TraceConfig{
		Endpoint: config.Telemetry.OTLPEndpoint, Headers: config.Telemetry.OTLPHeaders, Sample: config.Telemetry.Sample,
		Version: build.version, Clean: d.hidden.String, Metrics: w.metrics, Log: d.log,
	})
	return w, err
}

// expect lets what is counted of the names of a config begin at zero.
func (w watchers) expect(config *conf.Config) {
	e := telemetry.Expected{Models: slices.Collect(maps.Keys(config.LLM.Models)), Webhooks: slices.Collect(maps.Keys(config.Alerts.Webhooks))}
	if len(config.HTTP.Tokens) > 0 {
		e.Platforms = append(e.Platforms, tasks.PlatformAPI)
	}
	if config.Telegram != nil {
		e.Platforms = append(e.Platforms, telegram.Name)
	}
	if config.Slack != nil {
		e.Platforms = append(e.Platforms, slack.Name)
	}
	for _, p := range llm.Problems() {
		e.Problems = append(e.Problems, string(p))
	}
	w.metrics.Expect(e)
}

// read is what a scrape wants to know and nobody counts. What can be told without
// the store is told also when that fails.
func (d *daemon) read(ctx context.Context) (telemetry.Readings, error) {
	_, paused := d.app.pause.State()
	now := telemetry.Readings{
		Ready: true, Parts: map[string]bool{}, Paused: paused, QueuedFor: d.app.engine.Queued(), Models: map[string]bool{}, Servers: map[string]bool{},
	}
	for part, err := range d.health() {
		now.Parts[part] = err == nil
		now.Ready = now.Ready && (err == nil || web.IsDegraded(err))
	}
	for name, h := range d.models.Health() {
		now.Models[name] = !h.Down
	}
	for _, s := range d.app.tools.Status() {
		now.Servers[s.Name] = s.State == client.Ready
	}
	return now, d.app.readStore(ctx, &now)
}

// mostRead bounds what a scrape reads of a list.
const mostRead = 500

func (a *app) readStore(ctx context.Context, now *telemetry.Readings) (err error) {
	counts, err := a.store.Counts(ctx)
	if err != nil {
		return err
	}
	now.Tasks = map[string]int{}
	for _, state := range api.States() { // those without tasks, too
		now.Tasks[state] = counts[state]
	}
	waiting, _, err := a.store.Tasks(ctx, tasks.TaskQuery{Waits: true, Limit: mostRead})
	if err != nil {
		return err
	}
	for _, row := range waiting {
		now.Approvals.Waiting++
		now.Approvals.Oldest = max(now.Approvals.Oldest, a.clock.Now().Sub(row.Since))
	}
	due, _, err := a.store.Outgoing(ctx, a.clock.Now(), mostRead)
	if err != nil {
		return err
	}
	for _, one := range due {
		now.Deliveries.Waiting++
		now.Deliveries.Oldest = max(now.Deliveries.Oldest, a.clock.Now().Sub(one.At))
	}
	if now.Budgets, err = a.inbox.DayBudgets(ctx); err != nil {
		return err
	}
	now.StoreBytes, err = a.store.Size()
	return err
}

// trace is a context in the trace of a task.
func (a *app) trace(ctx context.Context, id tasks.ID) context.Context {
	if a.tracer == nil {
		return ctx
	}
	first, err := a.store.Event(ctx, id, 1)
	if err != nil || first.Opening == nil {
		return ctx // it is told without its trace
	}
	return a.tracer.Resume(ctx, string(id), first.Opening.Trace)
}

// served counts a request. Event streams last for as long as somebody listens.
func (w watchers) served(route, method string, status int, took time.Duration) {
	pattern := route
	if _, path, found := strings.Cut(route, " "); found {
		pattern = path
	}
	if strings.HasSuffix(pattern, "/events") && strings.HasPrefix(pattern, "/v1/") {
		took = 0
	}
	w.metrics.Requested(pattern, method, status, took)
}
