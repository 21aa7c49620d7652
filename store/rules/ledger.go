package rules

import (
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

// Amount is what budgets bound: tokens, and money in millionths of a US dollar.
type Amount struct {
	Tokens int64 `json:"tokens,omitempty"`
	Cost   int64 `json:"cost,omitempty"`
}

func amount(u llm.Usage) Amount { return Amount{u.Tokens(), u.Cost} }

func (a Amount) plus(b Amount) Amount { return Amount{a.Tokens + b.Tokens, a.Cost + b.Cost} }

// minus never goes below zero: after damage more may be given back than is known.
func (a Amount) minus(b Amount) Amount {
	return Amount{max(0, a.Tokens-b.Tokens), max(0, a.Cost-b.Cost)}
}

// TotalKey names a day's budget: of everybody, of one person, or of one chat.
type TotalKey struct {
	Day        string
	User, Chat string // at most one of them
}

// Total is what was spent and reserved of a day's budget, and by how much people
// extended it.
type Total struct {
	Spent    Amount `json:"spent,omitzero"`
	Reserved Amount `json:"reserved,omitzero"`
	Extra    Amount `json:"extra,omitzero"`
}

// SpentKey names a row of the ledger.
type SpentKey struct{ Day, User, Chat, Model string }

// Account is what a task that has not ended has spent and reserved.
type Account struct {
	Spent    Amount        `json:"spent,omitzero"`
	Reserved []Reservation `json:"held,omitempty"` // reservations of actions, in order of their making
	Kept     *Reservation  `json:"kept,omitempty"` // kept back for the closing answer, once
	// Taken is the closing answer that took the kept amount, and may take it again
	// after a crash. Zero: the amount is free again. Nil: it is kept.
	Taken *tasks.ReservationID `json:"taken,omitempty"`
}

// Reservation is an amount that is reserved for an action, or kept back for the
// closing answer.
type Reservation struct {
	tasks.ReservationID

	Day   string    `json:"day"`
	User  string    `json:"user,omitempty"`
	Chat  string    `json:"chat,omitempty"`
	Model string    `json:"model,omitempty"`
	Most  llm.Usage `json:"most,omitzero"`
	Least llm.Usage `json:"least,omitzero"`
}

// Empty reports whether there is nothing to store.
func (a Account) Empty() bool {
	return a.Spent == Amount{} && len(a.Reserved) == 0 && a.Kept == nil
}

// totalReserved returns all reservations of the account together.
func (a Account) totalReserved() Amount {
	var sum Amount
	for _, h := range a.Reserved {
		sum = sum.plus(amount(h.Most))
	}
	if a.keeps() {
		sum = sum.plus(amount(a.Kept.Most))
	}
	return sum
}

// keeps reports whether an amount is kept back that no action has taken.
func (a Account) keeps() bool { return a.Kept != nil && a.Taken == nil }

// totalKeys returns the day's budgets that a reservation counts for.
func (h Reservation) totalKeys() []TotalKey {
	list := []TotalKey{{Day: h.Day}}
	if h.User != "" {
		list = append(list, TotalKey{Day: h.Day, User: h.User})
	}
	if h.Chat != "" {
		list = append(list, TotalKey{Day: h.Day, Chat: h.Chat})
	}
	return list
}

// counts reports whether h counts for the budget.
func (of TotalKey) counts(h Reservation) bool { return slices.Contains(h.totalKeys(), of) }

// Plus adds a row of the ledger to a total, if it counts for the budget of.
func (sum Total) Plus(of TotalKey, s tasks.Spent) Total {
	if of.counts(Reservation{Day: s.Day, User: s.User, Chat: s.Chat}) {
		sum.Spent = sum.Spent.plus(amount(s.Usage))
	}
	return sum
}

// With adds an account's reservations to a total, if they count for the budget of.
func (sum Total) With(of TotalKey, a Account) Total {
	list := a.Reserved
	if a.keeps() {
		list = append(slices.Clip(list), *a.Kept)
	}
	for _, h := range list {
		if of.counts(h) {
			sum.Reserved = sum.Reserved.plus(amount(h.Most))
		}
	}
	return sum
}

// Account implements Snapshot.
func (s *Tx) Account(id tasks.ID) (Account, error) {
	if v, ok := s.changes.Accounts[id]; ok {
		return v, nil
	}
	if s.changes.Deleted[id] {
		return Account{}, nil
	}
	return s.Snapshot.Account(id)
}

// Total implements Snapshot.
func (s *Tx) Total(of TotalKey) (Total, error) {
	if v, ok := s.changes.Totals[of]; ok {
		return v, nil
	}
	return s.Snapshot.Total(of)
}

// TotalKeys implements Snapshot.
func (s *Tx) TotalKeys() ([]TotalKey, error) {
	list, err := s.Snapshot.TotalKeys()
	for of := range s.changes.Totals {
		if !slices.Contains(list, of) {
			list = append(list, of)
		}
	}
	return list, err
}

// Spent implements Snapshot.
func (s *Tx) Spent(row SpentKey) (tasks.Spent, error) {
	if v, ok := s.changes.Spent[row]; ok {
		return v, nil
	}
	if slices.Contains(s.changes.SpentDeleted, row) {
		return tasks.Spent{Day: row.Day, User: row.User, Chat: row.Chat, Model: row.Model}, nil
	}
	return s.Snapshot.Spent(row)
}

// Reserve makes a reservation when every budget has room for it. Call it inside
// Savepoint.
func (s *Tx) Reserve(id tasks.ID, r tasks.Reservation) error {
	if err := checkReservation(r); err != nil {
		return err
	}
	task, ok, err := s.Task(id)
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("task %s: %w", id, tasks.ErrNoTask)
	case task.Over && !r.After:
		return fmt.Errorf("task %s is over: %w", id, tasks.ErrRefused)
	}
	if err := s.abandon(id, r.ID.Covers); err != nil {
		return err
	}
	covered := false
	if r.Closing {
		if covered, err = s.takeKept(id, r); err != nil {
			return err
		}
	}
	account, err := s.Account(id)
	if err != nil {
		return err
	}
	h := Reservation{r.ID, r.Day, r.User, r.Chat, r.Model, r.Most, knownCost(r.Most, r.Least)}
	var keep *Reservation
	if r.Hold != nil && account.Kept == nil && !r.Closing {
		keep = &Reservation{Day: r.Day, User: r.User, Chat: r.Chat, Model: r.Model, Most: *r.Hold}
	}
	if !covered {
		if err := s.checkRoom(id, account, h, keep, r.Budgets); err != nil {
			return err
		}
	}
	return s.storeReservations(id, account, h, keep)
}

