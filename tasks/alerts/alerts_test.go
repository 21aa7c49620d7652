package alerts_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/internal/test/fakes/webhookfake"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/alerts"
)

// TestFailedTask: the admins and the webhook get an alert once, and a restart does
// not repeat it.
func TestFailedTask(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	e := newEnv(t, hook(r))
	e.opens("goes on", nil)
	id := e.fails("the goal with hidden-from-everybody "+strings.Repeat("long ", 29)+"hidden-from-everybody "+strings.Repeat("long ", 100), nil)
	e.until("the admins were told", func() bool { return len(e.read()) == 1 })
	r.Until("the webhook was told", func(list []webhookfake.Request) bool { return len(list) == 1 })

	n := e.read()[0]
	if n.Key != "alert.task_failed" || n.Data["Task"] != string(id) || n.Why != planner.ReasonIdle {
		t.Errorf("the admins read %+v, want that %s failed", n, id)
	}
	var p alerts.Payload
	var told alerts.Task
	body := r.Requests()[0].Body
	if err := errors.Join(json.Unmarshal(body, &p), json.Unmarshal(p.Data.Task, &told)); err != nil {
		t.Fatalf("reading %s: %v", body, err)
	}
	if p.Type != alerts.TaskFailed || told.ID != id || told.State != "failed" || told.Reason != planner.ReasonIdle || told.From != "api:ops" {
		t.Errorf("the webhook was told %s", body)
	}
	if len(told.Goal) > 250 || !strings.Contains(told.Goal, "***") || strings.Contains(string(body), "hidden-from") {
		t.Errorf("the goal was told as %q, want it short and without the secret", told.Goal)
	}
	e.settled()
	e.restarts(func() {})
	second := e.fails("another", nil)
	e.until("the admins were told about the other", func() bool { return len(e.read()) == 2 })
	r.Until("the webhook was told about the other", func(list []webhookfake.Request) bool { return len(list) == 2 })
	if got := r.Requests()[1].Task(); got != string(second) {
		t.Errorf("after the restart the webhook was told about %s, want %s", got, second)
	}
}

// TestFailedMeanwhile: a task that fails while no watcher runs is reported at the
// next start.
func TestFailedMeanwhile(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	e := newEnv(t, hook(r))
	e.fails("before", nil)
	r.Until("the first was told", func(list []webhookfake.Request) bool { return len(list) == 1 })
	e.settled()
	var ids []string
	e.restarts(func() {
		for i := range 3 {
			ids = append(ids, string(e.fails(fmt.Sprint("meanwhile ", i), nil)))
		}
	})
	r.Until("all were told", func(list []webhookfake.Request) bool { return len(list) >= 4 })
	var got []string
	for _, q := range r.Requests()[1:] {
		got = append(got, q.Task())
	}
	slices.Sort(got)
	slices.Sort(ids)
	if diff := cmp.Diff(ids, got); diff != "" {
		t.Errorf("told after the restart (-want +got):\n%s", diff)
	}
}

// TestWaiting: a task that waits for a person is reported after a while, once;
// a task that asks for a review is reported at once.
func TestWaiting(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	c := hook(r)
	c.After = time.Hour
	e := newEnv(t, c)
	id := e.opens("needs eyes", nil)
	e.append(id, planner.Event{Type: planner.StateSet, By: "agent:a", Values: map[string]json.RawMessage{planner.KeyStatus: json.RawMessage(`"` + planner.NeedsHumanReview + `"`)}})
	r.Until("the review was told", func(list []webhookfake.Request) bool { return len(list) == 1 })
	if got := typesOf(r.Requests()); !slices.Equal(got, []string{alerts.TaskReview}) {
		t.Fatalf("the webhook was told %v, want the review alone", got)
	}
	c.After = 20 * time.Millisecond
	e.alerts.Use(c)
	r.Until("the waiting was told", func(list []webhookfake.Request) bool { return len(list) == 2 })
	e.settled()
	e.restarts(func() { e.fails("a later one", nil) })
	r.Until("the later one was told", func(list []webhookfake.Request) bool { return len(list) >= 3 })
	e.until("nothing is left", e.nothingLeft)
	if got := typesOf(r.Requests()); !slices.Equal(got, []string{alerts.TaskReview, alerts.TaskWaiting, alerts.TaskFailed}) {
		t.Errorf("the webhook was told %v, want each once", got)
	}
	e.until("the admins read all", func() bool { return len(e.read()) == 3 })
	if waits := e.read()[1]; waits.Key != "alert.task_waiting" || waits.Data["Elapsed"].(time.Duration) <= 0 {
		t.Errorf("the admins read %+v, want how long it waits", waits)
	}
}

