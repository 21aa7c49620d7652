package planner_test

import (
	"slices"
	"testing"

	"legwork/planner"
)

// TestNotesArePrivate: a note of a program makes the answer of its task private.
func TestNotesArePrivate(t *testing.T) {
	opened := planner.Event{Seq: 1, Type: planner.Opened, Opening: &planner.Opening{Goal: "look", Limits: planner.Limits{Notes: 5}}}
	s := planner.Apply(planner.State{}, opened)
	s = planner.Apply(s, planner.Event{Seq: 2, Type: planner.NoteAdded, By: "api:ops", Note: &planner.Note{Type: "x", Content: []byte(`"a"`)}})
	if len(s.Notes) == 0 || !slices.Equal(s.Private, planner.Origins{planner.OriginProgram}) {
		t.Errorf("%d notes, private data of %v", len(s.Notes), s.Private)
	}
}
