package tasks

import (
	"cmp"
	"encoding/json"
	"strings"

	"legwork/internal/form"
	"legwork/planner"
)

// FormOf returns the server's question in an event, and the field that about names;
// the field is nil when there is none.
func FormOf(e planner.Event, about planner.ActionID) (q *form.Question, field *form.Field) {
	if e.Question == nil || e.Question.Form == nil {
		return &form.Question{}, nil
	}
	q = e.Question.Form
	if q.URL == "" && about.Field >= 0 && about.Field < len(q.Fields) {
		field = &q.Fields[about.Field]
	}
	return q, field
}

// CallOf returns the call at a place, as the model wrote it.
func CallOf(v *View, at planner.Place) planner.Call {
	return v.Event(v.State.Subtasks[at.Subtask].Turns[at.Turn].Seq).Reply.Calls[at.Call]
}

// Arguments returns the arguments of a call as JSON; an empty object if the model
// wrote none.
func Arguments(call planner.Call) json.RawMessage {
	return json.RawMessage(cmp.Or(strings.TrimSpace(call.Arguments), "{}"))
}
