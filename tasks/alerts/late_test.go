package alerts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"legwork/internal/test/fakes/webhookfake"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/alerts"
)

// TestDecidedMeanwhile: the admins get no alert about a question that was decided
// before the alert could reach them. A webhook gets all alerts.
func TestDecidedMeanwhile(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	c := hook(r)
	c.After = 10 * time.Millisecond
	e := newEnv(t, c)
	e.deafness(errors.New("no watcher runs"))
	decided, open := e.opens("decided soon", nil), e.opens("stays open", nil)
	e.review(decided, planner.NeedsHumanReview)
	e.review(open, planner.NeedsHumanReview)
	r.Until("the webhook was told", func(list []webhookfake.Request) bool { return len(list) == 4 })
	e.review(decided, "APPROVED")
	e.deafness(nil)
	e.until("nothing is left", e.nothingLeft)
	for _, n := range e.read() {
		if n.Data["Task"] != string(open) {
			t.Errorf("the admins read %s of what was decided", n.Key)
		}
	}
	if got := e.keys(); !slices.Equal(got, []string{"alert.task_review"}) {
		t.Errorf("the admins read %v, want what is open, once", got)
	}
}

// TestOutageOfAnotherLife: a part that was down when legwork stopped, and is down
// when it starts again, does not count as down all the time between.
func TestOutageOfAnotherLife(t *testing.T) {
	t.Parallel()
	e := newEnv(t, alerts.Config{Chat: true})
	e.restarts(func() {
		e.options.Timing.Outage = time.Hour
		e.parts([]alerts.Health{{Name: "tickets", Down: true, Problem: "connecting"}}, nil)
	})
	e.until("the outage is stored", func() bool {
		stored, err := e.store.Setting(t.Context(), "legwork", "alerts_outages")
		return err == nil && strings.Contains(stored, "tickets")
	})
	var looks atomic.Int32
	e.restarts(func() {
		e.ahead.Store(int64(2 * time.Hour))
		servers := e.options.Servers
		e.options.Servers = func() []alerts.Health { looks.Add(1); return servers() }
	})
	e.until("it was looked at", func() bool { return looks.Load() > 2 })
	e.fails("something else", nil)
	e.until("the admins were told about something else", func() bool { return slices.Contains(e.keys(), "alert.task_failed") })
	if got := e.keys(); !slices.Equal(got, []string{"alert.task_failed"}) {
		t.Errorf("the admins read %v, want nothing of the server yet", got)
	}
	e.ahead.Store(int64(4 * time.Hour))
	e.until("the admins were told about the server", func() bool { return slices.Contains(e.keys(), "alert.server_down") })
}

// fullStore takes nothing in.
type fullStore struct{ alerts.Store }

func (fullStore) Queue(context.Context, ...tasks.Delivery) error { return tasks.ErrDamaged }

// TestRaisedWithoutStore: an alert that the store is damaged is sent although the
// store accepts no writes.
func TestRaisedWithoutStore(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	e := newEnv(t, hook(r))
	o := e.options
	o.Store = fullStore{e.store}
	alerts.New(o).Raise(t.Context(), alerts.DataDamaged, "A part is damaged.", "legwork.db", "")
	if got := typesOf(r.Taken()); !slices.Equal(got, []string{alerts.DataDamaged}) {
		t.Errorf("the webhook was told %v, want that the data is damaged", got)
	}
}

