package rules

import (
	"errors"
	"slices"
	"strings"
	"time"

	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// Settle replaces the reservation of an action by what it has cost.
func (s *Stage) Settle(id tasks.ID, action string, cost llm.Usage) error {
	return s.Try(func(s *Stage) error {
		h, ok, err := s.free(id, within(action))
		if err != nil || !ok {
			return err
		}
		put(&s.changes.Deeds, "settled", true)
		if err := s.spend(id, h, cost, cost != llm.Usage{}); err != nil {
			return err
		}
		if task, ok, err := s.Task(id); err != nil || !ok || !task.Over {
			return err
		}
		return s.close(id) // it was made after the task
	})
}

// settle counts what an event of a task says that its action has cost, in place
// of the reservation. Without one it counts for the day of the event in UTC.
func (s *Stage) settle(id tasks.ID, task Task, e planner.Event) error {
	cost, model, called := costOf(e)
	if e.Action == (planner.ActionID{}) || !outcome(e) {
		return nil
	}
	if !called { // of calls within it, it tells nothing
		if err := s.abandon(id, inside(e.Action.String())); err != nil {
			return err
		}
	}
	h, ok, err := s.free(id, within(e.Action.String()))
	if err != nil {
		return err
	}
	if !ok && cost == (llm.Usage{}) {
		return nil
	}
	if !ok {
		h = Held{Day: e.At.UTC().Format(time.DateOnly), User: bounded(task.From.Key()), Chat: bounded(task.Chat.Room())}
	}
	if model != "" {
		h.Model = bounded(model) // another one may have answered
	}
	put(&s.changes.Deeds, "settled", true)
	return s.spend(id, h, cost, called)
}

// outcome reports that the event ends its action.
func outcome(e planner.Event) bool {
	switch e.Type {
	case planner.Replied, planner.Garbled, planner.Broke, planner.Returned:
		return true
	}
	return false
}

// costOf is what an event says that its action has cost, and whether that was a
// call: one that failed before anything was counted is none.
func costOf(e planner.Event) (cost llm.Usage, model string, called bool) {
	switch {
	case e.Reply != nil:
		return e.Reply.Usage, e.Reply.Model, true
	case e.Problem != nil:
		cost = e.Problem.Usage
	case e.Result != nil:
		cost = e.Result.Usage
	}
	return cost, "", cost != llm.Usage{}
}

// exactly chooses the reservation of an action, inside those of the calls that
// were made within it, and within both.
func exactly(action string) func(Held) bool {
	return func(h Held) bool { return h.Action == action }
}

func inside(action string) func(Held) bool {
	return func(h Held) bool { return strings.HasPrefix(h.Action, action+"/") }
}

func within(action string) func(Held) bool {
	return func(h Held) bool { return h.Action == action || strings.HasPrefix(h.Action, action+"/") }
}

// free takes back the reservations that are chosen, and returns the first: that
// of the action itself, before those of calls within it.
func (s *Stage) free(id tasks.ID, chosen func(Held) bool) (first Held, found bool, err error) {
	account, err := s.Account(id)
	if err != nil || !slices.ContainsFunc(account.Held, chosen) {
		return first, false, err
	}
	var left []Held
	for _, h := range account.Held {
		if !chosen(h) {
			left = append(left, h)
			continue
		}
		if !found || len(h.Action) < len(first.Action) {
			first, found = h, true
		}
		err := s.count(h, func(sum *Sum) { sum.Reserved = sum.Reserved.minus(amount(h.Most)) })
		if err != nil {
			return first, false, err
		}
	}
	account.Held = left
	put(&s.changes.Accounts, id, account)
	return first, true, nil
}

// spend counts what was spent for h.
func (s *Stage) spend(id tasks.ID, h Held, cost llm.Usage, called bool) error {
	if !called && cost == (llm.Usage{}) {
		return nil
	}
	account, err := s.Account(id)
	if err != nil {
		return err
	}
	account.Spent = account.Spent.plus(amount(cost))
	put(&s.changes.Accounts, id, account)
	if err := s.count(h, func(sum *Sum) { sum.Spent = sum.Spent.plus(amount(cost)) }); err != nil {
		return err
	}
	row := SpentRow{h.Day, h.User, h.Chat, h.Model}
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

// abandon counts the reservations that are chosen as spent to the amount of
// their input: their calls were begun, and nobody can say any more what they
// have cost.
func (s *Stage) abandon(id tasks.ID, chosen func(Held) bool) error {
	account, err := s.Account(id)
	if err != nil {
		return err
	}
	for _, h := range account.Held {
		if !chosen(h) {
			continue
		}
		if _, _, err := s.free(id, exactly(h.Action)); err != nil {
			return err
		}
		if err := s.spend(id, h, h.Least, h.Least.Tokens()+h.Least.Cost > 0); err != nil {
			return err
		}
	}
	return nil
}

// close ends the account of a task that is over.
func (s *Stage) close(id tasks.ID) error {
	if err := s.abandon(id, func(Held) bool { return true }); err != nil {
		return err
	}
	account, err := s.Account(id)
	if err != nil || account.Empty() {
		return err
	}
	if err := s.letGo(id, account, "nobody"); err != nil {
		return err
	}
	put(&s.changes.Accounts, id, Account{})
	return nil
}

// done gives free what a task keeps back whose outcome is known.
func (s *Stage) done(id tasks.ID) error {
	account, err := s.Account(id)
	if err != nil {
		return err
	}
	return s.letGo(id, account, "nobody")
}

// letGo gives free what account keeps back, when nobody has taken it: by will
// have.
func (s *Stage) letGo(id tasks.ID, account Account, by string) error {
	if !account.keeps() {
		return nil
	}
	kept := *account.Kept
	account.Taken = by
	put(&s.changes.Accounts, id, account)
	return s.count(kept, func(sum *Sum) { sum.Reserved = sum.Reserved.minus(amount(kept.Most)) })
}

// Tidy ends the accounts of tasks that are over, or gone: a call that followed
// its task was cut off with the process that made it. It is for a store that was
// just opened.
func (s *Stage) Tidy() error {
	ids, err := s.base.Accounts()
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
		if err := s.close(id); err != nil {
			return err
		}
	}
	return nil
}

// bounded cuts a name that is too long to be part of a key.
func bounded(name string) string { return name[:min(len(name), MaxName)] }
