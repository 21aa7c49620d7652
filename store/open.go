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
	err = j.update(ctx, fmt.Sprintf("storing %d messages", len(batch)), func(x *txn) error {
		receipts = make([]tasks.Receipt, len(batch))
		for i, in := range batch {
			r, err := intake{x}.deliver(in)
			if err != nil {
				return err
			}
			receipts[i] = r
		}
		return intake{x}.sweep()
	})
	span.End(err)
	if err != nil {
		return nil, err
	}
	return receipts, nil
}

// Known implements tasks.Store.
func (j Journals) Known(ctx context.Context, key string) (r tasks.Receipt, found bool, err error) {
	err = j.view(ctx, "looking for a delivery", func(x *txn) error {
		r, found, err = intake{x}.known(key)
		return err
	})
	return r, found, err
}

// intake stores deliveries, each once, within a transaction.
type intake struct{ *txn }

// known returns the receipt of a delivery with the same key; false when no such
// delivery came lately.
func (x intake) known(key string) (tasks.Receipt, bool, error) {
	if key == "" {
		return tasks.Receipt{}, false, nil
	}
	before, ok, err := seenRows.get(x, key)
	if err != nil || !ok || x.time.Sub(before.At) >= keepSeen {
		return tasks.Receipt{}, false, err
	}
	r := tasks.Receipt{Task: before.Task, Again: true}
	switch {
	case before.Refused:
		r.Err = tasks.ErrRefused
	case before.Missing:
		r.Err = tasks.ErrNoTask
	}
	return r, true, nil
}

// remember stores what became of a delivery.
func (x *txn) remember(key string, s seenDelivery) error {
	s.At = x.time
	if err := seenRows.put(x, key, s); err != nil {
		return err
	}
	return expiries.put(x, expiry{s.At, seenKey(key)}, struct{}{})
}

// deliver stores one delivery once. An error means that the records could not be
// read or written; the error of the delivery itself is in the receipt.
func (x intake) deliver(in tasks.Inbound) (tasks.Receipt, error) {
	before, ok, err := x.known(in.Key)
	if err != nil {
		return tasks.Receipt{}, err
	}
	if ok {
		return before, timetable(x).skipFiring(in.Fire)
	}
	var r tasks.Receipt
	err = x.savepoint(func() error {
		var err error
		r, err = x.route(in)
		return err
	})
	if err != nil {
		r = tasks.Receipt{Err: err}
	}
	refused, missing := errors.Is(r.Err, tasks.ErrRefused), errors.Is(r.Err, tasks.ErrNoTask)
	if in.Key == "" || r.Err != nil && !missing && (!refused || in.Fire != nil) {
		return r, nil
	}
	return r, x.remember(in.Key, seenDelivery{Task: r.Task, Refused: refused, Missing: missing})
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
		order, _, err := metaNumbers.get(x, metaOrder)
		if err == nil {
			err = cuts.put(x, in.Chat.Key(), order)
		}
		if err != nil {
			return tasks.Receipt{}, err
		}
	}
	if in.Open == nil {
		return tasks.Receipt{}, nil
	}
	if err := timetable(x).fire(in); err != nil {
		return tasks.Receipt{}, err
	}
	if err := x.open(in); err != nil {
		return tasks.Receipt{}, err
	}
	return tasks.Receipt{Task: in.ID, Seq: 1, Opened: true}, nil
}

// addToTask appends a delivery's event to a running task. It returns the event's
// number, or 0 with an error.
func (x intake) addToTask(in tasks.Inbound) (seq int, err error) {
	err = x.savepoint(func() error {
		first := len(x.entries)
		if err := journals(x).append(in.To, -1, 0, in.Event); err != nil {
			return err
		}
		seq = x.entries[first].Seq // what follows from it comes after it
		return nil
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
	if exists, err := taskRows.has(x, in.ID); err != nil {
		return err
	} else if exists {
		return fmt.Errorf("opening task %q: it exists", in.ID)
	}
	last, _, err := metaNumbers.get(x, metaOrder)
	if err != nil {
		return err
	}
	task := taskRow{Chat: in.Chat, From: in.Open.Opening.From, Order: last + 1, Last: 1}
	lane, err := lanes(x).read(in.Chat.Key())
	if err != nil {
		return err
	}
	e := *in.Open
	opening := *e.Opening
	opening.Queued = lane.add(in.ID, task)
	e.Opening = &opening
	e, after, err := journals(x).fold(in.ID, planner.State{}, e)
	if err != nil {
		return err
	}
	x.measure(task, planner.State{}, after, e)
	for _, err := range []error{
		metaNumbers.put(x, metaOrder, task.Order), taskRows.put(x, in.ID, task), lane.write(),
		turns(x).put(in.Chat.Key(), historyRow{Order: task.Order, Task: in.ID, From: task.From.Key(), At: e.At, Text: e.Opening.Goal}),
		index(x).opened(in.ID, task, after, e), audit(x).note(in.ID, e),
	} {
		if err != nil {
			return err
		}
	}
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
func (x intake) sweep() error {
	if since := x.time.Unix() - x.core.swept.Load(); since >= 0 && since < int64(sweepEvery/time.Second) {
		return nil
	}
	var old [][]byte
	for r, err := range x.Range(TableExpiry, nil, expiryKey(expiry{at: x.time.Add(-keepSeen)}), Ascending) {
		if err != nil {
			return err
		}
		if old = append(old, r.Key); len(old) == sweepAtOnce {
			break
		}
	}
	x.sweeps = len(old) < sweepAtOnce
	for _, key := range old {
		if err := x.expire(key); err != nil {
			return err
		}
	}
	return nil
}

// expire deletes an entry of expiry with its row. A dedupe key that was used again
// after it had expired has a newer row, which stays.
func (x intake) expire(key []byte) error {
	if err := x.Delete(TableExpiry, key); err != nil || len(key) < 8 {
		return err
	}
	r := Record{Key: key[8:]}
	var err error
	if r.Value, err = x.Get(TableSeen, r.Key); err != nil || r.Value == nil {
		return err
	}
	if s, err := seenRows.read(r); err == nil && uint64(s.At.UnixNano()) != numberOf(key[:8]) {
		return nil
	}
	return x.Delete(TableSeen, r.Key)
}
