package alerts_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"legwork/bot"
	"legwork/i18n"
	"legwork/internal/redact"
	"legwork/internal/test/fakes/webhookfake"
	"legwork/internal/test/watch"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/tasks"
	"legwork/tasks/alerts"
	"legwork/tasks/api"
)

const secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

// hurried is a pace at which tests do not wait.
func hurried() alerts.Pace {
	return alerts.Pace{
		First: 10 * time.Millisecond, Longest: 100 * time.Millisecond, Rest: 40 * time.Millisecond, Request: time.Second,
		Chat: 150 * time.Millisecond, Outage: 100 * time.Millisecond, Look: 10 * time.Millisecond,
	}
}

// world is alerts over a real store; they can be stopped and begin again.
type world struct {
	*testing.T
	options alerts.Options
	store   *bolt.Store
	alerts  *alerts.Alerts
	dir     string
	stop    func()
	log     *journal
	gap     atomic.Bool   // the feed has lost what was not read yet
	refuses refusals      // of the store
	ago     time.Duration // since what happens has happened
	ahead   atomic.Int64  // of the wall clock are the clocks of the alerts and the store

	mu      sync.Mutex
	told    [][]tasks.News
	deaf    error // of the admins' chats
	servers []alerts.Health
	models  []alerts.Health
	opened  int
}

// journal keeps what is logged.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

func newWorld(t *testing.T, c alerts.Config) *world {
	t.Helper()
	w := &world{T: t, dir: t.TempDir(), log: &journal{}}
	texts, err := i18n.Load("")
	if err != nil {
		t.Fatal(err)
	}
	w.options = alerts.Options{
		Tell: w.tell, Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Now: w.now, Pace: hurried(), Config: c, Hide: redact.New([]string{"hidden-from-everybody"}),
		Task: func(ctx context.Context, id tasks.ID) (api.Task, error) {
			inbox := tasks.NewInbox(tasks.InboxConfig{Store: w.store, Texts: texts, Chats: tasks.Chats{}, Log: w.options.Log, Now: time.Now})
			return api.New(api.Config{Store: w.store, Inbox: inbox, Now: time.Now}).Get(ctx, api.Principal{Role: api.RoleAdmin, Chats: []string{"*"}}, id)
		},
		Servers: func() []alerts.Health { w.mu.Lock(); defer w.mu.Unlock(); return w.servers },
		Models:  func() []alerts.Health { w.mu.Lock(); defer w.mu.Unlock(); return w.models },
	}
	w.open()
	w.begin()
	t.Cleanup(w.close)
	w.until("the tasks are watched", func() bool {
		stored, err := w.store.Setting(t.Context(), "legwork", "alerts_feed")
		return err == nil && stored != ""
	})
	return w
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

func (w *world) open() {
	w.Helper()
	var err error
	if w.store, err = bolt.Open(w.Context(), w.dir, bolt.Options{Now: w.now}); err != nil {
		w.Fatalf("opening the store: %v", err)
	}
}

// begin runs alerts over the open store.
func (w *world) begin() {
	w.options.Store = forgetful{w.store, &w.gap, &w.refuses}
	w.alerts = alerts.New(w.options)
	ctx, cancel := context.WithCancel(w.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = w.alerts.Run(ctx) })
	w.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
}

func (w *world) close() {
	w.stop()
	if err := w.store.Close(); err != nil {
		w.Errorf("closing the store: %v", err)
	}
}

// restarts is another life over the same file.
func (w *world) restarts(between func()) {
	w.Helper()
	w.close()
	w.open()
	between()
	w.begin()
}

func (w *world) tell(_ context.Context, list []tasks.News) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deaf != nil {
		return w.deaf
	}
	w.told = append(w.told, slices.Clone(list))
	return nil
}

// deafness sets whether admins can be reached.
func (w *world) deafness(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaf = err
}

// parts sets how servers and models stand.
func (w *world) parts(servers, models []alerts.Health) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.servers, w.models = servers, models
}

// read is what the admins have read so far, in order.
func (w *world) read() (all []tasks.News) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Concat(w.told...)
}

// keys are the keys of what the admins have read so far.
func (w *world) keys() (all []string) {
	for _, n := range w.read() {
		all = append(all, n.Key)
	}
	return all
}

// until waits until something is so.
func (w *world) until(what string, so func() bool) {
	w.Helper()
	limit := time.After(watch.Patience)
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !so() {
		select {
		case <-look.C:
		case <-limit:
			w.Fatalf("waited in vain: %s; the admins read %v; the log:\n%s", what, w.keys(), w.log)
		}
	}
}

// opens starts a task that agents from outside work on.
func (w *world) opens(goal string, change func(*planner.Opening)) tasks.ID {
	w.Helper()
	w.opened++
	at := w.now().Add(-w.ago)
	id := tasks.NewID(at)
	chat := bot.Chat{Platform: "api", ID: "ops", Thread: string(id), Private: true}
	opening := &planner.Opening{
		Goal: goal, Chat: chat, From: bot.Person{Platform: "api", ID: "ops", Name: "ops"}, Language: "en", Timezone: "UTC",
		Limits: planner.DefaultLimits(), External: true,
	}
	if change != nil {
		change(opening)
	}
	receipts, err := w.store.Open(w.Context(), []tasks.Inbound{{
		Key: fmt.Sprint("open", w.opened), ID: id, Chat: chat, Open: &planner.Event{Type: planner.Opened, At: at, Opening: opening},
	}})
	if err = errors.Join(err, receipts[0].Err); err != nil {
		w.Fatalf("opening a task: %v", err)
	}
	return id
}

func (w *world) append(id tasks.ID, e planner.Event) {
	w.Helper()
	if err := w.store.Append(w.Context(), id, -1, 0, e); err != nil {
		w.Fatalf("appending %+v: %v", e, err)
	}
}

// review sets the status of a task: an agent wants a review, or a person says how
// it went.
func (w *world) review(id tasks.ID, status string) {
	w.Helper()
	by := "api:ops"
	if status == planner.NeedsHumanReview {
		by = "agent:a"
	}
	w.append(id, planner.Event{Type: planner.Set, At: w.now(), By: by, Values: map[string]json.RawMessage{planner.KeyStatus: json.RawMessage(strconv.Quote(status))}})
}

// nothingLeft reports that nothing waits to be delivered.
func (w *world) nothingLeft() bool {
	due, next, err := w.store.Outgoing(w.Context(), w.now(), 10)
	return err == nil && len(due) == 0 && next.IsZero()
}

// answers hands in the answer of a task, which is then on its way to be shown.
func (w *world) answers(id tasks.ID, text string) {
	w.Helper()
	w.append(id, planner.Event{Type: planner.Answered, By: "agent:a", Text: text})
}

// fails lets a task come to nothing: nobody has worked on it for too long.
func (w *world) fails(goal string, change func(*planner.Opening)) tasks.ID {
	w.Helper()
	id := w.opens(goal, change)
	s, err := w.store.State(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	w.append(id, planner.Event{Type: planner.Expired, At: planner.Deadline(s)})
	return id
}

// hook is a config with one webhook.
func hook(r *webhookfake.Receiver, kinds ...string) alerts.Config {
	return alerts.Config{Chat: true, Webhooks: map[string]alerts.Webhook{"ops": {URL: r.URL, Secret: secret, Kinds: kinds}}}
}

// typesOf are the types of requests, in order.
func typesOf(list []webhookfake.Request) (all []string) {
	for _, q := range list {
		all = append(all, q.Type)
	}
	return all
}
