package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/executor"
	"legwork/tasks/presenter"
)

// runner is the reconcile loop of one task: it starts what Todo lists and is
// not running, and cancels what runs and is no longer listed.
type runner struct {
	e         *Engine
	file      *file
	id        tasks.ID
	view      *tasks.View
	presenter *presenter.Presenter

	running map[planner.ActionID]*deed // by action id; only run touches it
	done    chan finished
	slot    bool      // holds one of the engine's slots
	starved time.Time // since when it waits for one, or for the end of a pause; zero when it does not
	told    int       // seq up to which the presenter knows the journal
	paused  bool      // everything is, as reconcile saw it
	work    sync.WaitGroup
	pause   time.Duration // before a failed action is tried again
	again   time.Time     // no action starts before; zero: at once
}

// deed is an action that was started.
type deed struct {
	cancel context.CancelFunc
	parked bool // done, and listed still: a question that was asked
	pays   bool // it needs the task's slot
	waits  bool // it needs none now: it waits for a person
}

type finished struct {
	action planner.ActionID
	err    error
}

// Between the tries of an action whose outcome the store did not take.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 30 * time.Second
)

func newRunner(e *Engine, f *file) *runner {
	r := &runner{
		e: e, file: f, id: f.id, view: tasks.NewView(e.cfg.Store, f.id),
		running: map[planner.ActionID]*deed{}, done: make(chan finished), pause: max(firstPause, f.pause), starved: f.starved,
	}
	if r.starved.IsZero() && !f.resumed {
		r.starved = f.since
	}
	return r
}

// open reads the journal, and makes the presenter of a task that is not over.
func (r *runner) open(ctx context.Context) (err error) {
	if err = r.view.Refresh(ctx); err != nil {
		return fmt.Errorf("reading journal: %w", err)
	}
	if !r.over() {
		r.presenter, err = r.e.cfg.Presenters.Open(r.id, r.view.Opening())
	}
	if err == nil && r.presenter != nil {
		r.presenter.Recall(r.file.seen)
	}
	return err
}

// run reconciles until the task is over, ctx ends or the task can rest.
func (r *runner) run(ctx context.Context) (rests *rest, err error) {
	ctx, cancel := context.WithCancel(ctx)
	timer := time.NewTimer(time.Hour)
	defer func() { // one, as each takes room on the stack
		timer.Stop()
		r.free()
		cancel()
		r.work.Wait()
	}()
	r.work.Go(func() { r.presenter.Run(ctx) })
	if r.file.resumed {
		if err := r.resume(ctx); err != nil {
			return nil, err
		}
		r.file.resumed = false
	}
	for err == nil && !r.over() && ctx.Err() == nil { // what ended as ctx did may not be in the view: nothing must start
		r.tell()
		timer.Reset(r.reconcile(ctx))
		if rests = r.rests(); rests != nil {
			return rests, nil
		}
		select {
		case <-ctx.Done():
			continue
		case <-r.presenter.Frames():
			continue
		case <-r.file.poke:
		case f := <-r.done:
			r.ended(ctx, f)
		case r.wantSlot() <- struct{}{}:
			r.slot = true
			err = r.fed(ctx)
		case <-timer.C:
			r.expire(ctx)
		}
		if err == nil {
			err = r.view.Refresh(ctx)
		}
	}
	r.cancelAll()
	r.drain()
	if ctx.Err() != nil {
		return nil, nil //nolint:nilnil // it is not over, and does not rest: the engine ends
	}
	return nil, err
}

// tell shows the presenter what is new.
func (r *runner) tell() {
	if r.told != r.view.State.Seq {
		r.told = r.view.State.Seq
		r.presenter.Update(r.view.Snapshot())
	}
}

// over reports that nothing is left to do. It copies no state: what stands on
// the stack of a task that waits is there as often as there are tasks.
func (r *runner) over() bool { return r.view.State.Phase == planner.PhaseOver }

// resume notes that the time before was nobody's work.
func (r *runner) resume(ctx context.Context) error {
	if s := &r.view.State; s.Phase == planner.PhaseShared || planner.Deadline(*s).IsZero() {
		return nil
	}
	return r.skip(ctx)
}

