package tasks

import (
	"slices"

	"legwork/failpoint"
	"legwork/planner"
)

// Lane is the order of one conversation's live tasks. Decisions are made in
// order of arrival, each after the answers of those before it; a task that
// plans lets the next one decide beside it; of several that plan, one works at
// a time. A store keeps one Lane per conversation and changes it in the
// transaction of the events that change it. The zero value is an empty lane.
type Lane struct {
	Entries []LaneEntry `json:"entries,omitempty"`
}

// LaneEntry is one live task in its lane.
type LaneEntry struct {
	Task    ID   `json:"task"`
	Planned bool `json:"planned,omitempty"` // its first plan is made
	Held    bool `json:"held,omitempty"`    // it waits for Released
}

// Open adds a new task at the end and reports whether it has to wait before
// its first decision (Opening.Queued).
func (l *Lane) Open(id ID) (queued bool) {
	for _, e := range l.Entries {
		queued = queued || !e.Planned
	}
	queued = queued && !failpoint.Fault("lane-off")
	l.Entries = append(l.Entries, LaneEntry{Task: id, Held: queued})
	return queued
}

// Amend prepares e, about to be appended to a task in state s: a first plan
// learns whether it has to wait (Reply.Queued).
func (l *Lane) Amend(id ID, s planner.State, e *planner.Event) {
	if e.Type != planner.Replied || e.Reply == nil || len(e.Reply.Plan) == 0 || s.Round > 0 {
		return
	}
	queued := false
	for i := range l.Entries {
		entry := &l.Entries[i]
		if entry.Task == id {
			entry.Planned, entry.Held = true, queued
			break
		}
		queued = queued || entry.Planned
	}
	reply := *e.Reply
	reply.Queued = queued
	e.Reply = &reply
}

// Note takes account of the state that an event led to, and returns the tasks
// that may go on now: each must get a Released in the same transaction.
func (l *Lane) Note(id ID, s planner.State) []ID {
	if s.Finished() {
		l.Entries = slices.DeleteFunc(l.Entries, func(e LaneEntry) bool { return e.Task == id })
	} else if !s.Held() {
		l.unhold(id)
	}
	var free []ID
	undecided, working := false, false
	for i := range l.Entries {
		e := &l.Entries[i]
		if e.Held && (e.Planned && !working || !e.Planned && !undecided) {
			e.Held = false
			free = append(free, e.Task)
		}
		undecided = undecided || !e.Planned
		working = working || e.Planned
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
