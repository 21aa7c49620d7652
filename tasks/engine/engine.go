// Package engine is the engine of a single process. Each task that has something
// to do has a goroutine, its runner, which starts the actions that the journal
// wants and cancels those that it no longer wants. A task that waits has no runner.
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
	cfg        Config
	slots      chan struct{} // one per task that may work at a time
	dispatcher *dispatcher
	runners    sync.WaitGroup
}

// Config is what an Engine works with. Store, Executor, Presenters, Log and Now
// are needed.
type Config struct {
	Store      tasks.Store
	Executor   *executor.Executor
	Presenters *presenter.Presenters
	Log        *slog.Logger
	Now        func() time.Time
	Concurrent int          // tasks that work at a time; further ones wait for a slot
	Pause      *tasks.Pause // the switch for everything; nil: never set
	// InMemory is how many tasks of a platform are in memory at a time, including
	// those that wait for a slot. 0: four times Concurrent, and at least 64.
	InMemory int
	// Damaged is called for each task that was dropped because a record of it is
	// damaged. May be nil.
	Damaged func(ctx context.Context, id tasks.ID, cause error)
	// Metrics count how long tasks wait for a slot; may be nil.
	Metrics *telemetry.Metrics
}

// New makes an engine; nothing happens before Run.
func New(cfg Config) *Engine {
	cfg.Concurrent = max(1, cfg.Concurrent)
	if cfg.InMemory == 0 {
		cfg.InMemory = max(64, 4*cfg.Concurrent)
	}
	return &Engine{cfg: cfg, slots: make(chan struct{}, cfg.Concurrent), dispatcher: newDispatcher(cfg.InMemory, cfg.Now)}
}

// Wake makes sure that a task is looked at as soon as Run runs. It returns at
// once.
func (e *Engine) Wake(_ context.Context, id tasks.ID) error {
	e.dispatcher.notify(id, true)
	return nil
}

// Load is how many live tasks there are for which legwork works: not those that
// agents from outside work on.
func (e *Engine) Load() int { return e.dispatcher.load() }

// QueueDelay is how long the first of the waiting tasks has been waiting for
// memory or for a slot; 0 when none waits.
func (e *Engine) QueueDelay() time.Duration { return e.dispatcher.queueDelay() }

// Run takes up every live task of the store, then those that are woken, until
// ctx ends; it returns after all their goroutines have.
func (e *Engine) Run(ctx context.Context) error {
	defer e.runners.Wait()
	defer e.cfg.Store.Follow(func(id tasks.ID) { e.dispatcher.notify(id, false) })()
	paused := e.cfg.Pause.Changed()
	live, err := e.cfg.Store.Live(ctx, "")
	if err != nil {
		return fmt.Errorf("listing live tasks: %w", err)
	}
	for _, l := range live {
		e.dispatcher.admit(l.Task, l.Chat, true)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-paused:
			paused = e.cfg.Pause.Changed()
			e.dispatcher.notifyAll()
		case <-e.dispatcher.wake:
		case <-timer.C:
		}
		for _, id := range e.dispatcher.takeUnread() {
			e.admit(ctx, id)
		}
		timer.Reset(e.dispatcher.fireTimers())
		for t := e.dispatcher.next(); t != nil; t = e.dispatcher.next() {
			e.runners.Go(func() { e.supervise(ctx, t) })
		}
	}
}

// admit finds the chat of a task. A task that cannot be read gets a runner too,
// which drops it in order.
func (e *Engine) admit(ctx context.Context, id tasks.ID) {
	first, err := e.cfg.Store.Event(ctx, id, 1)
	switch {
	case errors.Is(err, tasks.ErrNoTask):
		e.dispatcher.forget(id)
	case err != nil || first.Opening == nil:
		e.dispatcher.admit(id, bot.Chat{}, false)
	default:
		e.dispatcher.admit(id, first.Opening.Chat, false)
	}
}

// supervise runs a task, again and again while its journal cannot be read or
// written.
func (e *Engine) supervise(ctx context.Context, t *entry) {
	ctx = telemetry.About(ctx, telemetry.Subject{Task: string(t.id), Chat: t.chat.Key()})
	for backoff := firstBackoff; ; backoff = min(2*backoff, lastBackoff) {
		p, err := e.runOnce(ctx, t)
		if err == nil && p != nil {
			e.dispatcher.park(t, *p)
			return
		}
		if err == nil || ctx.Err() != nil || !e.waitForRetry(ctx, t.id, err, backoff) {
			e.dispatcher.remove(t)
			return
		}
	}
}

// waitForRetry logs an error of a task and waits before the next try; false when
// there is to be none.
func (e *Engine) waitForRetry(ctx context.Context, id tasks.ID, err error, backoff time.Duration) bool {
	e.cfg.Log.ErrorContext(ctx, "task interrupted", "task", id, "cause", err)
	if tasks.Unreadable(err) || errors.Is(err, tasks.ErrFenced) {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(backoff):
		return true
	}
}

// runOnce works on a task until it is over, ctx ends, or it can be parked.
func (e *Engine) runOnce(ctx context.Context, t *entry) (*parked, error) {
	if p := e.parkShared(ctx, t); p != nil {
		return p, nil
	}
	r := newRunner(e, t)
	err := r.open(ctx)
	var p *parked
	if err == nil && !r.over() {
		t.live = true
		p, err = r.run(ctx)
	}
	if err == nil && r.over() && t.live { // not when a task is woken that was over before
		e.cfg.Executor.Ended(ctx, r.view)
	}
	if errors.Is(err, tasks.ErrDamaged) {
		return nil, e.abandon(ctx, t.id, err)
	}
	return p, err
}

// abandon drops a damaged task, so that the tasks behind it go on, and tells its
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
