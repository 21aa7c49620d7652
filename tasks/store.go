package tasks

import (
	"context"
	"errors"
	"time"

	"legwork/bot"
	"legwork/planner"
)

// ID names a task: a ULID, sortable by time and unguessable to outsiders.
type ID string

// Errors that a store's callers branch on.
var (
	ErrConflict = errors.New("the task went on since it was read")
	ErrFenced   = errors.New("another worker holds the task")
	ErrRefused  = errors.New("the event no longer fits the task")
	ErrNoTask   = errors.New("no such task")
	ErrDamaged  = errors.New("a stored record is damaged")
	ErrFull     = errors.New("the disk is full")
)

// Inbound is one routed delivery, stored at most once by its Key.
type Inbound struct {
	Key string // dedupe key; deliveries with a key seen before do nothing
	// To, when set, is the running task that Event is meant for. When the task
	// does not take it, the delivery opens a new task instead if Open is set,
	// and is dropped with ErrRefused in its Receipt otherwise.
	To    ID
	Event planner.Event
	// Open is the task to start: its Opened event. ID names it.
	ID   ID
	Open *planner.Event
	// Cut forgets the conversation so far for later prompts (/new).
	Cut bool
	// Fire, when set, is the fire time of a schedule that Open is for.
	Fire *Firing
	// Chat is the conversation; it must be set when Open or Cut is.
	Chat bot.Chat
}

// Receipt says what became of an Inbound.
type Receipt struct {
	Task   ID    // the task that was opened or received the event
	Seq    int   // of the event in the task's journal; 0 when none was added now
	Opened bool  // a task was opened
	Again  bool  // the key was seen before: nothing was done; Task is what it became then
	Err    error // ErrRefused, ErrNoTask
}

// Turn is one finished or running exchange of a conversation.
type Turn struct {
	Task   ID
	Order  uint64 // of opening, over all conversations, from 1
	At     time.Time
	Goal   string
	Answer string // empty while there is none
	Failed bool   // it ended without doing what was asked: stopped, or something went wrong

	From    string // key of the person who asked; empty when it is not known
	Tainted bool   // words of outsiders may have gone into the answer
}

// Live is a task that is not over.
type Live struct {
	Task ID
	Chat bot.Chat
	From bot.Person
}

// Store keeps journals, conversations and settings. It is the only truth: a
// method that returned nil has made its change durable. Safe for concurrent use.
type Store interface {
	Ledger
	Schedules
	Summaries
	Deletion
	Index
	Audit
	Deliveries
	// Open stores a batch of deliveries in one transaction: dedupe keys, new
	// journals, conversation queue and history rows. A receipt per delivery, in
	// order. ctx only bounds the waiting: after it ended the batch may still be
	// stored.
	Open(ctx context.Context, batch []Inbound) ([]Receipt, error)
	// Known returns what Open returned for an earlier delivery with a key;
	// false when none came lately.
	Known(ctx context.Context, key string) (Receipt, bool, error)
	// Append adds events to a journal after checking planner.Takes for each, all
	// or none. after is the Seq the caller has read up to, or -1 for any
	// (ErrConflict). fence is the caller's lease number; one lower than the
	// highest seen is ErrFenced; 0 means no lease. An event that does not fit is
	// ErrRefused. The store sets Seq, and At where it is zero. The rows that
	// follow from the events (history, conversation queue, releases of other
	// tasks) are written in the same transaction.
	Append(ctx context.Context, id ID, after int, fence int64, e ...planner.Event) error
	// Load returns the events with Seq > from, in order. ErrNoTask, ErrDamaged.
	Load(ctx context.Context, id ID, from int) ([]planner.Event, error)
	// Event returns one event.
	Event(ctx context.Context, id ID, seq int) (planner.Event, error)
	// State returns the folded journal, from the store's cache when it is there.
	// It is never older than what Load has returned before.
	State(ctx context.Context, id ID) (planner.State, error)
	// Drop takes a task whose journal is damaged out of the live ones and out of
	// its conversation's lane, releasing those behind it. Its records stay.
	Drop(ctx context.Context, id ID) error
	// Changed returns a channel that is closed at the task's next event after
	// this call. Call it before Load to miss nothing.
	Changed(id ID) <-chan struct{}
	// Follow calls heard for each task that a transaction changed, until stop
	// is called: calls that have begun by then end first. heard must return at
	// once, and must not call the store.
	Follow(heard func(ID)) (stop func())
	// Live lists the tasks that are not over, oldest first: all of them, or
	// those of one conversation.
	Live(ctx context.Context, conversation string) ([]Live, error)
	// History returns the newest turns of a conversation since its last cut,
	// oldest first, whose goals and answers together have at most maxBytes, and
	// which were opened before the task before (all when empty). When the newest
	// alone is longer, its texts are shortened.
	History(ctx context.Context, conversation string, before ID, maxBytes int) ([]Turn, error)
	// Forget deletes what a conversation holds: its history, its cut, its summary,
	// its ConversationSettings and the journals of its finished tasks. Tasks that are not over stay, with their
	// turns; dedupe keys stay, so that a redelivery opens nothing. It takes as many
	// transactions as the conversation is long, each deleting turns whole, from the
	// oldest on: after an error or a kill another call deletes the rest. It returns
	// how many turns were deleted, also with an error. Their ids are ErrNoTask from
	// then on; the store's engine may keep the bytes of freed pages for a while.
	Forget(ctx context.Context, conversation string) (int, error)
	// Move gives all that a conversation holds to another one, whose own turns it
	// precedes: history, cut, settings of the chat, and the tasks that are not
	// over, in one transaction. Live and history lists name the new chat from then
	// on; journals stay as they are. Moving what is not there does nothing.
	Move(ctx context.Context, from string, to bot.Chat) error
	// Setting and PutSetting keep small per-person and per-chat values, such as
	// ("terminal:me", "language"). A missing one is "".
	Setting(ctx context.Context, owner, name string) (string, error)
	PutSetting(ctx context.Context, owner, name, value string) error
	Close() error
}

// Engine makes happen what the journals want.
type Engine interface {
	// Wake tells that something was appended to a task. It never blocks for long.
	Wake(ctx context.Context, id ID) error
	// Run works until ctx ends: first all live tasks of the store, then those
	// that are woken. It returns after everything it started has ended.
	Run(ctx context.Context) error
}
