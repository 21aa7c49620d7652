package alerts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"legwork/internal/clip"
	"legwork/internal/retry"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/api"
)

const (
	// gatherTime is the time between an event and reading it, so that many events are
	// read at once.
	gatherTime = 250 * time.Millisecond
	// saveEvery is the time between two saves of the position. Events that are read
	// twice make the same alert.
	saveEvery = 30 * time.Second
	// feedPage and rowPage are the sizes of pages.
	feedPage = 1000
	rowPage  = 200
	// maxMissed limits the tasks that are read after a gap.
	maxMissed = 10_000
	// lag is the longest time between an event and its storing.
	lag = 10 * time.Minute
)

// statusAnswering is, among others, the status of tasks whose outcome is being
// sent to the chat.
const statusAnswering = "answering"

// position is the place up to which the events of all tasks were read.
type position struct {
	Cursor uint64    `json:"cursor"`
	At     time.Time `json:"at"`
	// Waited is the time of the last alert about tasks that had waited for After.
	Waited time.Time     `json:"waited,omitzero"`
	After  time.Duration `json:"after,omitempty"`
}

// alreadyAlerted reports whether an alert was sent about something that began at
// since, when it was as old as old. The store cannot answer that: it forgets
// deliveries after two days.
func (p position) alreadyAlerted(since time.Time, old time.Duration) bool {
	return !since.Add(old + lag).After(p.Waited)
}

// taskWatcher follows the tasks. Only the goroutine of watchTasks uses it.
type taskWatcher struct {
	*Alerts
	pos     position
	saved   position
	waiting map[tasks.ID]waitingTask
	hourly  hourlyCount
	alerted bool // an alert was sent since the position was last saved
	// saveAgain is the time of one more save, after which alreadyAlerted covers
	// the last alerts. Zero: it covers them already.
	saveAgain time.Time
}

// waitingTask is a task that waits for a person.
type waitingTask struct {
	since   time.Time
	review  int  // seq of the event that asked for a review; 0: none
	alerted bool // an alert was sent that it has waited for too long
}

// watchTasks sends alerts about tasks that fail, wait for too long or ask for a
// review, until ctx ends.
func (a *Alerts) watchTasks(ctx context.Context) {
	changed := make(chan struct{}, 1)
	stop := a.Store.Follow(func(tasks.ID) { wake(changed) })
	defer stop()
	w := &taskWatcher{Alerts: a, waiting: map[tasks.ID]waitingTask{}}
	begun := false
	for {
		idle := storeRetry
		err := w.begin(ctx, &begun)
		if err == nil {
			idle, err = w.check(ctx)
		}
		if err != nil && ctx.Err() == nil {
			a.Log.WarnContext(ctx, "tasks not checked, trying again", "cause", err)
			idle = storeRetry
		}
		timer := time.NewTimer(idle)
		select {
		case <-ctx.Done():
			if w.pos.Cursor != w.saved.Cursor || !w.saveAgain.IsZero() {
				w.save(ctx)
			}
			timer.Stop()
			return
		case <-timer.C:
		case <-a.configChanged:
		case <-changed:
			_ = retry.Sleep(ctx, gatherTime)
		}
		timer.Stop()
	}
}

// begin reads, once, the position of the last run and the waiting tasks.
func (w *taskWatcher) begin(ctx context.Context, begun *bool) error {
	if *begun {
		return nil
	}
	if err := w.Alerts.readSetting(ctx, settingFeed, &w.pos); err != nil {
		return err
	}
	if w.pos.At.IsZero() { // the first start: no alerts about the past
		_, _, newest, err := w.Store.Feed(ctx, 0, 1)
		if err != nil {
			return fmt.Errorf("reading the newest event: %w", err)
		}
		w.pos = position{Cursor: newest, At: w.Now()}
	}
	if err := w.findWaiting(ctx); err != nil {
		return err
	}
	w.save(ctx)
	*begun = true
	return nil
}

// findWaiting reads the tasks that wait for a person.
func (w *taskWatcher) findWaiting(ctx context.Context) error {
	return w.rows(ctx, tasks.TaskQuery{Waits: true}, -1, func(row tasks.Row) (bool, error) { return true, w.update(ctx, row) })
}

