package planner

import (
	"fmt"
	"slices"
)

// workDone folds the outcome of a sub-task's model turn.
func workDone(s State, e Event, a Action) State {
	s, w := edit(s, a.Place.Subtask)
	switch {
	case e.Type == Malformed:
		w.Tries, w.BadReplies = w.Tries+1, append(slices.Clip(w.BadReplies), e.Seq)
		if w.Tries > s.Limits.MalformedReplies {
			finish(w, e, SubFailed, ReasonUnusable)
		}
	case e.Type == CallFailed:
		finish(w, e, SubFailed, e.Problem.Code)
	case len(e.Reply.Calls) == 0:
		finish(w, e, SubDone, "")
		if a.Final && (w.Closing || s.SingleSubtask()) {
			s.Phase = PhaseShowing
			return answered(s, e)
		}
	case a.LastTurn:
		finish(w, e, SubFailed, ReasonTurns)
	default:
		w.Tries, w.BadReplies = 0, nil
		w.Turns = append(slices.Clip(w.Turns), Turn{Seq: e.Seq, Calls: make([]CallState, len(e.Reply.Calls))})
		return turnBegun(s, e, Place{a.Place.Subtask, len(w.Turns) - 1, 0})
	}
	if w.Closing && w.State == SubFailed {
		return settle(s, Failed, w.Reason)
	}
	s.Streamed = false
	return s
}

// ClosingID is the id of the closing answer among the sub-tasks, once it has called a
// tool of the machine.
const ClosingID = "answer"

// closingBegun folds that the closing answer calls tools of the machine: it becomes a
// sub-task, whose last turn is the answer.
func closingBegun(s State, e Event) State {
	s.Subtasks = append(slices.Clone(s.Subtasks), Work{
		ID: ClosingID, Name: LLMTool, Source: e.Seq, Round: s.Round, State: SubWorking, StartedAt: e.At, Closing: true,
		Turns: []Turn{{Seq: e.Seq, Calls: make([]CallState, len(e.Reply.Calls))}},
	})
	s.Phase = PhaseWorking
	return turnBegun(s, e, Place{len(s.Subtasks) - 1, 0, 0})
}

// turnBegun resolves those calls of a new turn that need no server: calls of the
// machine's own tools.
func turnBegun(s State, e Event, at Place) State {
	s.Streamed = false
	for i, c := range e.Reply.Calls {
		at.Call = i
		call := CallState{}
		switch {
		case c.Refusal != "":
			call = doneAtOnce(e)
		case c.Delegate != nil:
			s, call = delegated(s, e, at, c.Delegate)
		case c.Tool == "":
			s, call = machineCall(s, e, at)
		}
		s.Subtasks[at.Subtask].Turns[at.Turn].Calls[i] = call
	}
	return s
}

// doneAtOnce is a call that is done with the turn that made it.
func doneAtOnce(e Event) CallState {
	return CallState{Kind: CallInstant, Step: StepDone, Result: e.Seq}
}

// machineCall folds the call at that place, of a machine's tool that needs no sub-task,
// within the limits of the task.
func machineCall(s State, e Event, at Place) (State, CallState) {
	c, call := e.Reply.Calls[at.Call], doneAtOnce(e)
	switch {
	case c.Update != nil:
		return stateUpdated(s, e, at, call)
	case c.Get != nil:
		call.Shared, call.Version = s.Shared, s.Version
	case c.Read != nil && c.Read.Earlier != "":
		if full(s.Reads, s.Limits.Reads) {
			call.Kind = CallTooMany
			return s, call
		}
		s.Reads++
		s = labelled(s, e.Seq, Labels{Outside: c.Read.Untrusted, Private: c.Read.Private})
	case c.Look != nil:
		if full(s.Reads, s.Limits.Reads) {
			call.Kind = CallTooMany
			return s, call
		}
		s.Reads++
		s = labelled(s, e.Seq, Labels{Outside: true, Private: Origins{OriginFile}})
	case c.Make != nil:
		if full(len(s.MadeSeqs)+making(s), s.Limits.Made) {
			call.Kind = CallTooMany
			return s, call
		}
		return s, CallState{Kind: CallMake}
	case c.Ask != nil:
		if full(s.Asks, s.Limits.Asks) {
			call.Kind = CallTooMany
			return s, call
		}
		s.Asks++
		call = CallState{Kind: CallAsk, Expires: c.Ask.Expires}
	case c.Read == nil: // a call that names no tool: of a journal that a later version wrote
		return s, CallState{}
	}
	return s, call
}

// making is how many files are being made.
func making(s State) (n int) {
	for _, w := range s.Subtasks {
		if w.State.Ended() || len(w.Turns) == 0 {
			continue
		}
		for _, c := range w.Turns[len(w.Turns)-1].Calls {
			if c.Kind == CallMake && c.Step != StepDone {
				n++
			}
		}
	}
	return n
}

// full reports that a limit has no room for one more; 0 is no limit.
func full(n, limit int) bool { return limit > 0 && n >= limit }

// delegated adds the sub-task that a call asks for, within the limit of
// sub-tasks of a round. s.Subtasks is fresh already.
func delegated(s State, e Event, at Place, d *Subtask) (State, CallState) {
	round, n, entries := s.Subtasks[at.Subtask].Round, 0, 0
	for _, w := range s.Subtasks {
		if w.Round == round {
			entries++
			if w.Parent != nil {
				n++
			}
		}
	}
	if entries >= 2*s.Limits.Subtasks || n >= s.Limits.Subtasks {
		return s, CallState{Kind: CallTooMany, Step: StepDone, Result: e.Seq}
	}
	parent := at
	s.Subtasks = append(s.Subtasks, Work{
		ID: freeID(s.Subtasks, round, n+1), Name: d.Name, Source: e.Seq, Index: at.Call,
		Round: round, Parent: &parent, State: SubTodo,
	})
	return s, CallState{Kind: CallDelegate, Child: len(s.Subtasks) - 1}
}

