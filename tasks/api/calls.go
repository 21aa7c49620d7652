package api

import (
	"encoding/json"
	"strings"

	"legwork/planner"
)

// call is the call that a tool action makes; of other actions it is none.
func (t telling) call(action planner.ActionID) (call planner.Call) {
	if calls := t.calls(action); action.Call >= 1 && action.Call <= len(calls) {
		return calls[action.Call-1]
	}
	return planner.Call{}
}

// calls are those of the turn that the call of a tool action belongs to.
func (t telling) calls(action planner.ActionID) []planner.Call {
	seq, _ := t.state.ReplySeq(action)
	if seq == 0 {
		return nil
	}
	if r := t.journal(seq).Reply; r != nil {
		return r.Calls
	}
	return nil
}

// jsonOf is what a model wrote for arguments, as JSON whatever it is.
func jsonOf(arguments string) any {
	arguments = strings.TrimSpace(arguments)
	switch {
	case arguments == "":
		return object{}
	case json.Valid([]byte(arguments)):
		return json.RawMessage(arguments)
	}
	return arguments
}
