package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// Ledger implements tasks.Ledger.
type Ledger struct{ *core }

// Reserve implements tasks.Ledger.
func (l Ledger) Reserve(ctx context.Context, id tasks.ID, r tasks.Reservation) error {
	return l.update(ctx, "reserving", func(x *txn) error { return ledger{x}.reserve(id, r) })
}

// Room implements tasks.Ledger.
func (l Ledger) Room(ctx context.Context, id tasks.ID, r tasks.Reservation) error {
	return l.view(ctx, "looking for room", func(x *txn) error {
		x.Tx = NewOverlay(x.Tx)
		return ledger{x}.reserve(id, r)
	})
}

// Settle implements tasks.Ledger.
func (l Ledger) Settle(ctx context.Context, id tasks.ID, of tasks.ReservationID, cost llm.Usage) error {
	return l.update(ctx, "settling", func(x *txn) error { return ledger{x}.settle(id, of, cost) })
}

// Spent implements tasks.Ledger. A damaged row is left out.
func (l Ledger) Spent(ctx context.Context, q tasks.SpentQuery) (list []tasks.Spent, err error) {
	var to []byte
	if q.To != "" {
		to = afterPrefix(orderedKey(q.To))
	}
	err = l.view(ctx, "reading the ledger", func(x *txn) error {
		list = nil
		for e, err := range spentRows.sound(x, []byte(q.From), to, Ascending) {
			if err != nil {
				return err
			}
			if s := e.value; (q.User == "" || s.User == q.User) && (q.Chat == "" || s.Chat == q.Chat) {
				list = append(list, s)
			}
		}
		return nil
	})
	return list, err
}

// Extended implements tasks.Ledger. A damaged total is left out.
func (l Ledger) Extended(ctx context.Context, day string) (list []tasks.Extended, err error) {
	from := orderedKey(day)
	err = l.view(ctx, "reading extended budgets", func(x *txn) error {
		list = nil
		for e, err := range totals.sound(x, from, afterPrefix(from), Ascending) {
			if err != nil {
				return err
			}
			of, ok := readTotalKey(e.key)
			if extra := e.value.Extra; ok && extra != (amount{}) {
				list = append(list, tasks.Extended{User: of.User, Chat: of.Chat, Tokens: extra.Tokens, Cost: extra.Cost})
			}
		}
		return nil
	})
	return list, err
}

// ledger is what tasks have spent and reserved, within a transaction.
type ledger struct{ *txn }

// note writes what an event of a task means for the ledger.
func (x ledger) note(id tasks.ID, task taskRow, before, after planner.State, e planner.Event) error {
	if err := x.extendBudget(before, e); err != nil {
		return err
	}
	ends, settled := endsAction(e), after.Settled() && !before.Settled()
	if !ends && !settled && !task.Over {
		return nil
	}
	return x.change(id, func(a *openAccount) error {
		if ends {
			if err := a.settleEvent(task, e); err != nil {
				return err
			}
		}
		switch {
		case task.Over:
			return a.close()
		case settled:
			return a.assignKept(tasks.ReservationID{})
		}
		return nil
	})
}

// openAccount is the account of a task while it is changed.
type openAccount struct {
	account
	x       ledger
	changed bool
}

// change lets do change the account of a task, and then writes it. It deletes an
// empty account. A damaged one counts as empty: the task goes on.
func (x ledger) change(id tasks.ID, do func(*openAccount) error) (err error) {
	a := &openAccount{x: x}
	a.account, _, err = accounts.get(x, id)
	if errors.Is(err, tasks.ErrDamaged) {
		x.log.Error("account damaged, counting again", "cause", err)
		a.account, a.changed, err = account{}, true, nil
	}
	if err == nil {
		err = do(a)
	}
	switch {
	case err != nil || !a.changed:
		return err
	case a.empty():
		return accounts.drop(x, id)
	}
	return accounts.put(x, id, a.account)
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
	return x.change(id, func(a *openAccount) error {
		if err := a.abandon(r.ID.Covers); err != nil {
			return err
		}
		covered, err := a.takeKept(r)
		if err != nil {
			return err
		}
		h := reservation{r.ID, r.Day, r.User, r.Chat, r.Model, r.Most, knownCost(r.Most, r.Least)}
		sums, err := x.totalsOf(h)
		if err != nil {
			return err
		}
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
			if err := x.putTotal(sum.of, sum.total, with); err != nil {
				return err
			}
		}
		a.Reserved, a.Kept, a.changed = append(slices.Clip(a.Reserved), h), kept, true
		x.step("reserved")
		return nil
	})
}

