package store

import (
	"bytes"
	"math"
	"slices"
	"time"

	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

func amountOf(u llm.Usage) amount { return amount{u.Tokens(), u.Cost} }

func (a amount) plus(b amount) amount { return amount{a.Tokens + b.Tokens, a.Cost + b.Cost} }

// minus never goes below zero: after damage more may be given back than is known.
func (a amount) minus(b amount) amount {
	return amount{max(0, a.Tokens-b.Tokens), max(0, a.Cost-b.Cost)}
}

// totalKeys returns the day's budgets that a reservation counts for, in the order in
// which they are checked.
func (h reservation) totalKeys() (list []totalKey) {
	if h.User != "" {
		list = append(list, totalKey{Day: h.Day, User: h.User})
	}
	if h.Chat != "" {
		list = append(list, totalKey{Day: h.Day, Chat: h.Chat})
	}
	return append(list, totalKey{Day: h.Day})
}

// counts reports whether h counts for the budget.
func (of totalKey) counts(h reservation) bool {
	return of.Day == h.Day && (of.User == "" || of.User == h.User) && (of.Chat == "" || of.Chat == h.Chat)
}

// dayTotal is the total of a day's budget. The budget of a task itself has no key.
type dayTotal struct {
	of totalKey
	total
}

// totalsOf reads the totals of the day's budgets that h counts for.
func (x ledger) totalsOf(h reservation) (list []dayTotal) {
	for _, of := range h.totalKeys() {
		list = append(list, dayTotal{of, x.total(of)})
	}
	return list
}

// total reads the total of a day's budget; zero when there is none. A damaged one is
// added up anew from the rows of its day and the accounts. The amount by which people
// extended it is lost then.
func (x ledger) total(of totalKey) total {
	sum, _, damaged := totals.get(x, of)
	if damaged == nil {
		return sum
	}
	x.log.Error("budget total damaged, adding up again", "cause", damaged)
	sum = total{}
	day := orderedKey(of.Day)
	for e := range spentRows.sound(x, day, afterPrefix(day), Ascending) {
		if s := e.value; of.counts(reservation{Day: s.Day, User: s.User, Chat: s.Chat}) {
			sum.Spent = sum.Spent.plus(amountOf(s.Usage))
		}
	}
	for e := range accounts.sound(x, nil, nil, Ascending) {
		for _, h := range e.value.all() {
			if of.counts(h) {
				sum.Reserved = sum.Reserved.plus(amountOf(h.Most))
			}
		}
	}
	return sum
}

// keptDays is for how many days totals are kept. It counts existing days, not the
// clock: after a clock that jumps and comes back the budgets are as before.
const keptDays = 32

// putTotal writes a total in place of an old one; it deletes a zero total. The first
// total of a day, which is the one of everybody, deletes the totals of the oldest
// days.
func (x ledger) putTotal(of totalKey, old, sum total) {
	if sum == (total{}) {
		totals.drop(x, of)
		return
	}
	totals.put(x, of, sum)
	if old != (total{}) || of != (totalKey{Day: of.Day}) {
		return
	}
	var firsts [][]byte // the first key of each day
	for key := firstKey(x, TableTotals, nil, nil, Ascending); key != nil; {
		firsts = append(firsts, key)
		day, _, _ := bytes.Cut(key, []byte{0})
		key = firstKey(x, TableTotals, append(bytes.Clone(day), 1), nil, Ascending)
	}
	for i := range len(firsts) - keptDays {
		if !bytes.HasPrefix(firsts[i], append([]byte(of.Day), 0)) { // a clock far ahead may have made the newer days
			deleteRange(x, TableTotals, firsts[i], firsts[i+1], math.MaxInt)
		}
	}
}

// checkRoom returns a *tasks.BudgetError with the first budget that has no room for
// the wanted amount. extended are the amounts by which people extended the budgets of
// the task itself. sums are the totals of the day's budgets that are concerned.
func (a account) checkRoom(wanted amount, b tasks.Budgets, extended map[string]int64, sums []dayTotal) error {
	type limit struct {
		key    string
		amount int64
		dayTotal
	}
	var reserved, kept amount // kept: only this task's closing answer can set it free
	for _, h := range a.all() {
		reserved = reserved.plus(amountOf(h.Most))
	}
	if a.keeps() {
		kept = amountOf(a.Kept.Most)
	}
	own := dayTotal{total: total{a.Spent, reserved, amount{extended[tasks.BudgetTaskTokens], extended[tasks.BudgetTaskUSD]}}}
	limits := []limit{{tasks.BudgetTaskTokens, b.TaskTokens, own}, {tasks.BudgetTaskUSD, b.TaskUSD, own}}
	for _, sum := range sums {
		switch {
		case sum.of.User != "":
			limits = append(limits, limit{tasks.BudgetUserDayUSD, b.UserDayUSD, sum})
		case sum.of.Chat != "":
			limits = append(limits, limit{tasks.BudgetChatDayUSD, b.ChatDayUSD, sum})
		default:
			limits = append(limits, limit{tasks.BudgetDayUSD, b.DayUSD, sum}, limit{tasks.BudgetDayTokens, b.DayTokens, sum})
		}
	}
	for _, l := range limits {
		part := func(a amount) int64 {
			if tasks.InTokens(l.key) {
				return a.Tokens
			}
			return a.Cost
		}
		used, need, most := part(l.Spent.plus(l.Reserved)), part(wanted), l.amount+part(l.Extra)
		// A call that needs nothing of a budget does not wait for it: a model without
		// a price costs no money that could be counted.
		if l.amount <= 0 || need <= 0 || used+need <= most {
			continue
		}
		if a.keeps() && (l.of == totalKey{} || l.of.counts(*a.Kept)) {
			l.Reserved = l.Reserved.minus(kept)
		}
		return &tasks.BudgetError{Reserved: part(l.Reserved), Overdraft: planner.Overdraft{
			Budget: l.key, Day: l.of.Day, Who: l.of.User + l.of.Chat, Limit: most, Spent: used, Wanted: need,
			// A person's yes extends the budget by half of the configured amount, and
			// always by enough for the call.
			Extend: max((l.amount+1)/2, need, used+need-most),
		}}
	}
	return nil
}

// extendBudget extends a day's budget that before has reached, when e is a person's
// yes. The fold extends budgets of the task itself.
func (x ledger) extendBudget(before planner.State, e planner.Event) {
	over := before.Overdraft
	if before.Budget == "" || over.Day == "" || e.Type != planner.Decided || e.Decision == nil || !e.Decision.Approve {
		return
	}
	asked := slices.ContainsFunc(planner.Todo(before), func(a planner.Action) bool {
		return a.ID == e.Action && a.ID.Subject == planner.SubjectBudget
	})
	if !asked {
		return
	}
	of, extra := totalKey{Day: over.Day}, amount{Cost: over.Extend}
	switch over.Budget {
	case tasks.BudgetUserDayUSD:
		of.User = over.Who
	case tasks.BudgetChatDayUSD:
		of.Chat = over.Who
	case tasks.BudgetDayTokens:
		extra = amount{Tokens: over.Extend}
	case tasks.BudgetDayUSD:
	default:
		return
	}
	old := x.total(of)
	sum := old
	sum.Extra = sum.Extra.plus(extra)
	x.putTotal(of, old, sum)
}

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
	case planner.Replied, planner.Malformed, planner.CallFailed, planner.Returned, planner.FileRead:
		return e.Action != planner.ActionID{}
	}
	return false
}

// costOf returns the cost in an event, and whether there was a call, as 1 or 0: a
// call that failed before anything was counted does not count as one.
func costOf(e planner.Event) (cost llm.Usage, model string, calls int) {
	cost = e.Usage()
	switch {
	case e.Reply != nil && e.Type == planner.Replied:
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
		a.x.addSpent(spentKey{h.Day, h.User, h.Chat, h.Model, h.Group}, calls, cost)
	}
}

// abandon counts the chosen reservations as spent, to the amount of their input:
// their calls were started, and their real cost is unknown.
func (a *openAccount) abandon(chosen func(tasks.ReservationID) bool) {
	for _, h := range a.free(chosen) {
		calls := 0
		if !h.Least.Empty() {
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
