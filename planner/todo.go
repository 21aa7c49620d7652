package planner

import (
	"fmt"
	"slices"
	"strconv"
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
)

// Action is one thing that is wanted now. Its ID is a function of the journal,
// so that every driver gives it the same name, before and after a crash.
type Action struct {
	ID       string
	Kind     Kind
	Role     string // model: plan, review, work, answer
	Place    Place  // work and tool: Subtask; tool and ask: also Turn and Call; otherwise Subtask is -1
	Group    string // work and tool: the sub-task's group
	Final    bool   // model: its text is the answer to the person
	LastTurn bool   // work: the model must finish now, without tools
	Started  bool   // tool: it was started before; when it is not running, its outcome is unknown
	Allowed  bool   // tool: a person has allowed exactly this call
	Asked    int    // ask: seq of the event that holds the question, or asked for the review; 0 for a budget
	Field    int    // ask, of a server's question: index of the field that is open
	Waits    bool   // tool: it is under way, and its server waits for a person
	Hold     bool   // keep it when it runs, do not start it: a budget is reached, a person reviews, or there is no room
}

// Todo lists everything that is wanted now, running or not, in a fixed order.
func Todo(s State) []Action {
	var list []Action
	switch s.Phase {
	case PhaseDeciding:
		role := llm.RolePlan
		if s.Round > 0 {
			role = llm.RoleReview
		}
		list = append(list, Action{ID: decisionID(s, role), Kind: KindModel, Role: role, Place: nowhere, Final: true})
	case PhaseAnswering:
		list = append(list, Action{ID: decisionID(s, llm.RoleAnswer), Kind: KindModel, Role: llm.RoleAnswer, Place: nowhere, Final: true})
	case PhaseProposed:
		seq := s.Planned[len(s.Planned)-1]
		list = append(list, Action{ID: "ask plan " + strconv.Itoa(seq), Kind: KindAsk, Place: Place{Subtask: AtPlan, Turn: seq}, Asked: seq})
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
		list = append(list, Action{ID: ShowID, Kind: KindShow, Place: nowhere})
	}
	if s.Budget != "" {
		hold(list)
		list = append(list, Action{ID: budgetID(s), Kind: KindAsk, Place: nowhere})
	}
	if s.Review > 0 {
		hold(list)
		list = append(list, Action{ID: reviewID(s), Kind: KindAsk, Place: Place{Subtask: AtReview, Turn: s.Review}, Asked: s.Review})
	}
	return list
}

// hold marks what works; people may be asked all the same.
func hold(list []Action) {
	for i := range list {
		list[i].Hold = list[i].Kind == KindModel || list[i].Kind == KindTool
	}
}

// ShowID is the id of the action that brings the outcome to the chat.
const ShowID = "show"

// Names of slots: the live board, and the first part of the answer.
const (
	SlotBoard  = "board"
	SlotAnswer = "answer.1"
)

var nowhere = Place{Subtask: -1}

// AtPlan is the Place.Subtask of the ask action about a plan; its Turn is the
// seq of the plan.
const AtPlan = -2

// AtReview is the Place.Subtask of the ask action about a review of the shared
// state; its Turn is the seq of what asked for it.
const AtReview = -3

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
	if open {
		return list
	}
	return append(list, Action{
		ID: "work " + w.ID + " turn " + strconv.Itoa(len(w.Turns)+1) + "." + strconv.Itoa(w.Tries), Kind: KindModel, Role: llm.RoleWork,
		Place: Place{Subtask: i}, Group: w.Name, Final: s.Lone(), LastTurn: len(w.Turns)+1 >= s.Limits.Turns,
	})
}

// callActions adds what is wanted of a call that is not done.
func callActions(list []Action, w Work, turn Turn, at Place) []Action {
	call := turn.Calls[at.Call]
	id := callID(w, at, call)
	ask := Action{Kind: KindAsk, Place: at, Group: w.Name, Asked: call.Asked, Field: call.Field}
	tool := Action{ID: "tool " + id, Kind: KindTool, Place: at, Group: w.Name, Started: call.Step == StepStarted, Allowed: call.Allowed}
	switch {
	case call.Kind == CallDelegate:
		return list
	case call.Kind == CallAsk:
		ask.ID, ask.Asked = "ask "+id, turn.Seq
	case call.Step != StepAsked:
		return append(list, tool)
	case call.Fields > 0:
		ask.ID = fmt.Sprintf("ask form %d.%d", call.Asked, call.Field)
		if call.Live {
			// One that must not run twice and does not run was cut off: its answer
			// would reach nobody, so that is found out before a person gives it.
			tool.Started, tool.Hold, tool.Waits = call.Ran, !call.Ran, true
			list = append(list, tool)
		}
	case slices.ContainsFunc(turn.Calls[:at.Call], func(c CallState) bool { return c.together(call) }):
		return list // it is in the question about the earlier one
	default:
		ask.ID = "ask approval " + strconv.Itoa(call.Asked)
	}
	return append(list, ask)
}

// together reports that both calls wait for one decision.
func (c *CallState) together(d CallState) bool {
	return c.Step == StepAsked && c.Fields == 0 && d.Step == StepAsked && d.Fields == 0 && c.Asked == d.Asked
}

// callID is the part of an id that names a call and its attempt.
func callID(w Work, at Place, call CallState) string {
	return w.ID + " turn " + strconv.Itoa(at.Turn+1) + " call " + strconv.Itoa(at.Call+1) + "." + strconv.Itoa(call.Attempt)
}

func decisionID(s State, role string) string {
	return fmt.Sprintf("%s %d.%d", role, s.Cause, s.Tries)
}

func budgetID(s State) string { return fmt.Sprintf("ask budget %d", s.Over) }

func reviewID(s State) string { return fmt.Sprintf("ask review %d", s.Review) }

// wanted returns the action of that id from Todo.
func wanted(s State, id string) (Action, bool) {
	for _, a := range Todo(s) {
		if a.ID == id {
			return a, true
		}
	}
	return Action{}, false
}

// busy reports that somebody other than a person is to work now: then the
// task's time runs.
func busy(s State) bool {
	if s.Budget != "" || s.Review > 0 {
		return false
	}
	switch s.Phase {
	case PhaseDeciding, PhaseAnswering:
		return true
	case PhaseWorking:
		for i := range s.Subtasks {
			if w := &s.Subtasks[i]; (w.State == SubWorking || w.State == SubWaiting) && !awaitsOthers(*w) {
				return true
			}
		}
	}
	return false
}

// Deadline is when the driver appends Expired: at the end of the working time,
// when an unanswered question lapses, or when agents from outside have left
// their task alone for too long. Zero means never: only people are awaited, or
// nothing is.
func Deadline(s State) time.Time {
	if s.Phase == PhaseShared && s.Limits.IdleTimeout > 0 {
		return s.Last.Add(s.Limits.IdleTimeout)
	}
	at := sooner(s.Overdraft.Expires, s.Lapses) // of the questions about a budget and a review
	if busy(s) {
		at = s.Last.Add(s.Limit - s.Used)
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

// sooner is the earlier of two times that are not zero.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