// storeReservations writes reservations.
func (s *Tx) storeReservations(id tasks.ID, account Account, h Reservation, keep *Reservation) error {
	account.Reserved = append(slices.Clip(account.Reserved), h)
	list := []Reservation{h}
	if keep != nil {
		account.Kept = keep
		list = append(list, *keep)
	}
	put(&s.changes.Accounts, id, account)
	put(&s.changes.Operations, "reserved", true)
	for _, h := range list {
		err := s.updateTotals(h, func(sum *Total) { sum.Reserved = sum.Reserved.plus(amount(h.Most)) })
		if err != nil {
			return err
		}
	}
	return nil
}

// updateTotals changes the totals of the day's budgets that h counts for.
func (s *Tx) updateTotals(h Reservation, change func(*Total)) error {
	for _, of := range h.totalKeys() {
		sum, err := s.Total(of)
		if err != nil {
			return err
		}
		change(&sum)
		put(&s.changes.Totals, of, sum)
	}
	return nil
}

// takeKept gives the closing answer the amount that its task keeps back, and reports
// whether the amount covers r. After a crash the action that took it before takes it
// again, because it is the same answer.
func (s *Tx) takeKept(id tasks.ID, r tasks.Reservation) (covered bool, err error) {
	account, err := s.Account(id)
	if err != nil || account.Kept == nil {
		return false, err
	}
	if account.keeps() {
		if err := s.assignKept(id, account, r.ID); err != nil {
			return false, err
		}
		account.Taken = &r.ID
	}
	need, have := amount(r.Most), amount(account.Kept.Most)
	return *account.Taken == r.ID && need.Tokens <= have.Tokens && need.Cost <= have.Cost, nil
}

// knownCost is the cost of a call of which only the input is known.
func knownCost(most, told llm.Usage) llm.Usage {
	if told == (llm.Usage{}) {
		told = llm.Usage{Input: most.Input, CachedInput: most.CachedInput}
		if n := most.Tokens(); n > 0 {
			told.Cost = int64(math.Ceil(float64(most.Cost) * float64(most.Input) / float64(n)))
		}
	}
	told.Estimated = true
	return told
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
		return fmt.Errorf("reserving: no action is named")
	}
	return nil
}
