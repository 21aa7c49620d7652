package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/executor"
	"legwork/tasks/presenter"
	"legwork/tools"
)

// runner is the reconcile loop of one task: it starts what Todo lists and is
// not running, and cancels what runs and is no longer listed.
type runner struct {
	engine    *Engine
	cfg       *Config
	entry     *entry
	view      *tasks.View
	presenter *presenter.Presenter

	running      map[planner.ActionID]*runningAction // only run touches it
	done         chan finished
	work         sync.WaitGroup
	slot         bool      // holds one of the engine's slots
	waitingSince time.Time // for a slot, or for the end of a pause; zero when it does not wait
	shownSeq     int       // the last event that the presenter knows
	queued       bool      // the presenter knows that the task waits for others
	paused       bool      // everything is, as reconcile saw it
	backoff      time.Duration
	retryAt      time.Time // no action starts before; zero: at once
}

// runningAction is an action that was started.
type runningAction struct {
	cancel    context.CancelCauseFunc // tools.ErrWithdrawn: it will not be done later either
	needsSlot bool
	waits     bool // needs no slot now: it waits for a person
	asked     bool // a question that was sent: it does not run, and is listed until it is answered
	reminded  bool // a question: this runner has reminded people of it
}

type finished struct {
	action planner.ActionID
	err    error
}

// Between the tries of an action whose outcome the store did not take.
const (
	firstBackoff = 200 * time.Millisecond
	lastBackoff  = 30 * time.Second
)

func newRunner(e *Engine, t *entry) *runner {
	r := &runner{
		engine: e, cfg: &e.cfg, entry: t, view: tasks.NewView(e.cfg.Store, t.id), running: map[planner.ActionID]*runningAction{}, done: make(chan finished),
		backoff: max(firstBackoff, t.parked.backoff), waitingSince: t.parked.waitingSince, queued: t.parked.queued,
	}
	if r.waitingSince.IsZero() && !t.resumed {
		r.waitingSince = t.queuedAt
	}
	return r
}

// open reads the journal, and makes the presenter of a task that is not over.
func (r *runner) open(ctx context.Context) (err error) {
	if err = r.view.Refresh(ctx); err != nil {
		return fmt.Errorf("reading journal: %w", err)
	}
	if !r.over() {
		r.presenter, err = r.cfg.Presenters.Open(r.entry.id, r.view.Opening())
	}
	if err == nil && r.presenter != nil {
		r.presenter.Restore(r.entry.parked.seen)
	}
	return err
}

// run reconciles until the task is over, ctx ends or the task can be parked.
func (r *runner) run(ctx context.Context) (p *parked, err error) {
	ctx, cancel := context.WithCancel(ctx)
	timer := time.NewTimer(time.Hour)
	defer func() {
		timer.Stop()
		r.releaseSlot()
		cancel()
		r.work.Wait()
	}()
	r.work.Go(func() { r.presenter.Run(ctx) })
	if r.entry.resumed {
		if err := r.resume(ctx); err != nil {
			return nil, err
		}
		r.entry.resumed = false
	}
	for err == nil && !r.over() && ctx.Err() == nil { // the view may miss an event that was stored as ctx ended, so nothing may start
		r.show()
		timer.Reset(r.reconcile(ctx))
		if p = r.parkable(); p != nil {
			return p, nil
		}
		select {
		case <-ctx.Done():
			continue
		case <-r.presenter.Frames():
			continue
		case <-r.entry.changed:
		case f := <-r.done:
			err = r.ended(ctx, f)
		case r.wantSlot() <- struct{}{}:
			err = r.slotAcquired(ctx)
		case <-timer.C:
			r.expire(ctx)
		}
		if err == nil {
			err = r.view.Refresh(ctx)
		}
	}
	for _, a := range r.running {
		if r.over() {
			a.cancel(tools.ErrWithdrawn)
		} else {
			a.cancel(nil)
		}
	}
	for _, a := range r.running {
		if !a.asked {
			<-r.done
		}
	}
	if ctx.Err() != nil {
		return nil, nil //nolint:nilnil // the engine ends: the task is neither over nor parked
	}
	return nil, err
}

