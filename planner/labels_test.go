package planner_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"legwork/planner"
)

// TestNotesArePrivate: a note of a program makes the answer of its task private.
func TestNotesArePrivate(t *testing.T) {
	opened := planner.Event{Seq: 1, Type: planner.Opened, Opening: &planner.Opening{Goal: "look", Limits: planner.Limits{Notes: 5}}}
	s := planner.Apply(planner.State{}, opened)
	s = planner.Apply(s, planner.Event{Seq: 2, Type: planner.NoteAdded, By: "api:ops", Note: &planner.Note{Type: "x", Content: []byte(`"a"`)}})
	if len(s.Notes) == 0 || !cmp.Equal(s.Private, planner.Origins{planner.OriginProgram}) {
		t.Errorf("%d notes, private data of %v", len(s.Notes), s.Private)
	}
}

// TestPromptInputLabels: descriptions of earlier work bring their labels along, also where
// the history has no answer of that task.
func TestPromptInputLabels(t *testing.T) {
	private := planner.Labels{Private: planner.Origins{"mail"}}
	input := planner.PromptInput{Past: planner.Past{History: []planner.Exchange{{Goal: "look", Failed: true}}}}
	if got := input.Labels(); got.Outside || got.Private != nil {
		t.Errorf("without earlier work: got %+v, want no labels", got)
	}
	input.Earlier = []planner.Earlier{{Reference: "7Q2KDX/2/a", Description: "Look for canary-4711", Labels: private}}
	if got := input.Labels(); !cmp.Equal(got, private) {
		t.Errorf("with earlier work: got %+v, want %+v", got, private)
	}
}
