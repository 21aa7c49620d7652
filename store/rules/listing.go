package rules

import (
	"errors"
	"slices"
	"time"

	"legwork/internal/clip"
	"legwork/planner"
	"legwork/tasks"
)

// goalBytes is how much of a goal a row holds.
const goalBytes = 500

// Listing is a task's row in the index, with what is needed to keep it.
type Listing struct {
	tasks.Row
	Asked   int    // seq of the event with which the first of the open questions came
	Webhook string // that is to hear of the outcome
}

// found is a row that was made from a journal before the transaction.
type found struct {
	listing Listing
	last    int // seq up to which the journal was read
}

// glance is what of a state is in the index.
type glance struct {
	status string
	round  int
	asked  int
}

func look(s planner.State) glance {
	return glance{s.Status(), s.Round, asked(s)}
}

// asked is the seq of the event with which the first of the questions came that
// are open; 0 when none is.
func asked(s planner.State) (first int) {
	for _, a := range planner.Todo(s) {
		if a.Kind != planner.KindAsk {
			continue
		}
		if first == 0 || a.ID.Seq < first {
			first = a.ID.Seq
		}
	}
	return first
}

// ListingOf makes a task's row from its whole journal.
func ListingOf(id tasks.ID, t Task, events []planner.Event) Listing {
	l := unread(id, t)
	var s planner.State
	for i, e := range events {
		before := s.Status()
		if s = planner.Apply(s, e); i == 0 {
			l = opened(id, t, e)
		}
		if s.Status() != before {
			l.Changed = e.At
		}
	}
	g := look(s)
	if len(events) > 0 {
		l.Status, l.Round, l.Asked, l.Waits = g.status, g.round, g.asked, g.asked > 0
	}
	if l.Waits && g.asked <= len(events) {
		l.Since = events[g.asked-1].At
	}
	if t.Over && !s.Finished() {
		l.drop(l.Changed)
	}
	return l
}

// opened is the row of a task of which only the first event is known.
func opened(id tasks.ID, t Task, first planner.Event) Listing {
	l := unread(id, t)
	l.Opened, l.Changed = first.At, first.At
	if o := first.Opening; o != nil {
		l.Goal, l.External = clip.Marked(o.Goal, goalBytes-len(clip.Mark)), o.External
		if o.Notify != nil {
			l.Webhook = o.Notify.Webhook
		}
	}
	return l
}

// unread is the row of a task whose journal cannot be read.
func unread(id tasks.ID, t Task) Listing {
	made, _ := id.Made()
	made = made.UTC()
	return Listing{Row: tasks.Row{Task: id, Chat: t.Chat, From: t.From, Status: string(planner.Failed), Opened: made, Changed: made}}
}

// drop makes it the row of a task that nothing more is done for.
func (l *Listing) drop(at time.Time) {
	if l.Status != string(planner.Failed) {
		l.Changed = at
	}
	l.Status, l.Waits, l.Since, l.Asked = string(planner.Failed), false, time.Time{}, 0
}

// Enlist has a task's row written from its journal: where it has none, and where
// again says so, in place of the one it has.
func (s *Stage) Enlist(id tasks.ID, again bool) error {
	if _, ok, err := s.base.Listing(id); err != nil && !errors.Is(err, tasks.ErrDamaged) || ok && err == nil && !again {
		return err
	}
	put(&s.changes.Index.enlist, id, nil)
	return nil
}

// EnlistAs is Enlist with a row that was made before from the first so many events
// of the journal.
func (s *Stage) EnlistAs(id tasks.ID, l Listing, last int) error {
	_, ok, err := s.base.Listing(id)
	if errors.Is(err, tasks.ErrDamaged) {
		return s.Enlist(id, true)
	}
	if err == nil && !ok {
		put(&s.changes.Index.enlist, id, &found{l, last})
	}
	return err
}

// EnlistFrom notes that all tasks from that one on have rows; an empty one, that
// all have.
func (s *Stage) EnlistFrom(id tasks.ID) { s.changes.Index.Unlisted = &id }

