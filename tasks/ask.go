package tasks

import (
	"legwork/planner"
)

// Ask identifies a question of a task: the seq of the event that asks, and the
// number of the call if a model asks by a call.
type Ask struct{ Seq, Call int }

// AskOf returns the Ask of an ask action. All fields of a server's form have the
// same Ask.
func AskOf(id planner.ActionID) Ask { return Ask{Seq: id.Seq, Call: max(0, id.Call-1)} }
