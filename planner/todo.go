package planner

import (
	"slices"
	"time"

	"legwork/llm"
)

// Kind is the kind of an Action.
type Kind string

// The kinds of action.
const (
	KindModel Kind = "model" // call a model
	KindTool  Kind = "tool"  // call a tool
	KindAsk   Kind = "ask"   // a person must decide
	KindShow  Kind = "show"  // bring the outcome to the chat
	KindFetch Kind = "fetch" // read a file that people sent
)

// Action is one thing that is wanted now.
type Action struct {
	ID       ActionID
	Kind     Kind
	Role     string // model: plan, review, work, answer
	Place    Place  // of the call that a tool or ask action is about; work: its Subtask; otherwise zero
	Group    string // work and tool: the sub-task's group
	Final    bool   // model: its text is the answer to the person
	LastTurn bool   // work: the model must finish now, without tools
	Started  bool   // tool: it was started before; when it is not running, its outcome is unknown, unless Task is set
	Task     int    // tool: seq of the event by whose State it goes on at its server; 0 for none
	Allowed  bool   // tool: a person has allowed exactly this call
	Waits    bool   // tool: it is under way, and its server waits for a person
	Hold     bool   // keep it when it runs, do not start it: a budget is reached, a person reviews, or there is no room
}

// Todo lists everything that is wanted now, running or not, in a fixed order.
func Todo(s State) []Action {
	list := fetchActions(s)
	switch s.Phase {
	case PhaseDeciding, PhaseAnswering:
		if len(list) == 0 {
			list = append(list, decisionAction(s))
		}
	case PhaseProposed:
		list = append(list, Action{ID: AskID(SubjectPlan, s.Planned[len(s.Planned)-1]), Kind: KindAsk})
	case PhaseWorking:
		for i := range s.Subtasks {
			if w := &s.Subtasks[i]; w.State == SubWorking || w.State == SubWaiting {
				from := len(list)
				list = workActions(list, s, i, *w)
				if w.State == SubWaiting && !awaitsOthers(*w) { // for room
					hold(list[from:])
				}
			}
		}
	case PhaseShowing:
		list = append(list, Action{ID: ShowID(), Kind: KindShow})
	}
	if s.Budget != "" {
		hold(list)
		list = append(list, Action{ID: budgetID(s), Kind: KindAsk})
	}
	if s.Review > 0 {
		hold(list)
		list = append(list, Action{ID: reviewID(s), Kind: KindAsk})
	}
	return list
}

// decisionAction is the next decision: a plan, a review or the answer, or the question
// what to do with files.
func decisionAction(s State) Action {
	role := llm.RolePlan
	switch {
	case s.asksGoal():
		return Action{ID: goalID(s), Kind: KindAsk}
	case s.Phase == PhaseAnswering:
		role = llm.RoleAnswer
	case s.Round > 0:
		role = llm.RoleReview
	}
	return Action{ID: DecisionID(role, s.Cause, s.Tries), Kind: KindModel, Role: role, Final: true}
}

// hold marks the actions that work. Questions to people are not held.
func hold(list []Action) {
	for i := range list {
		list[i].Hold = list[i].Kind == KindModel || list[i].Kind == KindTool || list[i].Kind == KindFetch
	}
}

// Names of slots: the live board, and the first part of the answer.
const (
	SlotBoard  = "board"
	SlotAnswer = "answer.1"
)

func workActions(list []Action, s State, i int, w Work) []Action {
	open := false
	if n := len(w.Turns); n > 0 {
		turn := w.Turns[n-1]
		for c, call := range turn.Calls {
			if call.Step != StepDone {
				open = true
				list = callActions(list, w, turn, Place{i, n - 1, c})
			}
		}
	}
	if open || awaitsFiles(s, w) {
		return list
	}
	role := llm.RoleWork
	if w.Closing {
		role = llm.RoleAnswer
	}
	return append(list, Action{
		ID: WorkID(w.ID, len(w.Turns)+1, w.Tries), Kind: KindModel, Role: role,
		Place: Place{Subtask: i}, Group: w.Name, Final: w.Closing || s.SingleSubtask(), LastTurn: len(w.Turns)+1 >= s.Limits.Turns,
	})
}

