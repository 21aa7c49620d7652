// Package alerts tells admins and programs what needs them: tasks that wait or
// failed, parts that are down, budgets, the config and the data. What is to be
// told is queued in the store first, so that neither a restart nor a receiver
// that is away loses it, and goes to the admins' chats and, signed, to webhooks.
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

// Store is what alerts need of a tasks.Store.
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

// Options are what Alerts work with. Store, Tell, Task, Log and Now are needed.
type Options struct {
	Store Store
	// Tell tells the admins' chats and waits for that; an error means that nobody
	// was told.
	Tell func(ctx context.Context, list []tasks.News) error
	// Task reads a task whose starter wants its outcome.
	Task func(ctx context.Context, id tasks.ID) (api.Task, error)
	// Servers, Models and Platforms tell how these stand. Nil: there are none.
	Servers, Models, Platforms func() []Health
	// Hide keeps secrets out of what is sent. Nil: nothing is hidden.
	Hide    *redact.Redactor
	Log     *slog.Logger
	Now     func() time.Time // by which tasks wait and deliveries are due
	Version string           // of legwork, told to receivers
	// Metrics count how requests to webhooks go; may be nil.
	Metrics *telemetry.Metrics
	// Trace is a context in the trace of a task, which the requests about it belong
	// to. Nil: they belong to none.
	Trace func(ctx context.Context, id tasks.ID) context.Context
	// Transport carries the requests; nil: one that takes its proxy from the
	// environment.
	Transport http.RoundTripper
	Pace      Pace   // the zero value is the usual one
	Config    Config // the first one
}

// Health is how a server, model or platform stands. Neither Up nor Down: that is
// not known yet.
type Health struct {
	Name     string
	Up, Down bool
	Problem  string // why it is down
	Hint     string // what can be done
}

// Alerts find out what there is to tell, and tell it. They are safe for concurrent
// use.
type Alerts struct {
	Options
	config atomic.Pointer[Config]
	queued chan struct{} // rings when something may have come into the queue
	moved  chan struct{} // rings when the config was changed
}

// New makes Alerts. They tell nothing before Run, but keep what is raised.
func New(o Options) *Alerts {
	a := &Alerts{Options: o, queued: make(chan struct{}, 1), moved: make(chan struct{}, 1)}
	a.Pace = o.Pace.withDefaults()
	if a.Hide == nil {
		a.Hide = new(redact.Redactor)
	}
	if a.Transport == nil {
		a.Transport = newTransport()
	}
	a.Use(o.Config)
	return a
}

// Use changes the config. Requests under way end with the one before.
func (a *Alerts) Use(c Config) {
	a.config.Store(&c)
	ring(a.queued)
	ring(a.moved)
}

// Webhooks lists the names that the outcome of a task can be sent to.
func (a *Alerts) Webhooks() []string {
	if a == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(a.config.Load().Webhooks))
}

// Run tells what there is to tell until ctx ends.
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

// Budgets tells of budgets that are nearly used up, or reached. It returns when
// they are certain to be told of. Without Alerts nobody is told.
func (a *Alerts) Budgets(ctx context.Context, reached bool, list []planner.Overdraft) error {
	if a == nil {
		return nil
	}
	kind, text := BudgetNear, "The budget %s%s is nearly used up on %s."
	if reached {
		kind, text = BudgetReached, "The budget %s%s has no room for the next step on %s."
	}
	var batch []tasks.Delivery
	for _, over := range list {
		who := ""
		if over.Who != "" {
			who = " of " + over.Who
		}
		b := budgetOf(over)
		batch = append(batch, a.deliveries(occasion{
			kind: kind, id: over.Budget + "-" + over.Day + "-" + over.Who,
			data: Data{Summary: fmt.Sprintf(text, over.Budget, who, over.Day), Budget: &b},
		})...)
	}
	return a.queue(ctx, batch)
}

// Raise tells the webhooks of something that the admins' chats are told of by
// whoever found it: a kind that is not about a task, server, model or budget. path
// is the file that it is about, which may be empty. What cannot be queued, as when
// it is the store that is damaged, is sent once, at once. Without Alerts nobody is
// told.
func (a *Alerts) Raise(ctx context.Context, kind, summary, path, problem string) {
	if a == nil {
		return
	}
	at := a.Now()
	list := a.deliveries(occasion{
		kind: kind, id: fmt.Sprint(at.UnixNano()), at: at, data: Data{Summary: summary, Path: path, Problem: problem},
	})
	if err := a.queue(ctx, list); err != nil {
		a.Log.ErrorContext(ctx, "this cannot be kept until the webhooks have taken it; each is told once", "kind", kind, "cause", err)
		a.tellOnce(ctx, list)
	}
}

// occasion is something to be told once.
type occasion struct {
	kind string
	id   string    // tells occasions of a kind apart
	at   time.Time // zero: now
	task tasks.ID  // that it is about; when that is forgotten, nobody is told any more
	data Data
	skip string // a webhook that learns of it otherwise
}

// deliveries are the requests that an occasion leads to: one for each webhook that
// wants its kind, and one for the chats.
func (a *Alerts) deliveries(o occasion) []tasks.Delivery {
	if o.at.IsZero() {
		o.at = a.Now()
	}
	config := a.config.Load()
	payload := []byte(a.Hide.String(string(body(o.kind, o.at, o.data))))
	add := func(list []tasks.Delivery, webhook, suffix string) []tasks.Delivery {
		id := plainID(o.kind + "-" + o.id + suffix)
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

// queue keeps deliveries until they have arrived.
func (a *Alerts) queue(ctx context.Context, list []tasks.Delivery) error {
	if len(list) == 0 {
		return nil
	}
	if err := a.Store.Queue(ctx, list...); err != nil {
		return fmt.Errorf("queueing what is to be told: %w", err)
	}
	ring(a.queued)
	return nil
}

// plainID makes an id of letters, digits, - and _: the text that is signed has a
// full stop behind it.
func plainID(text string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '-'
	}, text)
}

// ring wakes who waits for a channel of one place.
func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// read unpacks a setting; one that is missing or unreadable leaves v as it is.
func (a *Alerts) read(ctx context.Context, name string, v any) error {
	text, err := a.Store.Setting(ctx, owner, name)
	if err != nil {
		return fmt.Errorf("reading what was told: %w", err)
	}
	if text != "" && json.Unmarshal([]byte(text), v) != nil {
		a.Log.WarnContext(ctx, "it is not known any more what was told; some of it may come again", "setting", name)
	}
	return nil
}

func (a *Alerts) write(ctx context.Context, name string, v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		err = a.Store.PutSetting(ctx, owner, name, string(text))
	}
	if err != nil {
		return fmt.Errorf("storing what was told: %w", err)
	}
	return nil
}

// owner of the settings, and their names.
const (
	owner         = "legwork"
	settingFeed   = "alerts_feed"
	settingOutage = "alerts_outages"
)
