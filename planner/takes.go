package planner

import (
	"slices"
	"strings"

	"legwork/llm"
)

// Takes reports whether e still fits s. Stores call it at append, under the
// task's lock, and never write an event that it refuses. So a second click, a late
// reply and a second replica change nothing.
func Takes(s State, e Event) bool {
	if s.Phase == "" {
		return e.Type == Opened && e.Opening != nil
	}
	if s.Finished() {
		return false
	}
	switch e.Type {
	case Released:
		return s.Queued()
	case GuidanceAdded:
		return (takesGuidance(s) || e.Of > 0 && takesCorrection(s)) && !ByAgent(e)
	case GuidanceRemoved:
		return !ByAgent(e) && (takesGuidance(s) && slices.Contains(s.Guidance[s.GuidanceSeen:], e.Of) || takesPart(s) && slices.Contains(s.Parts, e.Of))
	case Joined:
		return takesPart(s) && len(s.Parts)+1 < s.Limits.Parts && (e.Text != "" || len(e.Earlier) > 0 || len(e.Files) > 0) && !ByAgent(e)
	case NoteAdded:
		return e.Note != nil && !s.Settled() && !full(len(s.Notes), s.Limits.Notes)
	case Answered:
		return s.Phase == PhaseShared && e.Text != "" && (s.Review == 0 || !ByAgent(e))
	case StateSet:
		return len(e.Values) > 0 && hasRoom(s, e.Values) && maySet(s, e)
	case GrantRevoked:
		return slices.ContainsFunc(s.Granted, func(g StandingGrant) bool { return g.Seq == e.Of }) && !ByAgent(e)
	case Stopped:
		return s.Phase != PhaseShowing
	case CutOff:
		return s.Phase == PhaseShowing && s.Outcome == Halted && s.Answer == 0 && s.CutOffSeq == 0 && e.Text != ""
	case Expired:
		d := Deadline(s)
		return !d.IsZero() && !e.At.Before(d) && isExpiry(s, e)
	case BudgetReached:
		declined := s.Phase == PhaseAnswering && s.Reason == ReasonBudget
		return s.Budget == "" && e.Budget != "" && busy(s) && !declined
	case BudgetRenewed:
		return s.Budget != ""
	case Resumed:
		return s.Phase != PhaseQueued && s.Phase != PhaseShared
	case SendStarted, Sent:
		return takesShow(s, e)
	}
	return takesOutcome(s, e)
}

// takesGuidance reports whether guidance can still have an effect: before the first
// words of a decision are out, or while sub-tasks work that a review will judge. The
// closing answer has begun when it calls tools, such as one that makes a file.
func takesGuidance(s State) bool {
	switch s.Phase {
	case PhaseQueued, PhaseDeciding, PhaseProposed, PhaseWorking, PhaseShared:
		return !s.Streamed && !s.closes()
	case PhaseAnswering:
		return !s.Streamed && s.Reason == ""
	}
	return false
}

// takesCorrection reports whether the answer, whose first words are out, can be begun
// again because a text that it answers was corrected.
func takesCorrection(s State) bool {
	return s.Streamed && (s.Phase == PhaseDeciding || s.Phase == PhaseAnswering && s.Reason == "")
}

// takesShow checks the events of messages: those of a slot, which may be sent again
// until their id is known, and the first words of a model action.
func takesShow(s State, e Event) bool {
	if e.Slot == "" {
		a, ok := listed(s, e.Action)
		return ok && e.Type == SendStarted && a.Kind == KindModel && a.Final && !s.Streamed
	}
	slot := s.Slot(e.Slot)
	if e.Type == SendStarted {
		// An answer that a part of the question has replaced is not shown any more.
		return slot.Message == "" && (!isAnswer(e.Slot) || s.Settled() || s.Streamed)
	}
	if e.Last && s.Phase != PhaseShowing {
		return false
	}
	fresh := slot.Message == "" || slot.Message == e.Instead
	return slot.Name != "" && e.Message != "" && (fresh || e.Last)
}

// takesOutcome checks the outcome of an action, which Todo must list.
func takesOutcome(s State, e Event) bool {
	a, ok := listed(s, e.Action)
	if !ok {
		return false
	}
	switch e.Type {
	case Replied:
		return a.Kind == KindModel && e.Reply != nil && !s.PromptPending && fits(a, *e.Reply)
	case Malformed:
		return a.Kind == KindModel && e.Problem != nil
	case CallFailed:
		return (a.Kind == KindModel || a.Kind == KindShow) && e.Problem != nil
	case PromptExpanded:
		return a.Kind == KindModel && s.PromptPending && e.Text != ""
	case FileRead:
		return a.Kind == KindFetch && e.Read != nil
	case Started:
		step := callAt(s, a.Place).Step
		if len(e.State) > 0 { // it is under way
			return a.Kind == KindTool && (step == StepOpen || step == StepStarted)
		}
		return a.Kind == KindTool && step == StepOpen && s.Review == 0
	case Returned:
		return a.Kind == KindTool && e.Result != nil
	case Asked:
		// Also of a call that was allowed or started: a server may have a
		// question of its own before it goes on.
		return a.Kind == KindTool && e.Question != nil && asks(s, a, *e.Question)
	case Heard:
		return a.Kind == KindAsk && a.ID.Subject == SubjectForm && (e.Text != "" || len(e.Files) > 0) && !ByAgent(e)
	case Decided:
		return a.Kind == KindAsk && e.Decision != nil && !ByAgent(e) && (e.Reply == nil || revises(s, a, e)) && (a.ID.Subject != SubjectReview || setsExactly(e, ReviewValues(e.Decision.Approve)))
	}
	return false
}

// revises reports whether a decision agrees to a plan and may replace it by that of the
// person.
func revises(s State, a Action, e Event) bool {
	n := len(e.Reply.Plan)
	return a.ID.Subject == SubjectPlan && e.Decision.Approve && e.Reply.IsPlan && n > 0 && (s.Limits.Subtasks == 0 || n <= s.Limits.Subtasks)
}

// ByAgent reports that an outside agent is behind the event. Agents add to a
// task; they never guide it, and never decide.
func ByAgent(e Event) bool { return strings.HasPrefix(e.By, "agent:") }

// fits reports whether the reply is of a form that the action can have.
func fits(a Action, r Reply) bool {
	switch {
	case a.Role == llm.RoleWork, a.Role == llm.RoleAnswer && len(r.Calls) > 0:
		return !r.IsPlan && (r.Text != "" || len(r.Calls) > 0)
	case r.IsPlan:
		return a.Role != llm.RoleAnswer && len(r.Calls) == 0
	}
	return r.Text != "" && len(r.Calls) == 0
}
