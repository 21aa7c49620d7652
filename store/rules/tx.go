package rules

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"legwork/planner"
	"legwork/tasks"
)

// Tx is a transaction that is being built: a snapshot and changes on top of it. It
// is a Snapshot itself, so transactions nest. Methods that Tx does not declare read
// the snapshot without the changes. It is not safe for concurrent use.
type Tx struct {
	Snapshot // the committed data
	now      time.Time
	origin   tasks.Origin
	changes  Changes
}

// NewTx returns a transaction without changes. now is its time.
func NewTx(committed Snapshot, now time.Time) *Tx {
	return &Tx{Snapshot: committed, now: now.Round(0).UTC()}
}

// WithOrigin notes the origin of the changes that follow, and returns s.
func (s *Tx) WithOrigin(o tasks.Origin) *Tx {
	s.origin = o
	return s
}

// Bytes is the length of the journal records so far.
func (s *Tx) Bytes() int { return s.changes.Bytes }

// Savepoint calls do with a transaction on top of s, and keeps its changes only
// when do returns nil.
func (s *Tx) Savepoint(do func(*Tx) error) error {
	over := &Tx{Snapshot: s, now: s.now, origin: s.origin}
	if err := do(over); err != nil {
		return err
	}
	s.changes.add(&over.changes)
	return nil
}

// PutSetting stores a setting; an empty value deletes it.
func (s *Tx) PutSetting(owner, name, value string) error {
	if len(owner) > MaxName || len(name) > MaxName {
		return fmt.Errorf("setting of an owner of %d bytes and a name of %d: at most %d each", len(owner), len(name), MaxName)
	}
	put(&s.changes.Settings, Setting{owner, name}, value)
	return nil
}

// Seen implements Snapshot.
func (s *Tx) Seen(key string) (SeenDelivery, bool, error) {
	if v, ok := s.changes.Seen[key]; ok {
		return v, true, nil
	}
	return s.Snapshot.Seen(key)
}

// Task implements Snapshot.
func (s *Tx) Task(id tasks.ID) (Task, bool, error) {
	if v, ok := s.changes.Tasks[id]; ok {
		return v, true, nil
	}
	if s.changes.Deleted[id] {
		return Task{}, false, nil
	}
	return s.Snapshot.Task(id)
}

// State implements Snapshot.
func (s *Tx) State(id tasks.ID) (planner.State, error) {
	if v, ok := s.changes.States[id]; ok {
		return v, nil
	}
	return s.Snapshot.State(id)
}

// Lane implements Snapshot.
func (s *Tx) Lane(conversation string) (tasks.Lane, error) {
	if v, ok := s.changes.Lanes[conversation]; ok {
		return *v, nil
	}
	return s.Snapshot.Lane(conversation)
}

// ownLane returns a conversation's queue as a copy that this transaction may
// change.
func (s *Tx) ownLane(conversation string) (*tasks.Lane, error) {
	if v, ok := s.changes.Lanes[conversation]; ok {
		return v, nil
	}
	v, err := s.Snapshot.Lane(conversation)
	if err != nil {
		return nil, err
	}
	own := &tasks.Lane{Entries: slices.Clone(v.Entries)}
	put(&s.changes.Lanes, conversation, own)
	return own, nil
}

// Order implements Snapshot.
func (s *Tx) Order() (uint64, error) {
	if s.changes.Order > 0 {
		return s.changes.Order, nil
	}
	return s.Snapshot.Order()
}

// Cut implements Snapshot.
func (s *Tx) Cut(conversation string) (uint64, error) {
	if v, ok := s.changes.Cuts[conversation]; ok {
		return v, nil
	}
	return s.Snapshot.Cut(conversation)
}

// Settings implements Snapshot.
func (s *Tx) Settings(owner string) (map[string]string, error) {
	all, err := s.Snapshot.Settings(owner)
	if err != nil {
		return nil, err
	}
	all = maps.Clone(all)
	for name, value := range s.changes.Settings {
		switch {
		case name.Owner != owner:
		case value == "":
			delete(all, name.Name)
		default:
			put(&all, name.Name, value)
		}
	}
	return all, nil
}

// Turn implements Snapshot.
func (s *Tx) Turn(conversation string, after uint64) ([]HistoryRow, error) {
	for {
		rows, err := s.Snapshot.Turn(conversation, after)
		if err != nil {
			return nil, err
		}
		order := uint64(math.MaxUint64)
		if len(rows) > 0 {
			order = rows[0].Order
		}
		for _, r := range s.changes.Rows {
			if r.Order > after && r.Order < order && r.Conversation == conversation {
				order, rows = r.Order, nil
			}
		}
		if order == math.MaxUint64 {
			return nil, nil
		}
		if rows = s.withChanges(conversation, order, rows); len(rows) > 0 {
			return rows, nil
		}
		after = order
	}
}

// withChanges applies the changes of the transaction to the rows of one turn.
func (s *Tx) withChanges(conversation string, order uint64, rows []HistoryRow) []HistoryRow {
	var halves [2]*HistoryRow
	half := func(r HistoryRow) **HistoryRow {
		if r.Answer {
			return &halves[1]
		}
		return &halves[0]
	}
	for _, r := range rows {
		*half(r) = &r
	}
	for _, r := range s.changes.Rows {
		if r.Order != order || r.Conversation != conversation {
			continue
		}
		h := half(r)
		switch {
		case r.Deleted:
			*h = nil
		case *h == nil || !r.Fallback:
			*h = &r
		}
	}
	rows = nil
	for _, h := range halves {
		if h != nil {
			rows = append(rows, *h)
		}
	}
	return rows
}
