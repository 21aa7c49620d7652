// Package engine is the engine of a single process: a goroutine for each task
// that has something to do, which starts what the journal wants and stops what it
// no longer wants. Those that wait are names in a line.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"legwork/bot"
	"legwork/internal/telemetry"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/executor"
	"legwork/tasks/presenter"
)

// Engine runs the tasks of a store. It implements tasks.Engine.
type Engine struct {
	cfg   Config
	slots chan struct{} // one per task that may work at a time
	desk  *desk
	work  sync.WaitGroup
}

// Config is what an Engine works with. All fields but Pause and Room are needed.
type Config struct {
	Store      tasks.Store
	Executor   *executor.Executor
	Presenters *presenter.Presenters
	Log        *slog.Logger
	Now        func() time.Time
	Concurrent int          // tasks that work at a time; further ones wait their turn
	Pause      *tasks.Pause // the switch for everything; nil: never set
	// Room is how many tasks of a platform are in memory at a time, those that
	// wait for their turn to work included. 0: four times Concurrent, and at
	// least 64.
	Room int
	// Damaged hears of each task that was dropped because a record of it is
	// damaged. Nil: nobody does.
	Damaged func(ctx context.Context, id tasks.ID, cause error)
	// Metrics count how long tasks wait for their turn to work; may be nil.
	Metrics *telemetry.Metrics
}

// New makes an engine; nothing happens before Run.
func New(cfg Config) *Engine {
	cfg.Concurrent = max(1, cfg.Concurrent)
	if cfg.Room == 0 {
		cfg.Room = max(64, 4*cfg.Concurrent)
	}
	return &Engine{cfg: cfg, slots: make(chan struct{}, cfg.Concurrent), desk: newDesk(cfg.Room, cfg.Now)}
}

// Wake makes sure that a task is looked after, as soon as Run runs. It returns
// at once.
func (e *Engine) Wake(_ context.Context, id tasks.ID) error {
	e.desk.changed(id, true)
	return nil
}

// Load is how many live tasks there are for which legwork works: not those that
// agents from outside work on.
func (e *Engine) Load() int { return e.desk.load() }

// Run takes up every live task of the store, then those that are woken, until
// ctx ends; it returns after all their goroutines have.
func (e *Engine) Run(ctx context.Context) error {
	defer e.work.Wait()
	defer e.cfg.Store.Follow(func(id tasks.ID) { e.desk.changed(id, false) })()
	paused := e.cfg.Pause.Changed()
	live, err := e.cfg.Store.Live(ctx, "")
	if err != nil {
		return fmt.Errorf("listing live tasks: %w", err)
	}
	for _, l := range live {
		e.desk.admit(l.Task, l.Chat, true)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-paused:
			paused = e.cfg.Pause.Changed()
			e.desk.stirAll()
		case <-e.desk.bell:
		case <-timer.C:
		}
		for _, id := range e.desk.unknown() {
			e.admit(ctx, id)
		}
		timer.Reset(e.desk.due())
		for f := e.desk.next(); f != nil; f = e.desk.next() {
			e.work.Go(func() { e.care(ctx, f) })
		}
	}
}

// admit finds out where a task belongs. What cannot be read is looked at all the
// same, so that it is dropped in order.
func (e *Engine) admit(ctx context.Context, id tasks.ID) {
	first, err := e.cfg.Store.Event(ctx, id, 1)
	switch {
	case errors.Is(err, tasks.ErrNoTask):
		e.desk.forget(id)
	case err != nil || first.Opening == nil:
		e.desk.admit(id, bot.Chat{}, false)
	default:
		e.desk.admit(id, first.Opening.Chat, false)
	}
}

// care looks after a task, again and again while its journal cannot be read or
// written.
func (e *Engine) care(ctx context.Context, f *file) {
	ctx = telemetry.About(ctx, telemetry.Subject{Task: string(f.id), Chat: f.chat.Key()})
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		rest, err := e.look(ctx, f)
		if err == nil && rest != nil {
			e.desk.rest(f, *rest)
			return
		}
		if err == nil || ctx.Err() != nil || !e.retries(ctx, f.id, err, pause) {
			e.desk.close(f)
			return
		}
	}
}

// retries reports an error of a task and waits before the next look; false when
// there is to be none.
func (e *Engine) retries(ctx context.Context, id tasks.ID, err error, pause time.Duration) bool {
	e.cfg.Log.ErrorContext(ctx, "a task cannot go on", "task", id, "cause", err)
	if errors.Is(err, tasks.ErrDamaged) || errors.Is(err, tasks.ErrNoTask) {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}

// look works on a task until it is over, ctx ends, or it can rest.
func (e *Engine) look(ctx context.Context, f *file) (*rest, error) {
	if r := e.alone(ctx, f); r != nil {
		return r, nil
	}
	r := newRunner(e, f)
	err := r.open(ctx)
	var rests *rest
	if err == nil && !r.over() {
		f.live = true
		rests, err = r.run(ctx)
	}
	if err == nil && r.over() && f.live { // not when somebody wakes it that was over before
		e.cfg.Executor.Ended(ctx, r.view)
	}
	if errors.Is(err, tasks.ErrDamaged) {
		return nil, e.abandon(ctx, f.id, err)
	}
	return rests, err
}

// abandon takes a damaged task out of the way of those behind it and tells its
// chat.
func (e *Engine) abandon(ctx context.Context, id tasks.ID, cause error) error {
	live, err := e.cfg.Store.Live(ctx, "")
	if err != nil {
		return errors.Join(cause, err)
	}
	var chat *bot.Chat
	for _, l := range live {
		if l.Task == id {
			chat = &l.Chat
		}
	}
	if err := e.cfg.Store.Drop(ctx, id); err != nil {
		return errors.Join(cause, fmt.Errorf("dropping task: %w", err))
	}
	if e.cfg.Damaged != nil {
		e.cfg.Damaged(ctx, id, cause)
	}
	if chat != nil {
		if p, err := e.cfg.Presenters.Open(id, &planner.Opening{Chat: *chat}); err == nil {
			p.Notice(ctx, "", "problem.damaged")
		}
	}
	return cause
}