// rows reads tasks, the newest first, until visit returns false or most tasks were
// read.
func (w *taskWatcher) rows(ctx context.Context, query tasks.TaskQuery, most int, visit func(tasks.Row) (more bool, err error)) error {
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

// check reads new events and sends the alerts that are due. It returns the time
// until the next task will have waited for too long.
func (w *taskWatcher) check(ctx context.Context) (idle time.Duration, err error) {
	for more := true; more; {
		if more, err = w.readPage(ctx); err != nil {
			return 0, err
		}
	}
	if idle, err = w.alertWaiting(ctx); err != nil {
		return 0, err
	}
	now := w.pos.At
	settled := !w.saveAgain.IsZero() && !now.Before(w.saveAgain)
	if w.alerted || settled || w.pos.Cursor != w.saved.Cursor && now.Sub(w.saved.At) >= saveEvery {
		w.save(ctx)
	}
	if !w.saveAgain.IsZero() {
		idle = min(idle, max(w.saveAgain.Sub(now), storeRetry))
	}
	return idle, nil
}

// readPage reads one page of events.
func (w *taskWatcher) readPage(ctx context.Context) (more bool, err error) {
	now := w.Now()
	entries, oldest, newest, err := w.Store.Feed(ctx, w.pos.Cursor, feedPage)
	if err != nil {
		return false, fmt.Errorf("reading the events of all tasks: %w", err)
	}
	if newest < w.pos.Cursor || oldest > w.pos.Cursor+1 && newest > 0 {
		if err := w.catchUp(ctx); err != nil {
			return false, err
		}
		w.pos.Cursor, w.pos.At = newest, now
		return false, nil
	}
	seen := map[tasks.ID]bool{}
	for _, e := range entries {
		if seen[e.Task] {
			continue
		}
		seen[e.Task] = true
		row, err := w.Store.Row(ctx, e.Task)
		if tasks.Unreadable(err) {
			delete(w.waiting, e.Task)
			continue
		}
		if err != nil {
			return false, fmt.Errorf("reading task %s: %w", e.Task, err)
		}
		if err := w.update(ctx, row); err != nil {
			return false, err
		}
	}
	if len(entries) > 0 {
		w.pos.Cursor = entries[len(entries)-1].Cursor
	}
	w.pos.At = now
	return len(entries) == feedPage, nil
}

// catchUp reads the list of tasks when events are missing: the data was replaced,
// or there were too many events since the last read.
func (w *taskWatcher) catchUp(ctx context.Context) error {
	w.Log.WarnContext(ctx, "task events missed, reading list of tasks", "since", w.pos.At)
	clear(w.waiting)
	if err := w.findWaiting(ctx); err != nil {
		return err
	}
	return w.rows(ctx, tasks.TaskQuery{Statuses: []string{string(planner.Failed), statusAnswering}}, maxMissed, func(row tasks.Row) (bool, error) {
		if row.Changed.Before(w.pos.At.Add(-lag)) {
			return true, nil
		}
		return true, w.update(ctx, row)
	})
}

// update records the changed state of a task, and sends the alerts about failures
// and reviews, which are due at once.
func (w *taskWatcher) update(ctx context.Context, row tasks.Row) error {
	was := w.waiting[row.Task]
	if !row.Waits {
		delete(w.waiting, row.Task)
	}
	if over := []string{string(planner.Done), string(planner.Failed), string(planner.Halted), statusAnswering}; slices.Contains(over, row.Status) {
		wake(w.queued) // the store has queued the outcome if a program asked for it
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
		return w.alertFailed(ctx, row, s.Reason)
	}
	if err != nil || !row.Waits {
		return nil //nolint:nilerr // another alert reports a task that cannot be read
	}
	is := waitingTask{since: row.Since, alerted: was.alerted && was.since.Equal(row.Since) || w.pos.After > 0 && w.pos.alreadyAlerted(row.Since, w.pos.After)}
	if is.review = s.Review; is.review != 0 && is.review != was.review {
		err = w.alertReview(ctx, row, s.Review)
	}
	if err == nil {
		w.waiting[row.Task] = is
	}
	return err
}

// save stores the position.
func (w *taskWatcher) save(ctx context.Context) {
	if w.pos.At.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeRetry)
	defer cancel()
	if err := w.writeSetting(ctx, settingFeed, w.pos); err != nil {
		w.Log.WarnContext(ctx, "position in task events not stored", "cause", err)
		return
	}
	w.saved, w.alerted = w.pos, false
	if !w.pos.Waited.Before(w.saveAgain) {
		w.saveAgain = time.Time{}
	}
}

// alertFailed queues an alert that a task failed, even before people see the
// outcome.
func (w *taskWatcher) alertFailed(ctx context.Context, row tasks.Row, why string) error {
	if why == planner.ReasonFiles { // the person who sent them can do something about it, admins cannot
		return nil
	}
	opened, err := w.Store.Event(ctx, row.Task, 1)
	if err != nil && !errors.Is(err, tasks.ErrNoTask) && !errors.Is(err, tasks.ErrDamaged) {
		return fmt.Errorf("reading task %s: %w", row.Task, err)
	}
	skip := ""
	if o := opened.Opening; o != nil && o.Notify != nil {
		skip = o.Notify.Webhook
	}
	row.Status = string(planner.Failed) // even if the outcome is not in the chat yet
	return w.alertTask(ctx, row, TaskFailed, string(row.Task), "Task %s failed.", why, skip)
}

