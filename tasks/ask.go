package tasks

import (
	"legwork/planner"
)

// Ask is what a question of a task is called by: the seq of the event that asks,
// and the number of the call in it that a model asks by.
type Ask struct{ Seq, Call int }

// AskOf is the Ask of an ask action. All fields of a server's form are one.
func AskOf(id planner.ActionID) Ask { return Ask{Seq: id.Seq, Call: max(0, id.Call-1)} }
