// Package planner is the machine at the heart of legwork: a pure fold of a
// task's journal into a state, the list of everything that is wanted now, the
// plan and its parser, and the prompts made from the journal.
package planner

import (
	"maps"
	"slices"

	"legwork/bot"
	"legwork/llm"
)

// Apply folds one event. An event that does not fit changes nothing but Seq.
// Everything it reads is in s and e: no clock, no config, no parsing. The
// slices and maps of s are never written to.
func Apply(s State, e Event) State {
	if !Takes(s, e) {
		s.Seq = max(s.Seq, e.Seq)
		return s
	}
	if busy(s) && e.Type != Resumed {
		spent := max(0, e.At.Sub(s.Last))
		s.Used, s.Worked = s.Used+spent, s.Worked+spent
	}
	s.Seq = e.Seq
	if e.At.After(s.Last) || e.Type == Resumed { // the clock may have been set back meanwhile
		s.Last = e.At
	}
	s.Usage = s.Usage.Add(e.Usage())
	before := s.Subtasks
	s = applyEvent(s, e)
	if s.Phase == PhaseWorking {
		if shares(before, s.Subtasks) {
			s.Subtasks = slices.Clone(s.Subtasks)
		}
		s = settleWork(s, e)
	}
	return s
}

// shares reports that two lists of sub-tasks have the same memory.
func shares(a, b []Work) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }

func applyEvent(s State, e Event) State {
	switch e.Type {
	case Opened:
		return open(s, e)
	case Released:
		return release(s, e)
	case Replied, Malformed, CallFailed:
		return modelDone(s, e)
	case Started, Returned, Asked:
		return called(s, e)
	case Decided:
		return decided(s, e)
	case GuidanceAdded:
		return guidanceAdded(s, e)
	case GuidanceRemoved:
		return guidanceRemoved(s, e)
	case Joined:
		return partJoined(s, e)
	case Heard:
		if e.Text == "" { // a voice message, whose words are to be heard
			return attach(s, e)
		}
	case FileRead:
		return fileRead(s, e)
	case PromptExpanded:
		s.PromptPending, s.PromptSeq = false, e.Seq
		s = labelled(s, e.Seq, Labels{Outside: true, Private: Origins{OriginPrompt}})
		return decide(s, e.Seq)
	case GrantRevoked:
		s.Granted = slices.DeleteFunc(slices.Clone(s.Granted), func(g StandingGrant) bool { return g.Seq == e.Of })
	case NoteAdded:
		return noteAdded(s, e)
	case Answered:
		s.Answer, s.GuidanceSeen = e.Seq, len(s.Guidance)
		return settle(taint(s, e), Done, "")
	case StateSet:
		return stateSet(s, e)
	case CutOff:
		s.CutOffSeq = e.Seq
	case Stopped:
		return halt(s, e, ReasonStopped)
	case Expired:
		return expire(s, e)
	case BudgetReached:
		s.Budget, s.BudgetSeq, s.Overdraft = e.Budget, e.Seq, Overdraft{}
		if e.Overdraft != nil {
			s.Overdraft = *e.Overdraft
		}
	case BudgetRenewed:
		s = clearBudget(s)
	case SendStarted:
		if e.Slot == "" {
			s.Streamed = true
			return s
		}
		return setSlot(s, Slot{Name: e.Slot})
	case Sent:
		s = setSlot(s, Slot{Name: e.Slot, Message: e.Message})
		if e.Last {
			s.Phase = PhaseOver
		}
	}
	return s
}

func open(s State, e Event) State {
	s.Limits, s.Opened, s.Last = e.Opening.Limits, e.At, e.At
	s.Limit, s.Preview, s.PromptPending = s.Limits.TaskTimeout, e.Opening.Preview, e.Opening.Prompt != nil
	s.PartsUntil, s.Wordless = e.Opening.Until, e.Opening.Wordless
	s = attach(s, e)
	switch {
	case e.Opening.External:
		s.Phase = PhaseShared
	case e.Opening.Queued:
		s.Phase = PhaseQueued
	default:
		s = decide(s, e.Seq)
	}
	return quotes(s, e, e.Opening.Earlier)
}

// quotes notes that the task will read messages which an event brings along.
func quotes(s State, e Event, list []bot.Quoted) State {
	for _, q := range list {
		s = labelled(s, e.Seq, LabelsOf(q))
	}
	return s
}

// labelled notes what the event of that seq brought into the task.
func labelled(s State, seq int, l Labels) State {
	if l.Outside && s.Tainted == 0 {
		s.Tainted = seq
	}
	s.Private = s.Private.With(l.Private)
	return s
}

// release lets a queued task go on: to its first decision, or to the
// work of the plan that waited.
func release(s State, e Event) State {
	if s.Round > 0 {
		s.Phase = PhaseWorking
		return s
	}
	return decide(s, e.Seq)
}

