package tasks

import (
	"context"
	"time"
)

// Deleted counts the records that a deletion has removed.
type Deleted struct {
	Tasks       int // with their journals
	Turns       int // questions and answers of the history
	Summaries   int // of conversations
	Settings    int // settings by or about a person, standing permissions among them
	Schedules   int
	Spent       int  // rows of the ledger
	Contents    int  // of files; their bytes are deleted too
	Posts       int  // of the web chat
	Connections int  // sign-ins at servers
	Live        []ID // tasks that stay, with their turns, because they have not ended
}

// Empty reports whether no record was deleted.
func (d Deleted) Empty() bool {
	return d.Tasks+d.Turns+d.Summaries+d.Settings+d.Schedules+d.Spent+d.Contents+d.Posts+d.Connections == 0
}

// Deletion deletes data of many conversations. Each method uses as many transactions
// as the amount of data needs, and others can write between them. After an error or
// a kill, another call deletes the rest. The methods return the counts up to then,
// also with an error.
type Deletion interface {
	// Erase deletes all data of a person or a chat, by a key such as "telegram:123"
	// or "slack:C1". For a chat, that is everything in it and in its threads. For a
	// person, that is their private chats, the tasks that they opened anywhere,
	// their schedules, their settings, their sessions at the page, their sign-ins at
	// servers, also those that everybody shares, the decisions of admins about them, and
	// their spending; the audit log gets a placeholder for their name. The sums of the
	// budgets for everybody stay, and dedupe keys stay as with Forget. A key such as
	// "server:NAME" is that of a server: all sign-ins at it.
	Erase(ctx context.Context, who string) (Deleted, error)
	// Retain deletes old data: the journals of tasks that ended before tasksBefore,
	// and turns, summaries, rows of the ledger and entries of the audit log from
	// before historyBefore; and sign-ins at servers that were not finished in time.
	// Reading a deleted task returns ErrNoTask; its turn stays. A zero time deletes
	// nothing.
	Retain(ctx context.Context, tasksBefore, historyBefore time.Time) (Deleted, error)
}
