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
	g := newGauges(r)
	g.show(now)
	if err == nil {
		g.showStored(now)
	}
	return r
}

func (g *gauges) show(now Readings) {
	g.oldestTask.Set(now.QueuedFor.Seconds())
	g.paused.Set(boolValue(now.Paused))
	g.ready.Set(boolValue(now.Ready))
	for part, up := range now.Parts {
		g.partUp.Set(boolValue(up), part)
	}
	for name, up := range now.Models {
		g.modelUp.Set(boolValue(up), name)
	}
	for name, up := range now.Servers {
		g.serverUp.Set(boolValue(up), name)
	}
}

// showStored sets the gauges that come from the store.
func (g *gauges) showStored(now Readings) {
	for state, n := range now.Tasks {
		g.tasks.Set(float64(n), state)
	}
	g.approvalsWaiting.Set(float64(now.Approvals.Waiting))
	g.oldestApproval.Set(now.Approvals.Oldest.Seconds())
	g.deliveriesWaiting.Set(float64(now.Deliveries.Waiting))
	g.oldestDelivery.Set(now.Deliveries.Oldest.Seconds())
	g.storeSize.Set(float64(now.StoreBytes))
	for _, b := range now.Budgets {
		if b.Money {
			g.budgetLimit.Set(float64(b.Limit)/1e6, b.Name)
			g.budgetSpent.Set(float64(b.Spent)/1e6, b.Name)
			continue
		}
		g.tokenLimit.Set(float64(b.Limit), b.Name)
		g.tokensSpent.Set(float64(b.Spent), b.Name)
	}
}

func boolValue(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