// show tells the presenter of new events. When the task leaves the queue of its
// conversation, the tasks behind it move up, and their boards say so.
func (r *runner) show() {
	if r.shownSeq == r.view.State.Seq {
		return
	}
	r.shownSeq = r.view.State.Seq
	r.presenter.Update(r.view.Snapshot())
	if was := r.queued; was != r.view.State.Queued() {
		if r.queued = !was; was {
			r.engine.dispatcher.notifyQueued(r.entry.chat.Key())
		}
	}
}

// over reports that nothing is left to do.
func (r *runner) over() bool { return r.view.State.Phase == planner.PhaseOver }

// resume stores that the task did not work while no process ran.
func (r *runner) resume(ctx context.Context) error {
	if s := &r.view.State; s.Phase == planner.PhaseShared || planner.Deadline(*s).IsZero() {
		return nil
	}
	return r.skip(ctx)
}

// skip stores that the time since the last event does not count as working time.
func (r *runner) skip(ctx context.Context) error {
	err := r.append(ctx, planner.Event{Type: planner.Resumed})
	if errors.Is(err, tasks.ErrRefused) {
		return nil
	}
	return err
}

// reconcile starts and cancels, and returns how long to wait at most.
func (r *runner) reconcile(ctx context.Context) time.Duration {
	todo := planner.Todo(r.view.State)
	listed := make(map[planner.ActionID]bool, len(todo))
	for _, a := range todo {
		listed[a.ID] = true
		if started := r.running[a.ID]; started != nil {
			started.waits = a.Waits
		}
	}
	for id, a := range r.running {
		if !listed[id] {
			a.cancel(tools.ErrWithdrawn)
			if a.asked {
				delete(r.running, id)
			}
		}
	}
	if _, paused := r.cfg.Pause.State(); paused != r.paused {
		r.paused = paused
		r.presenter.Redraw()
	}
	r.updateSlot(todo)
	now := r.cfg.Now()
	wait, pause := maxTimer, r.retryAt.Sub(now)
	if pause <= 0 {
		for _, a := range todo {
			remind := r.remindAt(a)
			switch {
			case r.running[a.ID] == nil && !a.Hold && (r.slot && !r.paused || !needsSlot(a)):
				r.start(ctx, a, &runningAction{needsSlot: needsSlot(a)})
			case !remind.IsZero() && !now.Before(remind):
				r.start(ctx, a, &runningAction{reminded: true})
			case !remind.IsZero():
				wait = min(wait, remind.Sub(now))
			}
		}
	}
	if d := planner.Deadline(r.view.State); !d.IsZero() && r.waitingSince.IsZero() {
		wait = min(wait, max(d.Sub(now), pause, 0))
	}
	if pause > 0 {
		wait = min(wait, pause)
	}
	return wait
}

// needsSlot reports that an action works, and so needs the task's slot.
func needsSlot(a planner.Action) bool {
	return a.Kind == planner.KindModel || a.Kind == planner.KindTool || a.Kind == planner.KindFetch
}

// hasWork reports that there is an action to start that needs a slot.
func (r *runner) hasWork(todo []planner.Action) bool {
	return slices.ContainsFunc(todo, func(a planner.Action) bool {
		return needsSlot(a) && !a.Hold && r.running[a.ID] == nil
	})
}

// wantSlot is the engine's slots while this task has work and no slot, nil
// otherwise.
func (r *runner) wantSlot() chan<- struct{} {
	if r.slot || r.paused || !r.hasWork(planner.Todo(r.view.State)) {
		return nil
	}
	return r.engine.slots
}

// updateSlot frees the slot when the task has no use for it, and keeps
// waitingSince.
func (r *runner) updateSlot(todo []planner.Action) {
	busy, hasWork := false, r.hasWork(todo)
	for _, a := range r.running {
		busy = busy || a.needsSlot && !a.asked && !a.waits
	}
	if !busy && (!hasWork || r.paused) {
		r.releaseSlot()
	}
	switch {
	case !hasWork || r.slot && !r.paused:
		r.setWaiting(time.Time{})
	case r.waitingSince.IsZero():
		r.setWaiting(r.cfg.Now())
	default:
		r.setWaiting(r.waitingSince)
	}
}

func (r *runner) setWaiting(since time.Time) {
	r.waitingSince = since
	if since.IsZero() {
		r.entry.wantsSlotSince.Store(0)
	} else {
		r.entry.wantsSlotSince.Store(since.UnixNano())
	}
}