// callActions adds the actions of a call that is not done.
func callActions(list []Action, w Work, turn Turn, at Place) []Action {
	call := turn.Calls[at.Call]
	ask := Action{ID: AskID(SubjectCalls, call.Asked), Kind: KindAsk, Place: at, Group: w.Name}
	tool := Action{ID: CallID(w.ID, at.Turn+1, at.Call+1, call.Attempt), Kind: KindTool, Place: at, Group: w.Name, Started: call.Step == StepStarted, Task: call.Task, Allowed: call.Allowed}
	switch {
	case call.Kind == CallDelegate:
		return list
	case call.Kind == CallAsk:
		ask.ID = QuestionID(turn.Seq, at.Call+1)
	case call.Step != StepAsked:
		return append(list, tool)
	case call.Fields > 0:
		ask.ID = FormID(call.Asked, call.Field)
		if call.Live {
			// One that must not run twice and does not run was cut off: its answer
			// would reach no server, so its outcome is found out before a person gives it.
			// One that goes on at its server is not started before the answer is there.
			tool.Started, tool.Hold, tool.Waits = call.Ran, !call.Ran || call.Task > 0, true
			list = append(list, tool)
		}
	case slices.ContainsFunc(turn.Calls[:at.Call], func(c CallState) bool { return c.sameQuestion(call) }):
		return list // it is in the question about the earlier one
	}
	return append(list, ask)
}

// sameQuestion reports that both calls wait for one decision.
func (c *CallState) sameQuestion(d CallState) bool {
	return c.Step == StepAsked && c.Fields == 0 && d.Step == StepAsked && d.Fields == 0 && c.Asked == d.Asked
}

func budgetID(s State) ActionID { return AskID(SubjectBudget, s.BudgetSeq) }

func reviewID(s State) ActionID { return AskID(SubjectReview, s.Review) }

// listed returns the action of that id from Todo.
func listed(s State, id ActionID) (Action, bool) {
	todo := Todo(s)
	if i := slices.IndexFunc(todo, func(a Action) bool { return a.ID == id }); i >= 0 {
		return todo[i], true
	}
	return Action{}, false
}

// busy reports that a model or a tool is to work now: then the task's time runs.
func busy(s State) bool {
	if s.Budget != "" || s.Review > 0 {
		return false
	}
	return s.Phase == PhaseDeciding && !s.asksGoal() || s.Phase == PhaseAnswering || s.Phase == PhaseWorking && slices.ContainsFunc(s.Subtasks, func(w Work) bool {
		return (w.State == SubWorking || w.State == SubWaiting) && !awaitsOthers(w)
	})
}

// Deadline is when the driver appends Expired: at the end of the working time,
// when an unanswered question lapses, or when agents from outside have left
// their task alone for too long. Zero means never: only people are awaited, or
// nothing is.
func Deadline(s State) time.Time {
	if s.Phase == PhaseShared && s.Limits.IdleTimeout > 0 {
		return s.Last.Add(s.Limits.IdleTimeout)
	}
	at := sooner(s.Overdraft.Expires, s.ReviewExpires) // of the questions about a budget and a review
	if busy(s) {
		at = s.Last.Add(s.Limit - s.Used)
	}
	if s.asksGoal() && s.Limits.ReviewTime > 0 {
		at = sooner(at, s.Opened.Add(s.Limits.ReviewTime))
	}
	if s.Phase != PhaseWorking {
		return at
	}
	for _, w := range s.Subtasks {
		if n := len(w.Turns); n > 0 && !w.State.Ended() {
			for _, c := range w.Turns[n-1].Calls {
				at = sooner(at, c.lapses())
			}
		}
	}
	return at
}

// ExpiryOf is when the question of an ask action that Todo lists expires; zero means
// never.
func ExpiryOf(s State, a Action) time.Time {
	switch a.ID.Subject {
	case SubjectReview:
		return s.ReviewExpires
	case SubjectBudget:
		return s.Overdraft.Expires
	case SubjectGoal:
		if s.Limits.ReviewTime > 0 {
			return s.Opened.Add(s.Limits.ReviewTime)
		}
	case SubjectCalls, SubjectForm, SubjectQuestion:
		c := callAt(s, a.Place)
		return c.lapses()
	}
	return time.Time{}
}

// sooner is the earlier of two times that are not zero.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
