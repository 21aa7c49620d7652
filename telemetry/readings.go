package telemetry

import (
	"context"
	"net/http"
	"time"

	"legwork/telemetry/prom"
)

// Readings are values as they are in the moment of a scrape.
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

// Queue is how many wait, and for how long the first has.
type Queue struct {
	Waiting int
	Oldest  time.Duration
}

// Budget is one with a limit. Amounts are millionths of a US dollar when Money is
// set, and tokens otherwise.
type Budget struct {
	Name         string
	Money        bool
	Limit, Spent int64
}

// scrapeTime bounds what a scrape reads.
const scrapeTime = 5 * time.Second

// Handler answers GET requests with all metrics. What cannot be read is left
// out of the answer: a gauge that is missing is seen, an old one is not.
func (m *Metrics) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.scraping.Lock()
		defer m.scraping.Unlock()
		m.look(r.Context())
		w.Header().Set("Content-Type", prom.ContentType)
		w.Header().Set("Cache-Control", "no-store")
		_ = m.registry.Write(w) // who asked may be gone
	})
}

// look sets the gauges that are read. m.scraping is held.
func (m *Metrics) look(ctx context.Context) {
	m.process.look()
	for _, g := range []*prom.Gauge{
		m.tasks, m.oldestTask, m.approvalsWaiting, m.oldestApproval, m.deliveriesWaiting, m.oldestDelivery, m.modelUp, m.serverUp,
		m.partUp, m.ready, m.paused, m.budgetLimit, m.budgetSpent, m.tokenLimit, m.tokensSpent, m.storeSize,
	} {
		g.Clear()
	}
	if m.read == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, scrapeTime)
	defer cancel()
	now, err := m.read(ctx)
	m.show(now)
	if err == nil {
		m.showStored(now)
	}
}

// showStored shows what the store has told.
func (m *Metrics) showStored(now Readings) {
	for state, n := range now.Tasks {
		m.tasks.Set(float64(n), state)
	}
	m.approvalsWaiting.Set(float64(now.Approvals.Waiting))
	m.oldestApproval.Set(now.Approvals.Oldest.Seconds())
	m.deliveriesWaiting.Set(float64(now.Deliveries.Waiting))
	m.oldestDelivery.Set(now.Deliveries.Oldest.Seconds())
	m.storeSize.Set(float64(now.StoreBytes))
	for _, b := range now.Budgets {
		if b.Money {
			m.budgetLimit.Set(float64(b.Limit)/1e6, b.Name)
			m.budgetSpent.Set(float64(b.Spent)/1e6, b.Name)
			continue
		}
		m.tokenLimit.Set(float64(b.Limit), b.Name)
		m.tokensSpent.Set(float64(b.Spent), b.Name)
	}
}

func (m *Metrics) show(now Readings) {
	m.oldestTask.Set(now.QueuedFor.Seconds())
	m.paused.Set(truth(now.Paused))
	m.ready.Set(truth(now.Ready))
	for part, up := range now.Parts {
		m.partUp.Set(truth(up), part)
	}
	for name, up := range now.Models {
		m.modelUp.Set(truth(up), name)
	}
	for name, up := range now.Servers {
		m.serverUp.Set(truth(up), name)
	}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
