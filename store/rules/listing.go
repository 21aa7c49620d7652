package rules

import (
	"cmp"
	"errors"
	"slices"
	"strings"
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
	Asked   int    // seq of the event that asked the oldest open question
	Webhook string // gets the outcome
}

// builtListing is a row that was made from a journal before the transaction.
type builtListing struct {
	listing Listing
	last    int // seq up to which the journal was read
}

// indexedState is the part of a state that is in the index.
type indexedState struct {
	status string
	round  int
	asked  int
}

func indexedStateOf(s planner.State) indexedState {
	return indexedState{s.Status(), s.Round, firstAsked(s)}
}

// firstAsked returns the seq of the event that asked the oldest open question; 0
// when no question is open.
func firstAsked(s planner.State) (first int) {
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
	l := unreadListing(id, t)
	var s planner.State
	for i, e := range events {
		before := s.Status()
		if s = planner.Apply(s, e); i == 0 {
			l = openedListing(id, t, e)
		}
		if s.Status() != before {
			l.Changed = e.At
		}
	}
	g := indexedStateOf(s)
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

// openedListing is the row of a task of which only the first event is known.
func openedListing(id tasks.ID, t Task, first planner.Event) Listing {
	l := unreadListing(id, t)
	l.Opened, l.Changed = first.At, first.At
	if o := first.Opening; o != nil {
		l.Goal, l.External = clip.Marked(o.Goal, goalBytes-len(clip.Mark)), o.External
		if o.Notify != nil {
			l.Webhook = o.Notify.Webhook
		}
	}
	return l
}

// unreadListing is the row of a task whose journal cannot be read.
func unreadListing(id tasks.ID, t Task) Listing {
	made, _ := id.Time()
	made = made.UTC()
	return Listing{Row: tasks.Row{Task: id, Chat: t.Chat, From: t.From, Status: string(planner.Failed), Opened: made, Changed: made}}
}

// drop turns the row into that of a dropped task.
func (l *Listing) drop(at time.Time) {
	if l.Status != string(planner.Failed) {
		l.Changed = at
	}
	l.Status, l.Waits, l.Since, l.Asked = string(planner.Failed), false, time.Time{}, 0
}

// Reindex makes a task's row from its journal, if it has none. With again it also
// replaces an existing row.
func (s *Tx) Reindex(id tasks.ID, again bool) error {
	if _, ok, err := s.Snapshot.Listing(id); err != nil && !errors.Is(err, tasks.ErrDamaged) || ok && err == nil && !again {
		return err
	}
	put(&s.changes.Index.reindex, id, nil)
	return nil
}

// ReindexAs does the same with a row that was built before, from the first events
// of the journal up to last.
func (s *Tx) ReindexAs(id tasks.ID, l Listing, last int) error {
	_, ok, err := s.Snapshot.Listing(id)
	if errors.Is(err, tasks.ErrDamaged) {
		return s.Reindex(id, true)
	}
	if err == nil && !ok {
		put(&s.changes.Index.reindex, id, &builtListing{l, last})
	}
	return err
}

// SetUnindexed notes that tasks before id have no rows yet. With an empty id, all
// tasks have rows.
func (s *Tx) SetUnindexed(id tasks.ID) { s.changes.Index.Unindexed = &id }

// updateListing brings a task's row up to date.
func (s *Tx) updateListing(id tasks.ID) error {
	c := &s.changes
	if s.listingUnchanged(id) {
		return nil
	}
	var r ListingChange
	_, fresh := c.Index.opened[id]
	if !fresh {
		before, damaged, err := s.committedListing(id)
		if err != nil {
			return err
		}
		r = ListingChange{Before: before, Rewrite: damaged || c.reindexes(id), lost: damaged && before == nil}
	}
	task, ok, err := s.Task(id)
	switch {
	case errors.Is(err, tasks.ErrDamaged):
		return nil // the row stays as it is
	case err != nil:
		return err
	case ok:
		after, err := s.nextListing(id, task, r.Before)
		if err != nil {
			return err
		}
		r.After = &after
	case r.Before != nil && r.Before.Webhook != "":
		put(&c.Index.Deliveries, outcomeDeliveryID(id), nil)
	}
	if r.Before == r.After || r.Before != nil && r.After != nil && *r.Before == *r.After && !r.Rewrite {
		return nil
	}
	put(&c.Index.Listings, id, r)
	return nil
}

func (c *Changes) reindexes(id tasks.ID) bool {
	_, yes := c.Index.reindex[id]
	return yes
}

// listingUnchanged reports whether a task's row stays the same, without reading
// it.
func (s *Tx) listingUnchanged(id tasks.ID) bool {
	c := &s.changes
	after, ok := c.States[id]
	_, turned := c.Index.statusChanged[id]
	if !ok || turned || c.Moved > 0 || c.Deleted[id] || len(c.Dropped) > 0 || c.reindexes(id) {
		return false
	}
	before, err := s.Snapshot.State(id)
	return err == nil && indexedStateOf(before) == indexedStateOf(after)
}

// committedListing returns a task's committed row; nil when there is none. It
// rebuilds a damaged one as it must have been.
func (s *Tx) committedListing(id tasks.ID) (l *Listing, damaged bool, err error) {
	row, ok, err := s.Snapshot.Listing(id)
	if err == nil && ok {
		return &row, false, nil
	}
	if !errors.Is(err, tasks.ErrDamaged) {
		return nil, false, err
	}
	task, ok, err := s.Snapshot.Task(id)
	if err != nil || !ok {
		return nil, true, nil //nolint:nilerr // the old row is unknown
	}
	events, err := s.Snapshot.Journal(id)
	row = ListingOf(id, task, events)
	if errors.Is(err, tasks.ErrDamaged) {
		row.Status, err = s.Snapshot.Outcome(id, task.Chat)
	}
	if err != nil || row.Status == "" {
		return nil, true, err
	}
	return &row, true, nil
}

// nextListing returns a task's row after the transaction.
func (s *Tx) nextListing(id tasks.ID, task Task, before *Listing) (Listing, error) {
	c := &s.changes
	state, changed := c.States[id]
	var l Listing
	switch first, fresh := c.Index.opened[id]; {
	case fresh:
		l = openedListing(id, task, first)
	case before == nil || c.reindexes(id):
		if f := c.Index.reindex[id]; f != nil && f.last == task.Last && !changed {
			l = f.listing
			break
		}
		return s.rebuildListing(id, task)
	default:
		l = *before
	}
	l.Chat = task.Chat
	if at, turned := c.Index.statusChanged[id]; turned {
		l.Changed = at
	}
	if changed {
		if err := s.update(&l, id, indexedStateOf(state)); err != nil {
			return l, err
		}
	}
	if s.isDropped(id) {
		l.drop(s.now)
	}
	return l, nil
}

// update changes the part of a row that depends on the state.
func (s *Tx) update(l *Listing, id tasks.ID, g indexedState) error {
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
	e, err := s.Snapshot.Event(id, g.asked)
	if err != nil && !errors.Is(err, tasks.ErrDamaged) {
		return err
	}
	l.Since = e.At
	return nil
}

// rebuildListing makes a row from the journal and the events of the transaction.
func (s *Tx) rebuildListing(id tasks.ID, task Task) (Listing, error) {
	events, err := s.Snapshot.Journal(id)
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

func (s *Tx) isDropped(id tasks.ID) bool {
	return slices.Contains(s.changes.Dropped, id)
}

// pageSize is how many rows a query without a limit returns.
const pageSize = 50

// PageSize is how many rows a query returns.
func PageSize(q tasks.TaskQuery) int {
	if q.Limit <= 0 {
		return pageSize
	}
	return q.Limit
}

// Matches reports whether a row matches a query.
func Matches(q tasks.TaskQuery, r tasks.Row) bool {
	if q.Before != "" && r.Task >= q.Before || q.Waits && !r.Waits {
		return false
	}
	return (len(q.Statuses) == 0 || slices.Contains(q.Statuses, r.Status)) && inRooms(q.Rooms, r)
}

func inRooms(rooms []string, r tasks.Row) bool {
	if rooms == nil {
		return true
	}
	return slices.ContainsFunc(rooms, func(room string) bool {
		if platform, all := PlatformOf(room); all {
			return platform == "" || platform == r.Chat.Platform
		}
		return room == r.Chat.Room()
	})
}

// PlatformOf returns the platform that a query names in place of a room; empty for
// all platforms.
func PlatformOf(room string) (platform string, all bool) {
	if room == "*" {
		return "", true
	}
	platform, all = strings.CutSuffix(room, ":*")
	return platform, all && !strings.Contains(platform, ":")
}

// CompareDeliveries sorts deliveries in the order in which they were queued.
func CompareDeliveries(a, b tasks.Delivery) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
}