// decide starts a decision: the first one, or a review of the results.
func decide(s State, cause int) State {
	s.Phase, s.Cause, s.Tries, s.BadReplies, s.Streamed = PhaseDeciding, cause, 0, nil, false
	return s
}

// answer starts the closing answer. why is empty when nothing cut the task
// short; otherwise the answer gets a time of its own.
func answer(s State, cause int, why string) State {
	s.Phase, s.Cause, s.Tries, s.BadReplies, s.Streamed, s.Reason = PhaseAnswering, cause, 0, nil, false, why
	s = clearBudget(s)
	if why != "" || s.Limit-s.Used < s.Limits.AnswerTime {
		s.Used, s.Limit = 0, s.Limits.AnswerTime
	}
	return s
}

// settle fixes the outcome; the task has yet to show it. A task that a person
// stopped stays stopped, however its closing answer went.
func settle(s State, o Outcome, why string) State {
	if s.Reason == ReasonStopped {
		o, why = Halted, ReasonStopped
	}
	s.Phase, s.Outcome, s.Reason = PhaseShowing, o, why
	return clearBudget(endReview(s, 0))
}

// modelDone folds the outcome of a model action, or of a show action that failed.
func modelDone(s State, e Event) State {
	a, _ := listed(s, e.Action)
	if e.Reply != nil {
		s = labelled(s, e.Seq, e.Reply.Past)
	}
	switch {
	case a.Kind == KindShow:
		s.Phase = PhaseOver
		return s
	case a.ID.Subject == SubjectWork:
		return workDone(s, e, a)
	case e.Type == Malformed:
		s.Tries, s.BadReplies = s.Tries+1, append(slices.Clip(s.BadReplies), e.Seq)
		if s.Tries <= s.Limits.MalformedReplies {
			return s
		}
		if a.Role == llm.RoleAnswer {
			if s.Reason == ReasonUnreadable { // the plans before it are what went wrong
				return settle(s, Failed, ReasonUnreadable)
			}
			return settle(s, Failed, ReasonUnusable)
		}
		return answer(s, e.Seq, ReasonUnreadable)
	case e.Type == CallFailed:
		s.FailedSeq = e.Seq
		if e.Problem.Text != "" {
			s.CutOffSeq = e.Seq
		}
		if a.Role == llm.RoleReview && s.HasResults() {
			return answer(s, e.Seq, e.Problem.Code)
		}
		return settle(s, Failed, e.Problem.Code)
	case e.Reply.IsPlan:
		return planned(s, e)
	case len(e.Reply.Calls) > 0:
		return closingBegun(s, e)
	case a.Role == llm.RoleReview && s.WantsFile && len(s.MadeSeqs) == 0:
		return answer(s, e.Seq, "") // its model cannot make the file that the person wants
	}
	return answered(s, e)
}

// answered folds a text for the person.
func answered(s State, e Event) State {
	s.Answer, s.GuidanceSeen = e.Seq, len(s.Guidance)
	return settle(s, Done, s.Reason)
}

// planned folds a plan. An empty one means that enough is known.
func planned(s State, e Event) State {
	s.GuidanceSeen = len(s.Guidance)
	s.NotesSeen, _ = slices.BinarySearch(s.Notes, s.Cause) // its model may not have seen a note that came meanwhile
	s.WantsFile = s.WantsFile || e.Reply.WantsFile
	if len(e.Reply.Plan) == 0 {
		return answer(s, e.Seq, "")
	}
	s.Round++
	s.Streamed = false
	s.Planned = append(slices.Clip(s.Planned), e.Seq)
	at := make(map[string]int, len(s.Subtasks)+len(e.Reply.Plan))
	for i, w := range s.Subtasks {
		at[w.ID] = i
	}
	for i, p := range e.Reply.Plan {
		at[p.ID] = len(s.Subtasks) + i
	}
	list := slices.Clone(s.Subtasks)
	for i, p := range e.Reply.Plan {
		w := Work{ID: p.ID, Name: p.Name, Source: e.Seq, Index: i, Round: s.Round, State: SubTodo}
		for _, id := range p.After {
			if n, ok := at[id]; ok {
				w.After = append(w.After, n)
			}
		}
		list = append(list, w)
	}
	s.Subtasks = list
	s.Preview = s.Preview || e.Reply.Confirm && s.Round == 1
	switch {
	case s.Preview:
		s.Phase = PhaseProposed
	case e.Reply.Queued:
		s.Phase = PhaseQueued
	default:
		s.Phase = PhaseWorking
	}
	return s
}

