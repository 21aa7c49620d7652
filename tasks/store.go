package tasks

import (
	"context"
	"errors"
	"time"

	"legwork/bot"
	"legwork/planner"
)

// ID identifies a task: a ULID, which sorts by time and cannot be guessed.
type ID string

// Errors that the callers of a store branch on.
var (
	ErrConflict = errors.New("the task went on since it was read")
	ErrFenced   = errors.New("another worker holds the task")
	ErrRefused  = errors.New("the event no longer fits the task")
	ErrNoTask   = errors.New("no such task")
	ErrDamaged  = errors.New("a stored record is damaged")
	ErrFull     = errors.New("the disk is full")
)

// Unreadable reports whether err means that a task does not exist or that its record
// is damaged. Reading it again does not help.
func Unreadable(err error) bool { return errors.Is(err, ErrNoTask) || errors.Is(err, ErrDamaged) }

// Inbound is one delivery after routing. The store accepts each Key at most once.
type Inbound struct {
	Key string // dedupe key; a delivery with a known key does nothing
	// To, when set, is the running task that Event is for. If the task does not
	// accept the event, the delivery opens a new task if Open is set; otherwise it
	// is dropped, with ErrRefused in its Receipt.
	To    ID
	Event planner.Event
	// Open is the Opened event of the task to start; nil: none. ID is the id of the
	// task.
	ID   ID
	Open *planner.Event
	// Cut hides the conversation so far from later prompts (/new).
	Cut bool
	// Fire, when set, is the fire time of a schedule for which Open is.
	Fire *Firing
	// Chat is the conversation; it must be set when Open or Cut is.
	Chat bot.Chat
}

// Receipt is the result of an Inbound.
type Receipt struct {
	Task   ID    // the task that was opened or got the event
	Seq    int   // of the event in the task's journal; 0: no event was added now
	Opened bool  // a task was opened
	Again  bool  // the key was known: nothing was done, and Task is the task of the first delivery
	Err    error // ErrRefused, ErrNoTask
}

// Turn is one question of a conversation with its answer, if there is one already.
type Turn struct {
	Task   ID
	Order  uint64 // of opening, over all conversations, starts at 1
	At     time.Time
	Goal   string
	Answer string // empty: none yet
	Failed bool   // the task was stopped or failed

	From    string          // key of the person who asked; empty: unknown
	Brought []bot.Quoted    // messages that the question brought along, as material
	Tainted bool            // it may hold texts of outsiders
	Private planner.Origins // where private data in it may have come from
}

// Bytes is the size of the turn's texts.
func (t Turn) Bytes() int {
	n := len(t.Goal) + len(t.Answer)
	for _, q := range t.Brought {
		n += len(q.From) + len(q.Text)
	}
	return n
}

// Live is a task that has not ended.
type Live struct {
	Task ID
	Chat bot.Chat
	From bot.Person
	// Ahead is how many tasks of its conversation have to make progress first. It is 0
	// in a list of all conversations.
	Ahead int
}

// Store keeps journals, conversations and settings, and is the only source of truth.
// When a method returns nil, its change is durable. It is safe for concurrent use.
type Store interface {
	Ledger
	Schedules
	Summaries
	Deletion
	Index
	Audit
	Deliveries
	Files
	Posts
	Sessions
	Connections
	// Open stores a batch of deliveries in one transaction, with dedupe keys, new
	// journals, conversation queues and history rows. It returns a receipt for each
	// delivery, in the same order. ctx limits only the waiting: the batch may be
	// stored after ctx has ended.
	Open(ctx context.Context, batch []Inbound) ([]Receipt, error)
	// Known returns the receipt of an earlier delivery with a key; false when no
	// such delivery came lately.
	Known(ctx context.Context, key string) (Receipt, bool, error)
	// Append adds events to a journal, all or none, if planner.Takes accepts each.
	// after is the seq up to which the caller has read, or -1 for any (ErrConflict).
	// fence is the caller's lease number: ErrFenced if it is lower than the highest
	// so far; 0 means no lease. An event that does not fit is ErrRefused. The store
	// sets Seq, and At if it is zero. In the same transaction it writes the rows
	// that follow from the events: history, conversation queue, releases of other
	// tasks.
	Append(ctx context.Context, id ID, after int, fence int64, e ...planner.Event) error
	// Load returns the events with Seq > from, in order. ErrNoTask, ErrDamaged.
	Load(ctx context.Context, id ID, from int) ([]planner.Event, error)
	// Event returns one event. ErrNoTask, ErrDamaged.
	Event(ctx context.Context, id ID, seq int) (planner.Event, error)
	// State returns the state that the journal leads to, from the store's cache if
	// possible. It is never older than the events that Load has returned before.
	State(ctx context.Context, id ID) (planner.State, error)
	// Drop ends a task whose journal is damaged, without an event. The task is then
	// neither live nor in its conversation's lane, and the tasks behind it continue.
	// Its records stay.
	Drop(ctx context.Context, id ID) error
	// Changed returns a channel that is closed at the task's next event after this
	// call. Call it before Load to miss no event.
	Changed(id ID) <-chan struct{}
	// Follow calls notify for each task that a transaction has changed, until stop
	// is called. stop waits for running calls. notify must return at once and must
	// not call the store.
	Follow(notify func(ID)) (stop func())
	// Live lists the live tasks of a conversation, or all if it is empty, oldest
	// first.
	Live(ctx context.Context, conversation string) ([]Live, error)
	// History returns the newest turns of a conversation since its last cut, oldest
	// first, whose texts together have at most maxBytes. With a task in before, it
	// returns only turns that were opened before that task. If the newest turn alone
	// is longer, it loses messages that it brought along, and its texts are shortened.
	History(ctx context.Context, conversation string, before ID, maxBytes int) ([]Turn, error)
	// Forget deletes the data of a conversation: its history, its cut, its summary,
	// its ConversationSettings, and the journals of its ended tasks. Live tasks
	// stay, with their turns. Dedupe keys stay, so that a repeated delivery opens no
	// task. A long conversation needs many transactions, each of which deletes
	// complete turns, from the oldest on. After an error or a kill, another call
	// deletes the rest. Forget returns how many turns were deleted, also with an
	// error. Reading their tasks returns ErrNoTask then. The store's engine may keep
	// the bytes of freed pages for a while.
	Forget(ctx context.Context, conversation string) (int, error)
	// Move gives the data of a conversation to another one, in one transaction:
	// history, cut, settings of the chat, and the live tasks. The turns of both
	// stay sorted by time. After that, Live and History return them under the new
	// chat; journals stay as they are. Moving an unknown conversation does nothing.
	Move(ctx context.Context, from string, to bot.Chat) error
	// Setting and PutSetting read and store small values of a person or chat, such
	// as ("terminal:me", "language"). A missing value is "".
	Setting(ctx context.Context, owner, name string) (string, error)
	PutSetting(ctx context.Context, owner, name, value string) error
	// SettingOwners lists the owners that have a setting of a name, sorted. It reads all
	// settings.
	SettingOwners(ctx context.Context, name string) ([]string, error)
	Close() error
}

// Engine runs the actions that the journals want.
type Engine interface {
	// Wake tells the engine that a task has a new event. It blocks briefly at most.
	Wake(ctx context.Context, id ID) error
	// Run works until ctx ends: first on all live tasks of the store, then on woken
	// tasks. It returns after everything that it started has ended.
	Run(ctx context.Context) error
}
