package tasks

import (
	"context"
	"errors"
	"fmt"

	"legwork/llm"
	"legwork/planner"
)

// The keys of the budgets in the config. An Overdraft names one.
const (
	BudgetTaskTokens = "task_tokens"
	BudgetTaskUSD    = "task_usd"
	BudgetUserDayUSD = "user_day_usd"
	BudgetChatDayUSD = "chat_day_usd"
	BudgetDayUSD     = "day_usd"
	BudgetDayTokens  = "day_tokens"
)

// Budgets are limits of costs. Amounts of money are millionths of a US dollar. Zero
// means no limit.
type Budgets struct {
	TaskTokens, TaskUSD int64
	UserDayUSD          int64
	ChatDayUSD          int64
	DayUSD, DayTokens   int64
}

// InTokens reports whether the budget of a key counts tokens; the others count
// money.
func InTokens(key string) bool { return key == BudgetTaskTokens || key == BudgetDayTokens }

// ErrBudget means that a budget has no room for a call. BudgetError says which
// budget.
var ErrBudget = errors.New("a budget is reached")

// BudgetError is the error of Reserve when a budget has no room.
type BudgetError struct {
	Overdraft planner.Overdraft
	// Reserved is the part of Overdraft.Spent that is only reserved, by running
	// calls and for the closing answers of other tasks. Most of it becomes free
	// again.
	Reserved int64
}

// Temporary reports whether the budget has room once all reservations are free
// again.
func (e *BudgetError) Temporary() bool {
	return e.Overdraft.Spent-e.Reserved+e.Overdraft.Wanted <= e.Overdraft.Limit
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("budget %s: %d of %d are spent or reserved, %d wanted", e.Overdraft.Budget, e.Overdraft.Spent, e.Overdraft.Limit, e.Overdraft.Wanted)
}

func (e *BudgetError) Unwrap() error { return ErrBudget }

// ReservationID identifies a reservation of a task.
type ReservationID struct {
	Action  planner.ActionID `json:"action,omitzero"`
	Call    string           `json:"call,omitempty"`    // a call within the action, or without an action; empty: the action itself
	Attempt int              `json:"attempt,omitempty"` // a further attempt of the action or call; 0: the first
}

// Covers reports whether other is r itself or a part of it: a call within the
// action, or a further attempt. The event that ends an action settles all its parts.
func (r ReservationID) Covers(other ReservationID) bool {
	return r == other || r.Attempt == 0 && r.Action == other.Action && (r.Call == "" || r.Call == other.Call)
}

// Reservation is the most that an action may cost. An action has one reservation.
// Reserving again for the same action, as after a crash, counts the earlier
// reservation as spent, because its call may have been made.
type Reservation struct {
	ID    ReservationID
	Day   string    // the day that it counts for: "2026-11-20" in the time zone of the config
	User  string    // key of the person who asked
	Chat  string    // room of the task's chat, without a thread
	Model string    // configured model
	Group string    // tool group of the sub-task that pays, or llm_tool; empty: none, as for plans and reviews
	Most  llm.Usage // the most that it may cost
	// Least is the cost of a call that was begun and whose outcome is unknown: its
	// input. Zero: the input of Most, with its part of the cost by tokens; all of Most
	// where it has no tokens.
	Least llm.Usage
	// Hold is the amount that is held back for the closing answer of the task. It
	// counts once, from the task's first reservation with a Hold on, and the budgets
	// need room for it too. Nil: nothing is held back.
	Hold *llm.Usage
	// Closing means that this is the closing answer. It uses the amount that is held
	// back, and always has room if it needs no more than that, even if a budget is
	// spent.
	Closing bool
	// After means that the task has ended. Work that follows it, such as a summary
	// of its conversation, counts for the task.
	After   bool
	Budgets Budgets // the current ones
}

// Spent is the spending of one day by one person in one chat with one model for one
// tool group.
type Spent struct {
	Day   string
	User  string
	Chat  string
	Model string
	Group string // empty: for no sub-task, or counted by an earlier version
	Calls int
	Usage llm.Usage
}

// SpentQuery selects rows of the ledger; empty fields select all.
type SpentQuery struct {
	From, To   string // days, both included
	User, Chat string
}

// Extended is the amount by which people have extended a day's budget: of one
// person, of one chat, or of everybody if both are empty.
type Extended struct {
	User, Chat   string
	Tokens, Cost int64
}

// Ledger records the cost of calls. A reservation counts as spent until it is
// settled. If an event of an action with a reservation holds a usage (replied,
// malformed, call_failed, returned), Append settles the reservation in the same
// transaction. Append also records a decision that extends a day's budget (see
// planner.Overdraft). When a task ends, its open reservations count as spent to the
// amount of their input.
type Ledger interface {
	// Reserve makes a reservation if all budgets have room. Otherwise it changes
	// nothing and returns a *BudgetError with the first budget without room, in the
	// order of the constants. It returns ErrNoTask for an unknown task, and
	// ErrRefused for a task that has ended, unless the reservation is After it.
	Reserve(ctx context.Context, id ID, r Reservation) error
	// Settle replaces a reservation by the real cost of the action, when no event
	// does so because the action was cancelled. Without a reservation it does
	// nothing.
	Settle(ctx context.Context, id ID, of ReservationID, cost llm.Usage) error
	// Spent lists the spending without reservations, in the order of day, user, chat,
	// model and group.
	Spent(ctx context.Context, q SpentQuery) ([]Spent, error)
	// Extended lists the extended budgets of a day, in the order of user and chat.
	Extended(ctx context.Context, day string) ([]Extended, error)
	// Room returns the error that Reserve would return for a reservation. It changes
	// nothing.
	Room(ctx context.Context, id ID, r Reservation) error
}

// UsageByName sums usages by name. Names has the order in which the names were
// added.
type UsageByName struct {
	Names []string
	Usage map[string]llm.Usage
}

// NewUsageByName makes an empty sum.
func NewUsageByName() *UsageByName { return &UsageByName{Usage: map[string]llm.Usage{}} }

// Add adds a usage to the sum of a name.
func (u *UsageByName) Add(name string, usage llm.Usage) {
	if _, known := u.Usage[name]; !known {
		u.Names = append(u.Names, name)
	}
	u.Usage[name] = u.Usage[name].Add(usage)
}
