package api

import (
	"encoding/json"
	"fmt"
	"strings"

	"legwork/planner"
)

// subtaskOf is the sub-task that an action belongs to; empty for none.
func subtaskOf(action string) string {
	kind, rest, _ := strings.Cut(action, " ")
	if kind != "work" && kind != "tool" {
		return ""
	}
	w, _, _ := strings.Cut(rest, " ")
	return w
}

// call finds the call that the id of an action names; of a model action it is
// none.
func (t telling) call(action string) (subtask string, call planner.Call) {
	subtask = subtaskOf(action)
	var w string
	var turn, n int
	if _, err := fmt.Sscanf(action, "tool %s turn %d call %d.", &w, &turn, &n); err == nil {
		call, _ = t.callAt(subtask, turn, n-1)
	}
	return subtask, call
}

// callAt is a call of a sub-task's turn, which counts from 1.
func (t telling) callAt(subtask string, turn, n int) (planner.Call, bool) {
	for _, w := range t.state.Subtasks {
		if w.ID != subtask || turn < 1 || turn > len(w.Turns) {
			continue
		}
		if r := t.journal(w.Turns[turn-1].Seq).Reply; r != nil && n >= 0 && n < len(r.Calls) {
			return r.Calls[n], true
		}
	}
	return planner.Call{}, false
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
