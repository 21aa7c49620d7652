package alerts_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"legwork/alerts"
	"legwork/fakes/webhookfake"
	"legwork/planner"
	"legwork/tasks"
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
	status := func(id tasks.ID, by, value string) {
		t.Helper()
		w.append(id, planner.Event{Type: planner.Set, By: by, Values: map[string]json.RawMessage{planner.KeyStatus: json.RawMessage(strconv.Quote(value))}})
	}
	decided, open := w.opens("decided soon", nil), w.opens("stays open", nil)
	status(decided, "agent:a", planner.NeedsHumanReview)
	status(open, "agent:a", planner.NeedsHumanReview)
	r.Until("the webhook was told", func(list []webhookfake.Request) bool { return len(list) == 4 })
	status(decided, "api:ops", "APPROVED")
	w.deafness(nil)
	w.until("nothing is left", w.nothingLeft)
	for _, n := range w.read() {
		if n.Data["Task"] != string(open) {
			t.Errorf("the admins read %s of what was decided", n.Key)
		}
	}
	keys := w.keys()
	if slices.Sort(keys); !slices.Equal(keys, []string{"alert.task_review", "alert.task_waiting"}) {
		t.Errorf("the admins read %v, want what is open", keys)
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
		w.append(id, planner.Event{Type: planner.Set, At: w.now(), By: "agent:a", Values: map[string]json.RawMessage{planner.KeyStatus: json.RawMessage(`"` + planner.NeedsHumanReview + `"`)}})
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
	w.until("it is stored that both were told", func() bool {
		var read struct{ Waited time.Time }
		stored, err := w.store.Setting(t.Context(), "legwork", "alerts_feed")
		return err == nil && json.Unmarshal([]byte(stored), &read) == nil && time.Until(read.Waited) > 50*time.Minute
	})
	var second tasks.ID
	w.restarts(func() {
		second = asks()
		w.ahead.Add(int64(3 * 24 * time.Hour))
	})
	w.until("the second was told", func() bool { return len(w.read()) >= 4 })
	w.until("nothing is left", w.nothingLeft)
	for _, n := range w.read()[2:] {
		if n.Data["Task"] != string(second) {
			t.Errorf("after the restart the admins read %s of %s, want only of %s", n.Key, n.Data["Task"], second)
		}
	}
}

// TestNothingToRead: what the admins need not read any more does not hold up what
// they do.
func TestNothingToRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, alerts.Config{Chat: true})
	w.deafness(errors.New("nobody is there"))
	w.restarts(func() { w.options.Pace.Chat = time.Hour })
	id := w.opens("decided soon", nil)
	set := func(by, value string) {
		w.append(id, planner.Event{Type: planner.Set, At: w.now(), By: by, Values: map[string]json.RawMessage{planner.KeyStatus: json.RawMessage(strconv.Quote(value))}})
	}
	set("agent:a", planner.NeedsHumanReview)
	w.until("the log tells that nobody was reached", func() bool { return strings.Contains(w.log.String(), "no admin could be told") })
	set("api:ops", "APPROVED")
	w.deafness(nil)
	w.until("nothing is left", w.nothingLeft)
	w.fails("and this they must read", nil)
	w.until("the admins were told at once", func() bool { return slices.Equal(w.keys(), []string{"alert.task_failed"}) })
}
