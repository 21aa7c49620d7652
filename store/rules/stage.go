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

// Stage is a transaction in the making: a base and the changes on top of it.
// It is a Base itself, so that stages nest. Not safe for concurrent use.
type Stage struct {
	base    Base
	now     time.Time
	origin  tasks.Origin
	changes Changes
}

// NewStage returns a stage without changes. now is the time of the transaction.
func NewStage(base Base, now time.Time) *Stage {
	return &Stage{base: base, now: now.Round(0).UTC()}
}

// By notes whence the changes come that are made from now on, and returns s.
func (s *Stage) By(o tasks.Origin) *Stage {
	s.origin = o
	return s
}

// Bytes is how long the journal records are that the transaction writes so far.
func (s *Stage) Bytes() int { return s.changes.Bytes }

// Try calls do with a stage on top of s and keeps its changes only when do
// returned nil: what is refused leaves no trace.
func (s *Stage) Try(do func(*Stage) error) error {
	over := &Stage{base: s, now: s.now, origin: s.origin}
	if err := do(over); err != nil {
		return err
	}
	s.changes.add(&over.changes)
	return nil
}

// PutSetting stores a setting; an empty value deletes it.
func (s *Stage) PutSetting(owner, name, value string) error {
	if len(owner) > MaxName || len(name) > MaxName {
		return fmt.Errorf("setting of an owner of %d bytes and a name of %d: at most %d each", len(owner), len(name), MaxName)
	}
	put(&s.changes.Settings, Setting{owner, name}, value)
	return nil
}

// Seen implements Base.
func (s *Stage) Seen(key string) (Seen, bool, error) {
	if v, ok := s.changes.Seen[key]; ok {
		return v, true, nil
	}
	return s.base.Seen(key)
}

// Task implements Base.
func (s *Stage) Task(id tasks.ID) (Task, bool, error) {
	if v, ok := s.changes.Tasks[id]; ok {
		return v, true, nil
	}
	if s.changes.Gone[id] {
		return Task{}, false, nil
	}
	return s.base.Task(id)
}

// Spare implements Base.
func (s *Stage) Spare(id tasks.ID) (Task, bool, error) { return s.base.Spare(id) }

// State implements Base.
func (s *Stage) State(id tasks.ID) (planner.State, error) {
	if v, ok := s.changes.States[id]; ok {
		return v, nil
	}
	return s.base.State(id)
}

// Lane implements Base.
func (s *Stage) Lane(conversation string) (tasks.Lane, error) {
	if v, ok := s.changes.Lanes[conversation]; ok {
		return *v, nil
	}
	return s.base.Lane(conversation)
}

// lane returns a conversation's queue to be changed in this stage.
func (s *Stage) lane(conversation string) (*tasks.Lane, error) {
	if v, ok := s.changes.Lanes[conversation]; ok {
		return v, nil
	}
	v, err := s.base.Lane(conversation)
	if err != nil {
		return nil, err
	}
	own := &tasks.Lane{Entries: slices.Clone(v.Entries)}
	put(&s.changes.Lanes, conversation, own)
	return own, nil
}

// Order implements Base.
func (s *Stage) Order() (uint64, error) {
	if s.changes.Order > 0 {
		return s.changes.Order, nil
	}
	return s.base.Order()
}

// Cut implements Base.
func (s *Stage) Cut(conversation string) (uint64, error) {
	if v, ok := s.changes.Cuts[conversation]; ok {
		return v, nil
	}
	return s.base.Cut(conversation)
}

// Settings implements Base.
func (s *Stage) Settings(owner string) (map[string]string, error) {
	all, err := s.base.Settings(owner)
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

// Turn implements Base.
func (s *Stage) Turn(conversation string, after uint64) ([]Row, error) {
	for {
		rows, err := s.base.Turn(conversation, after)
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
		if rows = s.rewrite(conversation, order, rows); len(rows) > 0 {
			return rows, nil
		}
		after = order
	}
}

// rewrite applies what the stage writes to the rows of one turn.
func (s *Stage) rewrite(conversation string, order uint64, rows []Row) []Row {
	var halves [2]*Row
	half := func(r Row) **Row {
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
		case r.Gone:
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