// TestLongWait: a task that has waited for days and was reported is not
// reported again by another process, although the store no longer knows what
// it has queued.
func TestLongWait(t *testing.T) {
	t.Parallel()
	c := alerts.Config{Chat: true, After: time.Minute}
	e := newEnv(t, c)
	asks := func() tasks.ID {
		id := e.opens("needs eyes", nil)
		e.review(id, planner.NeedsHumanReview)
		return id
	}
	later := func(d time.Duration) {
		e.ahead.Add(int64(d))
		e.alerts.Use(c) // so that it looks at the clock
	}
	asks()
	e.until("the review was told", func() bool { return len(e.read()) == 1 })
	later(2 * time.Minute)
	e.until("the waiting was told", func() bool { return len(e.read()) == 2 })
	e.until("nothing is left", e.nothingLeft)
	later(time.Hour)
	e.until("it is stored that both were told", func() bool { return e.waited() > 50*time.Minute })
	var second tasks.ID
	e.restarts(func() {
		second = asks()
		e.ahead.Add(int64(3 * 24 * time.Hour))
	})
	// That the second waits is a message of its own only when the one about its review
	// has gone out before: a busy machine may put both into one.
	e.until("the second was queued", func() bool { return e.waited() > 2*24*time.Hour })
	e.until("nothing is left", e.nothingLeft)
	if len(e.read()) < 3 {
		t.Errorf("after the restart the admins read nothing, want that %s needs a review", second)
	}
	for _, n := range e.read()[2:] {
		if n.Data["Task"] != string(second) {
			t.Errorf("after the restart the admins read %s of %s, want only of %s", n.Key, n.Data["Task"], second)
		}
	}
}

// waited is how far ahead of now it is stored that every task that had waited
// for too long was reported to the admins.
func (e *env) waited() time.Duration {
	var read struct{ Waited time.Time }
	stored, err := e.store.Setting(e.Context(), "legwork", "alerts_feed")
	if err != nil || json.Unmarshal([]byte(stored), &read) != nil {
		return 0
	}
	return time.Until(read.Waited)
}

// TestNothingToRead: alerts that the admins need no longer read do not delay the
// others.
func TestNothingToRead(t *testing.T) {
	t.Parallel()
	e := newEnv(t, alerts.Config{Chat: true})
	e.deafness(errors.New("no watcher runs"))
	e.restarts(func() { e.options.Timing.Chat = time.Hour })
	id := e.opens("decided soon", nil)
	e.review(id, planner.NeedsHumanReview)
	e.until("the log says that no admin was reached", func() bool { return strings.Contains(e.log.String(), "admins not notified") })
	e.review(id, "APPROVED")
	e.deafness(nil)
	e.until("nothing is left", e.nothingLeft)
	e.fails("and this they must read", nil)
	e.until("the admins were told at once", func() bool { return slices.Equal(e.keys(), []string{"alert.task_failed"}) })
}

// TestEagerProgram: if the tasks of a program ask for one review after the other,
// only some alerts are sent. The last one says that there may be more.
func TestEagerProgram(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	e := newEnv(t, hook(r))
	if hour := time.Now().Truncate(time.Hour).Add(time.Hour); time.Until(hour) < 4*time.Minute { // receivers take times that are 5 minutes off
		e.ahead.Store(int64(time.Until(hour))) // so that no other hour begins meanwhile
	}
	for i := range 30 {
		e.review(e.opens(fmt.Sprint("eager ", i), nil), planner.NeedsHumanReview)
	}
	e.fails("and this", nil)
	r.Until("the failure was told", func(list []webhookfake.Request) bool {
		return slices.ContainsFunc(list, func(q webhookfake.Request) bool { return q.Type == alerts.TaskFailed })
	})
	e.until("nothing is left", e.nothingLeft)
	told, more := 0, 0
	for _, q := range r.Taken() {
		if q.Type == alerts.TaskReview {
			told++
			more += strings.Count(string(q.Body), "GET /v1/approvals")
		}
	}
	if told != 20 || more != 1 {
		t.Errorf("%d of 30 reviews were told, %d of them with that there are more, want 20 and 1", told, more)
	}
}

