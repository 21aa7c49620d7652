package rules

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"legwork/llm"
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

// Sums names what a day's budget counts: all of a day, or of one person or one
// chat on it.
type Sums struct {
	Day        string
	User, Chat string // at most one of them
}

// Sum is what was spent and reserved of a day's budget, and by how much people
// extended it.
type Sum struct {
	Spent    Amount `json:"spent,omitzero"`
	Reserved Amount `json:"reserved,omitzero"`
	Extra    Amount `json:"extra,omitzero"`
}

// SpentRow names a row of the ledger.
type SpentRow struct{ Day, User, Chat, Model string }

// Account is what a task that is not over has spent and reserved.
type Account struct {
	Spent Amount `json:"spent,omitzero"`
	Held  []Held `json:"held,omitempty"` // reservations of actions, in order of their making
	Kept  *Held  `json:"kept,omitempty"` // kept back for the closing answer, once
	// Taken is the action of the closing answer that took what was kept back. It
	// may take it again, after a crash; others may not.
	Taken string `json:"taken,omitempty"`
}

// Held is a reservation.
type Held struct {
	Action string    `json:"action,omitempty"`
	Day    string    `json:"day"`
	User   string    `json:"user,omitempty"`
	Chat   string    `json:"chat,omitempty"`
	Model  string    `json:"model,omitempty"`
	Most   llm.Usage `json:"most,omitzero"`
	Least  llm.Usage `json:"least,omitzero"`
}

// Empty reports that there is nothing to keep.
func (a Account) Empty() bool {
	return a.Spent == Amount{} && len(a.Held) == 0 && a.Kept == nil
}

// reserved is what the account has under way and keeps back.
func (a Account) reserved() Amount {
	var sum Amount
	for _, h := range a.Held {
		sum = sum.plus(amount(h.Most))
	}
	if a.keeps() {
		sum = sum.plus(amount(a.Kept.Most))
	}
	return sum
}

// keeps reports that something is kept back that nobody has taken.
func (a Account) keeps() bool { return a.Kept != nil && a.Taken == "" }

// sums are the day's budgets that a reservation counts for.
func (h Held) sums() []Sums {
	list := []Sums{{Day: h.Day}}
	if h.User != "" {
		list = append(list, Sums{Day: h.Day, User: h.User})
	}
	if h.Chat != "" {
		list = append(list, Sums{Day: h.Day, Chat: h.Chat})
	}
	return list
}

// counts reports that h counts for the budget.
func (of Sums) counts(h Held) bool { return slices.Contains(h.sums(), of) }

// Plus adds a row of the ledger to a sum, if it counts for the budget of.
func (sum Sum) Plus(of Sums, s tasks.Spent) Sum {
	if of.counts(Held{Day: s.Day, User: s.User, Chat: s.Chat}) {
		sum.Spent = sum.Spent.plus(amount(s.Usage))
	}
	return sum
}

// With adds what an account has reserved to a sum, if it counts for the budget
// of.
func (sum Sum) With(of Sums, a Account) Sum {
	list := a.Held
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

// Account implements Base.
func (s *Stage) Account(id tasks.ID) (Account, error) {
	if v, ok := s.changes.Accounts[id]; ok {
		return v, nil
	}
	if s.changes.Gone[id] {
		return Account{}, nil
	}
	return s.base.Account(id)
}

// Sum implements Base.
func (s *Stage) Sum(of Sums) (Sum, error) {
	if v, ok := s.changes.Sums[of]; ok {
		return v, nil
	}
	return s.base.Sum(of)
}

// AllSums implements Base.
func (s *Stage) AllSums() ([]Sums, error) {
	list, err := s.base.AllSums()
	for of := range s.changes.Sums {
		if !slices.Contains(list, of) {
			list = append(list, of)
		}
	}
	return list, err
}

// Spent implements Base.
func (s *Stage) Spent(row SpentRow) (tasks.Spent, error) {
	if v, ok := s.changes.Spent[row]; ok {
		return v, nil
	}
	if slices.Contains(s.changes.SpentGone, row) {
		return tasks.Spent{Day: row.Day, User: row.User, Chat: row.Chat, Model: row.Model}, nil
	}
	return s.base.Spent(row)
}

// Reserve makes a reservation when every budget has room for it. It must run
// inside Try.
func (s *Stage) Reserve(id tasks.ID, r tasks.Reservation) error {
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
	if err := s.abandon(id, within(r.Action)); err != nil {
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
	h := Held{r.Action, r.Day, r.User, r.Chat, r.Model, r.Most, least(r.Most, r.Least)}
	var keep *Held
	if r.Hold != nil && account.Kept == nil && !r.Closing {
		keep = &Held{Day: r.Day, User: r.User, Chat: r.Chat, Model: r.Model, Most: *r.Hold}
	}
	if !covered {
		if err := s.room(id, account, h, keep, r.Budgets); err != nil {
			return err
		}
	}
	return s.hold(id, account, h, keep)
}

// hold writes reservations.
func (s *Stage) hold(id tasks.ID, account Account, h Held, keep *Held) error {
	account.Held = append(slices.Clip(account.Held), h)
	list := []Held{h}
	if keep != nil {
		account.Kept = keep
		list = append(list, *keep)
	}
	put(&s.changes.Accounts, id, account)
	put(&s.changes.Deeds, "reserved", true)
	for _, h := range list {
		err := s.count(h, func(sum *Sum) { sum.Reserved = sum.Reserved.plus(amount(h.Most)) })
		if err != nil {
			return err
		}
	}
	return nil
}

// count changes the sums of the day's budgets that h counts for.
func (s *Stage) count(h Held, change func(*Sum)) error {
	for _, of := range h.sums() {
		sum, err := s.Sum(of)
		if err != nil {
			return err
		}
		change(&sum)
		put(&s.changes.Sums, of, sum)
	}
	return nil
}

// takeKept gives the closing answer what its task keeps back, and reports whether
// that covers r. The action that took it before takes it again: it is the same
// answer, after a crash.
func (s *Stage) takeKept(id tasks.ID, r tasks.Reservation) (covered bool, err error) {
	account, err := s.Account(id)
	if err != nil || account.Kept == nil {
		return false, err
	}
	if account.keeps() {
		if err := s.letGo(id, account, r.Action); err != nil {
			return false, err
		}
		account.Taken = r.Action
	}
	need, have := amount(r.Most), amount(account.Kept.Most)
	return account.Taken == r.Action && need.Tokens <= have.Tokens && need.Cost <= have.Cost, nil
}

// least is what a call has cost of which only its input is known.
func least(most, told llm.Usage) llm.Usage {
	if told == (llm.Usage{}) {
		told = llm.Usage{Input: most.Input, CachedInput: most.CachedInput}
		if n := most.Tokens(); n > 0 {
			told.Cost = int64(math.Ceil(float64(most.Cost) * float64(most.Input) / float64(n)))
		}
	}
	told.Estimated = true
	return told
}

// checkReservation refuses what no ledger can count.
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
	for _, name := range []string{r.Action, r.User, r.Chat, r.Model} {
		if len(name) > MaxName || !utf8.ValidString(name) {
			return fmt.Errorf("reserving under a name of %d bytes: it must be UTF-8 of at most %d", len(name), MaxName)
		}
	}
	if strings.TrimSpace(r.Action) == "" {
		return fmt.Errorf("reserving: no action is named")
	}
	return nil
}