// relist brings a task's row up to date.
func (s *Stage) relist(id tasks.ID) error {
	c := &s.changes
	if s.looksTheSame(id) {
		return nil
	}
	var r Relisting
	_, fresh := c.Index.fresh[id]
	if !fresh {
		before, damaged, err := s.listed(id)
		if err != nil {
			return err
		}
		r = Relisting{Before: before, Again: damaged || c.enlists(id), lost: damaged && before == nil}
	}
	task, ok, err := s.Task(id)
	switch {
	case errors.Is(err, tasks.ErrDamaged):
		return nil // it stays as it was
	case err != nil:
		return err
	case ok:
		after, err := s.listing(id, task, r.Before)
		if err != nil {
			return err
		}
		r.After = &after
	case r.Before != nil && r.Before.Webhook != "":
		put(&c.Index.Deliveries, notice(id), nil)
	}
	if r.Before == r.After || r.Before != nil && r.After != nil && *r.Before == *r.After && !r.Again {
		return nil
	}
	put(&c.Index.Listings, id, r)
	return nil
}

func (c *Changes) enlists(id tasks.ID) bool {
	_, yes := c.Index.enlist[id]
	return yes
}

// looksTheSame reports that nothing of a task's row changes, without reading it.
func (s *Stage) looksTheSame(id tasks.ID) bool {
	c := &s.changes
	after, ok := c.States[id]
	_, turned := c.Index.turned[id]
	if !ok || turned || c.Moved > 0 || c.Gone[id] || len(c.Dropped) > 0 || c.enlists(id) {
		return false
	}
	before, err := s.base.State(id)
	return err == nil && look(before) == look(after)
}

// listed is a task's row as it is committed, nil when there is none. In place of a
// damaged one it is what that must have been.
func (s *Stage) listed(id tasks.ID) (l *Listing, damaged bool, err error) {
	row, ok, err := s.base.Listing(id)
	if err == nil && ok {
		return &row, false, nil
	}
	if !errors.Is(err, tasks.ErrDamaged) {
		return nil, false, err
	}
	task, ok, err := s.base.Task(id)
	if err != nil || !ok {
		return nil, true, nil //nolint:nilerr // nothing tells what it was
	}
	events, err := s.base.Journal(id)
	row = ListingOf(id, task, events)
	if errors.Is(err, tasks.ErrDamaged) {
		row.Status, err = s.base.Outcome(id, task.Chat)
	}
	if err != nil || row.Status == "" {
		return nil, true, err
	}
	return &row, true, nil
}

// listing is a task's row after the transaction.
func (s *Stage) listing(id tasks.ID, task Task, before *Listing) (Listing, error) {
	c := &s.changes
	state, changed := c.States[id]
	var l Listing
	switch first, fresh := c.Index.fresh[id]; {
	case fresh:
		l = opened(id, task, first)
	case before == nil || c.enlists(id):
		if f := c.Index.enlist[id]; f != nil && f.last == task.Last && !changed {
			l = f.listing
			break
		}
		return s.anew(id, task)
	default:
		l = *before
	}
	l.Chat = task.Chat
	if at, turned := c.Index.turned[id]; turned {
		l.Changed = at
	}
	if changed {
		if err := s.update(&l, id, look(state)); err != nil {
			return l, err
		}
	}
	if s.dropped(id) {
		l.drop(s.now)
	}
	return l, nil
}

// update brings the part of a row up to date that its state tells.
func (s *Stage) update(l *Listing, id tasks.ID, g glance) error {
	l.Status, l.Round = g.status, g.round
	if g.asked == l.Asked {
		return nil
	}
	l.Asked, l.Waits, l.Since = g.asked, g.asked > 0, time.Time{}
	if !l.Waits {
		return nil
	}
	for _, r := range s.changes.Records {
		if r.Task == id && r.Event.Seq == g.asked {
			l.Since = r.Event.At
			return nil
		}
	}
	e, err := s.base.Event(id, g.asked)
	if err != nil && !errors.Is(err, tasks.ErrDamaged) {
		return err
	}
	l.Since = e.At
	return nil
}

// anew makes a row from the journal and what the transaction adds to it.
func (s *Stage) anew(id tasks.ID, task Task) (Listing, error) {
	events, err := s.base.Journal(id)
	if errors.Is(err, tasks.ErrDamaged) {
		return ListingOf(id, task, nil), nil
	}
	if err != nil {
		return Listing{}, err
	}
	for _, r := range s.changes.Records {
		if r.Task == id {
			events = append(events, r.Event)
		}
	}
	return ListingOf(id, task, events), nil
}

func (s *Stage) dropped(id tasks.ID) bool {
	return slices.Contains(s.changes.Dropped, id)
}
