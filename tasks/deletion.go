package tasks

import (
	"context"
	"time"
)

// Deleted counts what was deleted.
type Deleted struct {
	Tasks     int // with their journals
	Turns     int // questions and answers of the history
	Summaries int // of conversations
	Settings  int // settings by or about a person, standing permissions among them
	Schedules int
	Spent     int  // rows of the ledger
	Live      []ID // tasks that stay, with their turns, because they are not over
}

// Empty reports that nothing was deleted.
func (d Deleted) Empty() bool {
	return d.Tasks+d.Turns+d.Summaries+d.Settings+d.Schedules+d.Spent == 0
}

// Deletion is deletion that is not about a single conversation. It takes as many
// transactions as there is to delete, between which others write; after an error
// or a kill another call deletes the rest. What it tells is what was deleted
// until then, also with an error.
type Deletion interface {
	// Erase deletes all that there is of a person or a chat, by a key such as
	// "telegram:123" or "slack:C1". Of a chat that is everything in it and in its
	// threads; of a person, everything in their private chats, the tasks that they
	// opened anywhere, their schedules, what they set, and what admins decided
	// about them, and what they have spent; in the audit log their name is replaced.
	// The sums that the budgets of all together count stay; dedupe keys stay as with
	// Forget.
	Erase(ctx context.Context, who string) (Deleted, error)
	// Retain deletes what is old: the journals of tasks that were over before
	// tasksBefore, whose ids are ErrNoTask from then on and whose turns stay, and
	// turns, summaries, rows of the ledger and entries of the audit log from before
	// historyBefore. A zero time deletes nothing.
	Retain(ctx context.Context, tasksBefore, historyBefore time.Time) (Deleted, error)
}