// TestNever: if After is 0, no alert says that a task waits. A question that was
// decided in time raises no alert either.
func TestNever(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	e := newEnv(t, hook(r, alerts.TaskWaiting, alerts.TaskFailed))
	e.opens("waits", nil)
	id := e.opens("asks", nil)
	e.append(id, planner.Event{Type: planner.StateSet, By: "api:ops", Values: map[string]json.RawMessage{planner.KeyStatus: json.RawMessage(`"` + planner.NeedsHumanReview + `"`)}})
	e.fails("last", nil)
	r.Until("the last was told", func(list []webhookfake.Request) bool { return len(list) == 1 })
	if got := typesOf(r.Requests()); !slices.Equal(got, []string{alerts.TaskFailed}) {
		t.Errorf("the webhook was told %v, want only what failed", got)
	}
}

// TestOutcome: the whole outcome goes to the webhook that the starter of a task
// named, whatever kinds that webhook has. A failure is not sent twice.
func TestOutcome(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	e := newEnv(t, hook(r, alerts.TaskFailed, alerts.ServerDown))
	to := func(o *planner.Opening) { o.Notify = &planner.Notify{Webhook: "ops"} }
	done := e.opens("answer me", to)
	long := strings.Repeat("answer ", 50_000)
	e.answers(done, long)
	r.Until("the answer came", func(list []webhookfake.Request) bool { return len(list) == 1 })
	var p struct {
		Type string
		Data struct {
			Task struct{ ID, State, Answer, Goal string }
		}
	}
	if err := json.Unmarshal(r.Requests()[0].Body, &p); err != nil {
		t.Fatal(err)
	}
	task := p.Data.Task
	if p.Type != alerts.TaskDone || task.ID != string(done) || task.State != "done" || len(task.Answer) < 250_000 || !strings.HasPrefix(long, task.Answer[:250_000]) || len(task.Answer) > 263_000 {
		t.Errorf("got type %s, task %s, state %s and an answer of %d bytes", p.Type, task.ID, task.State, len(task.Answer))
	}
	failed := e.fails("fail me", to)
	r.Until("the failure came", func(list []webhookfake.Request) bool { return len(list) == 2 })
	e.until("the admins were told about the failure", func() bool { return len(e.read()) == 1 })
	other := e.fails("fail, too", nil)
	r.Until("the other failure came", func(list []webhookfake.Request) bool { return len(list) >= 3 })
	for i, want := range []tasks.ID{done, failed, other} {
		if got := r.Requests()[i].Task(); got != string(want) {
			t.Errorf("request %d is of %s, want %s: %s", i, got, want, webhookfake.Show(r.Requests()))
		}
	}
}

// TestUnknownWebhook: an alert for a webhook that the config no longer names
// is dropped, and the log says so.
func TestUnknownWebhook(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	e := newEnv(t, alerts.Config{})
	id := e.opens("answer me", func(o *planner.Opening) { o.Notify = &planner.Notify{Webhook: "gone"} })
	e.answers(id, "well")
	e.until("the log says so", func() bool {
		return strings.Contains(e.log.String(), "no longer in the config") && strings.Contains(e.log.String(), "webhook=gone")
	})
	e.until("nothing is left", e.nothingLeft)
	if list := r.Requests(); len(list) > 0 {
		t.Errorf("requests were made: %s", webhookfake.Show(list))
	}
}

