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

// TestDecidedMeanwhile: what the admins could not be told in time, and what was
// decided by then, they need not read any more; a webhook is told all of it.
func TestDecidedMeanwhile(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	c := hook(r)
	c.After = 10 * time.Millisecond
	w := newWorld(t, c)
	w.deafness(errors.New("nobody is there"))
	decided, open := w.opens("decided soon", nil), w.opens("stays open", nil)
	w.review(decided, planner.NeedsHumanReview)
	w.review(open, planner.NeedsHumanReview)
	r.Until("the webhook was told", func(list []webhookfake.Request) bool { return len(list) == 4 })
	w.review(decided, "APPROVED")
	w.deafness(nil)
	w.until("nothing is left", w.nothingLeft)
	for _, n := range w.read() {
		if n.Data["Task"] != string(open) {
			t.Errorf("the admins read %s of what was decided", n.Key)
		}
	}
	if got := w.keys(); !slices.Equal(got, []string{"alert.task_review"}) {
		t.Errorf("the admins read %v, want what is open, once", got)
	}
}

// TestOutageOfAnotherLife: what was down when legwork stopped, and is when it begins
// again, was not down all the time between.
func TestOutageOfAnotherLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t, alerts.Config{Chat: true})
	w.restarts(func() {
		w.options.Pace.Outage = time.Hour
		w.parts([]alerts.Health{{Name: "tickets", Down: true, Problem: "connecting"}}, nil)
	})
	w.until("the outage is stored", func() bool {
		stored, err := w.store.Setting(t.Context(), "legwork", "alerts_outages")
		return err == nil && strings.Contains(stored, "tickets")
	})
	var looks atomic.Int32
	w.restarts(func() {
		w.ahead.Store(int64(2 * time.Hour))
		servers := w.options.Servers
		w.options.Servers = func() []alerts.Health { looks.Add(1); return servers() }
	})
	w.until("it was looked at", func() bool { return looks.Load() > 2 })
	w.fails("something else", nil)
	w.until("the admins were told of something else", func() bool { return slices.Contains(w.keys(), "alert.task_failed") })
	if got := w.keys(); !slices.Equal(got, []string{"alert.task_failed"}) {
		t.Errorf("the admins read %v, want nothing of the server yet", got)
	}
	w.ahead.Store(int64(4 * time.Hour))
	w.until("the admins were told of the server", func() bool { return slices.Contains(w.keys(), "alert.server_down") })
}

// fullStore takes nothing in.
type fullStore struct{ alerts.Store }

func (fullStore) Queue(context.Context, ...tasks.Delivery) error { return tasks.ErrDamaged }

// TestRaisedWithoutStore: that the store is damaged is told although nothing can be
// stored.
func TestRaisedWithoutStore(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	w := newWorld(t, hook(r))
	o := w.options
	o.Store = fullStore{w.store}
	alerts.New(o).Raise(t.Context(), alerts.DataDamaged, "A part is damaged.", "legwork.db", "")
	if got := typesOf(r.Taken()); !slices.Equal(got, []string{alerts.DataDamaged}) {
		t.Errorf("the webhook was told %v, want that the data is damaged", got)
	}
}

// TestLongWait: who has waited for days, and was told of, is not told of again by
// another life, although the store no longer knows what it has queued.
func TestLongWait(t *testing.T) {
	t.Parallel()
	c := alerts.Config{Chat: true, After: time.Minute}
	w := newWorld(t, c)
	asks := func() tasks.ID {
		id := w.opens("needs eyes", nil)
		w.review(id, planner.NeedsHumanReview)
		return id
	}
	later := func(d time.Duration) {
		w.ahead.Add(int64(d))
		w.alerts.Use(c) // so that it looks at the clock
	}
	asks()
	w.until("the review was told", func() bool { return len(w.read()) == 1 })
	later(2 * time.Minute)
	w.until("the waiting was told", func() bool { return len(w.read()) == 2 })
	w.until("nothing is left", w.nothingLeft)
	later(time.Hour)
	w.until("it is stored that both were told", func() bool { return w.waited() > 50*time.Minute })
	var second tasks.ID
	w.restarts(func() {
		second = asks()
		w.ahead.Add(int64(3 * 24 * time.Hour))
	})
	// That the second waits is a message of its own only when the one about its review
	// has gone out before: a busy machine may put both into one.
	w.until("the second was queued", func() bool { return w.waited() > 2*24*time.Hour })
	w.until("nothing is left", w.nothingLeft)
	if len(w.read()) < 3 {
		t.Errorf("after the restart the admins read nothing, want that %s needs a review", second)
	}
	for _, n := range w.read()[2:] {
		if n.Data["Task"] != string(second) {
			t.Errorf("after the restart the admins read %s of %s, want only of %s", n.Key, n.Data["Task"], second)
		}
	}
}

// waited is how far ahead of now it is stored that the admins were told of everything
// that had waited for too long.
func (w *world) waited() time.Duration {
	var read struct{ Waited time.Time }
	stored, err := w.store.Setting(w.Context(), "legwork", "alerts_feed")
	if err != nil || json.Unmarshal([]byte(stored), &read) != nil {
		return 0
	}
	return time.Until(read.Waited)
}

