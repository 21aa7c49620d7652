package tasks

import (
	"context"
	"slices"
	"sync"

	"legwork/planner"
)

// maxResult is how much of a tool's result a View keeps in memory, and maxNote
// how long a note may be to be kept, in bytes; the rest is read from the store
// when a prompt needs it.
const (
	maxResult = 32 << 10
	maxNote   = 4 << 10
)

// View is a task's journal as far as it was read: the folded state and the
// events, large results and notes shortened. It folds only what is new. One goroutine
// refreshes it; snapshots of it are safe to use from others.
type View struct {
	ID     ID
	State  planner.State
	store  Store
	Events []planner.Event
	cut    *cutEvents
}

// cutEvents remembers which events are kept shortened.
type cutEvents struct {
	mu   sync.Mutex
	seqs map[int]bool
}

// NewView makes a view that has read nothing yet.
func NewView(store Store, id ID) *View {
	return &View{ID: id, store: store, cut: &cutEvents{seqs: map[int]bool{}}}
}

// Refresh reads what is new.
func (v *View) Refresh(ctx context.Context) error {
	fresh, err := v.store.Load(ctx, v.ID, v.State.Seq)
	if err != nil {
		return err
	}
	for _, e := range fresh {
		v.State = planner.Apply(v.State, e)
		if short, cut := shortened(e); cut {
			e = short
			v.cut.mu.Lock()
			v.cut.seqs[e.Seq] = true
			v.cut.mu.Unlock()
		}
		v.Events = append(v.Events, e)
	}
	return nil
}

// shortened is an event as a View keeps it.
func shortened(e planner.Event) (short planner.Event, cut bool) {
	switch {
	case e.Result != nil && (len(e.Result.Text) > maxResult || len(e.Result.Images) > 0):
		result := *e.Result
		result.Text, result.Images = result.Text[:min(len(result.Text), maxResult)], nil
		e.Result = &result
	case e.Note != nil && len(e.Note.Content) > maxNote:
		e.Note = &planner.Note{Type: e.Note.Type}
	default:
		return e, false
	}
	return e, true
}

// Snapshot returns a copy that stays as it is.
func (v *View) Snapshot() *View {
	copied := *v
	copied.Events = v.Events[:len(v.Events):len(v.Events)]
	return &copied
}

// ForOtherChat is the task as somebody reads it in another chat and language: nothing
// of it replies to the message that asked.
func (v *View) ForOtherChat(language string) *View {
	shown := v.Snapshot()
	shown.Events = slices.Clone(v.Events)
	o := *v.Opening()
	o.Language, o.Message = language, ""
	shown.Events[0].Opening = &o
	return shown
}

// Opening is the body of the journal's first event.
func (v *View) Opening() *planner.Opening { return v.Events[0].Opening }

// Event returns the event of a seq as it is kept; a zero one outside the journal.
func (v *View) Event(seq int) planner.Event {
	if seq < 1 || seq > len(v.Events) {
		return planner.Event{}
	}
	return v.Events[seq-1]
}

// Journal gives whole events. What cannot be read again from the store comes
// shortened.
func (v *View) Journal(ctx context.Context) planner.Journal {
	return func(seq int) planner.Event {
		v.cut.mu.Lock()
		short := v.cut.seqs[seq]
		v.cut.mu.Unlock()
		if short {
			if e, err := v.store.Event(ctx, v.ID, seq); err == nil {
				return e
			}
		}
		return v.Event(seq)
	}
}
