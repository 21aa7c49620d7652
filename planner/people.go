package planner

import (
	"maps"
	"slices"
)

// What people say to a task and decide about it.

// decided folds a person's decision: about a plan, a budget, or a call.
func decided(s State, e Event) State {
	switch {
	case s.Budget != "" && e.Action == budgetID(s):
		over := s.Overdraft
		s = clearBudget(s)
		if !e.Decision.Approve {
			return halt(s, e, WhyBudget)
		}
		return budgetExtended(s, over)
	case s.Review > 0 && e.Action == reviewID(s):
		return reviewDecided(s, e)
	case s.Phase == PhaseProposed:
		return planDecided(s, e)
	}
	return called(s, e)
}

// budgetExtended notes that a person extended a budget of the task's own. Those of a
// day are kept by the store, for all tasks.
func budgetExtended(s State, over Overdraft) State {
	if over.Day == "" && over.Budget != "" {
		s.Extended = maps.Clone(s.Extended)
		if s.Extended == nil {
			s.Extended = map[string]int64{}
		}
		s.Extended[over.Budget] += over.Extend
	}
	return s
}

// Agrees reports that e is a person's yes to the plan that s proposes.
func Agrees(s State, e Event) bool {
	a, ok := wanted(s, e.Action)
	return ok && a.ID.Subject == SubjectPlan && e.Type == Decided && e.Decision != nil && e.Decision.Approve
}

// planDecided folds what a person decided about the plan.
func planDecided(s State, e Event) State {
	s.Preview = false
	switch {
	case !e.Decision.Approve:
		return halt(s, e, WhyStopped)
	case e.Decision.Queued:
		s.Phase = PhaseQueued
	default:
		s.Phase = PhaseWorking
	}
	return s
}

// dropPlan drops the plan that a person decides about, because something was
// said to it: another one is made.
func dropPlan(s State) State {
	last := len(s.Planned) - 1
	s.Rejected, s.Planned = append(slices.Clip(s.Rejected), s.Planned[last]), s.Planned[:last:last]
	s.Round, s.Subtasks = 0, nil
	return s
}

// guidanceAdded folds guidance: a decision that has said nothing yet is made again
// with it, the next one sees it otherwise.
func guidanceAdded(s State, e Event) State {
	s.Guidance = append(slices.Clip(s.Guidance), e.Seq)
	switch s.Phase {
	case PhaseDeciding, PhaseAnswering:
		return decide(s, e.Seq)
	case PhaseProposed:
		return decide(dropPlan(s), e.Seq)
	}
	return s
}

// guidanceRemoved folds that guidance was taken back: a decision that is being made
// with it is made again without.
func guidanceRemoved(s State, e Event) State {
	s.Guidance = slices.DeleteFunc(slices.Clone(s.Guidance), func(seq int) bool { return seq == e.Of })
	if s.Phase == PhaseDeciding || s.Phase == PhaseAnswering {
		return decide(s, e.Seq)
	}
	return s
}

// halt folds the wish to end: with an answer that tells what was found, if
// anything was and no answer is being written already.
func halt(s State, e Event, why string) State {
	outcome := Failed
	if why == WhyStopped {
		outcome = Halted
	}
	worth := s.HasResults() && s.Phase != PhaseAnswering
	s = skipRest(endReview(s, e.Seq), e)
	if worth {
		return answer(s, e.Seq, why)
	}
	return settle(s, outcome, why)
}
