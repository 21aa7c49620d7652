package planner

import (
	"slices"
)

// Call returns the state of the call at that place.
func (s *State) Call(at Place) CallState { return callAt(*s, at) }

// ReplySeq is the seq of the model's reply that made the call of a tool action;
// ok is false when id is of no such call.
func (s *State) ReplySeq(id ActionID) (seq int, ok bool) {
	for _, w := range s.Subtasks {
		if id.Kind == KindTool && w.ID == id.Subtask && id.Turn >= 1 && id.Turn <= len(w.Turns) {
			turn := w.Turns[id.Turn-1]
			return turn.Seq, id.Call >= 1 && id.Call <= len(turn.Calls)
		}
	}
	return 0, false
}

// QuestionOf reads the question of an ask action out of its event, the one of
// ActionID.Seq.
func QuestionOf(e Event, id ActionID) Question {
	switch {
	case e.Question != nil:
		return *e.Question
	case e.Reply != nil && id.Call >= 1 && id.Call <= len(e.Reply.Calls) && e.Reply.Calls[id.Call-1].Ask != nil:
		return *e.Reply.Calls[id.Call-1].Ask
	}
	return Question{}
}

// steps is the number of answers to a server's question: one for each field, and one
// for an address or a question without fields.
func (q *Question) steps() int { return max(1, len(q.Form.Fields)) }

func callAt(s State, at Place) CallState {
	return s.Subtasks[at.Subtask].Turns[at.Turn].Calls[at.Call]
}

// asks reports whether the tool action a may ask q: every call that it is about
// must be wanted, and none may be asked about already.
func asks(s State, a Action, q Question) bool {
	if q.Form != nil {
		return len(q.Calls) == 0 && callAt(s, a.Place).Step != StepAsked
	}
	turn := s.Subtasks[a.Place.Subtask].Turns[a.Place.Turn]
	if q.Live || len(q.Calls) > 0 && !slices.ContainsFunc(q.Calls, func(c Approval) bool { return c.Call == a.Place.Call }) {
		return false
	}
	for _, i := range q.about(a) {
		if i < 0 || i >= len(turn.Calls) || turn.Calls[i].Kind != CallTool || turn.Calls[i].Step != StepOpen {
			return false
		}
	}
	return true
}

// about lists the calls of a turn that are decided together.
func (q *Question) about(a Action) []int {
	if len(q.Calls) == 0 {
		return []int{a.Place.Call}
	}
	list := make([]int, len(q.Calls))
	for i, c := range q.Calls {
		list[i] = c.Call
	}
	return list
}

// asked folds a question: about calls of one turn, or of the server of one.
func asked(s State, e Event, a Action) State {
	for _, i := range e.Question.about(a) {
		var c *CallState
		s, c = editCall(s, Place{a.Place.Subtask, a.Place.Turn, i})
		if e.Question.Form != nil {
			c.Elicited, c.Fields, c.Field = e.Seq, e.Question.steps(), 0
			c.Live, c.Ran = e.Question.Live, c.Step == StepStarted
		}
		c.Step, c.Asked, c.Expires = StepAsked, e.Seq, e.Question.Expires
	}
	return s
}

// callDecided folds a person's decision about calls, or their answer to a server or a
// model.
func callDecided(s State, e Event, a Action) State {
	c := callAt(s, a.Place)
	switch {
	case c.Kind == CallAsk:
		return callDone(s, e, a.Place)
	case c.Fields > 0:
		return fieldAnswered(s, e, a.Place)
	}
	for i, other := range s.Subtasks[a.Place.Subtask].Turns[a.Place.Turn].Calls {
		at := Place{a.Place.Subtask, a.Place.Turn, i}
		switch {
		case !other.sameQuestion(c):
		case e.Decision.Approve:
			var allowed *CallState
			s, allowed = editCall(s, at)
			allowed.Step, allowed.Allowed, allowed.Approved = StepOpen, true, allowed.Asked
			allowed.Attempt++
		default:
			s = callDone(s, e, at)
		}
	}
	if e.Decision.Approve && e.Decision.Scope != "" { // for the task or its chat
		s.Granted = slices.Clip(s.Granted)
		for _, g := range e.Decision.Grants {
			s.Granted = append(s.Granted, StandingGrant{Seq: e.Seq, By: e.By, Grant: g})
		}
	}
	return s
}

// fieldAnswered folds the answer to one field of a server's question. When it was the
// last, or none is given at all, the call goes on: the same one where it is under
// way, otherwise under the next attempt.
func fieldAnswered(s State, e Event, at Place) State {
	s, c := editCall(s, at)
	if c.Field++; e.Decision.Approve && c.Field < c.Fields {
		return s
	}
	if c.Step = StepOpen; c.Live && c.Ran {
		c.Step = StepStarted
	} else if !c.Live {
		c.Attempt++
	}
	c.Fields, c.Field, c.Live, c.Ran = 0, 0, false, false
	return s
}

// callDone folds that an event is the result of a call.
func callDone(s State, e Event, at Place) State {
	s, c := editCall(s, at)
	c.Step, c.Result, c.Live = StepDone, e.Seq, false
	return s
}
