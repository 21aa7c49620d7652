package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// Ledger implements tasks.Ledger.
type Ledger struct{ *core }

// Reserve implements tasks.Ledger.
func (l Ledger) Reserve(ctx context.Context, id tasks.ID, r tasks.Reservation) error {
	return l.update(ctx, "reserving", func(x *txn) { x.fail(ledger{x}.reserve(id, r)) })
}

// Room implements tasks.Ledger.
func (l Ledger) Room(ctx context.Context, id tasks.ID, r tasks.Reservation) error {
	return l.read(ctx, "looking for room", func(x *txn) {
		x.Tx = NewOverlay(x.Tx)
		x.fail(ledger{x}.reserve(id, r))
	})
}

// Settle implements tasks.Ledger.
func (l Ledger) Settle(ctx context.Context, id tasks.ID, of tasks.ReservationID, cost llm.Usage) error {
	return l.update(ctx, "settling", func(x *txn) {
		a := ledger{x}.open(id)
		if freed := a.free(of.Covers); len(freed) > 0 {
			calls := 0
			if cost != (llm.Usage{}) {
				calls = 1
			}
			a.replace(freed, cost, calls)
			task, _, err := x.task(id)
			x.fail(err)
			if task.Over { // the reservation was made after the task
				a.close()
			}
		}
		a.write()
	})
}

// Spent implements tasks.Ledger. A damaged row is left out.
func (l Ledger) Spent(ctx context.Context, q tasks.SpentQuery) (list []tasks.Spent, err error) {
	var to []byte
	if q.To != "" {
		to = afterPrefix(orderedKey(q.To))
	}
	err = l.read(ctx, "reading the ledger", func(x *txn) {
		list = nil
		for e := range spentRows.sound(x, []byte(q.From), to, Ascending) {
			if s := e.value; (q.User == "" || s.User == q.User) && (q.Chat == "" || s.Chat == q.Chat) {
				list = append(list, s)
			}
		}
	})
	return list, err
}

// Extended implements tasks.Ledger. A damaged total is left out.
func (l Ledger) Extended(ctx context.Context, day string) (list []tasks.Extended, err error) {
	from := orderedKey(day)
	err = l.read(ctx, "reading extended budgets", func(x *txn) {
		list = nil
		for e := range totals.sound(x, from, afterPrefix(from), Ascending) {
			of, ok := readTotalKey(e.key)
			if extra := e.value.Extra; ok && extra != (amount{}) {
				list = append(list, tasks.Extended{User: of.User, Chat: of.Chat, Tokens: extra.Tokens, Cost: extra.Cost})
			}
		}
	})
	return list, err
}

// ledger is what tasks have spent and reserved, within a transaction.
type ledger struct{ *txn }

// note writes what an event of a task means for the ledger.
func (x ledger) note(id tasks.ID, task taskRow, before, after planner.State, e planner.Event) {
	x.extendBudget(before, e)
	ends, settled := endsAction(e), after.Settled() && !before.Settled()
	if !ends && !settled && !task.Over {
		return
	}
	a := x.open(id)
	if ends {
		a.settleEvent(task, e)
	}
	switch {
	case task.Over:
		a.close()
	case settled:
		a.assignKept(tasks.ReservationID{})
	}
	a.write()
}

// openAccount is the account of a task while it is changed.
type openAccount struct {
	account
	x       ledger
	task    tasks.ID
	changed bool
}

// open reads the account of a task. A damaged one counts as empty: the task goes on.
func (x ledger) open(id tasks.ID) *openAccount {
	a := &openAccount{x: x, task: id}
	var damaged error
	if a.account, _, damaged = accounts.get(x, id); damaged != nil {
		x.log.Error("account damaged, counting again", "cause", damaged)
		a.account, a.changed = account{}, true
	}
	return a
}

// write stores the account, if it has changed. It deletes an empty one.
func (a *openAccount) write() {
	switch {
	case !a.changed:
	case a.empty():
		accounts.drop(a.x, a.task)
	default:
		accounts.put(a.x, a.task, a.account)
	}
}

// empty reports whether there is nothing to store.
func (a account) empty() bool { return a.Spent == amount{} && len(a.Reserved) == 0 && a.Kept == nil }

