package tasks

import (
	"slices"

	"legwork/planner"
)

// Lane is the order of one conversation's live tasks. Decisions are made in
// order of arrival, each after the answers of those before it; a task that
// plans lets the next one decide beside it; of several that plan, one works at
// a time. A plan that a person has yet to agree to holds up no other task: it
// asks for its place when they have. A store keeps one Lane per conversation
// and changes it in the transaction of the events that change it. The zero
// value is an empty lane.
type Lane struct {
	Entries []LaneEntry `json:"entries,omitempty"`
}

// LaneEntry is one live task in its lane.
type LaneEntry struct {
	Task    ID   `json:"task"`
	Planned bool `json:"planned,omitempty"` // its first plan is made
	Held    bool `json:"held,omitempty"`    // it waits for Released
	// Proposed says that a person has yet to agree to its plan.
	Proposed bool `json:"proposed,omitempty"`
}

// works reports that the task has the place of the one that works by a plan.
func (e LaneEntry) works() bool { return e.Planned && !e.Proposed && !e.Held }

// Open adds a new task at the end and reports whether it has to wait before
// its first decision (Opening.Queued).
func (l *Lane) Open(id ID) (queued bool) {
	for _, e := range l.Entries {
		queued = queued || !e.Planned
	}
	l.Entries = append(l.Entries, LaneEntry{Task: id, Held: queued})
	return queued
}

// Amend prepares e, about to be appended to a task in state s: a first plan
// learns whether it has to wait (Reply.Queued), or when a person decides about
// it, once they have agreed (Decision.Queued).
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

// planned notes that a task has a plan, agreed to or only proposed, and reports
// whether the plan has to wait for others.
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

// Note takes account of the state that an event led to, and returns the tasks
// that may go on now: each must get a Released in the same transaction.
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

// unhold forgets that a task waits, after it left the queue by another way
// than Released: somebody stopped it.
func (l *Lane) unhold(id ID) {
	for i := range l.Entries {
		if l.Entries[i].Task == id {
			l.Entries[i].Held = false
		}
	}
}
