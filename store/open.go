package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"legwork/bot"
	"legwork/internal/telemetry"
	"legwork/planner"
	"legwork/tasks"
)

// keepSeen is how long a repeated delivery is recognised.
const keepSeen = 48 * time.Hour

// Bounds of the deletion of expired dedupe keys.
const (
	sweepEvery  = time.Minute
	sweepAtOnce = 1000 // rows in a transaction
)

// Open implements tasks.Store.
func (j Journals) Open(ctx context.Context, batch []tasks.Inbound) (receipts []tasks.Receipt, err error) {
	ctx, span := telemetry.Start(ctx, telemetry.Internal, "store open")
	err = j.update(ctx, fmt.Sprintf("storing %d messages", len(batch)), func(x *txn) {
		receipts = make([]tasks.Receipt, len(batch))
		for i, in := range batch {
			receipts[i] = intake{x}.deliver(in)
		}
		intake{x}.sweep()
	})
	span.End(err)
	if err != nil {
		return nil, err
	}
	return receipts, nil
}

// Known implements tasks.Store.
func (j Journals) Known(ctx context.Context, key string) (r tasks.Receipt, found bool, err error) {
	err = j.read(ctx, "looking for a delivery", func(x *txn) { r, found = intake{x}.known(key) })
	return r, found, err
}

// intake stores deliveries, each once, within a transaction.
type intake struct{ *txn }

// known returns the receipt of a delivery with the same key; false when no such
// delivery came lately.
func (x intake) known(key string) (tasks.Receipt, bool) {
	if key == "" {
		return tasks.Receipt{}, false
	}
	before, ok := seenRows.load(x, key)
	if !ok || x.time.Sub(before.At) >= keepSeen {
		return tasks.Receipt{}, false
	}
	r := tasks.Receipt{Task: before.Task, Again: true}
	switch {
	case before.Refused:
		r.Err = tasks.ErrRefused
	case before.Missing:
		r.Err = tasks.ErrNoTask
	}
	return r, true
}

// remember stores what became of a delivery.
func (x *txn) remember(key string, s seenDelivery) {
	s.At = x.time
	seenRows.put(x, key, s)
	expiries.put(x, expiry{s.At, seenKey(key)}, struct{}{})
}

// deliver stores one delivery once. An error of the delivery itself is in the
// receipt.
func (x intake) deliver(in tasks.Inbound) (r tasks.Receipt) {
	if before, ok := x.known(in.Key); ok {
		timetable(x).skipFiring(in.Fire)
		return before
	}
	err := x.savepoint(func() (err error) {
		r, err = x.route(in)
		return err
	})
	if err != nil {
		r = tasks.Receipt{Err: err}
	}
	refused, missing := errors.Is(r.Err, tasks.ErrRefused), errors.Is(r.Err, tasks.ErrNoTask)
	if in.Key != "" && (r.Err == nil || missing || refused && in.Fire == nil) {
		x.remember(in.Key, seenDelivery{Task: r.Task, Refused: refused, Missing: missing})
	}
	return r
}

// route decides what a delivery becomes: an event of a running task, a cut, or a
// new task.
func (x intake) route(in tasks.Inbound) (tasks.Receipt, error) {
	if in.To != "" {
		seq, err := x.addToTask(in)
		if err == nil || in.Open == nil {
			return tasks.Receipt{Task: in.To, Seq: seq, Err: err}, nil
		}
	}
	if in.Cut {
		if err := checkConversation(in.Chat); err != nil {
			return tasks.Receipt{}, err
		}
		cuts.put(x, in.Chat.Key(), x.newest())
	}
	if in.Open == nil {
		return tasks.Receipt{}, nil
	}
	if err := timetable(x).fire(in); err != nil {
		return tasks.Receipt{}, err
	}
	return tasks.Receipt{Task: in.ID, Seq: 1, Opened: true}, x.open(in)
}

// newest returns the order of the task that was opened last; 0 before any.
func (x *txn) newest() uint64 {
	order, _ := metaNumbers.load(x, metaOrder)
	return order
}

