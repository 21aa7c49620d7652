// Package rules holds what a store does within one transaction: dedupe, routing to
// a running task, the conversation queue, fences and history rows. A store brings
// the committed data (Snapshot) and writes Changes. Everything in between is
// decided here, without goroutines or clocks, so that all stores behave the same.
package rules

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

// Snapshot is the committed data. Its values are shared and must not be changed.
type Snapshot interface {
	IndexSnapshot

	// Seen returns the outcome of the delivery with that key.
	Seen(key string) (SeenDelivery, bool, error)
	// Task returns a task's row.
	Task(id tasks.ID) (Task, bool, error)
	// LaneCopy returns the copy of a task's row that is kept with its lane until the
	// task ends. It serves when the row itself is damaged, and may be older.
	LaneCopy(id tasks.ID) (Task, bool, error)
	// State returns the fold of a task's whole journal; the task exists.
	State(id tasks.ID) (planner.State, error)
	// Lane returns a conversation's queue; its zero value when there is none.
	Lane(conversation string) (tasks.Lane, error)
	// Order returns the order number that was given last; 0 before any.
	Order() (uint64, error)
	// Turn returns the rows of a conversation's first turn whose order is above
	// after: the goal before the answer, or none when there is no such turn. A
	// damaged row comes without its text.
	Turn(conversation string, after uint64) ([]HistoryRow, error)
	// Cut returns the order up to which the turns of a conversation are cut off; 0
	// for no cut.
	Cut(conversation string) (uint64, error)
	// Settings returns the names and values that are stored for an owner.
	Settings(owner string) (map[string]string, error)

	// Account returns what a task has spent and reserved; its zero value when it
	// has nothing, or is over.
	Account(id tasks.ID) (Account, error)
	// Accounts lists the tasks with accounts: tasks that have not ended, and
	// ended ones with calls that were made after them.
	Accounts() ([]tasks.ID, error)
	// Total returns what was spent and reserved of a budget.
	Total(of TotalKey) (Total, error)
	// TotalKeys lists the budgets that have totals.
	TotalKeys() ([]TotalKey, error)
	// Spent returns the amounts of a row of the ledger; only its keys when there is
	// none.
	Spent(row SpentKey) (tasks.Spent, error)

	// Schedule returns the schedule of that id.
	Schedule(id string) (tasks.Schedule, bool, error)
	// Schedules returns the schedules of a conversation, or all with an empty name,
	// in no order.
	Schedules(conversation string) ([]tasks.Schedule, error)
	// Summary returns the summary of a conversation, cut or not; its zero value when
	// there is none.
	Summary(conversation string) (tasks.Summary, error)
	// Invalidated returns the order up to which turns of a conversation were
	// deleted, or moved to it, since the store was opened; 0 for none. Somebody who
	// read the turns before that may know deleted ones, or not know moved ones.
	Invalidated(conversation string) (uint64, error)

	// Tasks lists at most n tasks after that one, sorted by id, without those whose
	// row is damaged.
	Tasks(after tasks.ID, n int) ([]TaskEntry, error)
	// EndedAt returns the time of a task's last event; zero when it cannot be read.
	EndedAt(id tasks.ID, t Task) (time.Time, error)
	// Conversations lists at most n conversations with turns after that one, in an
	// order of the store.
	Conversations(after string, n int) ([]string, error)
	// AllSettings returns every stored value.
	AllSettings() (map[Setting]string, error)
	// SpentKeys lists at most n rows of the ledger that match.
	SpentKeys(match func(SpentKey) bool, n int) ([]SpentKey, error)
}

// Task is a task's row: everything about it that is not in its journal.
type Task struct {
	Chat  bot.Chat   `json:"chat"`
	From  bot.Person `json:"from"`  // the asker
	Order uint64     `json:"order"` // of opening, over all conversations, from 1
	Last  int        `json:"last"`  // seq of its last event: a journal that lost its tail is damaged
	Over  bool       `json:"over,omitempty"`
	Fence int64      `json:"fence,omitempty"` // the highest seen
}

// KeepSeen is how long a repeated delivery is recognised.
const KeepSeen = 48 * time.Hour

// MaxName bounds conversations, owners and names of settings, in bytes.
const MaxName = 1024

// SeenDelivery is the outcome of a delivery, kept under its dedupe key.
type SeenDelivery struct {
	Task    tasks.ID  `json:"task,omitempty"`
	Refused bool      `json:"refused,omitempty"` // it was dropped with ErrRefused
	Missing bool      `json:"missing,omitempty"` // it was dropped with ErrNoTask
	At      time.Time `json:"at"`
}

// Record is one stored event.
type Record struct {
	Task  tasks.ID
	Event planner.Event // as read back from Body
	Body  []byte        // JSON
}

// HistoryRow is one half of a turn in a conversation's history.
type HistoryRow struct {
	Conversation string
	Order        uint64 // of the task
	Task         tasks.ID
	Answer       bool // the answer; otherwise the goal
	Failed       bool
	Tainted      bool   // of an answer: words of outsiders may have gone into it
	From         string // of a goal: key of the person who asked
	At           time.Time
	Text         string
	Fallback     bool // not written when the half is there already
	Deleted      bool // deleted
}

// Setting names a stored value.
type Setting struct{ Owner, Name string }

