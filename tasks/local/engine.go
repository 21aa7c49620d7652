// Package local is the engine of a single process: one goroutine per live
// task, which starts what the journal wants and stops what it no longer wants.
package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"legwork/bot"
	"legwork/failpoint"
	"legwork/tasks"
)

// Engine runs the tasks of a store. It implements tasks.Engine.
type Engine struct {
	cfg   Config
	slots chan struct{} // one per task that may work at a time

	mu      sync.Mutex
	running map[tasks.ID]bool
	woken   []tasks.ID    // not yet looked at by Run
	bell    chan struct{} // rings when woken has something
	work    sync.WaitGroup
}

// Config is what an Engine works with. All fields are needed.
type Config struct {
	Store      tasks.Store
	Executor   *tasks.Executor
	Log        *slog.Logger
	Now        func() time.Time
	Concurrent int // tasks that work at a time; further ones wait their turn
}

// New makes an engine; nothing happens before Run.
func New(cfg Config) *Engine {
	return &Engine{
		cfg: cfg, slots: make(chan struct{}, max(1, cfg.Concurrent)),
		running: map[tasks.ID]bool{}, bell: make(chan struct{}, 1),
	}
}

// Wake makes sure that a task is looked after, as soon as Run runs. It returns
// at once.
func (e *Engine) Wake(_ context.Context, id tasks.ID) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running[id] {
		return nil
	}
	e.woken = append(e.woken, id)
	select {
	case e.bell <- struct{}{}:
	default:
	}
	return nil
}

// Run takes up every live task of the store, then those that are woken, until
// ctx ends; it returns after all their goroutines have.
func (e *Engine) Run(ctx context.Context) error {
	defer e.work.Wait()
	live, err := e.cfg.Store.Live(ctx, "")
	if err != nil {
		return fmt.Errorf("listing live tasks: %w", err)
	}
	for _, l := range live {
		if !failpoint.Fault("resume-off") {
			e.start(ctx, l.Task, true)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.bell:
			e.mu.Lock()
			woken := e.woken
			e.woken = nil
			e.mu.Unlock()
			for _, id := range woken {
				e.start(ctx, id, false)
			}
		}
	}
}

// start looks after a task in a goroutine of its own, unless one does already.
func (e *Engine) start(ctx context.Context, id tasks.ID, resumed bool) {
	e.mu.Lock()
	known := e.running[id]
	e.running[id] = true
	e.mu.Unlock()
	if known {
		return
	}
	e.work.Go(func() {
		e.care(ctx, id, resumed)
		e.mu.Lock()
		delete(e.running, id)
		e.mu.Unlock()
	})
}

// care looks after a task, again and again while its journal cannot be read or
// written.
func (e *Engine) care(ctx context.Context, id tasks.ID, resumed bool) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := e.look(ctx, id, resumed)
		if err == nil || ctx.Err() != nil || !e.retries(ctx, id, err, pause) {
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

// look runs one task until it is over or ctx ends.
func (e *Engine) look(ctx context.Context, id tasks.ID, resumed bool) error {
	r := newRunner(e, id)
	changed := e.cfg.Store.Changed(id)
	err := r.open(ctx)
	if err == nil && !r.over() {
		err = r.run(ctx, changed, resumed)
	}
	if errors.Is(err, tasks.ErrDamaged) {
		return e.abandon(ctx, id, err)
	}
	return err
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
	if chat != nil {
		if p, err := e.cfg.Executor.Present(id, *chat); err == nil {
			p.Notice(ctx, "", "problem.damaged")
		}
	}
	return cause
}
