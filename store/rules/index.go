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

// FeedJump is by how much the feed's numbers jump where some that were given may
// be lost, so that none is given twice.
const FeedJump = 1 << 20

// Index is what is committed of tasks.Index, tasks.Audit and tasks.Deliveries.
type Index interface {
	// Listing returns a task's row in the index.
	Listing(id tasks.ID) (Listing, bool, error)
	// Counts returns how many tasks there are of each status.
	Counts() (map[string]int, error)
	// Recount returns the same, from what can be read of the rows themselves.
	Recount() (map[string]int, error)
	// Outcome returns the final status under which a task of a chat is found; empty
	// for none.
	Outcome(id tasks.ID, c bot.Chat) (string, error)
	// Fed returns the cursor that was given last; 0 before any.
	Fed() (uint64, error)
	// Audited returns the number of the audit log that was given last; 0 before any.
	Audited() (uint64, error)
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

// Relisting is what becomes of a task's row in the index.
type Relisting struct {
	Before *Listing // nil: there was none
	After  *Listing // nil: it is deleted
	Again  bool     // what is stored of it cannot be trusted: all of it is to be written
	lost   bool     // nothing tells what Before was
}

// IndexChanges is what a transaction writes of the index.
type IndexChanges struct {
	Listings   map[tasks.ID]Relisting
	Counts     map[string]int               // all of them; nil: they stay
	Feed       []tasks.FeedEntry            // added, with their numbers
	Audit      []tasks.AuditEntry           // added
	Reaudited  map[uint64]*tasks.AuditEntry // written again; nil: deleted
	Deliveries map[string]*tasks.Delivery   // nil: deleted

	Unlisted *tasks.ID // tasks before it have no rows yet; empty: all have

	fresh   map[tasks.ID]planner.Event // those that were opened
	turned  map[tasks.ID]time.Time     // when their status changed last
	settled map[tasks.ID]string        // with their outcomes
	enlist  map[tasks.ID]*found        // to be looked at, whether they changed or not
}

func (c *IndexChanges) empty() bool {
	return len(c.Listings)+len(c.Audit)+len(c.Reaudited)+len(c.Deliveries) == 0 && c.Unlisted == nil
}

// add takes over what later changed.
func (c *IndexChanges) add(later *IndexChanges) {
	c.Audit = append(c.Audit, later.Audit...)
	if later.Unlisted != nil {
		c.Unlisted = later.Unlisted
	}
	merge(&c.Reaudited, later.Reaudited)
	merge(&c.Deliveries, later.Deliveries)
	merge(&c.fresh, later.fresh)
	merge(&c.turned, later.turned)
	merge(&c.settled, later.settled)
	merge(&c.enlist, later.enlist)
}

// forget takes a task out of it.
func (c *IndexChanges) forget(id tasks.ID) {
	delete(c.fresh, id)
	delete(c.turned, id)
	delete(c.settled, id)
	delete(c.enlist, id)
}

// note keeps what the index needs to know of an event.
func (c *IndexChanges) note(id tasks.ID, before, after planner.State, e planner.Event) {
	if e.Type == planner.Opened {
		put(&c.fresh, id, e)
	}
	if before.Status() != after.Status() {
		put(&c.turned, id, e.At)
	}
	if after.Settled() && !before.Settled() {
		put(&c.settled, id, string(after.Outcome))
	}
}

// Finish adds to the changes what follows from all of them together: rows of the
// index, feed, audit log and deliveries. It is the last thing that is done with a
// stage.
func (s *Stage) Finish() (*Changes, error) {
	c := &s.changes
	for _, id := range s.touched() {
		if err := s.relist(id); err != nil {
			return nil, err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.Index.settled)) {
		if err := s.notify(id, c.Index.settled[id]); err != nil {
			return nil, err
		}
	}
	if err := s.recount(); err != nil {
		return nil, err
	}
	return c, errors.Join(s.feed(), s.number())
}

// feed numbers what the feed is to tell of: the events, and after them the ends of
// tasks that were dropped, which are none.
func (s *Stage) feed() error {
	c := &s.changes
	if len(c.Records)+len(c.Dropped) == 0 {
		return nil
	}
	last, err := s.base.Fed()
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

// touched lists the tasks whose rows may have to change.
func (s *Stage) touched() []tasks.ID {
	ids := slices.Collect(maps.Keys(s.changes.Tasks))
	for _, more := range [][]tasks.ID{
		slices.Collect(maps.Keys(s.changes.Gone)), slices.Collect(maps.Keys(s.changes.Index.enlist)),
	} {
		for _, id := range more {
			if _, there := s.changes.Tasks[id]; !there {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// recount counts rows that are new, gone, or of another status.
func (s *Stage) recount() error {
	more, count := map[string]int{}, s.base.Counts
	for _, r := range s.changes.Index.Listings {
		if r.lost {
			count = s.base.Recount
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
func (s *Stage) notify(id tasks.ID, outcome string) error {
	webhook, err := s.webhook(id)
	if err == nil && webhook != "" {
		err = s.Queue(tasks.Delivery{ID: notice(id), Webhook: webhook, Kind: "task." + outcome, Task: id})
	}
	if errors.Is(err, tasks.ErrDamaged) { // nobody knows who was to hear of it, or whether it was queued before
		return nil
	}
	return err
}

// webhook is the one that is to hear of a task's outcome; empty when none is.
func (s *Stage) webhook(id tasks.ID) (string, error) {
	if after := s.changes.Index.Listings[id].After; after != nil {
		return after.Webhook, nil
	}
	if l, ok, err := s.base.Listing(id); err == nil && ok {
		return l.Webhook, nil
	}
	first, err := s.base.Event(id, 1)
	if err != nil || first.Opening == nil || first.Opening.Notify == nil {
		return "", err
	}
	return first.Opening.Notify.Webhook, nil
}

// notice is the id of the delivery that tells of a task's outcome.
func notice(id tasks.ID) string { return "notify-" + string(id) }

// Listing implements Base, of what is committed.
func (s *Stage) Listing(id tasks.ID) (Listing, bool, error) { return s.base.Listing(id) }

// Counts implements Base, of what is committed.
func (s *Stage) Counts() (map[string]int, error) { return s.base.Counts() }

// Recount implements Base, of what is committed.
func (s *Stage) Recount() (map[string]int, error) { return s.base.Recount() }

// Outcome implements Base, of what is committed.
func (s *Stage) Outcome(id tasks.ID, c bot.Chat) (string, error) { return s.base.Outcome(id, c) }

// Fed implements Base, of what is committed.
func (s *Stage) Fed() (uint64, error) { return s.base.Fed() }

// Audited implements Base, of what is committed.
func (s *Stage) Audited() (uint64, error) { return s.base.Audited() }

// AuditEntries implements Base, of what is committed.
func (s *Stage) AuditEntries(after uint64, n int) ([]tasks.AuditEntry, error) {
	return s.base.AuditEntries(after, n)
}

// AllDeliveries implements Base, of what is committed.
func (s *Stage) AllDeliveries() (map[string]tasks.ID, error) { return s.base.AllDeliveries() }

// Journal implements Base, of what is committed.
func (s *Stage) Journal(id tasks.ID) ([]planner.Event, error) { return s.base.Journal(id) }

// Event implements Base, of what is committed.
func (s *Stage) Event(id tasks.ID, seq int) (planner.Event, error) { return s.base.Event(id, seq) }
