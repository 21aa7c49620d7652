package telemetry

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Readings are the values of the gauges at a scrape.
type Readings struct {
	Tasks      map[string]int // by state
	QueuedFor  time.Duration  // how long the first task that waits for room has waited
	Approvals  Queue          // tasks that wait for a person
	Deliveries Queue          // to webhooks
	Budgets    []Budget       // of the whole process, today
	Models     map[string]bool
	Servers    map[string]bool
	Parts      map[string]bool // whether they work without trouble
	Ready      bool            // as /readyz tells
	Paused     bool
	StoreBytes int64
	FileBytes  int64
}

// Queue is the number of waiting entries, and the waiting time of the oldest.
type Queue struct {
	Waiting int
	Oldest  time.Duration
}

// Budget is a budget with a limit. Amounts are millionths of a US dollar if Money is
// set, otherwise tokens.
type Budget struct {
	Name         string
	Money        bool
	Limit, Spent int64
}

// scrapeTime limits the time for reading the gauges.
const scrapeTime = 5 * time.Second

// Handler answers GET requests with all metrics, except those that cannot be read.
// The reply is not compressed, since the tables for that would stay in the memory of
// an idle daemon.
func (m *Metrics) Handler() http.Handler {
	options := promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, DisableCompression: true}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all := prometheus.Gatherers{m.registry, m.readGauges(r.Context())}
		w.Header().Set("Cache-Control", "no-store")
		promhttp.HandlerFor(all, options).ServeHTTP(w, r)
	})
}

// readGauges reads the gauges for one scrape.
func (m *Metrics) readGauges(ctx context.Context) prometheus.Gatherer {
	r := newRegistry(m.registry.clean)
	if m.read == nil {
		return r
	}
	ctx, cancel := context.WithTimeout(ctx, scrapeTime)
	defer cancel()
	now, err := m.read(ctx)
	r.gauge("legwork_queue_oldest_seconds", "For how long the first of the tasks that wait for memory or for a slot has been waiting.").Set(now.QueuedFor.Seconds())
	r.gauge("legwork_paused", "1 while everything is paused.").Set(boolValue(now.Paused))
	r.gauge("legwork_ready", "1 while legwork can hear and keep what people want, as /readyz tells.").Set(boolValue(now.Ready))
	r.flags("legwork_part_up", "1 while the part of the process works without trouble.", "part", now.Parts)
	r.flags("legwork_model_up", "1 unless the model's endpoint failed so often that it is left alone.", "model", now.Models)
	r.flags("legwork_tool_server_up", "1 while the tool server can be called.", "server", now.Servers)
	if err == nil {
		r.showStored(now)
	}
	return r
}

// flags adds a gauge with a series of 0 or 1 for each name.
func (r registry) flags(name, help, label string, values map[string]bool) {
	g := r.gauge(name, help, label)
	for of, up := range values {
		g.Set(boolValue(up), of)
	}
}

// showStored adds the gauges that come from the store.
func (r registry) showStored(now Readings) {
	tasks := r.gauge("legwork_tasks", "Tasks in the store, by state.", "state")
	for state, n := range now.Tasks {
		tasks.Set(float64(n), state)
	}
	r.gauge("legwork_approvals_waiting", "Tasks that wait for a person.").Set(float64(now.Approvals.Waiting))
	r.gauge("legwork_approvals_oldest_seconds", "For how long the first of the tasks that wait for a person has been waiting.").Set(now.Approvals.Oldest.Seconds())
	r.gauge("legwork_deliveries_waiting", "Deliveries to outgoing webhooks whose time has come.").Set(float64(now.Deliveries.Waiting))
	r.gauge("legwork_deliveries_oldest_seconds", "For how long the first of them has been queued.").Set(now.Deliveries.Oldest.Seconds())
	r.gauge("legwork_store_size_bytes", "Size of the stored data.").Set(float64(now.StoreBytes))
	r.gauge("legwork_files_bytes", "Size of the contents of files that are kept.").Set(float64(now.FileBytes))
	usd := r.gauge("legwork_budget_limit_usd", "The money that may be spent today, extensions included.", "budget")
	usdSpent := r.gauge("legwork_budget_spent_usd", "The money that was spent today on models whose price is known.", "budget")
	tokens := r.gauge("legwork_budget_limit_tokens", "The tokens that may be used today, extensions included.", "budget")
	tokensSpent := r.gauge("legwork_budget_spent_tokens", "The tokens that were used today.", "budget")
	for _, b := range now.Budgets {
		if b.Money {
			usd.Set(float64(b.Limit)/1e6, b.Name)
			usdSpent.Set(float64(b.Spent)/1e6, b.Name)
			continue
		}
		tokens.Set(float64(b.Limit), b.Name)
		tokensSpent.Set(float64(b.Spent), b.Name)
	}
}

func boolValue(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
