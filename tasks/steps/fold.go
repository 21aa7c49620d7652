package steps

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"legwork/planner"
)

// kindQueue is the kind of the action that stands for the time in which a task is
// queued. planner has no such action.
const kindQueue planner.Kind = "queue"

// recorder follows planner.Todo over a journal: an action that appears begins a step,
// and one that disappears ends it.
type recorder struct {
	events []planner.Event
	state  planner.State
	steps  []Step
	open   map[planner.ActionID]int // the actions that are listed, with their steps
	calls  map[planner.ActionID]int // the steps of tool calls, by their ids without attempts
	asked  map[int]bool             // steps of tool calls that people were asked about
	ends   map[int]place            // what an event ended, by its seq
}

// place is a span of a step, by indexes.
type place struct{ step, span int }

// add folds one event.
func (r *recorder) add(e planner.Event) {
	last := r.state.Last
	r.state = planner.Apply(r.state, e)
	if e.Type == planner.Resumed { // the process was down from the last event on
		for _, i := range r.open {
			if r.steps[i].runs() {
				r.pause(i, e, last)
			}
		}
	}
	if i, ok := r.open[e.Action]; ok {
		s := &r.steps[i]
		s.Usage = s.Usage.Add(e.Usage())
	}
	todo := planner.Todo(r.state)
	if r.state.Queued() {
		todo = append(todo, planner.Action{ID: planner.ActionID{Kind: kindQueue, Seq: 1}, Kind: kindQueue})
	}
	r.close(e, todo)
	for _, a := range todo {
		r.follow(e, a)
	}
	r.settleAsked(e)
}

// close ends the steps of actions that are no longer listed.
func (r *recorder) close(e planner.Event, todo []planner.Action) {
	if i, ok := r.open[e.Action]; ok && !lists(todo, e.Action) { // first, since the event is about it
		r.end(i, e)
		delete(r.open, e.Action)
	}
	for id, i := range r.open {
		if !lists(todo, id) {
			r.end(i, e)
			delete(r.open, id)
		}
	}
}

func lists(todo []planner.Action, id planner.ActionID) bool {
	return slices.ContainsFunc(todo, func(a planner.Action) bool { return a.ID == id })
}

// end ends the present attempt of a step, and the step unless people were asked about
// the call first.
func (r *recorder) end(i int, e planner.Event) {
	r.pause(i, e, e.At)
	s := &r.steps[i]
	if shown := s.Kind == KindShow && e.Type == planner.Sent; s.action != e.Action && s.Kind != KindQueue && !shown {
		if s.Kind == KindTool && !r.callDone(s) {
			s.State, r.asked[i] = Waiting, true // the question about another call of its turn covers it
			return
		}
		s.finish(e, Cancelled, "")
		return
	}
	switch {
	case e.Type == planner.Asked:
		s.State, r.asked[i] = Waiting, true
	case e.Problem != nil:
		s.finish(e, Failed, cmp.Or(e.Problem.Code, "internal"))
	case e.Type == planner.Expired:
		s.finish(e, Failed, "expired")
	case e.Result != nil && e.Result.Unknown:
		s.finish(e, Failed, "unknown")
	case e.Result != nil && e.Result.Failed:
		s.finish(e, Failed, "tool")
	case e.Read != nil:
		s.Name = cmp.Or(e.Read.Name, s.Name)
		if s.finish(e, Done, ""); e.Read.Problem != "" {
			s.State, s.Error = Failed, e.Read.Problem
		}
	default:
		s.finish(e, Done, "")
	}
	if e.Reply != nil {
		s.Model = e.Reply.Model
	}
}

func (s *Step) finish(e planner.Event, state State, why string) {
	s.State, s.Error, s.Ended, s.Seq = state, why, e.At, e.Seq
}

// settleAsked ends the tool calls that ended without running again: people said no, or
// did not answer.
func (r *recorder) settleAsked(e planner.Event) {
	for i := range r.asked {
		s := &r.steps[i]
		if _, open := r.open[s.action]; open {
			delete(r.asked, i)
			continue
		}
		if !r.callDone(s) {
			continue
		}
		delete(r.asked, i)
		switch {
		case e.Type == planner.Expired:
			s.finish(e, Failed, "expired")
		case e.Decision != nil:
			s.finish(e, Failed, "denied")
		default:
			s.finish(e, Cancelled, "")
		}
	}
}

// callDone reports that the call of a step needs nothing more.
func (r *recorder) callDone(s *Step) bool {
	if s.place.Subtask >= len(r.state.Subtasks) {
		return true
	}
	w := r.state.Subtasks[s.place.Subtask]
	if w.State.Ended() || s.place.Turn >= len(w.Turns) {
		return true
	}
	return w.Turns[s.place.Turn].Calls[s.place.Call].Step == planner.StepDone
}

// follow begins or continues the step of an action that is listed.
func (r *recorder) follow(e planner.Event, a planner.Action) {
	i, known := r.open[a.ID]
	if !known {
		i = r.begin(e, a)
		r.open[a.ID] = i
	}
	s := &r.steps[i]
	switch runs := !a.Hold && !a.Waits; {
	case runs && !s.runs():
		if !s.heldAt.IsZero() {
			s.held, s.heldAt = s.held+max(0, e.At.Sub(s.heldAt)), time.Time{}
		}
		if s.Started.IsZero() {
			s.Started = e.At
		}
		s.State, s.Since = Running, e.Seq
		s.spans = append(s.spans, span{from: e.Seq, at: e.At})
	case !runs:
		r.pause(i, e, e.At)
		s.State = Waiting
		if a.Hold && s.heldAt.IsZero() {
			s.heldAt = e.At
		}
	}
}

