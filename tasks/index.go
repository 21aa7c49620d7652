package tasks

import (
	"context"
	"slices"
	"time"

	"legwork/bot"
)

// Row is a task in lists. The store keeps it in the transactions of the task's
// events, so that a list reads no journals.
type Row struct {
	Task    ID
	Chat    bot.Chat // if the task had ended when its chat moved: the old chat
	From    bot.Person
	Goal    string    // its beginning, at most 500 bytes
	Status  string    // as planner.State.Status has it
	Round   int       // number of plans so far
	Opened  time.Time // of the first event
	Changed time.Time // of the last change of Status
	// Waits means that a person must decide something, whatever the status is. Since
	// is when the oldest open question was asked; zero without one.
	Waits bool
	Since time.Time
	// External means that outside agents work on the task
	// (planner.Opening.External).
	External bool
	// Groups are the tool groups of its sub-tasks, sorted. Empty for a task that ended
	// before rows held them.
	Groups []string
}

// Uses reports whether a sub-task of the task has the group.
func (r *Row) Uses(group string) bool { return slices.Contains(r.Groups, group) }

// TaskQuery selects tasks; empty fields select all.
type TaskQuery struct {
	Statuses []string
	// Rooms are bot.Chat.Room of their chats, "PLATFORM:*" for all of a platform, or
	// "*". Nil selects all tasks, an empty list selects none.
	Rooms  []string
	From   string // key of the person who asked
	Waits  bool   // only those that wait for a person's decision, whatever their status
	Before ID     // only older tasks; the last task of the page before, which may have been deleted
	Limit  int    // 0: 50
}

// FeedEntry is one event in the order in which the events of all tasks were stored.
// For a task that Store.Drop has ended without an event it stands for that end.
type FeedEntry struct {
	Cursor uint64 // grows by one with each entry, starts at 1
	Task   ID
	Seq    int // of the event in the task's journal; 0: the task was dropped
}

// Index holds what the store knows about all tasks. The store writes it in the
// transactions of the events.
type Index interface {
	// Tasks lists rows, the newest task first, by their ids. more means that older
	// tasks match. The time depends on Limit and on the number of rooms and statuses
	// in the query, not on the number of tasks.
	Tasks(ctx context.Context, q TaskQuery) (rows []Row, more bool, err error)
	// Row returns the row of a task. ErrNoTask.
	Row(ctx context.Context, id ID) (Row, error)
	// Counts returns the number of tasks of each status, without reading the tasks.
	Counts(ctx context.Context) (map[string]int, error)
	// Feed returns at most limit entries after a cursor, oldest first. The store
	// drops old entries. oldest and newest are the cursors of the first and the last
	// entry that it keeps, 0 when there are none; oldest shows whether entries after
	// the cursor are lost.
	Feed(ctx context.Context, after uint64, limit int) (entries []FeedEntry, oldest, newest uint64, err error)
}

// AuditEntry is a decision or change, and who made it.
type AuditEntry struct {
	Seq    uint64    `json:"seq"` // set by the store, starts at 1
	At     time.Time `json:"at"`  // set by the store if it is zero
	Who    string    `json:"who"` // key of a person or token, "agent:NAME", or empty for legwork itself
	Role   string    `json:"role,omitempty"`
	Action string    `json:"action"`           // such as "task.decide", "task.cancel", "state.set", "config.reload", "pause"
	Target string    `json:"target,omitempty"` // id of a task, key of a chat, name of a tool
	Detail string    `json:"detail,omitempty"` // one line, without secrets and without texts of people
	From   string    `json:"from,omitempty"`   // address of the request; empty without one
}

// Origin is the source of a program's request.
type Origin struct {
	Role string
	Addr string
}

type originKey struct{}

// WithOrigin returns a context whose changes have this origin in the audit log.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf returns the origin in a context; zero without one.
func OriginOf(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}

// Audit is the log of every decision and change. The store itself adds decisions
// about tasks, grants, answers and outside changes of shared states, in the
// transactions of their events.
type Audit interface {
	// Record adds an entry that is not an event of a task.
	Record(ctx context.Context, e AuditEntry) error
	// AuditLog returns at most limit entries before a number, the newest first. With
	// before 0 it starts with the newest entry.
	AuditLog(ctx context.Context, before uint64, limit int) ([]AuditEntry, error)
}

// Delivery is a request to a webhook that legwork repeats until it succeeds.
type Delivery struct {
	ID      string    `json:"id"`      // identifies the delivery, also for the receiver; has no full stop. A second delivery with the same id is a repetition
	Webhook string    `json:"webhook"` // name in the config; empty: the admins' chats
	Kind    string    `json:"kind"`    // package alerts names them: "task.done", "server.down", ...
	Task    ID        `json:"task,omitempty"`
	Body    []byte    `json:"body"` // JSON
	At      time.Time `json:"at"`   // when it was queued
	Next    time.Time `json:"next"` // not to be tried before
	Tries   int       `json:"tries"`
}

// Deliveries are the queued requests to webhooks.
type Deliveries interface {
	// Queue adds deliveries. It ignores a delivery whose id was queued in the last
	// 48 h.
	Queue(ctx context.Context, d ...Delivery) error
	// Outgoing returns at most limit deliveries that are due, in the order in which
	// they were queued, and when the next one is due after that; zero when there is
	// none. It leaves out the deliveries to the webhooks in except, also for next.
	Outgoing(ctx context.Context, now time.Time, limit int, except ...string) (due []Delivery, next time.Time, err error)
	// Tried records a try of a delivery. A zero next removes the delivery; otherwise
	// it is due again at next.
	Tried(ctx context.Context, id string, next time.Time) error
}
