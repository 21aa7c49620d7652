// Package alerts notifies admins and programs: of tasks that wait or failed, of parts
// that are down, of budgets, the config and the data. It queues each alert in the store
// first, so that neither a restart nor an unreachable receiver loses it, and then sends
// it to the chats of the admins and, signed, to webhooks.
package alerts

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"legwork/internal/redact"
	"legwork/internal/telemetry"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/api"
)

// Store is the part of a tasks.Store that alerts need.
type Store interface {
	tasks.Deliveries
	Tasks(ctx context.Context, q tasks.TaskQuery) ([]tasks.Row, bool, error)
	Row(ctx context.Context, id tasks.ID) (tasks.Row, error)
	Feed(ctx context.Context, after uint64, limit int) (entries []tasks.FeedEntry, oldest, newest uint64, err error)
	State(ctx context.Context, id tasks.ID) (planner.State, error)
	Event(ctx context.Context, id tasks.ID, seq int) (planner.Event, error)
	Follow(heard func(tasks.ID)) (stop func())
	Setting(ctx context.Context, owner, name string) (string, error)
	PutSetting(ctx context.Context, owner, name, value string) error
}

// Options configures Alerts. Store, NotifyAdmins, Task, Log and Now are required.
type Options struct {
	Store Store
	// NotifyAdmins posts to the chats of the admins; an error means that no admin got it.
	NotifyAdmins func(ctx context.Context, list []News) error
	// Task reads a task for the payload of its outcome.
	Task func(ctx context.Context, id tasks.ID) (api.Task, error)
	// Servers, Models and Platforms return the health of these; each may be nil.
	Servers, Models, Platforms func() []Health
	// Hide removes secrets from payloads; may be nil.
	Hide    *redact.Redactor
	Log     *slog.Logger
	Now     func() time.Time // the clock of waiting tasks and deliveries
	Version string           // of legwork, for the header User-Agent
	// Metrics counts requests to webhooks; may be nil.
	Metrics *telemetry.Metrics
	// Trace returns a context in the trace of a task, for requests about it; may be nil.
	Trace func(ctx context.Context, id tasks.ID) context.Context
	// Transport sends the requests. Nil: one with the proxy of the environment.
	Transport http.RoundTripper
	Timing    Timing // zero fields have defaults
	Config    Config // see Use
}

// Health is the health of a server, model or platform. It is unknown when neither
// Up nor Down is set.
type Health struct {
	Name     string
	Up, Down bool
	Problem  string // the reason
	Hint     string // the person's options
}

// Alerts watches tasks and parts and sends alerts. It is safe for concurrent use.
type Alerts struct {
	Options
	config        atomic.Pointer[Config]
	queued        chan struct{} // woken when there may be a new delivery
	configChanged chan struct{} // woken when the config has changed
	recent        recent
}

// New makes Alerts. Alerts can be queued before Run, which sends them.
func New(o Options) *Alerts {
	a := &Alerts{Options: o, queued: make(chan struct{}, 1), configChanged: make(chan struct{}, 1)}
	a.Timing = o.Timing.withDefaults()
	if a.Hide == nil {
		a.Hide = new(redact.Redactor)
	}
	if a.Transport == nil {
		a.Transport = newTransport()
	}
	a.Use(o.Config)
	return a
}

// Use replaces the config. Requests that are running still use the previous one.
func (a *Alerts) Use(c Config) {
	a.config.Store(&c)
	wake(a.queued)
	wake(a.configChanged)
}

// Webhooks lists the names of the webhooks.
func (a *Alerts) Webhooks() []string {
	if a == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(a.config.Load().Webhooks))
}

// Run sends alerts until ctx ends.
func (a *Alerts) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, part := range []func(context.Context){a.deliver, a.watchTasks, a.watchParts} {
		running.Go(func() { part(ctx) })
	}
	running.Wait()
	if t, ok := a.Transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
	return nil
}

// Budgets queues alerts about budgets that are nearly used up, or reached. It does
// nothing on nil Alerts.
func (a *Alerts) Budgets(ctx context.Context, reached bool, list []planner.Overdraft) error {
	if a == nil {
		return nil
	}
	kind, text := BudgetNear, "The budget %s%s is nearly used up on %s."
	if reached {
		kind, text = BudgetReached, "The next step would exceed the budget %s%s on %s."
	}
	var batch []tasks.Delivery
	for _, over := range list {
		who := ""
		if over.Who != "" {
			who = " of " + over.Who
		}
		b := budgetOf(over)
		batch = append(batch, a.deliveries(alert{
			kind: kind, id: over.Budget + "-" + over.Day + "-" + over.Who,
			data: Data{Summary: fmt.Sprintf(text, over.Budget, who, over.Day), Budget: &b},
		})...)
	}
	return a.queue(ctx, batch)
}

// Raise sends an alert to the webhooks. Its kind must not be about a task, server,
// model or budget. The caller posts the alert to the chats of the admins itself.
// path names the file concerned, or is empty. If the alert cannot be queued, for
// example because the store is damaged, Raise sends it once, immediately. It does
// nothing on nil Alerts.
func (a *Alerts) Raise(ctx context.Context, kind, summary, path, problem string) {
	if a == nil {
		return
	}
	at := a.Now()
	list := a.deliveries(alert{
		kind: kind, id: fmt.Sprint(at.UnixNano()), at: at, data: Data{Summary: summary, Path: path, Problem: problem},
	})
	if err := a.queue(ctx, list); err != nil {
		a.Log.ErrorContext(ctx, "alert not queued, sending it once", "kind", kind, "cause", err)
		a.sendOnce(ctx, list)
	}
}