// begin returns the step of an action that is new: a further attempt of a tool call
// goes on with the step of the earlier one.
func (r *recorder) begin(e planner.Event, a planner.Action) int {
	call := a.ID
	call.Try = 0
	if a.Kind == planner.KindTool {
		if i, ok := r.calls[call]; ok {
			r.steps[i].action = a.ID
			return i
		}
		r.calls[call] = len(r.steps)
	}
	s := Step{ID: a.ID.String(), Wanted: e.At, Since: e.Seq, State: Waiting, After: -1, Subtask: a.ID.Subtask, Group: a.Group, action: a.ID}
	switch a.Kind {
	case planner.KindModel:
		s.Kind = Kind(a.Role)
	case planner.KindTool:
		s.ID, s.Kind, s.place = call.String(), KindTool, a.Place
		s.Reply, s.Name = r.call(a.Place)
	case planner.KindAsk:
		s.Kind, s.Name = KindAsk, string(a.ID.Subject)
		if about := a.ID.Subject; about == planner.SubjectCalls || about == planner.SubjectQuestion || about == planner.SubjectForm {
			s.Subtask = r.state.Subtasks[a.Place.Subtask].ID
		}
	case planner.KindFetch:
		s.Kind, s.Name = KindFile, r.fileName(a.ID)
	case planner.KindShow:
		s.Kind = KindShow
	case kindQueue:
		s.ID, s.Kind = fmt.Sprintf("queue %d", a.ID.Seq), KindQueue
	}
	r.steps = append(r.steps, s)
	return len(r.steps) - 1
}

// call returns the seq of the reply that made a call, and the name of its tool.
func (r *recorder) call(at planner.Place) (seq int, name string) {
	seq = r.state.Subtasks[at.Subtask].Turns[at.Turn].Seq
	if reply := r.event(seq).Reply; reply != nil && at.Call < len(reply.Calls) {
		c := reply.Calls[at.Call]
		return seq, cmp.Or(c.Tool, c.Name)
	}
	return seq, ""
}

// fileName is the name of the file that a fetch action reads.
func (r *recorder) fileName(id planner.ActionID) string {
	e := r.event(id.Seq)
	files := e.Files
	if e.Opening != nil {
		files = e.Opening.Files
	}
	if id.Field < len(files) {
		return files[id.Field].Name
	}
	return ""
}

func (r *recorder) event(seq int) planner.Event {
	if seq < 1 || seq > len(r.events) {
		return planner.Event{}
	}
	return r.events[seq-1]
}

// runs reports that the step runs at the moment.
func (s *Step) runs() bool { return len(s.spans) > 0 && s.spans[len(s.spans)-1].to == 0 }

// pause ends the span of a step that runs. The event that did it may have ended others,
// too: the step that the event is about counts, and otherwise the first one.
func (r *recorder) pause(i int, e planner.Event, at time.Time) {
	s := &r.steps[i]
	if !s.runs() {
		return
	}
	last := &s.spans[len(s.spans)-1]
	last.to, last.end = e.Seq, at
	s.Took += max(0, at.Sub(last.at))
	before, taken := r.ends[e.Seq]
	if own := s.action == e.Action; own || !taken || r.steps[before.step].action != e.Action && i < before.step {
		r.ends[e.Seq] = place{i, len(s.spans) - 1}
	}
}

// report ends the fold.
func (r *recorder) report(now time.Time) Report {
	out := Report{Steps: r.steps, State: r.state}
	for i := range out.Steps {
		s := &out.Steps[i]
		end := s.Ended
		if s.runs() {
			s.Took += max(0, now.Sub(s.spans[len(s.spans)-1].at))
		}
		if !s.State.Ended() {
			end = now
		}
		if !s.heldAt.IsZero() {
			s.held += max(0, end.Sub(s.heldAt))
		}
		s.Waited = max(0, end.Sub(s.Wanted)-s.Took)
		from := s.Since
		if len(s.spans) > 0 {
			from = s.spans[0].from
		}
		if before, ok := r.ends[from]; ok && before.step != i {
			s.After = before.step
		}
		out.Waiting += s.held
		switch {
		case s.Kind.Model():
			out.Model += s.Took
		case s.Kind == KindTool:
			out.Tool += s.Took
		case s.Kind.People():
			out.Waiting += s.Took
		}
	}
	r.markPath(&out, now)
	return out
}

// markPath finds the critical path, from its end on: before a span comes what the event
// that began it ended.
func (r *recorder) markPath(out *Report, now time.Time) {
	at, ok := r.lastSpan()
	until := now
	for ok {
		s := &out.Steps[at.step]
		sp := s.spans[at.span]
		if sp.to > 0 && sp.end.Before(until) {
			until = sp.end
		}
		part := max(0, until.Sub(sp.at))
		s.Critical += part
		out.Path += part
		switch {
		case s.Kind.Model():
			out.PathModel += part
		case s.Kind == KindTool:
			out.PathTool += part
		case s.Kind.People():
			out.PathWaiting += part
		}
		until = sp.at
		if at.span > 0 && s.spans[at.span-1].to == sp.from {
			at.span--
			continue
		}
		at, ok = r.ends[sp.from]
	}
}

// lastSpan is the end of the critical path: the span that ended last or, while the task
// goes on, the one that has run for the longest time.
func (r *recorder) lastSpan() (at place, ok bool) {
	for i := range r.steps {
		for n, sp := range r.steps[i].spans {
			if !ok || later(sp, r.steps[at.step].spans[at.span]) {
				at, ok = place{i, n}, true
			}
		}
	}
	return at, ok
}

func later(a, b span) bool {
	switch {
	case a.to == 0 && b.to == 0:
		return a.from < b.from
	case a.to == 0 || b.to == 0:
		return a.to == 0
	}
	return a.to > b.to
}
