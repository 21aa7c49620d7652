package tasks

import (
	"context"
	"errors"
	"fmt"

	"legwork/llm"
	"legwork/planner"
)

// The budgets of the config, by their keys there. An Overdraft names one.
const (
	BudgetTaskTokens = "task_tokens"
	BudgetTaskUSD    = "task_usd"
	BudgetUserDayUSD = "user_day_usd"
	BudgetChatDayUSD = "chat_day_usd"
	BudgetDayUSD     = "day_usd"
	BudgetDayTokens  = "day_tokens"
)

// Budgets are limits of what tasks may cost. Amounts of money are millionths of
// a US dollar. Zero means no limit.
type Budgets struct {
	TaskTokens, TaskUSD int64
	UserDayUSD          int64
	ChatDayUSD          int64
	DayUSD, DayTokens   int64
}

// InTokens reports that the budget of a key counts tokens; others count money.
func InTokens(key string) bool { return key == BudgetTaskTokens || key == BudgetDayTokens }

// ErrBudget says that a budget has no room for a call; BudgetError tells which.
var ErrBudget = errors.New("a budget is reached")

// BudgetError is what Reserve returns when a budget has no room.
type BudgetError struct {
	Overdraft planner.Overdraft
	// Reserved is how much of Overdraft.Spent is only set aside, by calls under way
	// and for other tasks' closing answers: most of it comes free again.
	Reserved int64
}

// Temporary reports that there is room once what is set aside comes free.
func (e *BudgetError) Temporary() bool {
	return e.Overdraft.Spent-e.Reserved+e.Overdraft.Wanted <= e.Overdraft.Limit
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("budget %s: %d of %d are spent or reserved, %d wanted", e.Overdraft.Budget, e.Overdraft.Spent, e.Overdraft.Limit, e.Overdraft.Wanted)
}

func (e *BudgetError) Unwrap() error { return ErrBudget }

// ReservationID names a reservation of a task.
type ReservationID struct {
	Action  planner.ActionID `json:"action,omitzero"`
	Call    string           `json:"call,omitempty"`    // a call within the action, or outside of any action; empty for the action itself
	Attempt int              `json:"attempt,omitempty"` // a further attempt of either; 0 for the first one
}

// Covers reports that other is r itself or a part of it: a call within the action,
// or a further attempt. The event that ends an action settles all its parts.
func (r ReservationID) Covers(other ReservationID) bool {
	return r == other || r.Attempt == 0 && r.Action == other.Action && (r.Call == "" || r.Call == other.Call)
}

// Reservation is what an action may cost at most. Of each action there is one:
// reserving again for the same one, as after a crash, counts what was reserved
// before as spent, because it may have been.
type Reservation struct {
	ID    ReservationID
	Day   string    // whose budgets it counts for, "2026-11-20" in the time zone of the config
	User  string    // key of the person on whose behalf it is
	Chat  string    // room of the task's chat, threads aside
	Model string    // configured model
	Most  llm.Usage // what it may cost at most
	// Least is what it has cost when it was begun and nothing more is known of
	// it: its input. Zero: the input of Most, with its part of the cost by tokens.
	Least llm.Usage
	// Hold is kept back for the closing answer of the task from its first
	// reservation with a Hold on, once, and must have room, too. Nil: nothing.
	Hold *llm.Usage
	// Closing says that this is the closing answer: it takes what is kept back,
	// and has room as long as it needs no more than that, whatever was spent.
	Closing bool
	// After says that the task is over: what follows it, such as a summary of its
	// conversation, counts for it.
	After   bool
	Budgets Budgets // as they are now
}

// Spent is what was spent on a day, by one person in one chat with one model.
type Spent struct {
	Day   string
	User  string
	Chat  string
	Model string
	Calls int
	Usage llm.Usage
}

// SpentQuery chooses rows of the ledger; empty fields choose all.
type SpentQuery struct {
	From, To   string // days, both included
	User, Chat string
}

// Extended is by how much people have extended a day's budget: of one person, of
// one chat, or of everybody where both are empty.
type Extended struct {
	User, Chat   string
	Tokens, Cost int64
}

// Ledger keeps what calls cost. A reservation counts as spent until it is
// settled. An event of an action that has a reservation and a usage (replied,
// malformed, call_failed, returned) settles it in the transaction of its
// Append; a decision that extends a day's budget (see planner.Overdraft) is
// kept there in the same way. What a task that is over has left reserved
// counts as spent to the amount of its input.
type Ledger interface {
	// Reserve makes a reservation, unless a budget has no room for it: then it is
	// a *BudgetError, which names the first such budget in the order of the
	// constants, and nothing has changed. ErrNoTask; ErrRefused when it is over,
	// unless the reservation is After it.
	Reserve(ctx context.Context, id ID, r Reservation) error
	// Settle replaces a reservation by what the action has cost, where no event
	// does so: it was cancelled. Without a reservation it does nothing.
	Settle(ctx context.Context, id ID, of ReservationID, cost llm.Usage) error
	// Spent lists what was spent, in the order of day, user, chat and model.
	// Reservations are not in it.
	Spent(ctx context.Context, q SpentQuery) ([]Spent, error)
	// Extended lists the budgets of a day that people have extended, in the order
	// of user and chat.
	Extended(ctx context.Context, day string) ([]Extended, error)
	// Room is what a reservation would be told: nil, or a *BudgetError. It changes
	// nothing.
	Room(ctx context.Context, id ID, r Reservation) error
}

// UsageByName adds usages by name. Names has the order in which they came.
type UsageByName struct {
	Names []string
	Usage map[string]llm.Usage
}

// NewUsageByName makes an empty one.
func NewUsageByName() *UsageByName { return &UsageByName{Usage: map[string]llm.Usage{}} }

// Add adds a usage to that of a name.
func (u *UsageByName) Add(name string, usage llm.Usage) {
	if _, known := u.Usage[name]; !known {
		u.Names = append(u.Names, name)
	}
	u.Usage[name] = u.Usage[name].Add(usage)
}
