package store

import (
	"time"

	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// settleEvent counts the cost in an event of a task, in place of the action's
// reservation. Without a reservation it counts for the day of the event in UTC.
func (a *openAccount) settleEvent(task taskRow, e planner.Event) {
	cost, model, calls := costOf(e)
	of := tasks.ReservationID{Action: e.Action}
	if calls == 0 { // the event does not tell the cost of calls within the action
		a.abandon(func(h tasks.ReservationID) bool { return h != of && of.Covers(h) })
	}
	freed := a.free(of.Covers)
	if len(freed) == 0 {
		if cost == (llm.Usage{}) {
			return
		}
		freed = []reservation{{Day: e.At.UTC().Format(time.DateOnly), User: boundedName(task.From.Key()), Chat: boundedName(task.Chat.Room())}}
	}
	if model != "" { // another model may have answered
		for i := range freed {
			freed[i].Model = boundedName(model)
		}
	}
	a.replace(freed, cost, calls)
}

// boundedName cuts a name that is too long for a key.
func boundedName(name string) string { return name[:min(len(name), MaxName)] }

// endsAction reports whether the event ends an action.
func endsAction(e planner.Event) bool {
	switch e.Type {
	case planner.Replied, planner.Malformed, planner.CallFailed, planner.Returned:
		return e.Action != planner.ActionID{}
	}
	return false
}

// costOf returns the cost in an event, and whether there was a call, as 1 or 0: a
// call that failed before anything was counted does not count as one.
func costOf(e planner.Event) (cost llm.Usage, model string, calls int) {
	cost = e.Usage()
	switch {
	case e.Reply != nil:
		return cost, e.Reply.Model, 1
	case cost != llm.Usage{}:
		return cost, "", 1
	}
	return cost, "", 0
}

// free removes the chosen reservations from the account and returns them.
func (a *openAccount) free(chosen func(tasks.ReservationID) bool) (freed []reservation) {
	var left []reservation
	for _, h := range a.Reserved {
		if chosen(h.ReservationID) {
			freed = append(freed, h)
		} else {
			left = append(left, h)
		}
	}
	a.Reserved, a.changed = left, a.changed || len(freed) > 0
	return freed
}

// replace counts a cost in place of a reservation and its parts, which are freed. The
// cost counts for the reservation itself, or for a part of it when only parts exist.
func (a *openAccount) replace(freed []reservation, cost llm.Usage, calls int) {
	a.x.step("settled")
	first := 0
	for i, h := range freed {
		if h.Covers(freed[first].ReservationID) {
			first = i
		}
	}
	for i, h := range freed {
		if i != first {
			a.spend(h, llm.Usage{}, 0)
		}
	}
	a.spend(freed[first], cost, calls)
}

// spend counts a cost in place of a reservation, which is freed. The totals come
// first: a damaged one is added up from the rows, and from the account as it was.
func (a *openAccount) spend(h reservation, cost llm.Usage, calls int) {
	for _, sum := range a.x.totalsOf(h) {
		after := sum.total
		after.Reserved = after.Reserved.minus(amountOf(h.Most))
		after.Spent = after.Spent.plus(amountOf(cost))
		a.x.putTotal(sum.of, sum.total, after)
	}
	a.Spent, a.changed = a.Spent.plus(amountOf(cost)), true
	if calls > 0 || cost != (llm.Usage{}) {
		a.x.addSpent(spentKey{h.Day, h.User, h.Chat, h.Model}, calls, cost)
	}
}

// abandon counts the chosen reservations as spent, to the amount of their input:
// their calls were started, and their real cost is unknown.
func (a *openAccount) abandon(chosen func(tasks.ReservationID) bool) {
	for _, h := range a.free(chosen) {
		calls := 0
		if h.Least.Tokens()+h.Least.Cost > 0 {
			calls = 1
		}
		a.spend(h, h.Least, calls)
	}
}

// assignKept frees the amount that the account keeps, unless it was taken before,
// and notes which answer takes it; zero for none.
func (a *openAccount) assignKept(by tasks.ReservationID) {
	if a.keeps() {
		a.Taken = &by
		a.spend(*a.Kept, llm.Usage{}, 0)
	}
}

// close ends the account of a task that has ended.
func (a *openAccount) close() {
	a.abandon(func(tasks.ReservationID) bool { return true })
	a.assignKept(tasks.ReservationID{})
	a.changed = a.changed || !a.empty()
	a.account = account{}
}

// close ends the account of a task.
func (x ledger) close(id tasks.ID) {
	a := x.open(id)
	a.close()
	a.write()
}

// closeOld ends the accounts of tasks that have ended or were deleted. It is for a
// store that was just opened: a call that was made after its task ended together
// with its process.
func (x ledger) closeOld() {
	for _, id := range x.accountIDs() {
		if task, ok, damaged := x.task(id); damaged == nil && (!ok || task.Over) {
			x.close(id)
		}
	}
}
