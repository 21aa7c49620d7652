package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// expectedLedger is what a ledger must say, kept in the plainest way.
type expectedLedger struct {
	spent  map[[4]string]tasks.Spent
	held   map[tasks.ID]map[tasks.ReservationID]tasks.Reservation
	tokens map[tasks.ID]int64 // spent by tasks
	said   llm.Usage          // by events and settlements
}

// testAnyLedger: in any order of reserving, settling, events, ends and
// reopening, what is used of each budget is what was spent and is reserved, and
// what was spent is what events said and the input of what was lost.
func testAnyLedger(b *env) {
	round := 0
	rapid.Check(b.T, func(r *rapid.T) {
		round++
		w := &anyLedger{b: b, r: r, round: round, expectedLedger: expectedLedger{
			spent: map[[4]string]tasks.Spent{}, held: map[tasks.ID]map[tasks.ReservationID]tasks.Reservation{}, tokens: map[tasks.ID]int64{},
		}}
		w.open()
		r.Repeat(map[string]func(*rapid.T){
			"open":    func(*rapid.T) { w.open() },
			"reserve": func(*rapid.T) { w.reserve() },
			"settle":  func(*rapid.T) { w.settle() },
			"say":     func(*rapid.T) { w.say() },
			"end":     func(*rapid.T) { w.end() },
			"check":   func(*rapid.T) { w.check() },
			"reopen": func(r *rapid.T) {
				if rapid.IntRange(0, 9).Draw(r, "seldom") == 0 {
					b.store = b.reopen()
				}
			},
		})
		w.check()
	})
}

// anyLedger is one run of the property: tasks, and the ledger that is expected. Its days
// are its own, so that runs share a store.
type anyLedger struct {
	b      *env
	r      *rapid.T
	round  int
	opened int
	live   []tasks.ID
	expectedLedger
}

func (w *anyLedger) open() {
	id := tasks.ID(fmt.Sprintf("w%d.%d", w.round, w.opened))
	w.opened++
	w.b.ask(chat(string(id)), id, "goal")
	w.live, w.held[id] = append(w.live, id), map[tasks.ReservationID]tasks.Reservation{}
}

func (w *anyLedger) day(n int) string { return fmt.Sprintf("%04d-01-%02d", 2000+w.round%7000, 1+n) }

func (w *anyLedger) task() tasks.ID {
	if len(w.live) == 0 {
		w.open()
	}
	return rapid.SampledFrom(w.live).Draw(w.r, "task")
}

// attempt is a part of a reservation; that of a part does not exist.
func attempt(of tasks.ReservationID) tasks.ReservationID {
	of.Attempt = 2*of.Attempt + 1
	return of
}

// action draws the one that is wanted, or another one.
func (w *anyLedger) action(id tasks.ID) tasks.ReservationID {
	if todo := planner.Todo(w.b.state(id)); len(todo) > 0 && rapid.Bool().Draw(w.r, "wanted") {
		return tasks.ReservationID{Action: todo[0].ID}
	}
	return rapid.SampledFrom([]tasks.ReservationID{{Call: "x"}, {Call: "y"}, {Call: "x", Attempt: 1}}).Draw(w.r, "action")
}

func (w *anyLedger) size() llm.Usage { return use(rapid.IntRange(0, 60).Draw(w.r, "size")) }

func (w *anyLedger) reserve() {
	id := w.task()
	r := tasks.Reservation{
		ID: w.action(id), Day: w.day(rapid.IntRange(0, 1).Draw(w.r, "day")),
		User: rapid.SampledFrom([]string{"", "ann", "bob"}).Draw(w.r, "user"), Chat: rapid.SampledFrom([]string{"c", "d"}).Draw(w.r, "chat"),
		Model: "m", Most: w.size(), Budgets: tasks.Budgets{DayTokens: int64(rapid.IntRange(0, 400).Draw(w.r, "limit"))},
	}
	after := w.used(r.Day, "", "") + r.Most.Tokens()
	before := []tasks.ReservationID{r.ID, attempt(r.ID)} // its begun actions
	for _, action := range before {
		if old, again := w.held[id][action]; again && old.Day == r.Day {
			after += input(int(old.Most.Tokens())).Tokens() - old.Most.Tokens()
		}
	}
	room := r.Budgets.DayTokens == 0 || r.Most.Tokens() == 0 || after <= r.Budgets.DayTokens
	err := w.b.store.Reserve(w.b.Context(), id, r)
	if room != (err == nil) || !room && !errors.Is(err, tasks.ErrBudget) {
		w.r.Fatalf("Reserve: got %v, while %d of %d would be used", err, after, r.Budgets.DayTokens)
	}
	if !room {
		return
	}
	for _, action := range before {
		if old, again := w.held[id][action]; again {
			w.spend(id, old, input(int(old.Most.Tokens())))
			delete(w.held[id], action)
		}
	}
	w.held[id][r.ID] = r
}

func (w *anyLedger) settle() {
	id := w.task()
	action, cost := w.action(id), w.size()
	w.b.ok(w.b.store.Settle(w.b.Context(), id, action, cost))
	w.release(id, action, cost, "", nil)
}