// Changes is what a transaction writes. The zero value is empty.
type Changes struct {
	Deleted  map[tasks.ID]bool // journals, tasks and states to be deleted, before the rest is written
	Moved    int               // conversations that were given to others
	Records  []Record          // of each task in order
	Bytes    int               // of their bodies
	Lapsed   int               // questions that expired with these events
	Rows     []HistoryRow      // to be written in this order
	Tasks    map[tasks.ID]Task
	States   map[tasks.ID]planner.State // folds of the journals including Records
	Seen     map[string]SeenDelivery
	Lanes    map[string]*tasks.Lane // whole, after the changes
	Cuts     map[string]uint64      // conversation: turns up to this order are forgotten; 0: none
	Settings map[Setting]string     // empty: deleted
	Dropped  []tasks.ID             // ended without an event of their own
	Order    uint64                 // the order number given last; 0 when none was given

	Accounts     map[tasks.ID]Account // empty: deleted
	Totals       map[TotalKey]Total   // zero: deleted
	Spent        map[SpentKey]tasks.Spent
	SpentDeleted []SpentKey                 // deleted, before others are written
	Schedules    map[string]*tasks.Schedule // nil: deleted
	Summaries    map[string]tasks.Summary   // zero: deleted
	Invalidated  map[string]uint64          // kept in memory until the store is closed
	Operations   map[string]bool            // changes that are not events: reserved, settled, fired, summarised

	Index IndexChanges
}

// Empty reports that there is nothing to write.
func (c *Changes) Empty() bool {
	return len(c.Deleted)+len(c.Records)+len(c.Rows)+len(c.Tasks)+len(c.Seen)+len(c.Lanes)+len(c.Cuts)+len(c.Settings)+
		len(c.Accounts)+len(c.Totals)+len(c.Spent)+len(c.SpentDeleted)+len(c.Schedules)+len(c.Summaries) == 0 && c.Index.empty()
}

// Steps returns names for failpoints: the types of the events, the operations,
// "forgotten" and "moved".
func (c *Changes) Steps() []string {
	var steps []string
	for _, r := range c.Records {
		steps = append(steps, string(r.Event.Type))
	}
	if len(c.Deleted) > 0 {
		steps = append(steps, "forgotten")
	}
	if c.Moved > 0 {
		steps = append(steps, "moved")
	}
	return slices.AppendSeq(steps, maps.Keys(c.Operations))
}

// forget removes a task from the changes, and has it deleted.
func (c *Changes) forget(id tasks.ID) {
	c.Records = slices.DeleteFunc(c.Records, func(r Record) bool { return r.Task == id })
	delete(c.Tasks, id)
	delete(c.States, id)
	delete(c.Accounts, id)
	c.Index.forget(id)
	put(&c.Deleted, id, true)
}

// add merges the changes of a later transaction on top of c.
func (c *Changes) add(later *Changes) {
	for id := range later.Deleted {
		c.forget(id)
	}
	c.Moved += later.Moved
	c.Records = append(c.Records, later.Records...)
	c.Bytes += later.Bytes
	c.Lapsed += later.Lapsed
	c.Rows = append(c.Rows, later.Rows...)
	c.Dropped = append(c.Dropped, later.Dropped...)
	merge(&c.Tasks, later.Tasks)
	merge(&c.States, later.States)
	merge(&c.Seen, later.Seen)
	merge(&c.Lanes, later.Lanes)
	merge(&c.Cuts, later.Cuts)
	merge(&c.Settings, later.Settings)
	merge(&c.Accounts, later.Accounts)
	merge(&c.Totals, later.Totals)
	for _, row := range later.SpentDeleted {
		delete(c.Spent, row)
	}
	c.SpentDeleted = append(c.SpentDeleted, later.SpentDeleted...)
	merge(&c.Spent, later.Spent)
	merge(&c.Schedules, later.Schedules)
	merge(&c.Summaries, later.Summaries)
	merge(&c.Invalidated, later.Invalidated)
	merge(&c.Operations, later.Operations)
	c.Index.add(&later.Index)
	c.Order = max(c.Order, later.Order)
}

func merge[K comparable, V any](to *map[K]V, from map[K]V) {
	for k, v := range from {
		put(to, k, v)
	}
}

func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = make(map[K]V)
	}
	(*m)[k] = v
}

// receipt is the receipt of a repeated delivery.
func (s SeenDelivery) receipt() tasks.Receipt {
	r := tasks.Receipt{Task: s.Task, Again: true}
	switch {
	case s.Refused:
		r.Err = tasks.ErrRefused
	case s.Missing:
		r.Err = tasks.ErrNoTask
	}
	return r
}

func seen(r tasks.Receipt, at time.Time) SeenDelivery {
	return SeenDelivery{
		Task: r.Task, At: at,
		Refused: errors.Is(r.Err, tasks.ErrRefused), Missing: errors.Is(r.Err, tasks.ErrNoTask),
	}
}

// Encode returns the stored form of an event, and the event as it will be read
// back. The fold always uses the stored event.
func Encode(e planner.Event) ([]byte, planner.Event, error) {
	e.At = e.At.Round(0).UTC()
	body, err := json.Marshal(e)
	if err != nil {
		return nil, e, err
	}
	back, err := Decode(body)
	return body, back, err
}

// Decode reads what Encode wrote.
func Decode(body []byte) (planner.Event, error) {
	var e planner.Event
	err := json.Unmarshal(body, &e)
	return e, err
}