// keeps reports whether an amount is kept that no action has taken.
func (a account) keeps() bool { return a.Kept != nil && a.Taken == nil }

// all returns the reservations with the kept one, as far as no action has taken it.
func (a account) all() []reservation {
	if a.keeps() {
		return append(slices.Clip(a.Reserved), *a.Kept)
	}
	return a.Reserved
}

// reserve makes a reservation when every budget has room for it. An error leaves
// some of the changes.
func (x ledger) reserve(id tasks.ID, r tasks.Reservation) error {
	if err := checkReservation(r); err != nil {
		return err
	}
	task, err := journals(x).existing(id)
	if err == nil && task.Over && !r.After {
		err = fmt.Errorf("task %s is over: %w", id, tasks.ErrRefused)
	}
	if err != nil {
		return err
	}
	a := x.open(id)
	a.abandon(r.ID.Covers)
	covered := a.takeKept(r)
	h := reservation{r.ID, r.Day, r.User, r.Chat, r.Model, r.Group, r.Most, knownCost(r.Most, r.Least)}
	sums := x.totalsOf(h)
	kept, wanted := a.Kept, amountOf(r.Most)
	if r.Hold != nil && kept == nil && !r.Closing {
		kept = &reservation{Day: r.Day, User: r.User, Chat: r.Chat, Model: r.Model, Most: *r.Hold}
		wanted = wanted.plus(amountOf(*r.Hold))
	}
	if !covered {
		state, err := journals(x).state(id, task)
		if err == nil {
			err = a.checkRoom(wanted, r.Budgets, state.Extended, sums)
		}
		if err != nil {
			return err
		}
	}
	for _, sum := range sums {
		with := sum.total
		with.Reserved = with.Reserved.plus(wanted)
		x.putTotal(sum.of, sum.total, with)
	}
	a.Reserved, a.Kept, a.changed = append(slices.Clip(a.Reserved), h), kept, true
	a.write()
	x.step("reserved")
	return nil
}

// takeKept gives a closing answer the amount that its task keeps, and reports
// whether the amount covers the reservation r. After a crash the action that took
// the amount takes it again, because it is the same answer.
func (a *openAccount) takeKept(r tasks.Reservation) (covered bool) {
	if !r.Closing || a.Kept == nil {
		return false
	}
	a.assignKept(r.ID)
	need, have := amountOf(r.Most), amountOf(a.Kept.Most)
	return *a.Taken == r.ID && need.Tokens <= have.Tokens && need.Cost <= have.Cost
}

// knownCost is the cost of a call of which only the input is known. least is what
// the caller knows about it; zero for nothing.
func knownCost(most, least llm.Usage) llm.Usage {
	if least == (llm.Usage{}) {
		least = most
		least.Output = 0
		if n := most.Tokens(); n > 0 { // a call without tokens is paid for by what goes in, or whole
			least.Cost = int64(math.Ceil(float64(most.Cost) * float64(most.Input) / float64(n)))
		}
	}
	least.Estimated = true
	return least
}

// checkReservation refuses reservations that no ledger can count.
func checkReservation(r tasks.Reservation) error {
	if _, err := time.Parse(time.DateOnly, r.Day); err != nil {
		return fmt.Errorf("reserving for the day %q: %w", r.Day, err)
	}
	amounts := []llm.Usage{r.Most, r.Least}
	if r.Hold != nil {
		amounts = append(amounts, *r.Hold)
	}
	for _, u := range amounts {
		if min(int64(u.Input), int64(u.Output), u.Cost, int64(u.Images), int64(u.AudioSeconds), int64(u.Characters)) < 0 {
			return fmt.Errorf("reserving %+v: an amount is below zero", u)
		}
	}
	for _, name := range []string{r.ID.Call, r.User, r.Chat, r.Model, r.Group} {
		if len(name) > MaxName || !utf8.ValidString(name) {
			return fmt.Errorf("reserving under a name of %d bytes: it must be UTF-8 of at most %d", len(name), MaxName)
		}
	}
	if r.ID.Action == (planner.ActionID{}) && strings.TrimSpace(r.ID.Call) == "" {
		return errors.New("reserving: no action is named")
	}
	return nil
}

