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

// FeedGap is how many numbers the feed skips when numbers that were given before
// may be lost, so that no number is given twice.
const FeedGap = 1 << 20

// IndexSnapshot is the committed content of tasks.Index, tasks.Audit and
// tasks.Deliveries.
type IndexSnapshot interface {
	// Listing returns a task's row in the index.
	Listing(id tasks.ID) (Listing, bool, error)
	// Counts returns how many tasks there are of each status.
	Counts() (map[string]int, error)
	// Recount returns the same, counted from all readable rows.
	Recount() (map[string]int, error)
	// Outcome returns the final status under which the index finds a task of a chat;
	// empty for none.
	Outcome(id tasks.ID, c bot.Chat) (string, error)
	// FeedEnd returns the cursor that was given last; 0 before any.
	FeedEnd() (uint64, error)
	// AuditEnd returns the number of the audit log that was given last; 0 before
	// any.
	AuditEnd() (uint64, error)
	// AuditEntries lists at most n entries after a number, in their order, without
	// damaged ones.
	AuditEntries(after uint64, n int) ([]tasks.AuditEntry, error)
	// Delivery returns a delivery that has not arrived yet.
	Delivery(id string) (tasks.Delivery, bool, error)
	// AllDeliveries lists the ids of all deliveries, and their tasks.
	AllDeliveries() (map[string]tasks.ID, error)
	// Journal returns a task's events; the task exists.
	Journal(id tasks.ID) ([]planner.Event, error)
	// Event returns one event of a task.
	Event(id tasks.ID, seq int) (planner.Event, error)
}

// ListingChange is the change of a task's row in the index.
type ListingChange struct {
	Before  *Listing // nil: there was none
	After   *Listing // nil: it is deleted
	Rewrite bool     // the stored row is damaged: write all of it
	lost    bool     // Before is unknown
}

// IndexChanges is what a transaction changes in the index.
type IndexChanges struct {
	Listings     map[tasks.ID]ListingChange
	Counts       map[string]int               // all of them; nil: they stay
	Feed         []tasks.FeedEntry            // added, with their numbers
	Audit        []tasks.AuditEntry           // added
	AuditChanges map[uint64]*tasks.AuditEntry // written again; nil: deleted
	Deliveries   map[string]*tasks.Delivery   // nil: deleted

	Unindexed *tasks.ID // tasks before it have no rows yet; empty: all have

	opened        map[tasks.ID]planner.Event // opened tasks, and their first events
	statusChanged map[tasks.ID]time.Time     // when the status of a task changed last
	settled       map[tasks.ID]string        // tasks with an outcome
	reindex       map[tasks.ID]*builtListing // tasks to reindex, changed or not
}

func (c *IndexChanges) empty() bool {
	return len(c.Listings)+len(c.Audit)+len(c.AuditChanges)+len(c.Deliveries) == 0 && c.Unindexed == nil
}

// add merges the changes of a later transaction.
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

// forget removes a task from the changes.
func (c *IndexChanges) forget(id tasks.ID) {
	delete(c.opened, id)
	delete(c.statusChanged, id)
	delete(c.settled, id)
	delete(c.reindex, id)
}

// note keeps what the index needs to know about an event.
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

// Finish adds what follows from all changes together: rows of the index, feed,
// audit log and deliveries. It is the last step of a transaction.
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

// numberFeed numbers the entries of the feed: the events, and after them the
// dropped tasks, which have no event.
func (s *Tx) numberFeed() error {
	c := &s.changes
	if len(c.Records)+len(c.Dropped) == 0 {
		return nil
	}
	last, err := s.Snapshot.FeedEnd()
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

// updateCounts counts rows that are new, deleted, or have another status.
func (s *Tx) updateCounts() error {
	more, count := map[string]int{}, s.Snapshot.Counts
	for _, r := range s.changes.Index.Listings {
		if r.lost {
			count = s.Snapshot.Recount
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

// notify queues the delivery of a task's outcome, if a webhook wants it. The
// sender of the delivery makes its body.
func (s *Tx) notify(id tasks.ID, outcome string) error {
	webhook, err := s.webhook(id)
	if err == nil && webhook != "" {
		err = s.Queue(tasks.Delivery{ID: outcomeDeliveryID(id), Webhook: webhook, Kind: "task." + outcome, Task: id})
	}
	if errors.Is(err, tasks.ErrDamaged) { // the webhook is unknown, and whether it was queued before
		return nil
	}
	return err
}

// webhook returns the webhook that wants a task's outcome; empty for none.
func (s *Tx) webhook(id tasks.ID) (string, error) {
	if after := s.changes.Index.Listings[id].After; after != nil {
		return after.Webhook, nil
	}
	if l, ok, err := s.Snapshot.Listing(id); err == nil && ok {
		return l.Webhook, nil
	}
	first, err := s.Snapshot.Event(id, 1)
	if err != nil || first.Opening == nil || first.Opening.Notify == nil {
		return "", err
	}
	return first.Opening.Notify.Webhook, nil
}

// outcomeDeliveryID is the id of the delivery of a task's outcome.
func outcomeDeliveryID(id tasks.ID) string { return "notify-" + string(id) }