// say appends an event that tells what the wanted action has cost.
func (w *anyLedger) say() {
	id := w.task()
	state := w.b.state(id)
	todo := planner.Todo(state)
	if len(todo) == 0 || state.Phase != planner.PhaseDeciding {
		return
	}
	cost := w.size()
	e := planner.Event{Type: planner.Malformed, Action: todo[0].ID, Problem: &planner.Problem{Code: "x", Usage: cost}}
	if rapid.Bool().Draw(w.r, "answer") {
		e = planner.Event{Type: planner.Replied, Action: todo[0].ID, Reply: &planner.Reply{Text: "x", Usage: cost, Model: "other"}}
	}
	w.b.append(id, e)
	model := ""
	if e.Reply != nil {
		model = "other"
	}
	w.release(id, tasks.ReservationID{Action: e.Action}, cost, model, &tasks.Reservation{Day: today, User: "test:ann", Chat: chat(string(id)).Room()})
}

// release does in the expected ledger what a settlement does. without is what it counts
// for when nothing was reserved; nil for nothing.
func (w *anyLedger) release(id tasks.ID, action tasks.ReservationID, cost llm.Usage, model string, without *tasks.Reservation) {
	r, ok := w.held[id][action]
	inner, within := w.held[id][attempt(action)]
	switch {
	case ok:
	case within:
		r = inner
	case without == nil || cost == (llm.Usage{}):
		return
	default:
		r = *without
	}
	if model != "" {
		r.Model = model
	}
	delete(w.held[id], action)
	delete(w.held[id], attempt(action))
	w.spend(id, r, cost)
}

func (w *anyLedger) spend(id tasks.ID, r tasks.Reservation, cost llm.Usage) {
	key := [4]string{r.Day, r.User, r.Chat, r.Model}
	s := w.spent[key]
	s.Day, s.User, s.Chat, s.Model, s.Usage = r.Day, r.User, r.Chat, r.Model, s.Usage.Add(cost)
	w.spent[key] = s
	w.tokens[id] += cost.Tokens()
	w.said = w.said.Add(cost)
}

func (w *anyLedger) end() {
	id := w.task()
	if rapid.Bool().Draw(w.r, "drop") {
		w.b.drop(id)
	} else {
		if s := w.b.state(id); !s.Settled() {
			w.b.append(id, planner.Event{Type: planner.Stopped})
		}
		w.b.show(id)
	}
	for _, r := range w.held[id] {
		w.spend(id, r, input(int(r.Most.Tokens())))
	}
	delete(w.held, id)
	w.live = slices.DeleteFunc(w.live, func(other tasks.ID) bool { return other == id })
}

// used is the expected use of a day, and of a person or chat on it.
func (w *anyLedger) used(day, user, room string) (tokens int64) {
	counts := func(d, u, c string) bool {
		return d == day && (user == "" || u == user) && (room == "" || c == room)
	}
	for _, s := range w.spent {
		if counts(s.Day, s.User, s.Chat) {
			tokens += s.Usage.Tokens()
		}
	}
	for _, list := range w.held {
		for _, r := range list {
			if counts(r.Day, r.User, r.Chat) {
				tokens += r.Most.Tokens()
			}
		}
	}
	return tokens
}

// check compares the store with the expected ledger.
func (w *anyLedger) check() {
	list := w.b.spent(tasks.SpentQuery{From: w.day(0), To: w.day(1)})
	for n := range w.opened { // spending without a reservation counts for its own chat
		room := chat(fmt.Sprintf("w%d.%d", w.round, n)).Room()
		list = append(list, w.b.spent(tasks.SpentQuery{From: today, To: today, Chat: room})...)
	}
	var sum llm.Usage
	for _, s := range list {
		sum = sum.Add(s.Usage)
		if got, want := s.Usage, w.spent[[4]string{s.Day, s.User, s.Chat, s.Model}].Usage; got != want {
			w.r.Fatalf("spent on %s by %q in %q with %q: got %+v, want %+v", s.Day, s.User, s.Chat, s.Model, got, want)
		}
	}
	if sum != w.said {
		w.r.Fatalf("spent in all: got %+v, want %+v", sum, w.said)
	}
	if len(w.live) == 0 {
		return
	}
	probe := w.live[0]
	for n := range 2 {
		for _, of := range [][2]string{{}, {"ann"}, {"bob"}, {"", "c"}, {"", "d"}} {
			if got, want := w.probe(probe, w.day(n), of[0], of[1]), w.used(w.day(n), of[0], of[1]); got != want {
				w.r.Fatalf("used on day %d by %q in %q: got %d, want %d", n, of[0], of[1], got, want)
			}
		}
	}
	reserved := int64(0)
	for r := range maps.Values(w.held[probe]) {
		reserved += r.Most.Tokens()
	}
	if got, want := w.b.used(probe, tasks.Budgets{TaskTokens: 1}), w.tokens[probe]+reserved; got != want {
		w.r.Fatalf("used by task %s: got %d, want %d", probe, got, want)
	}
}

// probe is what the store says is used of a day, and by a person or chat on it.
func (w *anyLedger) probe(id tasks.ID, day, user, room string) int64 {
	r := tasks.Reservation{ID: ReservationID("probe"), Day: day, User: user, Chat: room}
	switch {
	case user != "":
		r.Budgets.UserDayUSD = 1
	case room != "":
		r.Budgets.ChatDayUSD = 1
	default:
		r.Budgets.DayUSD = 1
	}
	return w.b.usedBy(id, r)
}