// TestNothingToRead: what the admins need not read any more does not hold up what
// they do.
func TestNothingToRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, alerts.Config{Chat: true})
	w.deafness(errors.New("nobody is there"))
	w.restarts(func() { w.options.Pace.Chat = time.Hour })
	id := w.opens("decided soon", nil)
	w.review(id, planner.NeedsHumanReview)
	w.until("the log tells that nobody was reached", func() bool { return strings.Contains(w.log.String(), "no admin could be told") })
	w.review(id, "APPROVED")
	w.deafness(nil)
	w.until("nothing is left", w.nothingLeft)
	w.fails("and this they must read", nil)
	w.until("the admins were told at once", func() bool { return slices.Equal(w.keys(), []string{"alert.task_failed"}) })
}

// TestEagerProgram: of a program whose tasks want one review after the other, only
// some are told, the last with that there are more.
func TestEagerProgram(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	w := newWorld(t, hook(r))
	for i := range 30 {
		w.review(w.opens(fmt.Sprint("eager ", i), nil), planner.NeedsHumanReview)
	}
	w.fails("and this", nil)
	r.Until("the failure was told", func(list []webhookfake.Request) bool {
		return slices.ContainsFunc(list, func(q webhookfake.Request) bool { return q.Type == alerts.TaskFailed })
	})
	w.until("nothing is left", w.nothingLeft)
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

// TestWaitsForAnotherThing: that a task waits is told although its review, which is
// still to be told, was decided meanwhile.
func TestWaitsForAnotherThing(t *testing.T) {
	t.Parallel()
	c := alerts.Config{Chat: true, After: time.Minute}
	w := newWorld(t, c)
	w.restarts(func() {
		w.options.Pace.First, w.options.Pace.Longest, w.options.Pace.Rest = time.Hour, time.Hour, time.Hour
	})
	w.deafness(errors.New("nobody is there"))
	id := w.opens("pay something", func(o *planner.Opening) { o.External = false })
	next := func(e planner.Event) {
		t.Helper()
		s, err := w.store.State(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		e.Action, e.At = planner.Todo(s)[0].ID, w.now()
		w.append(id, e)
	}
	next(planner.Event{Type: planner.Replied, Reply: &planner.Reply{IsPlan: true, Plan: []planner.Subtask{{ID: "1/a", Name: "desk", Description: "pay"}}}})
	next(planner.Event{Type: planner.Replied, Reply: &planner.Reply{Calls: []planner.Call{{ID: "1", Name: "pay", Arguments: "{}", Tool: "desk.pay"}}}})
	w.review(id, planner.NeedsHumanReview)
	w.until("the log tells that nobody was reached", func() bool { return strings.Contains(w.log.String(), "no admin could be told") })
	w.review(id, "APPROVED")
	next(planner.Event{Type: planner.Asked, Question: &planner.Question{Calls: []planner.Approval{{Tool: "desk.pay"}}, Expires: w.now().Add(100 * time.Hour)}})
	w.ahead.Add(int64(2 * time.Minute))
	w.alerts.Use(c) // so that it looks at the clock
	w.until("both are queued", func() bool {
		due, _, err := w.store.Outgoing(t.Context(), w.now(), 10)
		return err == nil && len(due) == 2
	})
	w.deafness(nil)
	w.ahead.Add(int64(3 * time.Hour))
	w.fails("and this", nil)
	w.until("the failure was told", func() bool { return slices.Contains(w.keys(), "alert.task_failed") })
	if got := w.keys(); !slices.Contains(got, "alert.task_waiting") || slices.Contains(got, "alert.task_review") {
		t.Errorf("the admins read %v, want that it waits", got)
	}
}

// TestRefusedAgainAndAgain: what could not be queued for a while is told all the same.
func TestRefusedAgainAndAgain(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	c := hook(r)
	w := newWorld(t, c)
	w.refuses.on.Store(true)
	w.review(w.opens("needs eyes", nil), planner.NeedsHumanReview)
	w.until("it was tried often", func() bool {
		w.alerts.Use(c) // so that it tries again
		return w.refuses.count.Load() > 25
	})
	w.refuses.on.Store(false)
	w.alerts.Use(c)
	r.Until("the review was told", func(list []webhookfake.Request) bool { return len(list) == 1 })
}

// TestOverBeforeItsTurn: a review that was decided before its turn came is not told.
func TestOverBeforeItsTurn(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	w := newWorld(t, hook(r))
	hold := make(chan struct{})
	release := sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release)
	r.Answers(func(_ int, q webhookfake.Request) webhookfake.Reply {
		if q.Type == alerts.TaskFailed {
			<-hold
		}
		return webhookfake.Reply{}
	})
	w.fails("holds up the others", nil)
	decided, open := w.opens("decided soon", nil), w.opens("stays open", nil)
	w.review(decided, planner.NeedsHumanReview)
	w.review(open, planner.NeedsHumanReview)
	w.until("both are queued", func() bool {
		due, _, err := w.store.Outgoing(t.Context(), w.now(), 10, "")
		return err == nil && len(due) == 3
	})
	w.review(decided, "APPROVED")
	release()
	r.Until("the open one was told", func(list []webhookfake.Request) bool {
		return len(list) > 0 && list[len(list)-1].Task() == string(open)
	})
	w.until("nothing is left", w.nothingLeft)
	for _, q := range r.Requests() {
		if q.Task() == string(decided) {
			t.Errorf("what was decided was told: %s", q.Body)
		}
	}
}