// alert is an alert before it is queued.
type alert struct {
	kind string
	id   string    // tells alerts of a kind apart
	at   time.Time // zero: now
	task tasks.ID  // the task concerned; the alert is deleted with the task
	data Data
	skip string // a webhook that gets the outcome of the task anyway
}

// deliveries makes the deliveries of an alert: one for each webhook that wants its
// kind, and one for the chats.
func (a *Alerts) deliveries(o alert) []tasks.Delivery {
	if o.at.IsZero() {
		o.at = a.Now()
	}
	config := a.config.Load()
	payload := []byte(a.Hide.String(string(body(o.kind, o.at, o.data))))
	a.recent.add(o, payload, o.at)
	add := func(list []tasks.Delivery, webhook, suffix string) []tasks.Delivery {
		id := deliveryID(o.kind + "-" + o.id + suffix)
		return append(list, tasks.Delivery{ID: id, Webhook: webhook, Kind: o.kind, Task: o.task, Body: payload, At: a.Now(), Next: a.Now()})
	}
	var list []tasks.Delivery
	for _, name := range slices.Sorted(maps.Keys(config.Webhooks)) {
		if config.Webhooks[name].wants(o.kind) && name != o.skip && o.kind != webhookFailed {
			list = add(list, name, "-to-"+name)
		}
	}
	if config.Chat && inChats(o.kind) {
		list = add(list, "", "")
	}
	return list
}

// queue stores deliveries; the store keeps them until they have arrived.
func (a *Alerts) queue(ctx context.Context, list []tasks.Delivery) error {
	if len(list) == 0 {
		return nil
	}
	if err := a.Store.Queue(ctx, list...); err != nil {
		return fmt.Errorf("queueing alerts: %w", err)
	}
	wake(a.queued)
	return nil
}

// deliveryID makes an id of letters, digits, - and _. A full stop would end the id
// in the signed text.
func deliveryID(text string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '-'
	}, text)
}

// wake wakes the reader of a channel with a buffer of one.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// readSetting reads a setting. A missing or unreadable setting leaves v unchanged.
func (a *Alerts) readSetting(ctx context.Context, name string, v any) error {
	text, err := a.Store.Setting(ctx, owner, name)
	if err != nil {
		return fmt.Errorf("reading alert state: %w", err)
	}
	if text != "" && json.Unmarshal([]byte(text), v) != nil {
		a.Log.WarnContext(ctx, "stored alert state unreadable, alerts may repeat", "setting", name)
	}
	return nil
}

func (a *Alerts) writeSetting(ctx context.Context, name string, v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		err = a.Store.PutSetting(ctx, owner, name, string(text))
	}
	if err != nil {
		return fmt.Errorf("storing alert state: %w", err)
	}
	return nil
}

// owner is the owner of the settings below.
const (
	owner         = "legwork"
	settingFeed   = "alerts_feed"
	settingOutage = "alerts_outages"
)

// The kinds of alerts, which are the types of the payloads.
const (
	TaskFailed  = "task.failed"
	TaskWaiting = "task.waiting" // for a person, for longer than Config.After
	TaskReview  = "task.review"  // its shared state says NEEDS_HUMAN_REVIEW

	ServerDown = "server.down" // an MCP server, for longer than half a minute
	ServerUp   = "server.up"
	ModelDown  = "model.down" // its endpoint failed repeatedly and gets no calls for a while
	ModelUp    = "model.up"

	PlatformDown = "platform.down" // legwork cannot connect to a chat service, for longer than half a minute
	PlatformUp   = "platform.up"

	BudgetNear    = "budget.near"
	BudgetReached = "budget.reached"
	ReloadFailed  = "reload.failed" // the changed config has mistakes; the previous one stays in use
	ReloadFixed   = "reload.fixed"
	DiskLow       = "disk.low"      // new work is refused
	BackupFailed  = "backup.failed" // it failed, or there was no space
	DataDamaged   = "data.damaged"

	// The following kinds are sent on request, whatever Webhook.Kinds says.

	TaskDone    = "task.done"    // outcome of a task with notify; TaskFailed can be one, too
	TaskStopped = "task.stopped" // likewise
	Ping        = "ping"         // a test

	webhookFailed = "webhook.failed" // only to the chats of admins
)

// Kinds lists the kinds that Webhook.Kinds can name.
func Kinds() []string {
	return []string{
		TaskFailed, TaskWaiting, TaskReview, ServerDown, ServerUp, ModelDown, ModelUp, PlatformDown, PlatformUp, BudgetNear, BudgetReached,
		ReloadFailed, ReloadFixed, DiskLow, BackupFailed, DataDamaged,
	}
}

// Known reports whether an entry of Webhook.Kinds matches any kind.
func Known(entry string) bool {
	return slices.ContainsFunc(Kinds(), func(kind string) bool { return matches(entry, kind) })
}

// inChats reports whether this package sends a kind to the chats of admins. The
// other kinds are posted there by their own packages.
func inChats(kind string) bool {
	return slices.Contains([]string{TaskFailed, TaskWaiting, TaskReview, ServerDown, ServerUp, webhookFailed}, kind)
}
