package rules

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

// Open stores a batch of deliveries. An error means that the snapshot could
// not be read. An error of one delivery is in its receipt, and the others are
// stored.
func (s *Tx) Open(batch []tasks.Inbound) ([]tasks.Receipt, error) {
	receipts := make([]tasks.Receipt, len(batch))
	for i, in := range batch {
		r, err := s.deliver(in)
		if err != nil {
			return nil, err
		}
		receipts[i] = r
	}
	return receipts, nil
}

// Known returns the receipt of a delivery with the same key; false when no such
// delivery came lately.
func Known(b Snapshot, key string, now time.Time) (tasks.Receipt, bool, error) {
	if key == "" {
		return tasks.Receipt{}, false, nil
	}
	before, ok, err := b.Seen(key)
	if err != nil || !ok || now.Sub(before.At) >= KeepSeen {
		return tasks.Receipt{}, false, err
	}
	return before.receipt(), true, nil
}

// deliver stores one delivery once.
func (s *Tx) deliver(in tasks.Inbound) (tasks.Receipt, error) {
	before, ok, err := Known(s, in.Key, s.now)
	if err != nil {
		return tasks.Receipt{}, err
	}
	if ok {
		return before, s.skipFiring(in.Fire)
	}
	var r tasks.Receipt
	err = s.Savepoint(func(s *Tx) error {
		var err error
		r, err = s.route(in)
		return err
	})
	if err != nil {
		r = tasks.Receipt{Err: err}
	}
	known := r.Err == nil || errors.Is(r.Err, tasks.ErrNoTask) || errors.Is(r.Err, tasks.ErrRefused) && in.Fire == nil
	if in.Key != "" && known {
		put(&s.changes.Seen, in.Key, seen(r, s.now))
	}
	return r, nil
}

// route decides what a delivery becomes: an event of a running task, a cut, or a
// new task.
func (s *Tx) route(in tasks.Inbound) (tasks.Receipt, error) {
	if in.To != "" {
		seq, err := s.addToTask(in)
		if err == nil || in.Open == nil {
			return tasks.Receipt{Task: in.To, Seq: seq, Err: err}, nil
		}
	}
	if in.Cut {
		if err := checkConversation(in.Chat); err != nil {
			return tasks.Receipt{}, err
		}
		order, err := s.Order()
		if err != nil {
			return tasks.Receipt{}, err
		}
		put(&s.changes.Cuts, in.Chat.Key(), order)
	}
	if in.Open == nil {
		return tasks.Receipt{}, nil
	}
	if err := s.fire(in); err != nil {
		return tasks.Receipt{}, err
	}
	if err := s.openTask(in); err != nil {
		return tasks.Receipt{}, err
	}
	return tasks.Receipt{Task: in.ID, Seq: 1, Opened: true}, nil
}

// addToTask appends a delivery's event to a running task. It returns the event's
// number, or 0 with an error.
func (s *Tx) addToTask(in tasks.Inbound) (seq int, err error) {
	err = s.Savepoint(func(s *Tx) error {
		if err := s.Append(in.To, -1, 0, in.Event); err != nil {
			return err
		}
		seq = s.changes.Records[0].Event.Seq // what follows from it comes after it
		return nil
	})
	if err != nil {
		return 0, err
	}
	return seq, nil
}

// openTask opens a task: its row, its place in the conversation, its first event
// and its half of the history.
func (s *Tx) openTask(in tasks.Inbound) error {
	if err := checkNames(in); err != nil {
		return err
	}
	if in.Open.Type != planner.Opened || in.Open.Opening == nil {
		return fmt.Errorf("opening task %q: the delivery has no opening", in.ID)
	}
	if _, ok, err := s.Task(in.ID); err != nil {
		return err
	} else if ok {
		return fmt.Errorf("opening task %q: it exists", in.ID)
	}
	order, err := s.Order()
	if err != nil {
		return err
	}
	lane, err := s.ownLane(in.Chat.Key())
	if err != nil {
		return err
	}
	task := Task{Chat: in.Chat, From: in.Open.Opening.From, Order: order + 1, Last: 1}
	s.changes.Order = task.Order
	put(&s.changes.Tasks, in.ID, task)

	e := *in.Open
	opening := *e.Opening
	opening.Queued = lane.Open(in.ID)
	e.Opening = &opening
	first, _, err := s.fold(in.ID, planner.State{}, e)
	if err != nil {
		return err
	}
	s.changes.Rows = append(s.changes.Rows, HistoryRow{
		Conversation: in.Chat.Key(), Order: task.Order, Task: in.ID, From: task.From.Key(), At: first.At, Text: first.Opening.Goal,
	})
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
