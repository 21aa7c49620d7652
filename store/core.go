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
	db       DB
	now      func() time.Time
	log      *slog.Logger
	metrics  *telemetry.Metrics // may be nil
	cache    *cache
	watch    watch
	contents Contents
	shelf
	freed atomic.Bool  // deleted data may still be in the files
	swept atomic.Int64 // when expired dedupe keys were looked for, in Unix seconds
}

// txn is one transaction: the records as they are with its changes, and what the
// changes mean for the time after it. The rules of each noun are a type over it.
//
// Rules return the errors that their callers treat: refusals and damaged records. Any
// other error they note with fail, and go on: a failed range ends, and a failed read
// finds nothing. The transaction returns the noted error at its end. The store keeps
// no change of it then, and the results of a view do not count.
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
	failed  error             // see fail
	folded  []foldedState     // states of the tasks that got events, the newest last
	changed []tasks.ID        // tasks that got an event, were dropped or deleted
	deleted []tasks.ID        // tasks that were deleted
	removed int               // events of deleted tasks
	entries []tasks.FeedEntry // for the feed, without cursors
	steps   []string          // names for failpoints
	counts  []func(*telemetry.Metrics)
	fed     uint64 // cursor that was given last; 0: none was given
	frees   bool   // something was deleted for good
	sweeps  bool   // expired dedupe keys were deleted
}

type foldedState struct {
	id    tasks.ID
	state planner.State
}

// begin returns a transaction over tx.
func (c *core) begin(tx Tx) *txn {
	return &txn{Tx: tx, core: c, time: c.now().Round(0).UTC()}
}

// read runs do over the committed records. It runs do again when the connection to the
// database breaks, so do begins with empty results.
func (c *core) read(ctx context.Context, doing string, do func(*txn)) error {
	for {
		err := c.view(ctx, doing, do)
		if !errors.Is(err, ErrBroken) || ctx.Err() != nil {
			return err
		}
	}
}

// view runs do once over the committed records. doing says in errors what the store
// was doing.
func (c *core) view(ctx context.Context, doing string, do func(*txn)) error {
	return wrap(doing, c.db.View(ctx, func(tx Tx) error {
		x := c.begin(tx)
		do(x)
		return x.failed
	}))
}

// update runs do as a transaction.
func (c *core) update(ctx context.Context, doing string, do func(*txn)) error {
	return wrap(doing, c.db.Update(ctx, func(tx Tx) (func(), error) {
		x := c.begin(tx)
		x.origin = tasks.OriginOf(ctx)
		do(x)
		feed{x}.add()
		if x.failed != nil {
			return nil, x.failed
		}
		for _, step := range x.steps {
			failpoint.Hit("commit.before." + step)
		}
		return x.publish, nil
	}))
}

// fail notes an error of the transaction, unless it is nil or not the first one.
func (x *txn) fail(err error) {
	if x.failed == nil {
		x.failed = err
	}
}

// publish makes a durable transaction known: to the cache, to those who wait for a
// task, and to the metrics.
func (x *txn) publish() {
	for _, step := range x.steps {
		failpoint.Hit("commit.after." + step)
	}
	x.cache.publish(&x.effects)
	if x.frees {
		x.freed.Store(true)
	}
	if x.sweeps {
		x.swept.Store(x.time.Unix())
	}
	x.watch.notify(x.changed)
	for _, count := range x.counts {
		count(x.metrics)
	}
}

// savepoint runs do and takes all its changes back when it fails. It returns that
// error, noted or not, and does not note it.
func (x *txn) savepoint(do func() error) error {
	below, before := x.Tx, x.effects
	over := NewOverlay(below)
	x.Tx, x.failed = over, nil
	err := do()
	if x.failed != nil {
		err = x.failed
	}
	x.Tx, x.failed = below, before.failed
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

// measure counts what one event changed for its task.
func (x *txn) measure(task taskRow, before, after planner.State, e planner.Event) {
	if x.metrics == nil {
		return
	}
	event := string(e.Type)
	x.count(func(m *telemetry.Metrics) { m.Stored(event) })
	platform := task.Chat.Platform
	switch {
	case e.Opening != nil:
		x.count(func(m *telemetry.Metrics) { m.TaskOpened(platform) })
	case e.Decision != nil:
		verdict := verdictOf(e.Decision)
		x.count(func(m *telemetry.Metrics) { m.Decided(verdict) })
	case e.Type == planner.Expired:
		for range questions(before) - questions(after) {
			x.count(func(m *telemetry.Metrics) { m.Decided("lapsed") })
		}
	}
	for i := range after.Subtasks {
		w := &after.Subtasks[i]
		if !w.State.Ended() || i < len(before.Subtasks) && before.Subtasks[i].State.Ended() {
			continue
		}
		name, state, took := w.Name, string(w.State), w.EndedAt.Sub(w.StartedAt)
		x.count(func(m *telemetry.Metrics) { m.SubtaskEnded(name, state, took) })
	}
	if after.Finished() && !before.Finished() {
		outcome, took := string(after.Outcome), after.Last.Sub(after.Opened)
		x.count(func(m *telemetry.Metrics) { m.TaskEnded(platform, outcome, took) })
	}
}

// questions is how many questions to people are open.
func questions(s planner.State) (n int) {
	for _, a := range planner.Todo(s) {
		if a.Kind == planner.KindAsk {
			n++
		}
	}
	return n
}

// verdictOf is a person's verdict, as the metrics name it.
func verdictOf(d *planner.Decision) string {
	switch {
	case d.Approve:
		return "approved"
	case len(d.Value) > 0 || d.Text != "":
		return "answered"
	}
	return "denied"
}
