package rules

import (
	"errors"
	"slices"
	"time"

	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// Settle replaces the reservation of an action by what it has cost.
func (s *Tx) Settle(id tasks.ID, of tasks.ReservationID, cost llm.Usage) error {
	return s.Savepoint(func(s *Tx) error {
		h, ok, err := s.freeReserved(id, of)
		if err != nil || !ok {
			return err
		}
		put(&s.changes.Operations, "settled", true)
		if err := s.spend(id, h, cost, cost != llm.Usage{}); err != nil {
			return err
		}
		if task, ok, err := s.Task(id); err != nil || !ok || !task.Over {
			return err
		}
		return s.closeAccount(id) // the reservation was made after the task
	})
}

// settleEvent counts the cost in an event of a task, in place of the action's
// reservation. Without a reservation it counts for the day of the event in UTC.
func (s *Tx) settleEvent(id tasks.ID, task Task, e planner.Event) error {
	cost, model, called := costOf(e)
	if e.Action == (planner.ActionID{}) || !endsAction(e) {
		return nil
	}
	of := tasks.ReservationID{Action: e.Action}
	if !called { // the event does not tell the cost of calls within the action
		if err := s.abandon(id, func(h tasks.ReservationID) bool { return h != of && of.Covers(h) }); err != nil {
			return err
		}
	}
	h, ok, err := s.freeReserved(id, of)
	if err != nil {
		return err
	}
	if !ok && cost == (llm.Usage{}) {
		return nil
	}
	if !ok {
		h = Reservation{Day: e.At.UTC().Format(time.DateOnly), User: boundedName(task.From.Key()), Chat: boundedName(task.Chat.Room())}
	}
	if model != "" {
		h.Model = boundedName(model) // another model may have answered
	}
	put(&s.changes.Operations, "settled", true)
	return s.spend(id, h, cost, called)
}

// endsAction reports whether the event ends its action.
func endsAction(e planner.Event) bool {
	switch e.Type {
	case planner.Replied, planner.Malformed, planner.CallFailed, planner.Returned:
		return true
	}
	return false
}

// costOf returns the cost in an event, and whether there was a call: a call that
// failed before anything was counted does not count as one.
func costOf(e planner.Event) (cost llm.Usage, model string, called bool) {
	if e.Reply != nil {
		return e.Usage(), e.Reply.Model, true
	}
	return e.Usage(), "", e.Usage() != llm.Usage{}
}

// freeReserved frees a reservation and its parts, and returns one of them: the
// reservation itself before a part of it.
func (s *Tx) freeReserved(id tasks.ID, of tasks.ReservationID) (first Reservation, found bool, err error) {
	account, err := s.Account(id)
	if err != nil || !slices.ContainsFunc(account.Reserved, func(h Reservation) bool { return of.Covers(h.ReservationID) }) {
		return first, false, err
	}
	var left []Reservation
	for _, h := range account.Reserved {
		if !of.Covers(h.ReservationID) {
			left = append(left, h)
			continue
		}
		if !found || h.Covers(first.ReservationID) {
			first, found = h, true
		}
		err := s.updateTotals(h, func(sum *Total) { sum.Reserved = sum.Reserved.minus(amount(h.Most)) })
		if err != nil {
			return first, false, err
		}
	}
	account.Reserved = left
	put(&s.changes.Accounts, id, account)
	return first, true, nil
}

// spend counts the cost of h.
func (s *Tx) spend(id tasks.ID, h Reservation, cost llm.Usage, called bool) error {
	if !called && cost == (llm.Usage{}) {
		return nil
	}
	account, err := s.Account(id)
	if err != nil {
		return err
	}
	account.Spent = account.Spent.plus(amount(cost))
	put(&s.changes.Accounts, id, account)
	if err := s.updateTotals(h, func(sum *Total) { sum.Spent = sum.Spent.plus(amount(cost)) }); err != nil {
		return err
	}
	row := SpentKey{h.Day, h.User, h.Chat, h.Model}
	spent, err := s.Spent(row)
	if err != nil {
		return err
	}
	if called {
		spent.Calls++
	}
	spent.Usage = spent.Usage.Add(cost)
	put(&s.changes.Spent, row, spent)
	return nil
}

// abandon counts the chosen reservations as spent, to the amount of their input:
// their calls were started, and their real cost is unknown.
func (s *Tx) abandon(id tasks.ID, chosen func(tasks.ReservationID) bool) error {
	account, err := s.Account(id)
	if err != nil || !slices.ContainsFunc(account.Reserved, func(h Reservation) bool { return chosen(h.ReservationID) }) {
		return err
	}
	var left, abandoned []Reservation
	for _, h := range account.Reserved {
		if !chosen(h.ReservationID) {
			left = append(left, h)
			continue
		}
		abandoned = append(abandoned, h)
	}
	account.Reserved = left
	put(&s.changes.Accounts, id, account)
	for _, h := range abandoned {
		if err := s.updateTotals(h, func(sum *Total) { sum.Reserved = sum.Reserved.minus(amount(h.Most)) }); err != nil {
			return err
		}
		if err := s.spend(id, h, h.Least, h.Least.Tokens()+h.Least.Cost > 0); err != nil {
			return err
		}
	}
	return nil
}

// closeAccount ends the account of a task that has ended.
func (s *Tx) closeAccount(id tasks.ID) error {
	if err := s.abandon(id, func(tasks.ReservationID) bool { return true }); err != nil {
		return err
	}
	account, err := s.Account(id)
	if err != nil || account.Empty() {
		return err
	}
	if err := s.assignKept(id, account, tasks.ReservationID{}); err != nil {
		return err
	}
	put(&s.changes.Accounts, id, Account{})
	return nil
}

// freeKept frees the amount that a task with an outcome still keeps back.
func (s *Tx) freeKept(id tasks.ID) error {
	account, err := s.Account(id)
	if err != nil {
		return err
	}
	return s.assignKept(id, account, tasks.ReservationID{})
}

// assignKept frees the amount that an account keeps back, unless it was taken
// before, and notes who takes it.
func (s *Tx) assignKept(id tasks.ID, account Account, by tasks.ReservationID) error {
	if !account.keeps() {
		return nil
	}
	kept := *account.Kept
	account.Taken = &by
	put(&s.changes.Accounts, id, account)
	return s.updateTotals(kept, func(sum *Total) { sum.Reserved = sum.Reserved.minus(amount(kept.Most)) })
}

// CloseOldAccounts ends the accounts of tasks that have ended or were deleted. It
// is for a store that was just opened: a call that was made after its task ended
// together with its process.
func (s *Tx) CloseOldAccounts() error {
	ids, err := s.Snapshot.Accounts()
	if err != nil {
		return err
	}
	for _, id := range ids {
		task, ok, err := s.Task(id)
		if errors.Is(err, tasks.ErrDamaged) || ok && !task.Over {
			continue
		}
		if err != nil {
			return err
		}
		if err := s.closeAccount(id); err != nil {
			return err
		}
	}
	return nil
}

// boundedName cuts a name that is too long for a key.
func boundedName(name string) string { return name[:min(len(name), MaxName)] }