// expire folds the end of a question's time, or of the task's.
func expire(s State, e Event) State {
	if asked := s.Overdraft.Expires; !asked.IsZero() && !e.At.Before(asked) {
		return halt(clearBudget(s), e, ReasonBudget)
	}
	if e.Action.Subject == SubjectReview {
		return reviewExpired(s, e)
	}
	if s.asksGoal() {
		return settle(s, Halted, ReasonStopped)
	}
	if s.Phase == PhaseWorking {
		if lapsed, ok := expireQuestions(s, e); ok {
			return lapsed
		}
	}
	if s.Phase == PhaseShared {
		return settle(s, Failed, ReasonIdle)
	}
	if s.Phase == PhaseAnswering && s.Reason == "" {
		return settle(skipRest(s, e), Failed, ReasonExpired)
	}
	if s.Phase == PhaseAnswering {
		return settle(s, Failed, s.Reason)
	}
	return halt(s, e, ReasonExpired)
}

// clearBudget notes that no budget is reached any more.
func clearBudget(s State) State {
	s.Budget, s.BudgetSeq, s.Overdraft = "", 0, Overdraft{}
	return s
}

func setSlot(s State, slot Slot) State {
	s.Slots = slices.Clone(s.Slots)
	if i := slices.IndexFunc(s.Slots, func(old Slot) bool { return old.Name == slot.Name }); i >= 0 {
		s.Slots[i] = slot
	} else {
		s.Slots = append(s.Slots, slot)
	}
	return s
}

// decided folds a person's decision: about a plan, a budget, or a call.
func decided(s State, e Event) State {
	s = attach(s, e)
	switch {
	case s.Budget != "" && e.Action == budgetID(s):
		over := s.Overdraft
		s = clearBudget(s)
		if !e.Decision.Approve {
			return halt(s, e, ReasonBudget)
		}
		return budgetExtended(s, over)
	case s.Review > 0 && e.Action == reviewID(s):
		return reviewDecided(s, e)
	case s.Phase == PhaseProposed:
		return planDecided(s, e)
	case s.asksGoal() && e.Action == goalID(s):
		return goalDecided(s, e)
	}
	return called(s, e)
}

// budgetExtended notes that a person extended a budget of the task. The store keeps
// the extensions of a day's budgets, for all tasks.
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
	a, ok := listed(s, e.Action)
	return ok && a.ID.Subject == SubjectPlan && e.Type == Decided && e.Decision != nil && e.Decision.Approve
}

// planDecided folds a person's decision about the plan.
func planDecided(s State, e Event) State {
	if e.Reply != nil { // the person has changed it: that plan takes its place
		last := len(s.Planned) - 1
		s.Planned, s.Round, s.Subtasks = s.Planned[:last:last], 0, nil
		s = planned(s, e)
	}
	s.Preview = false
	switch {
	case !e.Decision.Approve:
		return halt(s, e, ReasonStopped)
	case e.Decision.Queued:
		s.Phase = PhaseQueued
	default:
		s.Phase = PhaseWorking
	}
	return s
}

// dropPlan drops the plan that a person decides about, because guidance came: a
// model makes another plan.
func dropPlan(s State) State {
	last := len(s.Planned) - 1
	s.Rejected, s.Planned = append(slices.Clip(s.Rejected), s.Planned[last]), s.Planned[:last:last]
	s.Round, s.Subtasks = 0, nil
	return s
}

// guidanceAdded folds guidance. A decision whose answer has not begun is made again
// with the guidance; otherwise the next decision sees it.
func guidanceAdded(s State, e Event) State {
	s.Guidance = append(slices.Clip(s.Guidance), e.Seq)
	s = attach(quotes(s, e, e.Earlier), e)
	switch s.Phase {
	case PhaseDeciding, PhaseAnswering:
		return decide(s, e.Seq)
	case PhaseProposed:
		return decide(dropPlan(s), e.Seq)
	}
	return s
}

// guidanceRemoved folds that guidance was taken back. The present decision is made
// again without it.
func guidanceRemoved(s State, e Event) State {
	if slices.Contains(s.Parts, e.Of) {
		return partRemoved(s, e)
	}
	s.Guidance = slices.DeleteFunc(slices.Clone(s.Guidance), func(seq int) bool { return seq == e.Of })
	s = detach(s, e.Of)
	if s.Phase == PhaseDeciding || s.Phase == PhaseAnswering {
		return decide(s, e.Seq)
	}
	return s
}

// halt folds the wish to end: with an answer about the results, if there are any
// and no answer is being written already.
func halt(s State, e Event, why string) State {
	outcome := Failed
	if why == ReasonStopped {
		outcome = Halted
	}
	worth := s.HasResults() && s.Phase != PhaseAnswering && !s.Streamed
	s = skipRest(endReview(s, e.Seq), e)
	if worth {
		return answer(s, e.Seq, why)
	}
	return settle(s, outcome, why)
}
