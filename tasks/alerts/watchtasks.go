package alerts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"legwork/internal/retry"
	"legwork/planner"
	"legwork/tasks"
)

const (
	// gather is how long events are waited for after one, so that a busy time is
	// read in few pieces.
	gather = 250 * time.Millisecond
	// keepEvery is how often it is stored how far the events were read. What is read
	// twice is told once all the same.
	keepEvery = 30 * time.Second
	// feedPage and rowPage are how much is read at once.
	feedPage = 1000
	rowPage  = 200
	// mostMissed bounds how many tasks are looked through after a gap.
	mostMissed = 10_000
	// lag is how long before it was stored an event may have happened. What is looked
	// through for it twice is told once.
	lag = 10 * time.Minute
)

// statusAnswering is that of tasks whose outcome is on its way, among others.
const statusAnswering = "answering"

// place is how far the events of all tasks were read.
type place struct {
	Cursor uint64    `json:"cursor"`
	At     time.Time `json:"at"`
	// Waited is until when everything was told that had waited for longer than After.
	Waited time.Time     `json:"waited,omitzero"`
	After  time.Duration `json:"after,omitempty"`
}

// told reports that what began at that time was told once it was that old: the
// store itself knows only for two days what it has queued.
func (p place) told(since time.Time, old time.Duration) bool {
	return !since.Add(old + lag).After(p.Waited)
}

// watch follows the tasks. Only watchTasks touches it.
type watch struct {
	*Alerts
	read    place
	kept    place
	waiting map[tasks.ID]wait
	often   often
	told    bool // of something, since the last time that it was stored how far was read
	// settle is when to store that once more: by then place.told knows of what was
	// told last. Zero: it does.
	settle time.Time
}

// wait is a task that waits for a person.
type wait struct {
	since  time.Time
	review int  // seq of what asked for a review; 0: nothing did
	told   bool // that it has waited for too long
}

// watchTasks tells of tasks that fail, wait for too long or ask for a review,
// until ctx ends.
func (a *Alerts) watchTasks(ctx context.Context) {
	changed := make(chan struct{}, 1)
	stop := a.Store.Follow(func(tasks.ID) { ring(changed) })
	defer stop()
	w := &watch{Alerts: a, waiting: map[tasks.ID]wait{}}
	begun := false
	for {
		idle := storeWait
		err := w.begin(ctx, &begun)
		if err == nil {
			idle, err = w.look(ctx)
		}
		if err != nil && ctx.Err() == nil {
			a.Log.WarnContext(ctx, "the tasks cannot be watched; it is tried again", "cause", err)
			idle = storeWait
		}
		timer := time.NewTimer(idle)
		select {
		case <-ctx.Done():
			if w.read.Cursor != w.kept.Cursor || !w.settle.IsZero() {
				w.keep(ctx)
			}
			timer.Stop()
			return
		case <-timer.C:
		case <-a.moved:
		case <-changed:
			_ = retry.Sleep(ctx, gather)
		}
		timer.Stop()
	}
}

// begin finds out, once, where the last run has stopped and who waits.
func (w *watch) begin(ctx context.Context, begun *bool) error {
	if *begun {
		return nil
	}
	if err := w.Alerts.read(ctx, settingFeed, &w.read); err != nil {
		return err
	}
	if w.read.At.IsZero() { // nothing was watched before: the past is nobody's news
		_, _, newest, err := w.Store.Feed(ctx, 0, 1)
		if err != nil {
			return fmt.Errorf("reading the newest event: %w", err)
		}
		w.read = place{Cursor: newest, At: w.Now()}
	}
	if err := w.findWaiting(ctx); err != nil {
		return err
	}
	w.keep(ctx)
	*begun = true
	return nil
}

// findWaiting reads which tasks wait for a person.
func (w *watch) findWaiting(ctx context.Context) error {
	return w.rows(ctx, tasks.TaskQuery{Waits: true}, -1, func(row tasks.Row) (bool, error) { return true, w.consider(ctx, row) })
}

// rows reads tasks, the newest first, until visit has enough or most were read.
func (w *watch) rows(ctx context.Context, query tasks.TaskQuery, most int, visit func(tasks.Row) (more bool, err error)) error {
	query.Limit = rowPage
	for {
		rows, more, err := w.Store.Tasks(ctx, query)
		if err != nil {
			return fmt.Errorf("listing tasks: %w", err)
		}
		for _, row := range rows {
			if on, err := visit(row); err != nil || !on {
				return err
			}
			query.Before = row.Task
		}
		if most -= len(rows); !more || len(rows) == 0 || most == 0 {
			return nil
		}
	}
}

