package rules

import (
	"errors"
	"maps"
	"slices"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

// KeepFeed is how many entries of the feed are kept at least.
const KeepFeed = 100_000

// FeedGap is by how much the feed's numbers jump where some that were given may
// be lost, so that none is given twice.
const FeedGap = 1 << 20

// IndexSnapshot is what is committed of tasks.Index, tasks.Audit and tasks.Deliveries.
type IndexSnapshot interface {
	// Listing returns a task's row in the index.
	Listing(id tasks.ID) (Listing, bool, error)
	// Counts returns how many tasks there are of each status.
	Counts() (map[string]int, error)
	// Recount returns the same, from what can be read of the rows themselves.
	Recount() (map[string]int, error)
	// Outcome returns the final status under which a task of a chat is found; empty
	// for none.
	Outcome(id tasks.ID, c bot.Chat) (string, error)
	// FeedEnd returns the cursor that was given last; 0 before any.
	FeedEnd() (uint64, error)
	// AuditEnd returns the number of the audit log that was given last; 0 before any.
	AuditEnd() (uint64, error)
	// AuditEntries lists at most n entries after a number, in their order. Damaged
	// ones are left out.
	AuditEntries(after uint64, n int) ([]tasks.AuditEntry, error)
	// Delivery returns a delivery that has not arrived yet.
	Delivery(id string) (tasks.Delivery, bool, error)
	// AllDeliveries lists the ids of all of them, and their tasks.
	AllDeliveries() (map[string]tasks.ID, error)
	// Journal returns a task's events; the task exists.
	Journal(id tasks.ID) ([]planner.Event, error)
	// Event returns one of them.
	Event(id tasks.ID, seq int) (planner.Event, error)
}

// ListingChange is what becomes of a task's row in the index.
type ListingChange struct {
	Before  *Listing // nil: there was none
	After   *Listing // nil: it is deleted
	Rewrite bool     // what is stored of it cannot be trusted: all of it is to be written
	lost    bool     // nothing tells what Before was
}

// IndexChanges is what a transaction writes of the index.
type IndexChanges struct {
	Listings     map[tasks.ID]ListingChange
	Counts       map[string]int               // all of them; nil: they stay
	Feed         []tasks.FeedEntry            // added, with their numbers
	Audit        []tasks.AuditEntry           // added
	AuditChanges map[uint64]*tasks.AuditEntry // written again; nil: deleted
	Deliveries   map[string]*tasks.Delivery   // nil: deleted

	Unindexed *tasks.ID // tasks before it have no rows yet; empty: all have

	opened        map[tasks.ID]planner.Event // those that were opened
	statusChanged map[tasks.ID]time.Time     // when their status changed last
	settled       map[tasks.ID]string        // with their outcomes
	reindex       map[tasks.ID]*builtListing // to be looked at, whether they changed or not
}

func (c *IndexChanges) empty() bool {
	return len(c.Listings)+len(c.Audit)+len(c.AuditChanges)+len(c.Deliveries) == 0 && c.Unindexed == nil
}

// add takes over what later changed.
func (c *IndexChanges) add(later *IndexChanges) {
	c.Audit = append(c.Audit, later.Audit...)
	if later.Unindexed != nil {
		c.Unindexed = later.Unindexed
	}
	merge(&c.AuditChanges, later.AuditChanges)
	merge(&c.Deliveries, later.Deliveries)
	merge(&c.opened, later.opened)
	merge(&c.statusChanged, later.statusChanged)
	merge(&c.settled, later.settled)
	merge(&c.reindex, later.reindex)
}

// forget takes a task out of it.
func (c *IndexChanges) forget(id tasks.ID) {
	delete(c.opened, id)
	delete(c.statusChanged, id)
	delete(c.settled, id)
	delete(c.reindex, id)
}

// note keeps what the index needs to know of an event.
func (c *IndexChanges) note(id tasks.ID, before, after planner.State, e planner.Event) {
	if e.Type == planner.Opened {
		put(&c.opened, id, e)
	}
	if before.Status() != after.Status() {
		put(&c.statusChanged, id, e.At)
	}
	if after.Settled() && !before.Settled() {
		put(&c.settled, id, string(after.Outcome))
	}
}

// Finish adds to the changes what follows from all of them together: rows of the
// index, feed, audit log and deliveries. It is the last thing that is done with a
// stage.
func (s *Tx) Finish() (*Changes, error) {
	c := &s.changes
	for _, id := range s.changedTasks() {
		if err := s.updateListing(id); err != nil {
			return nil, err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.Index.settled)) {
		if err := s.notify(id, c.Index.settled[id]); err != nil {
			return nil, err
		}
	}
	if err := s.updateCounts(); err != nil {
		return nil, err
	}
	return c, errors.Join(s.numberFeed(), s.numberAudit())
}

// numberFeed numbers what the feed is to tell of: the events, and after them the ends of
// tasks that were dropped, which are none.
func (s *Tx) numberFeed() error {
	c := &s.changes
	if len(c.Records)+len(c.Dropped) == 0 {
		return nil
	}
	last, err := s.snapshot.FeedEnd()
	if err != nil {
		return err
	}
	c.Index.Feed = make([]tasks.FeedEntry, 0, len(c.Records)+len(c.Dropped))
	for _, r := range c.Records {
		last++
		c.Index.Feed = append(c.Index.Feed, tasks.FeedEntry{Cursor: last, Task: r.Task, Seq: r.Event.Seq})
	}
	for _, id := range c.Dropped {
		last++
		c.Index.Feed = append(c.Index.Feed, tasks.FeedEntry{Cursor: last, Task: id})
	}
	return nil
}

// changedTasks lists the tasks whose rows may have to change.
func (s *Tx) changedTasks() []tasks.ID {
	ids := slices.Collect(maps.Keys(s.changes.Tasks))
	for _, more := range [][]tasks.ID{
		slices.Collect(maps.Keys(s.changes.Deleted)), slices.Collect(maps.Keys(s.changes.Index.reindex)),
	} {
		for _, id := range more {
			if _, there := s.changes.Tasks[id]; !there {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// updateCounts counts rows that are new, gone, or of another status.
func (s *Tx) updateCounts() error {
	more, count := map[string]int{}, s.snapshot.Counts
	for _, r := range s.changes.Index.Listings {
		if r.lost {
			count = s.snapshot.Recount
		}
		if r.Before != nil {
			more[r.Before.Status]--
		}
		if r.After != nil {
			more[r.After.Status]++
		}
	}
	maps.DeleteFunc(more, func(_ string, n int) bool { return n == 0 })
	if len(more) == 0 {
		return nil
	}
	counts, err := count()
	if err != nil {
		return err
	}
	all := map[string]int{}
	maps.Copy(all, counts)
	for status, n := range more {
		all[status] = max(0, all[status]+n)
	}
	maps.DeleteFunc(all, func(_ string, n int) bool { return n == 0 })
	s.changes.Index.Counts = all
	return nil
}

// notify queues what tells a webhook of the outcome, where one is to hear of it.
// The body is made by who sends it.
func (s *Tx) notify(id tasks.ID, outcome string) error {
	webhook, err := s.webhook(id)
	if err == nil && webhook != "" {
		err = s.Queue(tasks.Delivery{ID: outcomeDeliveryID(id), Webhook: webhook, Kind: "task." + outcome, Task: id})
	}
	if errors.Is(err, tasks.ErrDamaged) { // nobody knows who was to hear of it, or whether it was queued before
		return nil
	}
	return err
}

// webhook is the one that is to hear of a task's outcome; empty when none is.
func (s *Tx) webhook(id tasks.ID) (string, error) {
	if after := s.changes.Index.Listings[id].After; after != nil {
		return after.Webhook, nil
	}
	if l, ok, err := s.snapshot.Listing(id); err == nil && ok {
		return l.Webhook, nil
	}
	first, err := s.snapshot.Event(id, 1)
	if err != nil || first.Opening == nil || first.Opening.Notify == nil {
		return "", err
	}
	return first.Opening.Notify.Webhook, nil
}

// outcomeDeliveryID is the id of the delivery that tells of a task's outcome.
func outcomeDeliveryID(id tasks.ID) string { return "notify-" + string(id) }

// Listing implements Snapshot, of what is committed.
func (s *Tx) Listing(id tasks.ID) (Listing, bool, error) { return s.snapshot.Listing(id) }

// Counts implements Snapshot, of what is committed.
func (s *Tx) Counts() (map[string]int, error) { return s.snapshot.Counts() }

// Recount implements Snapshot, of what is committed.
func (s *Tx) Recount() (map[string]int, error) { return s.snapshot.Recount() }

// Outcome implements Snapshot, of what is committed.
func (s *Tx) Outcome(id tasks.ID, c bot.Chat) (string, error) { return s.snapshot.Outcome(id, c) }

// FeedEnd implements Snapshot, of what is committed.
func (s *Tx) FeedEnd() (uint64, error) { return s.snapshot.FeedEnd() }

// AuditEnd implements Snapshot, of what is committed.
func (s *Tx) AuditEnd() (uint64, error) { return s.snapshot.AuditEnd() }

// AuditEntries implements Snapshot, of what is committed.
func (s *Tx) AuditEntries(after uint64, n int) ([]tasks.AuditEntry, error) {
	return s.snapshot.AuditEntries(after, n)
}

// AllDeliveries implements Snapshot, of what is committed.
func (s *Tx) AllDeliveries() (map[string]tasks.ID, error) { return s.snapshot.AllDeliveries() }

// Journal implements Snapshot, of what is committed.
func (s *Tx) Journal(id tasks.ID) ([]planner.Event, error) { return s.snapshot.Journal(id) }

// Event implements Snapshot, of what is committed.
func (s *Tx) Event(id tasks.ID, seq int) (planner.Event, error) { return s.snapshot.Event(id, seq) }
