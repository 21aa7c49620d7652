// Package store keeps tasks: journals, conversations, settings, budgets, lists and
// everything else that tasks.Store promises. All of it is records under sorted keys,
// and this package holds the rules for them once, over a small transaction (Tx).
// The packages below it bring that transaction on a database.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"legwork/internal/failpoint"
	"legwork/internal/telemetry"
	"legwork/planner"
	"legwork/tasks"
)

// core is what all parts of a store share.
type core struct {
	db      DB
	now     func() time.Time
	log     *slog.Logger
	metrics *telemetry.Metrics // may be nil
	cache   *cache
	watch   watch
	freed   atomic.Bool  // deleted data may still be in the files
	swept   atomic.Int64 // when expired dedupe keys were looked for, in Unix seconds
}

// txn is one transaction: the records as they are with its changes, and what the
// changes mean for the time after it. The rules of each noun are a type over it.
type txn struct {
	Tx
	*core
	time   time.Time // of the transaction
	origin tasks.Origin
	effects
}

// effects are what a transaction does besides its records. A savepoint that fails
// takes back what was appended after it.
type effects struct {
	kept    int               // how many of folded are from before the savepoint
	folded  []foldedState     // states of the tasks that got events, the newest last
	changed []tasks.ID        // tasks that got an event, were dropped or deleted
	deleted []tasks.ID        // tasks that were deleted
	entries []tasks.FeedEntry // for the feed, without cursors
	steps   []string          // names for failpoints
	counts  []func(*telemetry.Metrics)
	fed     uint64 // cursor that was given last; 0: none was given
	frees   bool   // something was deleted for good
	sweeps  bool   // expired dedupe keys were deleted
}

// fold keeps the state of a task that got an event.
func (e *effects) fold(id tasks.ID, state planner.State) {
	if n := len(e.folded); n > e.kept && e.folded[n-1].id == id {
		e.folded[n-1].state = state
		return
	}
	e.folded = append(e.folded, foldedState{id, state})
}

type foldedState struct {
	id    tasks.ID
	state planner.State
}

// begin returns a transaction over tx.
func (c *core) begin(tx Tx) *txn {
	return &txn{Tx: tx, core: c, time: c.now().Round(0).UTC()}
}

// view runs do over the committed records. It runs it again when the connection to
// the database breaks, so do begins with empty results.
func (c *core) view(ctx context.Context, doing string, do func(*txn) error) error {
	for {
		err := c.db.View(ctx, func(tx Tx) error { return do(c.begin(tx)) })
		if !errors.Is(err, ErrBroken) || ctx.Err() != nil {
			return wrap(doing, err)
		}
	}
}

// update runs do as a transaction. doing says in errors what the store was doing.
func (c *core) update(ctx context.Context, doing string, do func(*txn) error) error {
	return wrap(doing, c.db.Update(ctx, func(tx Tx) (func(), error) {
		x := c.begin(tx)
		x.origin = tasks.OriginOf(ctx)
		if err := do(x); err != nil {
			return nil, err
		}
		if err := (feed{x}).add(); err != nil {
			return nil, err
		}
		for _, step := range x.steps {
			failpoint.Hit("commit.before." + step)
		}
		return x.publish, nil
	}))
}

// publish makes a durable transaction known: to the cache, to those who wait for a
// task, and to the metrics.
func (x *txn) publish() {
	for _, step := range x.steps {
		failpoint.Hit("commit.after." + step)
	}
	x.cache.publish(&x.effects)
	if x.frees {
		x.core.freed.Store(true)
	}
	if x.sweeps {
		x.core.swept.Store(x.time.Unix())
	}
	x.watch.notifyAll(x.changed)
	if x.metrics != nil {
		for _, count := range x.counts {
			count(x.metrics)
		}
	}
}

// savepoint runs do and takes all its changes back when it fails.
func (x *txn) savepoint(do func() error) error {
	below, before := x.Tx, x.effects
	over := NewOverlay(below)
	x.Tx, x.kept = over, len(x.folded)
	err := do()
	x.Tx, x.kept = below, before.kept
	if err != nil {
		x.effects = before
		return err
	}
	return over.Flush()
}

// step names what the transaction does, for failpoints.
func (x *txn) step(name string) { x.steps = append(x.steps, name) }

// count counts something once the transaction is durable.
func (x *txn) count(do func(*telemetry.Metrics)) {
	if x.metrics != nil {
		x.counts = append(x.counts, do)
	}
}

// skip logs a damaged record that is left out.
func (x *txn) skip(t Table, key []byte, cause error) {
	x.log.Error("damaged record skipped", "record", describe(t, key), "cause", cause)
}

// wrap adds to an error what the store was doing.
func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
