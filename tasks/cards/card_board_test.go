package cards

import (
	"testing"

	"legwork/planner"
)

// TestShownState: a sub-task whose last calls were denied is not shown as done.
func TestShownState(t *testing.T) {
	t.Parallel()
	ran := planner.CallState{Step: planner.StepDone, Asked: 3, Allowed: true}
	denied := planner.CallState{Step: planner.StepDone, Asked: 3}
	free := planner.CallState{Step: planner.StepDone}
	for name, c := range map[string]struct {
		state planner.SubState
		turns [][]planner.CallState
		want  planner.SubState
	}{
		"no call":                   {planner.SubDone, [][]planner.CallState{nil}, planner.SubDone},
		"allowed":                   {planner.SubDone, [][]planner.CallState{{ran}, nil}, planner.SubDone},
		"denied":                    {planner.SubDone, [][]planner.CallState{{denied}, nil}, planner.SubSkipped},
		"denied after a look":       {planner.SubDone, [][]planner.CallState{{free}, {denied}, nil}, planner.SubSkipped},
		"its server asked":          {planner.SubDone, [][]planner.CallState{{{Step: planner.StepDone, Asked: 3, Elicited: 3}}, nil}, planner.SubDone},
		"a person was asked":        {planner.SubDone, [][]planner.CallState{{{Kind: planner.CallAsk, Step: planner.StepDone, Asked: 3}}, nil}, planner.SubDone},
		"one of two denied":         {planner.SubDone, [][]planner.CallState{{denied, ran}, nil}, planner.SubDone},
		"denied, then another way":  {planner.SubDone, [][]planner.CallState{{denied}, {free}, nil}, planner.SubDone},
		"denied, and still working": {planner.SubWorking, [][]planner.CallState{{denied}}, planner.SubWorking},
	} {
		w := planner.Work{State: c.state}
		for _, calls := range c.turns {
			w.Turns = append(w.Turns, planner.Turn{Calls: calls})
		}
		if got := shownState(w); got != c.want {
			t.Errorf("%s: shown as %q, want %q", name, got, c.want)
		}
	}
}