// look reads what has happened since the last time and tells what has to be told.
// It returns when the next task will have waited for too long.
func (w *watch) look(ctx context.Context) (idle time.Duration, err error) {
	for more := true; more; {
		if more, err = w.readOn(ctx); err != nil {
			return 0, err
		}
	}
	if idle, err = w.tellWaiting(ctx); err != nil {
		return 0, err
	}
	now := w.read.At
	settled := !w.settle.IsZero() && !now.Before(w.settle)
	if w.told || settled || w.read.Cursor != w.kept.Cursor && now.Sub(w.kept.At) >= keepEvery {
		w.keep(ctx)
	}
	if !w.settle.IsZero() {
		idle = min(idle, max(w.settle.Sub(now), storeWait))
	}
	return idle, nil
}

// readOn reads one page of events.
func (w *watch) readOn(ctx context.Context) (more bool, err error) {
	now := w.Now()
	entries, oldest, newest, err := w.Store.Feed(ctx, w.read.Cursor, feedPage)
	if err != nil {
		return false, fmt.Errorf("reading the events of all tasks: %w", err)
	}
	if newest < w.read.Cursor || oldest > w.read.Cursor+1 && newest > 0 {
		if err := w.catchUp(ctx); err != nil {
			return false, err
		}
		w.read.Cursor, w.read.At = newest, now
		return false, nil
	}
	seen := map[tasks.ID]bool{}
	for _, e := range entries {
		if seen[e.Task] {
			continue
		}
		seen[e.Task] = true
		row, err := w.Store.Row(ctx, e.Task)
		if errors.Is(err, tasks.ErrNoTask) || errors.Is(err, tasks.ErrDamaged) {
			delete(w.waiting, e.Task)
			continue
		}
		if err != nil {
			return false, fmt.Errorf("reading task %s: %w", e.Task, err)
		}
		if err := w.consider(ctx, row); err != nil {
			return false, err
		}
	}
	if len(entries) > 0 {
		w.read.Cursor = entries[len(entries)-1].Cursor
	}
	w.read.At = now
	return len(entries) == feedPage, nil
}

// catchUp finds what was missed: the data was replaced, or there were too many
// events meanwhile.
func (w *watch) catchUp(ctx context.Context) error {
	w.Log.WarnContext(ctx, "some events of tasks were missed; failed tasks are looked for in the list", "since", w.read.At)
	clear(w.waiting)
	if err := w.findWaiting(ctx); err != nil {
		return err
	}
	return w.rows(ctx, tasks.TaskQuery{Statuses: []string{string(planner.Failed), statusAnswering}}, mostMissed, func(row tasks.Row) (bool, error) {
		if row.Changed.Before(w.read.At.Add(-lag)) {
			return true, nil
		}
		return true, w.consider(ctx, row)
	})
}

// consider notes how a task stands that has changed, and tells what need not wait.
func (w *watch) consider(ctx context.Context, row tasks.Row) error {
	was := w.waiting[row.Task]
	if !row.Waits {
		delete(w.waiting, row.Task)
	}
	if over := []string{string(planner.Done), string(planner.Failed), string(planner.Halted), statusAnswering}; slices.Contains(over, row.Status) {
		ring(w.queued) // the store has queued its outcome where one was asked for
	}
	failed := row.Status == string(planner.Failed)
	if !failed && !row.Waits && row.Status != statusAnswering {
		return nil
	}
	s, err := w.Store.State(ctx, row.Task)
	if err != nil && !errors.Is(err, tasks.ErrNoTask) && !errors.Is(err, tasks.ErrDamaged) {
		return fmt.Errorf("reading task %s: %w", row.Task, err)
	}
	if failed || err == nil && s.Outcome == planner.Failed {
		return w.tellFailed(ctx, row, s.Why)
	}
	if err != nil || !row.Waits {
		return nil //nolint:nilerr // a task that cannot be read is told of elsewhere
	}
	is := wait{since: row.Since, told: was.told && was.since.Equal(row.Since) || w.read.After > 0 && w.read.told(row.Since, w.read.After)}
	if is.review = s.Review; is.review != 0 && is.review != was.review {
		err = w.tellReview(ctx, row, s.Review)
	}
	if err == nil {
		w.waiting[row.Task] = is
	}
	return err
}

// keep stores how far the events were read.
func (w *watch) keep(ctx context.Context) {
	if w.read.At.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWait)
	defer cancel()
	if err := w.write(ctx, settingFeed, w.read); err != nil {
		w.Log.WarnContext(ctx, "it could not be stored how far the tasks were watched", "cause", err)
		return
	}
	w.kept, w.told = w.read, false
	if !w.read.Waited.Before(w.settle) {
		w.settle = time.Time{}
	}
}
