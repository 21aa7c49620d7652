package tasks

import (
	"slices"

	"legwork/planner"
)

// Lane is the queue of one conversation's live tasks. Tasks make their first
// decisions in the order of arrival, each after the tasks before it have answered or
// made a plan. Of several tasks with plans, one works at a time. A plan that a
// person has yet to approve blocks no other task: it joins the queue after the
// approval. A store keeps one Lane per conversation and changes it in the
// transaction of the events that change it. The zero value is an empty lane.
type Lane struct {
	Entries []LaneEntry `json:"entries,omitempty"`
}

// LaneEntry is one live task in its lane.
type LaneEntry struct {
	Task    ID   `json:"task"`
	Planned bool `json:"planned,omitempty"` // it has its first plan
	Held    bool `json:"held,omitempty"`    // it waits for a Released event
	// Proposed means that a person has yet to approve its plan.
	Proposed bool `json:"proposed,omitempty"`
}

// works reports whether the task is the one that works by a plan.
func (e LaneEntry) works() bool { return e.Planned && !e.Proposed && !e.Held }

// Open adds a new task at the end. queued means that the task has to wait before its
// first decision (Opening.Queued).
func (l *Lane) Open(id ID) (queued bool) {
	for _, e := range l.Entries {
		queued = queued || !e.Planned
	}
	l.Entries = append(l.Entries, LaneEntry{Task: id, Held: queued})
	return queued
}

// Amend completes event e before it is appended to a task in state s. It sets
// Queued, which says whether the task has to wait, in the reply with a first plan,
// or in the decision that approves the plan.
func (l *Lane) Amend(id ID, s planner.State, e *planner.Event) {
	switch {
	case e.Type == planner.Replied && e.Reply != nil && len(e.Reply.Plan) > 0 && s.Round == 0:
		reply := *e.Reply
		reply.Queued = l.planned(id, s.Preview || reply.Confirm)
		e.Reply = &reply
	case planner.Agrees(s, *e):
		decision := *e.Decision
		decision.Queued = l.planned(id, false)
		e.Decision = &decision
	}
}

// planned records that a task has a plan, proposed or approved, and reports whether
// the plan has to wait for others.
func (l *Lane) planned(id ID, proposed bool) (queued bool) {
	if !proposed {
		queued = slices.ContainsFunc(l.Entries, func(e LaneEntry) bool { return e.Task != id && e.Planned && !e.Proposed })
	}
	for i := range l.Entries {
		if e := &l.Entries[i]; e.Task == id {
			e.Planned, e.Proposed, e.Held = true, proposed, queued
		}
	}
	return queued
}

// Note updates the lane after an event has led to state s. It returns the tasks that
// may continue: each must get a Released event in the same transaction.
func (l *Lane) Note(id ID, s planner.State) []ID {
	if s.Finished() {
		l.Entries = slices.DeleteFunc(l.Entries, func(e LaneEntry) bool { return e.Task == id })
	} else if !s.Queued() {
		l.unhold(id)
	}
	var free []ID
	undecided, working := false, slices.ContainsFunc(l.Entries, LaneEntry.works)
	for i := range l.Entries {
		e := &l.Entries[i]
		if e.Held && (e.Planned && !working || !e.Planned && !undecided) {
			e.Held = false
			free = append(free, e.Task)
			working = working || e.Planned
		}
		undecided = undecided || !e.Planned
	}
	return free
}

// Ahead returns how many tasks have to make progress before entry at, if it waits: those
// that decide before it, or those whose plans come before its own.
func (l *Lane) Ahead(at int) (n int) {
	if !l.Entries[at].Held {
		return 0
	}
	planned := l.Entries[at].Planned
	for i, e := range l.Entries {
		if planned && (e.works() || i < at && e.Planned && !e.Proposed) || !planned && i < at && !e.Planned {
			n++
		}
	}
	return n
}

// unhold clears Held for a task that left the queue without a Released event,
// because somebody stopped it.
func (l *Lane) unhold(id ID) {
	for i := range l.Entries {
		if l.Entries[i].Task == id {
			l.Entries[i].Held = false
		}
	}
}