// TestParts: alerts report servers that are down for a while, models at once, and
// both when they are up again. A restart does not report the same outage again.
func TestParts(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	e := newEnv(t, hook(r))
	e.restarts(func() { e.options.Timing.Outage = time.Hour })
	up := []alerts.Health{{Name: "tickets", Up: true}}
	down := []alerts.Health{{Name: "tickets", Down: true, Problem: "it ended: exit status 1"}}
	e.parts(down, []alerts.Health{{Name: "main", Down: true, Problem: "401", Hint: "check the key"}})
	r.Until("the model was told", func(list []webhookfake.Request) bool { return len(list) == 1 })
	e.settled()
	e.restarts(func() { e.options.Timing.Outage = hurried().Outage })
	r.Until("the server was told, too", func(list []webhookfake.Request) bool { return len(list) == 2 })
	if got := typesOf(r.Requests()); !slices.Equal(got, []string{alerts.ModelDown, alerts.ServerDown}) {
		t.Errorf("the webhook was told %v", got)
	}
	e.settled()
	e.restarts(func() {})
	e.parts([]alerts.Health{{Name: "tickets"}}, []alerts.Health{{Name: "main", Up: true}}) // it is starting: its health is not known
	r.Until("the model is back", func(list []webhookfake.Request) bool { return len(list) == 3 })
	e.parts(up, nil)
	r.Until("the server is back", func(list []webhookfake.Request) bool { return len(list) == 4 })
	if got := typesOf(r.Requests())[2:]; !slices.Equal(got, []string{alerts.ModelUp, alerts.ServerUp}) {
		t.Errorf("then the webhook was told %v", got)
	}
	e.until("the admins read of the server", func() bool { return len(e.read()) == 2 })
	if got := e.keys(); !slices.Equal(got, []string{"alert.server_down", "alert.server_up"}) {
		t.Errorf("the admins read %v", got)
	}
}

// TestLeavingBetween: alerts that end between an alert about an outage and its
// record still store the record, so that the end of the outage is reported after
// the restart.
func TestLeavingBetween(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	e := newEnv(t, hook(r))
	between := make(chan struct{})
	ending := e.ending
	recording := sync.OnceFunc(func() { close(between); <-ending })
	e.recording.Store(&recording)
	e.parts([]alerts.Health{{Name: "tickets", Down: true, Problem: "it ended: exit status 1"}}, nil)
	<-between
	e.settled()
	e.restarts(func() {})
	e.parts([]alerts.Health{{Name: "tickets", Up: true}}, nil)
	r.Until("the server is back", func(list []webhookfake.Request) bool { return len(list) == 2 })
	if got := typesOf(r.Requests()); !slices.Equal(got, []string{alerts.ServerDown, alerts.ServerUp}) {
		t.Errorf("the webhook was told %v", got)
	}
}

// TestPlatforms: an alert that a chat service refuses the connection goes to the
// webhooks alone, after some time.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	e := newEnv(t, hook(r))
	var up atomic.Bool
	e.restarts(func() {
		e.options.Platforms = func() []alerts.Health {
			return []alerts.Health{{Name: "slack", Up: true}, {Name: "telegram", Up: up.Load(), Down: !up.Load(), Problem: "the token was revoked"}}
		}
	})
	r.Until("it was told", func(list []webhookfake.Request) bool { return len(list) == 1 })
	up.Store(true)
	r.Until("that it is back was told", func(list []webhookfake.Request) bool { return len(list) == 2 })
	list := r.Requests()
	if list[0].Type != alerts.PlatformDown || !strings.Contains(string(list[0].Body), `"platform":{"name":"telegram","problem":"the token was revoked"`) || list[1].Type != alerts.PlatformUp {
		t.Errorf("the webhook was told %s", webhookfake.Show(list))
	}
	if len(e.read()) != 0 {
		t.Errorf("the admins read %v", e.keys())
	}
}

