package tasks

import (
	"context"
	"time"

	"legwork/bot"
)

// Row is what lists show about a task: kept by the store in the transactions
// of its events, so that a list reads no journals.
type Row struct {
	Task    ID
	Chat    bot.Chat // of a task that was over when its chat moved: as it was
	From    bot.Person
	Goal    string    // its beginning, at most 500 bytes
	Status  string    // as planner.State.Status has it
	Round   int       // plans taken so far
	Opened  time.Time // of the first event
	Changed time.Time // of the last change of Status
	// Waits says that a person must decide something, whatever the status is; Since
	// is when the first of what waits now began to. Zero when nothing does.
	Waits bool
	Since time.Time
	// External says that agents from outside work on it (planner.Opening.External).
	External bool
}

// TaskQuery chooses tasks; empty fields choose all.
type TaskQuery struct {
	Statuses []string
	// Rooms are bot.Chat.Room of their chats, "PLATFORM:*" for all of a platform, or
	// "*". Nil chooses all; a list that is empty, none.
	Rooms  []string
	Waits  bool // only those that wait for a person's decision, whatever their status
	Before ID   // only older ones: the last of the page before, which may be gone
	Limit  int  // at most so many; 0: 50
}

// FeedEntry is one event of one task in the order in which all events of all
// tasks were stored, or the end of a task without one: Store.Drop.
type FeedEntry struct {
	Cursor uint64 // grows by one with each entry, from 1
	Task   ID
	Seq    int // of the event in the task's journal; 0: it was dropped
}

// Index is what the store keeps over all tasks. All of it is written in the
// transactions of the events.
type Index interface {
	// Tasks lists rows, the newest task first, by their ids. more says that older
	// ones match. The time it takes depends on Limit and on how many rooms and
	// statuses are asked for, not on how many tasks there are.
	Tasks(ctx context.Context, q TaskQuery) (rows []Row, more bool, err error)
	// Row returns one. ErrNoTask.
	Row(ctx context.Context, id ID) (Row, error)
	// Counts tells how many tasks there are of each status, without reading them.
	Counts(ctx context.Context) (map[string]int, error)
	// Feed returns at most limit entries after a cursor, oldest first. Old entries
	// are dropped: oldest is the cursor of the first that is kept, so that a gap can
	// be told, and newest that of the last, 0 when there are none.
	Feed(ctx context.Context, after uint64, limit int) (entries []FeedEntry, oldest, newest uint64, err error)
}

// AuditEntry says who decided or changed something.
type AuditEntry struct {
	Seq    uint64    `json:"seq"` // given by the store, from 1
	At     time.Time `json:"at"`  // given by the store where it is zero
	Who    string    `json:"who"` // key of a person or token, "agent:NAME", or empty for legwork itself
	Role   string    `json:"role,omitempty"`
	Action string    `json:"action"`           // such as "task.decide", "task.cancel", "state.set", "config.reload", "pause"
	Target string    `json:"target,omitempty"` // id of a task, key of a chat, name of a tool
	Detail string    `json:"detail,omitempty"` // one line, without secrets and without what was said
	From   string    `json:"from,omitempty"`   // address of the request, where there was one
}

// Origin is whence a request of a program came.
type Origin struct {
	Role string
	Addr string
}

type originKey struct{}

// WithOrigin returns a context in which the audit log records where changes
// come from.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf is what WithOrigin noted last.
func OriginOf(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}

// Audit is the log of every decision and change. Decisions about tasks, grants,
// answers and changes of shared states from outside are entered by the store
// itself, in the transactions of their events.
type Audit interface {
	// Record enters what is no event of a task.
	Record(ctx context.Context, e AuditEntry) error
	// AuditLog returns at most limit entries before a number, the newest first;
	// before 0 from the newest on.
	AuditLog(ctx context.Context, before uint64, limit int) ([]AuditEntry, error)
}

// Delivery is a request to a webhook that has to arrive.
type Delivery struct {
	ID      string    `json:"id"`      // tells deliveries apart, also to the receiver: one that is queued again is the same; without a full stop
	Webhook string    `json:"webhook"` // name in the config; empty: the admins' chats
	Kind    string    `json:"kind"`    // package alerts names them: "task.done", "server.down", ...
	Task    ID        `json:"task,omitempty"`
	Body    []byte    `json:"body"` // JSON
	At      time.Time `json:"at"`   // queued
	Next    time.Time `json:"next"` // not before
	Tries   int       `json:"tries"`
}

// Deliveries are the requests to webhooks that have not arrived yet.
type Deliveries interface {
	// Queue adds deliveries; one whose id was ever queued in the last 48 h changes
	// nothing.
	Queue(ctx context.Context, d ...Delivery) error
	// Outgoing returns at most limit deliveries whose time has come, in the order in
	// which they were queued, and when the next one is due after that; zero when there
	// is none. Those to the webhooks of the names in except are left out of both.
	Outgoing(ctx context.Context, now time.Time, limit int, except ...string) (due []Delivery, next time.Time, err error)
	// Tried notes how a delivery went: it is done with when next is zero, and tried
	// again then otherwise.
	Tried(ctx context.Context, id string, next time.Time) error
}
