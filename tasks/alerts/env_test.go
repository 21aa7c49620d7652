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
	"legwork/tasks/inbox"
	"legwork/tasks/policy"
)

const secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

// hurried is a pace at which tests do not wait. A request may take its time: one that is
// cut off after the receiver has counted it comes again.
func hurried() alerts.Timing {
	return alerts.Timing{
		First: 10 * time.Millisecond, Longest: 100 * time.Millisecond, Rest: 40 * time.Millisecond, Request: time.Hour,
		Chat: 150 * time.Millisecond, Outage: 100 * time.Millisecond, Look: 10 * time.Millisecond,
	}
}

// world is alerts over a real store; they can be stopped and begin again.
type env struct {
	*testing.T
	options alerts.Options
	store   *bolt.Store
	alerts  *alerts.Alerts
	dir     string
	stop    func()
	log     *journal
	gap     atomic.Bool     // the feed has lost what was not read yet
	refuses refusals        // of the store
	ending  <-chan struct{} // closed when the alerts are told to end
	// recording, if set, runs before the store records that an outage was alerted.
	recording atomic.Pointer[func()]
	ago       time.Duration // since what happens has happened
	ahead     atomic.Int64  // of the wall clock are the clocks of the alerts and the store

	mu      sync.Mutex
	told    [][]alerts.News
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

func newEnv(t *testing.T, c alerts.Config) *env {
	t.Helper()
	e := &env{T: t, dir: t.TempDir(), log: &journal{}}
	texts, err := i18n.Load("")
	if err != nil {
		t.Fatal(err)
	}
	e.options = alerts.Options{
		NotifyAdmins: e.tell, Log: slog.New(slog.NewTextHandler(e.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Now: e.now, Timing: hurried(), Config: c, Hide: redact.New([]string{"hidden-from-everybody"}),
		Task: func(ctx context.Context, id tasks.ID) (api.Task, error) {
			inbox := inbox.New(inbox.Config{Store: e.store, Texts: texts, Chats: tasks.Chats{}, Log: e.options.Log, Now: time.Now})
			return api.New(api.Config{Store: e.store, Inbox: inbox, Now: time.Now}).Get(ctx, api.Principal{Role: policy.RoleAdmin, Chats: []string{"*"}}, id)
		},
		Servers: func() []alerts.Health { e.mu.Lock(); defer e.mu.Unlock(); return e.servers },
		Models:  func() []alerts.Health { e.mu.Lock(); defer e.mu.Unlock(); return e.models },
	}
	e.open()
	e.begin()
	t.Cleanup(e.close)
	e.until("the tasks are watched", func() bool {
		stored, err := e.store.Setting(t.Context(), "legwork", "alerts_feed")
		return err == nil && stored != ""
	})
	return e
}

func (e *env) now() time.Time { return time.Now().Add(time.Duration(e.ahead.Load())) }

func (e *env) open() {
	e.Helper()
	var err error
	if e.store, err = bolt.Open(e.Context(), e.dir, bolt.Options{Now: e.now}); err != nil {
		e.Fatalf("opening the store: %v", err)
	}
}

// begin runs alerts over the open store.
func (e *env) begin() {
	e.options.Store = forgetful{e.store, &e.gap, &e.refuses, &e.recording}
	e.alerts = alerts.New(e.options)
	ctx, cancel := context.WithCancel(e.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = e.alerts.Run(ctx) })
	e.ending = ctx.Done()
	e.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
}

func (e *env) close() {
	e.stop()
	if err := e.store.Close(); err != nil {
		e.Errorf("closing the store: %v", err)
	}
}

// settled waits until the store knows that everything was delivered. A restart before
// that may cut off a request, which then comes again.
func (e *env) settled() {
	e.Helper()
	e.until("nothing is left", e.nothingLeft)
}

// restarts is another life over the same file.
func (e *env) restarts(between func()) {
	e.Helper()
	e.close()
	e.open()
	between()
	e.begin()
}

func (e *env) tell(_ context.Context, list []alerts.News) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.deaf != nil {
		return e.deaf
	}
	e.told = append(e.told, slices.Clone(list))
	return nil
}

// deafness sets whether admins can be reached.
func (e *env) deafness(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.deaf = err
}

// parts sets how servers and models stand.
func (e *env) parts(servers, models []alerts.Health) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.servers, e.models = servers, models
}

// read is what the admins have read so far, in order.
func (e *env) read() (all []alerts.News) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Concat(e.told...)
}

// keys are the keys of what the admins have read so far.
func (e *env) keys() (all []string) {
	for _, n := range e.read() {
		all = append(all, n.Key)
	}
	return all
}

// until waits until something is so.
func (e *env) until(what string, so func() bool) {
	e.Helper()
	limit := time.After(watch.Patience)
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !so() {
		select {
		case <-look.C:
		case <-limit:
			e.Fatalf("waited in vain: %s; the admins read %v; the log:\n%s", what, e.keys(), e.log)
		}
	}
}

// opens starts a task that agents from outside work on.
func (e *env) opens(goal string, change func(*planner.Opening)) tasks.ID {
	e.Helper()
	e.opened++
	at := e.now().Add(-e.ago)
	id := tasks.NewID(at)
	chat := bot.Chat{Platform: "api", ID: "ops", Thread: string(id), Private: true}
	opening := &planner.Opening{
		Goal: goal, Chat: chat, From: bot.Person{Platform: "api", ID: "ops", Name: "ops"}, Language: "en", Timezone: "UTC",
		Limits: planner.DefaultLimits(), External: true,
	}
	if change != nil {
		change(opening)
	}
	receipts, err := e.store.Open(e.Context(), []tasks.Inbound{{
		Key: fmt.Sprint("open", e.opened), ID: id, Chat: chat, Open: &planner.Event{Type: planner.Opened, At: at, Opening: opening},
	}})
	if err = errors.Join(err, receipts[0].Err); err != nil {
		e.Fatalf("opening a task: %v", err)
	}
	return id
}

func (e *env) append(id tasks.ID, ev planner.Event) {
	e.Helper()
	if err := e.store.Append(e.Context(), id, -1, 0, ev); err != nil {
		e.Fatalf("appending %+v: %v", ev, err)
	}
}

// review sets the status of a task: an agent wants a review, or a person says how
// it went.
func (e *env) review(id tasks.ID, status string) {
	e.Helper()
	by := "api:ops"
	if status == planner.NeedsHumanReview {
		by = "agent:a"
	}
	e.append(id, planner.Event{Type: planner.StateSet, At: e.now(), By: by, Values: map[string]json.RawMessage{planner.KeyStatus: json.RawMessage(strconv.Quote(status))}})
}

// nothingLeft reports that nothing waits to be delivered.
func (e *env) nothingLeft() bool {
	due, next, err := e.store.Outgoing(e.Context(), e.now(), 10)
	return err == nil && len(due) == 0 && next.IsZero()
}

// answers hands in the answer of a task, which is then on its way to be shown.
func (e *env) answers(id tasks.ID, text string) {
	e.Helper()
	e.append(id, planner.Event{Type: planner.Answered, By: "agent:a", Text: text})
}

// fails makes a task fail: no engine has worked on it for too long.
func (e *env) fails(goal string, change func(*planner.Opening)) tasks.ID {
	e.Helper()
	id := e.opens(goal, change)
	s, err := e.store.State(e.Context(), id)
	if err != nil {
		e.Fatal(err)
	}
	e.append(id, planner.Event{Type: planner.Expired, At: planner.Deadline(s)})
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