// alertReview queues an alert that a task needs a review; the event seq asked for
// the review.
func (w *taskWatcher) alertReview(ctx context.Context, row tasks.Row, seq int) error {
	asked, err := w.Store.Event(ctx, row.Task, seq)
	if err == nil && w.pos.alreadyAlerted(asked.At, 0) {
		return nil
	}
	return w.alertTask(ctx, row, TaskReview, fmt.Sprintf("%s-%d", row.Task, seq), "Task %s needs a review by a person.", "", "")
}

// alertWaiting queues alerts about tasks that have waited for too long. It returns
// the time until the next alert is due.
func (w *taskWatcher) alertWaiting(ctx context.Context) (idle time.Duration, err error) {
	idle = time.Hour
	after, now := w.config.Load().After, w.pos.At
	if after == 0 {
		w.pos.Waited, w.pos.After = now, 0
		return idle, nil
	}
	for id, is := range w.waiting {
		if is.alerted {
			continue
		}
		if left := is.since.Add(after).Sub(now); left > 0 {
			idle = min(idle, left)
			continue
		}
		row, err := w.Store.Row(ctx, id)
		if err == nil && row.Waits {
			err = w.alertTask(ctx, row, TaskWaiting, fmt.Sprintf("%s-%d", id, is.since.Unix()), "Task %s has been waiting for a person for "+after.String()+" or longer.", "", "")
		}
		if err != nil && !errors.Is(err, tasks.ErrNoTask) && !errors.Is(err, tasks.ErrDamaged) {
			return 0, err
		}
		is.alerted = true
		w.waiting[id] = is
	}
	w.pos.Waited, w.pos.After = now, after
	return idle, nil
}

// shownGoal is the maximum length of a goal in an alert, in runes.
const shownGoal = 200

// alertTask queues an alert about a task. skip is a webhook that gets the outcome
// anyway.
func (w *taskWatcher) alertTask(ctx context.Context, row tasks.Row, kind, id, summary, problem, skip string) error {
	t := Task{
		ID: row.Task, State: row.Status, Goal: clip.Line(w.Hide.String(row.Goal), shownGoal), Chat: row.Chat.Key(), From: row.From.Key(),
		Created: api.Time{Time: row.Opened}, Updated: api.Time{Time: row.Changed}, Reason: problem,
	}
	if row.Waits {
		t.Since = &api.Time{Time: row.Since}
	}
	w.alerted, w.saveAgain = true, w.Now().Add(lag)
	if row.Chat.Platform == tasks.PlatformAPI && row.Waits {
		switch w.hourly.add(kind+" "+row.Chat.Room(), id, w.Now()) {
		case overLimit:
			return nil
		case atLimit:
			w.Log.WarnContext(ctx, "too many waiting tasks of a program, no further alerts this hour", "chat", row.Chat.Room(), "kind", kind)
			summary += " There may be more tasks of the same program; GET /v1/approvals lists them."
		case withinLimit:
		}
	}
	return w.queue(ctx, w.deliveries(alert{
		kind: kind, id: id, task: row.Task, skip: skip, data: Data{Summary: fmt.Sprintf(summary, row.Task), Task: object(t), URL: w.Page.Task(row.Task)},
	}))
}

// maxHourly is the maximum number of alerts about waiting tasks of one program and
// kind in an hour. It prevents that the alerts of one program delay all others.
const maxHourly = 20

// hourlyCount counts alerts in this hour. An alert that is repeated, because it
// could not be queued, counts once.
type hourlyCount struct {
	hour int64
	ids  map[string][]string
}

// limitState compares the number of alerts with maxHourly.
type limitState int

const (
	withinLimit limitState = iota
	atLimit
	overLimit
)

// add counts an alert.
func (o *hourlyCount) add(what, id string, now time.Time) limitState {
	if hour := now.Unix() / 3600; o.ids == nil || hour != o.hour {
		o.hour, o.ids = hour, map[string][]string{}
	}
	at := slices.Index(o.ids[what], id)
	if at < 0 {
		if at = len(o.ids[what]); at == maxHourly {
			return overLimit
		}
		o.ids[what] = append(o.ids[what], id)
	}
	if at == maxHourly-1 {
		return atLimit
	}
	return withinLimit
}