// TestWaitsForAnotherThing: an alert says that a task waits, although an earlier
// review of the task was decided before its alert was sent.
func TestWaitsForAnotherThing(t *testing.T) {
	t.Parallel()
	c := alerts.Config{Chat: true, After: time.Minute}
	e := newEnv(t, c)
	e.restarts(func() {
		e.options.Timing.First, e.options.Timing.Longest, e.options.Timing.Rest = time.Hour, time.Hour, time.Hour
	})
	e.deafness(errors.New("no watcher runs"))
	id := e.opens("pay something", func(o *planner.Opening) { o.External = false })
	next := func(ev planner.Event) {
		t.Helper()
		s, err := e.store.State(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		ev.Action, ev.At = planner.Todo(s)[0].ID, e.now()
		e.append(id, ev)
	}
	next(planner.Event{Type: planner.Replied, Reply: &planner.Reply{IsPlan: true, Plan: []planner.Subtask{{ID: "1/a", Name: "desk", Description: "pay"}}}})
	next(planner.Event{Type: planner.Replied, Reply: &planner.Reply{Calls: []planner.Call{{ID: "1", Name: "pay", Arguments: "{}", Tool: "desk.pay"}}}})
	e.review(id, planner.NeedsHumanReview)
	e.until("the log says that no admin was reached", func() bool { return strings.Contains(e.log.String(), "admins not notified") })
	e.review(id, "APPROVED")
	next(planner.Event{Type: planner.Asked, Question: &planner.Question{Calls: []planner.Approval{{Tool: "desk.pay"}}, Expires: e.now().Add(100 * time.Hour)}})
	e.ahead.Add(int64(2 * time.Minute))
	e.alerts.Use(c) // so that it looks at the clock
	e.until("both are queued", func() bool {
		due, _, err := e.store.Outgoing(t.Context(), e.now(), 10)
		return err == nil && len(due) == 2
	})
	e.deafness(nil)
	e.ahead.Add(int64(3 * time.Hour))
	e.fails("and this", nil)
	e.until("the failure was told", func() bool { return slices.Contains(e.keys(), "alert.task_failed") })
	if got := e.keys(); !slices.Contains(got, "alert.task_waiting") || slices.Contains(got, "alert.task_review") {
		t.Errorf("the admins read %v, want that it waits", got)
	}
}

// TestRefusedAgainAndAgain: an alert that could not be queued for a while is sent
// later.
func TestRefusedAgainAndAgain(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	c := hook(r)
	e := newEnv(t, c)
	e.refuses.on.Store(true)
	e.review(e.opens("needs eyes", nil), planner.NeedsHumanReview)
	e.until("it was tried often", func() bool {
		e.alerts.Use(c) // so that it tries again
		return e.refuses.count.Load() > 25
	})
	e.refuses.on.Store(false)
	e.alerts.Use(c)
	r.Until("the review was told", func(list []webhookfake.Request) bool { return len(list) == 1 })
}

// TestOverBeforeItsTurn: a review that was decided before its alert was due raises
// no alert.
func TestOverBeforeItsTurn(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	e := newEnv(t, hook(r))
	hold := make(chan struct{})
	release := sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release)
	r.Answers(func(_ int, q webhookfake.Request) webhookfake.Reply {
		if q.Type == alerts.TaskFailed {
			<-hold
		}
		return webhookfake.Reply{}
	})
	e.fails("holds up the others", nil)
	decided, open := e.opens("decided soon", nil), e.opens("stays open", nil)
	e.review(decided, planner.NeedsHumanReview)
	e.review(open, planner.NeedsHumanReview)
	e.until("both are queued", func() bool {
		due, _, err := e.store.Outgoing(t.Context(), e.now(), 10, "")
		return err == nil && len(due) == 3
	})
	e.review(decided, "APPROVED")
	release()
	r.Until("the open one was told", func(list []webhookfake.Request) bool {
		return len(list) > 0 && list[len(list)-1].Task() == string(open)
	})
	e.until("nothing is left", e.nothingLeft)
	for _, q := range r.Requests() {
		if q.Task() == string(decided) {
			t.Errorf("an alert about a decided question: %s", q.Body)
		}
	}
}
