package presenter

import (
	"testing"

	"legwork/planner"
	"legwork/tasks"
)

// TestFrameOfBefore: a frame whose view is older than a question does not take it
// for one that is over, as it did when drawing the board before it took long.
func TestFrameOfBefore(t *testing.T) {
	action := planner.AskID(planner.SubjectReview, 4)
	p := &asker{ephemeral: map[planner.ActionID]ephemeralQuestion{action: {id: "m1", seq: 4}}} // without a platform: nothing may be edited
	p.closeEphemeral(t.Context(), &tasks.View{State: planner.State{Seq: 3}}, map[planner.ActionID]bool{})
	if p.ephemeral[action].id != "m1" {
		t.Errorf("the question is over for a view that cannot know it: %+v are left", p.ephemeral)
	}
}
