package tasks

import (
	"context"
	"sync"

	"legwork/planner"
)

// A View keeps at most maxResult bytes of a tool's result in memory, and no note
// longer than maxNote bytes. When a prompt needs the rest, the View reads it from
// the store.
const (
	maxResult = 32 << 10
	maxNote   = 4 << 10
)

// View is a task's journal as far as it was read: the state and the events, with
// large results and notes shortened. Refresh reads only new events. One goroutine
// refreshes a View; others can use its snapshots.
type View struct {
	ID     ID
	State  planner.State
	store  Store
	Events []planner.Event
	asked  *planner.Opening // the whole question
	cut    *cutEvents
}

// cutEvents knows which events are shortened in memory.
type cutEvents struct {
	mu   sync.Mutex
	seqs map[int]bool
}

// NewView makes a view that has read nothing yet.
func NewView(store Store, id ID) *View {
	return &View{ID: id, store: store, cut: &cutEvents{seqs: map[int]bool{}}}
}

// Refresh reads the new events.
func (v *View) Refresh(ctx context.Context) error {
	fresh, err := v.store.Load(ctx, v.ID, v.State.Seq)
	if err != nil {
		return err
	}
	parts := len(v.State.Parts)
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
	if len(v.Events) > 0 && (v.asked == nil || parts != len(v.State.Parts)) {
		v.asked = planner.Whole(v.Events[0].Opening, eventsOf(v.Event, v.State.Parts))
	}
	return nil
}

// shortened returns an event as a View keeps it.
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

// Snapshot returns a copy that Refresh does not change.
func (v *View) Snapshot() *View {
	copied := *v
	copied.Events = v.Events[:len(v.Events):len(v.Events)]
	return &copied
}

// Before returns the view as it was before the event of a seq.
func (v *View) Before(seq int) *View {
	then := v.Snapshot()
	then.Events, then.State, then.asked = v.Events[:min(max(seq-1, 0), len(v.Events))], planner.State{}, nil
	for _, e := range then.Events {
		then.State = planner.Apply(then.State, e)
	}
	if len(then.Events) > 0 {
		then.asked = planner.Whole(then.Events[0].Opening, eventsOf(then.Event, then.State.Parts))
	}
	return then
}

// ForOtherChat returns the task as it is shown in another chat and language: its
// messages do not reply to the message that asked.
func (v *View) ForOtherChat(language string) *View {
	shown := v.Snapshot()
	o := *v.Opening()
	o.Language, o.Message = language, ""
	shown.asked = &o
	return shown
}

// Opening returns the body of the journal's first event, with the whole question.
func (v *View) Opening() *planner.Opening {
	if v.asked != nil {
		return v.asked
	}
	return v.Events[0].Opening
}

// OpeningOf reads the opening of a task, with the whole question.
func OpeningOf(ctx context.Context, store Store, id ID) (*planner.Opening, error) {
	first, err := store.Event(ctx, id, 1)
	if err != nil || first.Opening == nil || first.Opening.Until.IsZero() {
		return first.Opening, err
	}
	s, err := store.State(ctx, id)
	if err != nil {
		return nil, err
	}
	parts := eventsOf(func(seq int) (e planner.Event) {
		if err == nil {
			e, err = store.Event(ctx, id, seq)
		}
		return e
	}, s.Parts)
	return planner.Whole(first.Opening, parts), err
}

func eventsOf(event func(seq int) planner.Event, seqs []int) []planner.Event {
	list := make([]planner.Event, len(seqs))
	for i, seq := range seqs {
		list[i] = event(seq)
	}
	return list
}

// Event returns the event of a seq, perhaps shortened; zero for a seq outside the
// journal.
func (v *View) Event(seq int) planner.Event {
	if seq < 1 || seq > len(v.Events) {
		return planner.Event{}
	}
	return v.Events[seq-1]
}

// Journal returns a function for complete events. It returns a shortened event if
// the store cannot read the event again.
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