// takeKept gives a closing answer the amount that its task keeps, and reports
// whether the amount covers the reservation r. After a crash the action that took
// the amount takes it again, because it is the same answer.
func (a *openAccount) takeKept(r tasks.Reservation) (covered bool, err error) {
	if !r.Closing || a.Kept == nil {
		return false, nil
	}
	if err := a.assignKept(r.ID); err != nil {
		return false, err
	}
	need, have := amountOf(r.Most), amountOf(a.Kept.Most)
	return *a.Taken == r.ID && need.Tokens <= have.Tokens && need.Cost <= have.Cost, nil
}

// knownCost is the cost of a call of which only the input is known. least is what
// the caller knows about it; zero for nothing.
func knownCost(most, least llm.Usage) llm.Usage {
	if least == (llm.Usage{}) {
		least = llm.Usage{Input: most.Input, CachedInput: most.CachedInput}
		if n := most.Tokens(); n > 0 {
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
		if min(int64(u.Input), int64(u.Output), u.Cost) < 0 {
			return fmt.Errorf("reserving %+v: an amount is below zero", u)
		}
	}
	for _, name := range []string{r.ID.Call, r.User, r.Chat, r.Model} {
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
func (x ledger) spent(k spentKey) (tasks.Spent, error) {
	row, _, err := spentRows.get(x, k)
	if errors.Is(err, tasks.ErrDamaged) {
		x.log.Error("ledger row damaged, starting at zero", "cause", err)
		return tasks.Spent{}, nil
	}
	return row, err
}

// addSpent adds calls and their cost to a row of the ledger.
func (x ledger) addSpent(k spentKey, calls int, cost llm.Usage) error {
	row, err := x.spent(k)
	if err != nil {
		return err
	}
	row.Calls, row.Usage = row.Calls+calls, row.Usage.Add(cost)
	return spentRows.put(x, k, row)
}

// accountIDs lists the tasks with accounts: tasks that have not ended, and ended ones
// with calls that were made after them.
func (x ledger) accountIDs() (ids []tasks.ID, err error) {
	for r, err := range x.Range(TableAccounts, nil, nil, Ascending) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, tasks.ID(r.Key))
	}
	return ids, nil
}

// matchingKeys returns the keys of a table, from one on and at most n, that read can
// read and that match.
func matchingKeys[K any](tx Tx, t Table, from []byte, n int, read func([]byte) (K, bool), match func(K) bool) (list []K, err error) {
	for r, err := range tx.Range(t, from, nil, Ascending) {
		if err != nil {
			return nil, err
		}
		if k, ok := read(r.Key); ok && match(k) {
			if list = append(list, k); len(list) == n {
				break
			}
		}
	}
	return list, nil
}

// spentBatch is how many rows of the ledger a transaction deletes at most.
const spentBatch = 200

// dropSpent deletes the rows of the ledger that match, in many transactions. It
// counts them in d.
func (c *core) dropSpent(ctx context.Context, match func(spentKey) bool, d *tasks.Deleted) error {
	var from []byte
	for {
		var rows []spentKey
		err := c.view(ctx, "reading the ledger", func(x *txn) (err error) {
			rows, err = matchingKeys(x, TableSpent, from, spentBatch, readSpentKey, match)
			return err
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		err = c.update(ctx, "deleting rows of the ledger", func(x *txn) error {
			x.frees = true
			for _, k := range rows {
				if err := spentRows.drop(x, k); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		d.Spent += len(rows)
		from = append(spentKeyBytes(rows[len(rows)-1]), 0)
	}
}

// moveChat gives what a chat has spent and reserved to another one, so that neither
// its budget of the day nor its usage begins anew. It moves the totals first: a
// damaged one is added up from the rest.
func (x ledger) moveChat(from string, to bot.Chat) error {
	if to.Thread != "" {
		return nil // budgets are those of whole chats
	}
	for _, move := range []func(from, to string) error{x.moveTotals, x.moveAccounts, x.moveSpent} {
		if err := move(from, to.Key()); err != nil {
			return err
		}
	}
	return nil
}

// moveAccounts changes the chat of reservations.
func (x ledger) moveAccounts(from, to string) error {
	ids, err := x.accountIDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		err := x.change(id, func(a *openAccount) error {
			move := func(h *reservation) {
				if h.Chat == from {
					h.Chat, a.changed = to, true
				}
			}
			for i := range a.Reserved {
				move(&a.Reserved[i])
			}
			if a.Kept != nil {
				move(a.Kept)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// moveSpent adds the rows of a chat to those of the other.
func (x ledger) moveSpent(from, to string) error {
	rows, err := matchingKeys(x, TableSpent, nil, math.MaxInt, readSpentKey, func(k spentKey) bool { return k.Chat == from })
	if err != nil {
		return err
	}
	for _, k := range rows {
		old, err := x.spent(k)
		if err != nil {
			return err
		}
		if err := spentRows.drop(x, k); err != nil {
			return err
		}
		k.Chat = to
		if err := x.addSpent(k, old.Calls, old.Usage); err != nil {
			return err
		}
	}
	return nil
}