// TestFlood: the admins get many alerts as one list.
func TestFlood(t *testing.T) {
	t.Parallel()
	e := newEnv(t, alerts.Config{Chat: true})
	e.deafness(errors.New("no watcher runs"))
	for i := range 40 {
		e.fails(fmt.Sprint("number ", i), nil)
	}
	e.until("the log says that no admin was reached", func() bool { return strings.Contains(e.log.String(), "admins not notified") })
	e.until("all are queued", func() bool {
		due, _, err := e.store.Outgoing(t.Context(), e.now(), 100)
		return err == nil && len(due) == 40
	})
	e.restarts(func() {})
	e.deafness(nil)
	e.until("all were told", func() bool { return len(e.read()) == 40 })
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.told) > 3 {
		t.Errorf("40 things were told in %d messages, want few", len(e.told))
	}
}

// TestRaised: an alert that another package raises goes only to the webhooks that
// want it.
func TestRaised(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	e := newEnv(t, hook(r, "budget.*", alerts.ReloadFailed))
	e.alerts.Raise(t.Context(), alerts.DiskLow, "unwanted", "", "")
	e.alerts.Raise(t.Context(), alerts.ReloadFailed, "The config has mistakes.", "config.yaml", "config.yaml:1:1: hidden-from-everybody")
	over := planner.Overdraft{Budget: tasks.BudgetUserDayUSD, Day: "2026-11-20", Who: "telegram:1", Limit: 2_000_000, Spent: 1_700_000}
	for range 2 { // it is reported once
		if err := e.alerts.Budgets(t.Context(), false, []planner.Overdraft{over}); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.alerts.Budgets(t.Context(), true, []planner.Overdraft{over}); err != nil {
		t.Fatal(err)
	}
	r.Until("all were told", func(list []webhookfake.Request) bool { return len(list) >= 3 })
	list := r.Requests()
	if got := typesOf(list); !slices.Equal(got, []string{alerts.ReloadFailed, alerts.BudgetNear, alerts.BudgetReached}) {
		t.Fatalf("the webhook was told %v", got)
	}
	if body := string(list[0].Body); !strings.Contains(body, "config.yaml:1:1: ***") || !strings.Contains(body, `"path":"config.yaml"`) {
		t.Errorf("of the config was told: %s", body)
	}
	want := `"budget":{"name":"user_day_usd","who":"telegram:1","day":"2026-11-20","unit":"usd","limit":2,"spent":1.7}`
	if body := string(list[1].Body); !strings.Contains(body, want) {
		t.Errorf("of the budget was told: %s, want %s", body, want)
	}
	if len(e.read()) != 0 {
		t.Errorf("the admins' chats were told by alerts, too: %v", e.keys())
	}
	var none *alerts.Alerts
	none.Raise(t.Context(), alerts.DiskLow, "", "", "") // no watcher runs; it must not panic
}

// TestTry: legwork check --probe sends a ping.
func TestTry(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	if err := alerts.Try(t.Context(), alerts.Webhook{URL: r.URL, Secret: secret}, "1.0", time.Now); err != nil {
		t.Errorf("a receiver that works: %v", err)
	}
	if got := typesOf(r.Taken()); !slices.Equal(got, []string{alerts.Ping}) {
		t.Errorf("it took %v, want a ping", got)
	}
	r.Answers(func(int, webhookfake.Request) webhookfake.Reply { return webhookfake.Reply{Status: http.StatusTeapot} })
	if err := alerts.Try(t.Context(), alerts.Webhook{URL: r.URL, Secret: secret}, "1.0", time.Now); err == nil || !strings.Contains(err.Error(), "418") {
		t.Errorf("a receiver that refuses: %v", err)
	}
	r.Close()
	if err := alerts.Try(t.Context(), alerts.Webhook{URL: r.URL, Secret: secret}, "1.0", time.Now); err == nil || strings.Contains(err.Error(), "/hook") {
		t.Errorf("no receiver: %v, want an error without the address", err)
	}
}
