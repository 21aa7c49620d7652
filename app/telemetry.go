package app

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
	"legwork/tasks/alerts"
	"legwork/tasks/api"
	"legwork/tools/client"
	"legwork/web"
)

// instruments measure what core does. metrics and tracer may be nil.
type instruments struct {
	metrics *telemetry.Metrics
	tracer  *telemetry.Tracer
	hidden  *redact.Redactor // hides secrets; never nil
}

// instruments builds those of the daemon.
func (d *daemon) instruments(config *conf.Config) (w instruments, err error) {
	w.hidden = d.hidden
	w.metrics = telemetry.NewMetrics(telemetry.MetricsConfig{
		Build: telemetry.ReadBuild(),
		Now:   time.Now, Read: d.read, Clean: d.hidden.String,
	})
	w.expect(config)
	w.tracer, err = telemetry.NewTracer(telemetry.TraceConfig{
		Endpoint: config.Telemetry.OTLPEndpoint, Headers: config.Telemetry.OTLPHeaders, Sample: config.Telemetry.Sample,
		Version: telemetry.ReadBuild().Version, Clean: d.hidden.String, Metrics: w.metrics, Log: d.log,
	})
	return w, err
}

// expect starts the counters of the names in a config at zero.
func (w instruments) expect(config *conf.Config) {
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

// read returns the readings of a scrape that are not counted. Those that need no
// store are returned also when the store fails.
func (d *daemon) read(ctx context.Context) (telemetry.Readings, error) {
	_, paused := d.core.pause.State()
	now := telemetry.Readings{
		Ready: true, Parts: map[string]bool{}, Paused: paused, QueuedFor: d.core.engine.QueueDelay(), Models: map[string]bool{}, Servers: map[string]bool{},
	}
	for part, err := range d.health() {
		now.Parts[part] = err == nil
		now.Ready = now.Ready && (err == nil || web.IsDegraded(err))
	}
	for name, h := range d.models.Health() {
		now.Models[name] = !h.Down
	}
	for _, s := range d.core.tools.Status() {
		now.Servers[s.Name] = s.State == client.Ready || s.State == client.Personal
	}
	return now, d.core.readStore(ctx, &now)
}

// maxRead bounds the entries of a list that a scrape reads.
const maxRead = 500

func (a *core) readStore(ctx context.Context, now *telemetry.Readings) (err error) {
	counts, err := a.store.Counts(ctx)
	if err != nil {
		return err
	}
	now.Tasks = map[string]int{}
	for _, state := range api.States() { // those without tasks, too
		now.Tasks[state] = counts[state]
	}
	waiting, _, err := a.store.Tasks(ctx, tasks.TaskQuery{Waits: true, Limit: maxRead})
	if err != nil {
		return err
	}
	for _, row := range waiting {
		now.Approvals.Waiting++
		now.Approvals.Oldest = max(now.Approvals.Oldest, a.clock.Now().Sub(row.Since))
	}
	due, _, err := a.store.Outgoing(ctx, a.clock.Now(), maxRead)
	if err != nil {
		return err
	}
	for _, one := range due {
		now.Deliveries.Waiting++
		now.Deliveries.Oldest = max(now.Deliveries.Oldest, a.clock.Now().Sub(one.At))
	}
	if now.Budgets, err = alerts.DayBudgets(ctx, a.inbox); err != nil {
		return err
	}
	if now.FileBytes, err = a.store.FileBytes(ctx); err != nil {
		return err
	}
	now.StoreBytes, err = a.store.Size(ctx)
	return err
}

// trace returns a context in the trace of a task.
func (a *core) trace(ctx context.Context, id tasks.ID) context.Context {
	if a.tracer == nil {
		return ctx
	}
	first, err := a.store.Event(ctx, id, 1)
	if err != nil || first.Opening == nil {
		return ctx // it is reported without its trace
	}
	return a.tracer.Resume(ctx, string(id), first.Opening.Trace)
}

// served counts a request. The duration of event streams says nothing, because they
// last as long as somebody listens.
func (w instruments) served(route, method string, status int, took time.Duration) {
	pattern := route
	if _, path, found := strings.Cut(route, " "); found {
		pattern = path
	}
	if strings.HasSuffix(pattern, "/events") && strings.HasPrefix(pattern, "/v1/") {
		took = 0
	}
	w.metrics.Requested(pattern, method, status, took)
}