// addToTask appends a delivery's event to a running task. It returns the event's
// number, or 0 with an error.
func (x intake) addToTask(in tasks.Inbound) (seq int, err error) {
	err = x.savepoint(func() error {
		first := len(x.entries)
		err := journals(x).append(in.To, -1, 0, in.Event)
		if err == nil {
			seq = x.entries[first].Seq // what follows from it comes after it
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return seq, nil
}

// open opens a task: its row, its place in the conversation, its first event and its
// half of the history.
func (x intake) open(in tasks.Inbound) error {
	if err := checkNames(in); err != nil {
		return err
	}
	if in.Open.Type != planner.Opened || in.Open.Opening == nil {
		return fmt.Errorf("opening task %q: the delivery has no opening", in.ID)
	}
	if taskRows.has(x, in.ID) {
		return fmt.Errorf("opening task %q: it exists", in.ID)
	}
	task := taskRow{Chat: in.Chat, From: in.Open.Opening.From, Order: x.newest() + 1, Last: 1}
	lane := lanes(x).read(in.Chat.Key())
	e := *in.Open
	opening := *e.Opening
	opening.Queued = lane.add(in.ID, task)
	e.Opening = &opening
	e, after, err := journals(x).fold(in.ID, planner.State{}, e)
	if err == nil {
		err = uses(x).refer(in.ID, in.Chat.Room(), e.Contents())
	}
	if err != nil {
		return err
	}
	x.measure(task, planner.State{}, after, e)
	metaNumbers.put(x, metaOrder, task.Order)
	taskRows.put(x, in.ID, task)
	lane.write()
	turns(x).put(in.Chat.Key(), historyRow{Order: task.Order, Task: in.ID, From: task.From.Key(), Labels: after.Labels(), At: e.At, Brought: e.Opening.Brought(), Text: e.Opening.Goal})
	row := openedListing(in.ID, task, e)
	index(x).follow(&row, after, e)
	index(x).replace(listing{}, row)
	audit(x).note(in.ID, e)
	return nil
}

// checkNames refuses names that are too long to store.
func checkNames(in tasks.Inbound) error {
	odd := func(r rune) bool { return r <= ' ' || r >= 0x7f }
	if in.ID == "" || len(in.ID) > 64 || strings.IndexFunc(string(in.ID), odd) >= 0 {
		return fmt.Errorf("opening task %q: the id is not one word of at most 64 ASCII characters", in.ID)
	}
	return checkConversation(in.Chat)
}

func checkConversation(c bot.Chat) error {
	if n := len(c.Key()); c.ID == "" || n > MaxName {
		return fmt.Errorf("conversation of %d bytes: it must have an id and at most %d bytes", n, MaxName)
	}
	return nil
}

// sweep deletes rows of seen that have expired, from time to time.
func (x intake) sweep() {
	if since := x.time.Unix() - x.swept.Load(); since >= 0 && since < int64(sweepEvery/time.Second) {
		return
	}
	var old [][]byte
	for r := range records(x, TableExpiry, nil, expiryKey(expiry{at: x.time.Add(-keepSeen)}), Ascending) {
		if old = append(old, r.Key); len(old) == sweepAtOnce {
			break
		}
	}
	x.sweeps = len(old) < sweepAtOnce
	for _, key := range old {
		x.expire(key)
	}
}

// expire deletes an entry of expiry with its row. A dedupe key that was used again
// after it had expired has a newer row, which stays.
func (x intake) expire(key []byte) {
	x.fail(x.Delete(TableExpiry, key))
	if len(key) < 8 {
		return
	}
	r := Record{Key: key[8:]}
	var err error
	r.Value, err = x.Get(TableSeen, r.Key)
	x.fail(err)
	if s, damaged := seenRows.read(r); damaged != nil || uint64(s.At.UnixNano()) == numberOf(key[:8]) {
		x.fail(x.Delete(TableSeen, r.Key))
	}
}