// quietWait is how long a task waits for its slot without an event about it.
const quietWait = time.Second

// slotAcquired takes note of the task's slot: the time that it waited for other
// tasks does not count as its own.
func (r *runner) slotAcquired(ctx context.Context) error {
	r.slot = true
	waited := r.cfg.Now().Sub(r.waitingSince)
	r.cfg.Metrics.SlotWaited(max(waited, 0))
	r.setWaiting(time.Time{})
	if waited < quietWait {
		return nil
	}
	return r.skip(ctx)
}

func (r *runner) releaseSlot() {
	if r.slot {
		<-r.engine.slots
		r.slot = false
	}
}

// remindAt returns when people are to be reminded of a question that was sent; zero
// for never.
func (r *runner) remindAt(a planner.Action) time.Time {
	if q := r.running[a.ID]; q == nil || !q.asked || q.reminded {
		return time.Time{}
	}
	return r.presenter.RemindAt(r.view, a)
}

// start begins an action, or reminds people of a question that was sent.
func (r *runner) start(ctx context.Context, a planner.Action, as *runningAction) {
	ctx, as.cancel = context.WithCancelCause(ctx)
	r.running[a.ID] = as
	view := r.view.Snapshot()
	r.work.Go(func() {
		var err error
		if as.reminded {
			err = r.presenter.Remind(ctx, view, a)
		} else {
			err = r.cfg.Executor.Do(ctx, view, a, r.presenter)
		}
		r.done <- finished{a.ID, err}
	})
}

// ended takes note of an action that returned. When Todo still lists the action,
// it has asked somebody, waits for a switch or a budget, or could not store its
// outcome. Its error ends the runner: another process works on the task, and nothing
// more may begin here.
func (r *runner) ended(ctx context.Context, f finished) error {
	if err := r.view.Refresh(ctx); err != nil && f.err == nil {
		f.err = err
	}
	r.running[f.action].cancel(nil)
	if errors.Is(f.err, tasks.ErrPaused) || errors.Is(f.err, executor.ErrHeld) { // just before it began
		delete(r.running, f.action)
		return nil
	}
	var a planner.Action // zero when it is not listed any more
	for _, t := range planner.Todo(r.view.State) {
		if t.ID == f.action {
			a = t
		}
	}
	if a.Kind == planner.KindAsk && f.err == nil {
		r.running[f.action].asked = true
		return nil
	} else if a.Kind != "" && f.err == nil && !a.Hold { // people began to be asked just before it began
		f.err = errStuck
	}
	delete(r.running, f.action)
	switch {
	case errors.Is(f.err, tasks.ErrFenced):
		return f.err
	case f.err == nil || a.Kind == "" || ctx.Err() != nil: // an action that is not listed any more was cancelled
		r.backoff = firstBackoff
	default:
		r.retryLater(ctx, "action failed", "action", f.action, "cause", f.err)
	}
	return nil
}

// errStuck is of an action that ended and that Todo lists still.
var errStuck = errors.New("the action left no event in the journal")

// retryLater logs an error; no action starts for a while.
func (r *runner) retryLater(ctx context.Context, message string, details ...any) {
	r.cfg.Log.ErrorContext(ctx, message, append(details, "task", r.entry.id, "in", r.backoff)...)
	r.retryAt = r.cfg.Now().Add(r.backoff + rand.N(r.backoff/4+1))
	r.backoff = min(2*r.backoff, lastBackoff)
}

// expire stores that the deadline is over.
func (r *runner) expire(ctx context.Context) {
	d := planner.Deadline(r.view.State)
	now := r.cfg.Now()
	if d.IsZero() || !r.waitingSince.IsZero() || now.Before(d) {
		return
	}
	err := r.append(ctx, planner.Expiry(r.view.State, now))
	if err == nil || errors.Is(err, tasks.ErrRefused) {
		r.backoff = firstBackoff
		return
	}
	r.retryLater(ctx, "storing the expiry failed", "cause", err)
}

func (r *runner) append(ctx context.Context, e planner.Event) error {
	e.At = r.cfg.Now()
	if err := r.cfg.Store.Append(ctx, r.entry.id, -1, 0, e); err != nil {
		return err
	}
	return r.view.Refresh(ctx)
}