// skip notes that the time since the last event was nobody's work.
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
		if d := r.running[a.ID]; d != nil {
			d.waits = a.Waits
		}
	}
	for id, d := range r.running {
		if !listed[id] {
			d.cancel()
			if d.parked {
				delete(r.running, id)
			}
		}
	}
	r.notePause()
	hungry := r.eligible(todo)
	if !r.busy() && (!hungry || r.paused) {
		r.free()
	}
	now := r.e.cfg.Now()
	if !hungry || r.slot && !r.paused {
		r.starved = time.Time{}
	} else if r.starved.IsZero() {
		r.starved = now
	}
	r.file.wants(r.starved)
	if !now.Before(r.again) {
		for _, a := range todo {
			if r.running[a.ID] == nil && !a.Hold && (r.slot && !r.paused || !pays(a)) {
				r.start(ctx, a)
			}
		}
	}
	return r.next(now)
}

// next is how long to wait at most: for the deadline, or until what failed may
// be tried again.
func (r *runner) next(now time.Time) time.Duration {
	pause := r.again.Sub(now)
	wait := longestWait
	if d := planner.Deadline(r.view.State); !d.IsZero() && r.starved.IsZero() {
		wait = min(wait, max(d.Sub(now), pause, 0))
	}
	if pause > 0 {
		wait = min(wait, pause)
	}
	return wait
}

// notePause has the board say so when everything was paused or goes on.
func (r *runner) notePause() {
	if _, paused := r.e.cfg.Pause.State(); paused != r.paused {
		r.paused = paused
		r.presenter.Again()
	}
}

func (r *runner) start(ctx context.Context, a planner.Action) {
	ctx, cancel := context.WithCancel(ctx)
	r.running[a.ID] = &deed{cancel: cancel, pays: pays(a)}
	view := r.view.Snapshot()
	r.work.Go(func() {
		err := r.e.cfg.Executor.Do(ctx, view, a, r.presenter)
		r.done <- finished{a.ID, err}
	})
}

// ended takes note of an action that returned. One that is listed still has
// asked somebody, waits for a switch or a budget, or could not store its outcome.
func (r *runner) ended(ctx context.Context, f finished) {
	if err := r.view.Refresh(ctx); err != nil && f.err == nil {
		f.err = err
	}
	d := r.running[f.action]
	if d != nil {
		d.cancel()
	}
	if errors.Is(f.err, tasks.ErrPaused) || errors.Is(f.err, executor.ErrHeld) { // it was about to begin in that moment
		delete(r.running, f.action)
		return
	}
	a := r.listed(f.action)
	if a.Kind == planner.KindAsk && f.err == nil {
		d.parked = true
		return
	} else if a.Kind != "" && f.err == nil && !a.Hold { // it was about to begin as people began to be asked
		f.err = errStuck
	}
	delete(r.running, f.action)
	if f.err == nil || a.Kind == "" || ctx.Err() != nil { // what is not wanted any more was cancelled
		r.pause = firstPause
		return
	}
	r.e.cfg.Log.ErrorContext(ctx, "an action failed and will be tried again", "task", r.id, "action", f.action, "in", r.pause, "cause", f.err)
	r.again = r.e.cfg.Now().Add(r.pause + rand.N(r.pause/4+1))
	r.pause = min(2*r.pause, lastPause)
}

// errStuck says that an action left no trace in the journal.
var errStuck = errors.New("it is done and yet still wanted")

// listed is an action that is still wanted; its zero value for none.
func (r *runner) listed(action planner.ActionID) planner.Action {
	for _, a := range planner.Todo(r.view.State) {
		if a.ID == action {
			return a
		}
	}
	return planner.Action{}
}

func (r *runner) expire(ctx context.Context) {
	d := planner.Deadline(r.view.State)
	now := r.e.cfg.Now()
	if d.IsZero() || !r.starved.IsZero() || now.Before(d) {
		return
	}
	err := r.append(ctx, planner.Expiry(r.view.State, now))
	if err == nil || errors.Is(err, tasks.ErrRefused) {
		r.pause = firstPause
		return
	}
	r.e.cfg.Log.ErrorContext(ctx, "a deadline could not be stored", "task", r.id, "in", r.pause, "cause", err)
	r.again = r.e.cfg.Now().Add(r.pause)
	r.pause = min(2*r.pause, lastPause)
}

func (r *runner) append(ctx context.Context, e planner.Event) error {
	e.At = r.e.cfg.Now()
	if err := r.e.cfg.Store.Append(ctx, r.id, -1, 0, e); err != nil {
		return err
	}
	return r.view.Refresh(ctx)
}

func (r *runner) cancelAll() {
	for _, d := range r.running {
		d.cancel()
	}
}

// drain waits for the actions that run.
func (r *runner) drain() {
	for _, d := range r.running {
		if !d.parked {
			<-r.done
		}
	}
}