// freeID is an id for the nth delegated sub-task of a round: the next one where
// a plan took it.
func freeID(list []Work, round, n int) string {
	for ; ; n++ {
		id := fmt.Sprintf("%d/d%d", round, n)
		if !slices.ContainsFunc(list, func(w Work) bool { return w.ID == id }) {
			return id
		}
	}
}

// called folds an event of one tool call.
func called(s State, e Event) State {
	a, ok := listed(s, e.Action)
	if !ok {
		return s
	}
	switch e.Type {
	case Started:
		var c *CallState
		s, c = editCall(s, a.Place)
		c.Step = StepStarted
		if len(e.State) > 0 {
			c.Task = e.Seq
		}
	case Returned:
		s = labelled(s, e.Seq, Labels{Outside: e.Result.Untrusted, Private: e.Result.Private})
		if len(e.Result.Files) > 0 {
			s.MadeSeqs = append(slices.Clip(s.MadeSeqs), e.Seq)
		}
		if len(e.Result.Returned) > 0 {
			s.ReturnedSeqs = append(slices.Clip(s.ReturnedSeqs), e.Seq)
		}
		return callDone(s, e, a.Place)
	case Asked:
		return asked(s, e, a)
	case Decided:
		return callDecided(s, e, a)
	}
	return s
}

// expireQuestions ends every question whose time is over; ok is false when there is none.
func expireQuestions(s State, e Event) (_ State, ok bool) {
	for i, w := range s.Subtasks {
		n := len(w.Turns)
		if n == 0 || w.State.Ended() {
			continue
		}
		for c, call := range w.Turns[n-1].Calls {
			if lapses := call.lapses(); lapses.IsZero() || e.At.Before(lapses) {
				continue
			}
			s, ok = callDone(s, e, Place{i, n - 1, c}), true
		}
	}
	return s, ok
}

// settleWork brings the sub-tasks up to date after an event: delegated results
// go to their callers, states follow, free slots are filled in order, and a
// finished round leads to the next decision. s.Subtasks is fresh already.
func settleWork(s State, e Event) State {
	list := s.Subtasks
	for i := range list {
		if w := &list[i]; w.Parent != nil && w.State.Ended() {
			if p := list[w.Parent.Subtask]; !p.State.Ended() && p.Turns[w.Parent.Turn].Calls[w.Parent.Call].Step != StepDone {
				next, call := editCall(s, *w.Parent)
				call.Step, call.Result = StepDone, w.EndSeq
				s, list = next, next.Subtasks
			}
		}
	}
	active, waiting := 0, 0
	for i := range list {
		switch w := &list[i]; {
		case w.State != SubWorking:
		case awaitsOthers(*w):
			w.State = SubWaiting
		default:
			active++
		}
	}
	// First the sub-tasks whose results have come, then new ones.
	for i := range list {
		if w := &list[i]; w.State == SubWaiting {
			if awaitsOthers(*w) || active >= s.Limits.Parallel {
				waiting++
				continue
			}
			w.State = SubWorking
			active++
		}
	}
	for i := range list {
		if w := &list[i]; w.State == SubTodo && active < s.Limits.Parallel && ready(s, *w) {
			w.State, w.StartedAt = SubWorking, e.At
			active++
		}
	}
	if active == 0 && waiting == 0 {
		return concludeRound(s, e)
	}
	return s
}

// concludeRound goes on to the next decision when no sub-task can go on. It skips
// sub-tasks that wait for each other, which no parser lets through.
func concludeRound(s State, e Event) State {
	s = skipRest(s, e)
	if s.Round >= s.Limits.Rounds {
		return answer(s, e.Seq, ReasonRounds)
	}
	return decide(s, e.Seq)
}

// awaitsOthers reports that the sub-task itself has nothing to do: the open calls of
// its turn wait for people or for delegated sub-tasks.
func awaitsOthers(w Work) bool {
	if len(w.Turns) == 0 {
		return false
	}
	calls := w.Turns[len(w.Turns)-1].Calls
	open := slices.ContainsFunc(calls, func(c CallState) bool { return c.Step != StepDone })
	return open && !slices.ContainsFunc(calls, func(c CallState) bool {
		return (c.Kind == CallTool || c.Kind == CallMake) && c.Step != StepAsked && c.Step != StepDone
	})
}

// ready reports that a sub-task can begin.
func ready(s State, w Work) bool {
	return !slices.ContainsFunc(w.After, func(i int) bool { return !s.Subtasks[i].State.Ended() })
}

func finish(w *Work, e Event, state SubState, why string) {
	w.State, w.Reason, w.EndSeq, w.EndedAt = state, why, e.Seq, e.At
}

// skipRest ends every sub-task that has not ended.
func skipRest(s State, e Event) State {
	for i, w := range s.Subtasks {
		if !w.State.Ended() {
			var p *Work
			s, p = edit(s, i)
			finish(p, e, SubSkipped, "")
		}
	}
	return s
}

// edit returns a state whose list of sub-tasks is its own, and the sub-task to
// change in it.
func edit(s State, i int) (State, *Work) {
	s.Subtasks = slices.Clone(s.Subtasks)
	return s, &s.Subtasks[i]
}

// editCall is edit for one call, down to the turn that holds it.
func editCall(s State, at Place) (State, *CallState) {
	s, w := edit(s, at.Subtask)
	w.Turns = slices.Clone(w.Turns)
	turn := &w.Turns[at.Turn]
	turn.Calls = slices.Clone(turn.Calls)
	return s, &turn.Calls[at.Call]
}