// spent reads a row of the ledger; zero when there is none. A damaged row begins at
// zero.
func (x ledger) spent(k spentKey) tasks.Spent {
	row, _, damaged := spentRows.get(x, k)
	if damaged != nil {
		x.log.Error("ledger row damaged, starting at zero", "cause", damaged)
		return tasks.Spent{}
	}
	return row
}

// addSpent adds calls and their cost to a row of the ledger.
func (x ledger) addSpent(k spentKey, calls int, cost llm.Usage) {
	row := x.spent(k)
	row.Calls, row.Usage = row.Calls+calls, row.Usage.Add(cost)
	spentRows.put(x, k, row)
}

// accountIDs lists the tasks with accounts: tasks that have not ended, and ended ones
// with calls that were made after them.
func (x ledger) accountIDs() (ids []tasks.ID) {
	for r := range records(x, TableAccounts, nil, nil, Ascending) {
		ids = append(ids, tasks.ID(r.Key))
	}
	return ids
}

// moveChat gives what a chat has spent and reserved to another one, so that neither
// its budget of the day nor its usage begins anew. It moves the totals first: a
// damaged one is added up from the rest.
func (x ledger) moveChat(from, to string) {
	for _, of := range matchingKeys(x, TableTotals, nil, math.MaxInt, readTotalKey, func(of totalKey) bool { return of.Chat == from }) {
		own := totalKey{Day: of.Day, Chat: to}
		moved, old := x.total(of), x.total(own)
		totals.drop(x, of)
		x.putTotal(own, old, total{old.Spent.plus(moved.Spent), old.Reserved.plus(moved.Reserved), old.Extra.plus(moved.Extra)})
	}
	for _, id := range x.accountIDs() {
		a := x.open(id)
		for i := range a.Reserved {
			a.moveChat(&a.Reserved[i], from, to)
		}
		if a.Kept != nil {
			a.moveChat(a.Kept, from, to)
		}
		a.write()
	}
	for _, k := range matchingKeys(x, TableSpent, nil, math.MaxInt, readSpentKey, func(k spentKey) bool { return k.Chat == from }) {
		old := x.spent(k)
		spentRows.drop(x, k)
		k.Chat = to
		x.addSpent(k, old.Calls, old.Usage)
	}
}

// moveChat changes the chat of a reservation of the account.
func (a *openAccount) moveChat(h *reservation, from, to string) {
	if h.Chat == from {
		h.Chat, a.changed = to, true
	}
}

// The flags of a row of the ledger.
const (
	spentEstimated = 1 << iota // some of it
	spentUnpriced              // some of it
)

// encodeSpent returns calls, input, cached input, output, cost, flags, and the amounts
// of what is not counted in tokens.
func encodeSpent(s tasks.Spent) ([]byte, error) {
	body := make([]byte, 0, 24)
	u := s.Usage
	for _, n := range []uint64{
		uint64(s.Calls), uint64(u.Input), uint64(u.CachedInput), uint64(u.Output), uint64(u.Cost),
		uint64(flag(spentEstimated, u.Estimated) | flag(spentUnpriced, u.Unpriced)),
		uint64(u.Images), uint64(u.AudioSeconds), uint64(u.Characters),
	} {
		body = binary.AppendUvarint(body, n)
	}
	return body, nil
}

// decodeSpent reads what encodeSpent wrote.
func decodeSpent(key, body []byte) (tasks.Spent, error) {
	k, ok := readSpentKey(key)
	r := reader{rest: body}
	s := tasks.Spent{Day: k.Day, User: k.User, Chat: k.Chat, Model: k.Model, Group: k.Group, Calls: int(r.number())}
	s.Usage = llm.Usage{Input: int(r.number()), CachedInput: int(r.number()), Output: int(r.number()), Cost: int64(r.number())}
	flags := r.number()
	s.Usage.Estimated, s.Usage.Unpriced = flags&spentEstimated != 0, flags&spentUnpriced != 0
	if len(r.rest) > 0 { // rows of earlier versions end before
		s.Usage.Images, s.Usage.AudioSeconds, s.Usage.Characters = int(r.number()), int(r.number()), int(r.number())
	}
	if !ok || r.short {
		return s, fmt.Errorf("%w: row of the ledger", tasks.ErrDamaged)
	}
	return s, nil
}
