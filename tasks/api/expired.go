package api

import (
	"slices"
	"time"

	"legwork/planner"
	"legwork/tasks"
)

// expired tells which questions an event ended, since nobody decided in time: the
// first one, and where there are more all of them.
func (t telling) expired(e planner.Event, c object) {
	var ids []string
	add := func(ask tasks.Ask, kind planner.Subject) {
		id := approvalID(t.task, ask)
		if len(ids) == 0 {
			c["kind"], c["approval"] = kind, id
		}
		if !slices.Contains(ids, id) { // calls are asked about together
			ids = append(ids, id)
		}
	}
	if e.Action.Kind == planner.KindAsk {
		add(tasks.AskOf(e.Action), e.Action.Subject)
		c["state"], c["version"] = e.Values, t.version(e.Seq)
	}
	for _, w := range t.state.Subtasks {
		for _, turn := range w.Turns {
			for i, call := range turn.Calls {
				switch {
				case call.Result != e.Seq:
				case call.Kind == planner.CallAsk:
					add(tasks.Ask{Seq: turn.Seq, Call: i}, planner.SubjectQuestion)
				case call.Asked > 0 && call.Asked == call.Elicited:
					add(tasks.Ask{Seq: call.Asked}, planner.SubjectForm)
				case call.Asked > 0:
					add(tasks.Ask{Seq: call.Asked}, planner.SubjectCalls)
				}
			}
		}
	}
	if seq := t.overdrawn(e); seq > 0 {
		add(tasks.Ask{Seq: seq}, planner.SubjectBudget)
	}
	if len(ids) > 1 {
		c["approvals"] = ids
	}
}

// overdrawnBefore is how far before the end of its time the question about a budget
// is looked for: little happens while it is open.
const overdrawnBefore = 50

// overdrawn is the seq of the question about a budget whose time an event ended; 0
// for none.
func (t telling) overdrawn(e planner.Event) int {
	if t.state.Why != planner.WhyBudget && t.state.Why != planner.WhyStopped {
		return 0
	}
	var before time.Time // the last time that ended before this one
	for seq := e.Seq - 1; seq > max(0, e.Seq-overdrawnBefore); seq-- {
		earlier := t.journal(seq)
		switch earlier.Type {
		case planner.Expired:
			if before.IsZero() {
				before = earlier.At
			}
		case planner.Overdrew:
			if o := earlier.Overdraft; o != nil && !o.Expires.IsZero() && !e.At.Before(o.Expires) && before.Before(o.Expires) {
				return seq
			}
			return 0
		case planner.Renewed, planner.Stopped:
			return 0
		case planner.Decided:
			if earlier.Action.Subject == planner.SubjectBudget {
				return 0
			}
		}
	}
	return 0
}
