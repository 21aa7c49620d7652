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

// testAnyLedger: in any order of reserving, settling, events, ends and reopening, the
// ledger has what events said and the input of lost calls, and budgets what is reserved.
func testAnyLedger(b ledger) {
	round := 0
	rapid.Check(b.T, func(r *rapid.T) {
		round++
		w := &anyLedger{
			b: b, r: r, round: round,
			spent: map[[5]string]tasks.Spent{}, held: map[tasks.ID]map[tasks.ReservationID]tasks.Reservation{}, tokens: map[tasks.ID]int64{},
		}
		w.open()
		r.Repeat(map[string]func(*rapid.T){
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

// anyLedger is one run of the property: tasks, and what a ledger must say, kept in the
// plainest way. Its days are its own, so that runs share a store.
type anyLedger struct {
	b      ledger
	r      *rapid.T
	round  int
	opened int
	live   []tasks.ID

	spent  map[[5]string]tasks.Spent
	held   map[tasks.ID]map[tasks.ReservationID]tasks.Reservation
	tokens map[tasks.ID]int64 // spent by tasks
}

func (w *anyLedger) open() {
	id := tasks.ID(fmt.Sprintf("w%d.%d", w.round, w.opened))
	w.opened++
	w.b.ask(chat(string(id)), id, "goal")
	w.live, w.held[id] = append(w.live, id), map[tasks.ReservationID]tasks.Reservation{}
}

func (w *anyLedger) day(n int) string { return fmt.Sprintf("%04d-01-%02d", 2000+w.round%7000, 1+n) }

func (w *anyLedger) task() tasks.ID {
	for len(w.live) < 2 {
		w.open()
	}
	return rapid.SampledFrom(w.live).Draw(w.r, "task")
}

// lost is what is counted for a call of which only its input is known.
func lost(r tasks.Reservation) llm.Usage {
	if r.Least == (llm.Usage{}) {
		return input(int(r.Most.Tokens()))
	}
	least := r.Least
	least.Estimated = true
	return least
}

// action draws the one that is wanted, a call within it, or another one.
func (w *anyLedger) action(id tasks.ID) tasks.ReservationID {
	list := []tasks.ReservationID{{Call: "x"}, {Call: "y"}, {Call: "x", Attempt: 1}}
	if todo := planner.Todo(w.b.state(id)); len(todo) > 0 && rapid.Bool().Draw(w.r, "wanted") {
		list = []tasks.ReservationID{{Action: todo[0].ID}, {Action: todo[0].ID, Call: "x"}}
	}
	return rapid.SampledFrom(list).Draw(w.r, "action")
}

func (w *anyLedger) size() llm.Usage { return use(rapid.IntRange(0, 60).Draw(w.r, "size")) }

func (w *anyLedger) reserve() {
	id := w.task()
	r := tasks.Reservation{
		ID: w.action(id), Day: w.day(rapid.IntRange(0, 1).Draw(w.r, "day")),
		User: rapid.SampledFrom([]string{"", "ann", "bob"}).Draw(w.r, "user"), Chat: rapid.SampledFrom([]string{"c", "d"}).Draw(w.r, "chat"),
		Model: "m", Group: rapid.SampledFrom([]string{"", "web"}).Draw(w.r, "group"), Most: w.size(), Budgets: tasks.Budgets{DayTokens: int64(rapid.IntRange(0, 400).Draw(w.r, "limit"))},
	}
	if rapid.Bool().Draw(w.r, "least") {
		n := r.Most.Input / 3
		r.Least = llm.Usage{Input: n, Cost: int64(2 * n)}
	}
	after := w.used(r.Day, "", "") + r.Most.Tokens()
	for action, old := range w.held[id] {
		if r.ID.Covers(action) && old.Day == r.Day { // it begins anew
			after += lost(old).Tokens() - old.Most.Tokens()
		}
	}
	room := r.Budgets.DayTokens == 0 || r.Most.Tokens() == 0 || after <= r.Budgets.DayTokens
	for _, err := range []error{w.b.store.Room(w.b.Context(), id, r), w.b.store.Reserve(w.b.Context(), id, r)} {
		if room != (err == nil) || !room && !errors.Is(err, tasks.ErrBudget) {
			w.r.Fatalf("reserving: got %v, while %d of %d would be used", err, after, r.Budgets.DayTokens)
		}
	}
	if !room {
		return
	}
	w.lose(id, r.ID.Covers)
	w.held[id][r.ID] = r
}

func (w *anyLedger) settle() {
	id := w.task()
	action, cost := w.action(id), w.size()
	w.b.ok(w.b.store.Settle(w.b.Context(), id, action, cost))
	w.release(id, action, cost, min(1, int(cost.Tokens())), "", nil)
}

// say appends an event that tells what the wanted action has cost.
func (w *anyLedger) say() {
	id := w.task()
	state := w.b.state(id)
	todo := planner.Todo(state)
	if len(todo) == 0 || state.Phase != planner.PhaseDeciding {
		return
	}
	cost := use(rapid.IntRange(0, 60).Draw(w.r, "cost") * rapid.IntRange(0, 1).Draw(w.r, "known"))
	e := planner.Event{Type: planner.Malformed, Action: todo[0].ID, Problem: &planner.Problem{Code: "x", Usage: cost}}
	if rapid.Bool().Draw(w.r, "answer") {
		e = planner.Event{Type: planner.Replied, Action: todo[0].ID, Reply: &planner.Reply{Text: "x", Usage: cost, Model: "other"}}
	}
	w.b.append(id, e)
	model, calls, of := "", 1, tasks.ReservationID{Action: e.Action}
	if e.Reply != nil {
		model = "other"
	} else if cost == (llm.Usage{}) { // it does not tell the cost of the call within
		calls = 0
		w.lose(id, func(a tasks.ReservationID) bool { return a != of && of.Covers(a) })
	}
	w.release(id, of, cost, calls, model, &tasks.Reservation{Day: today, User: "test:ann", Chat: chat(string(id)).Room()})
}

// lose counts chosen reservations by what is known of their calls.
func (w *anyLedger) lose(id tasks.ID, chosen func(tasks.ReservationID) bool) {
	for action, old := range w.held[id] {
		if chosen(action) {
			w.spend(id, old, lost(old), min(1, int(lost(old).Tokens())))
			delete(w.held[id], action)
		}
	}
}

// release does what a settlement does. r is what a cost counts for when nothing was
// reserved; nil for nothing.
func (w *anyLedger) release(id tasks.ID, of tasks.ReservationID, cost llm.Usage, calls int, model string, r *tasks.Reservation) {
	found := tasks.ReservationID{}
	for action, held := range w.held[id] {
		if of.Covers(action) {
			if action.Covers(found) || found == (tasks.ReservationID{}) {
				found, r = action, &held
			}
			delete(w.held[id], action)
		}
	}
	if r == nil || found == (tasks.ReservationID{}) && cost == (llm.Usage{}) {
		return
	}
	if model != "" {
		r.Model = model
	}
	w.spend(id, *r, cost, calls)
}

func (w *anyLedger) spend(id tasks.ID, r tasks.Reservation, cost llm.Usage, calls int) {
	if calls == 0 && cost == (llm.Usage{}) {
		return
	}
	key := [5]string{r.Day, r.User, r.Chat, r.Model, r.Group}
	s := w.spent[key]
	w.spent[key] = tasks.Spent{Day: r.Day, User: r.User, Chat: r.Chat, Model: r.Model, Group: r.Group, Calls: s.Calls + calls, Usage: s.Usage.Add(cost)}
	w.tokens[id] += cost.Tokens()
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
	w.lose(id, func(tasks.ReservationID) bool { return true })
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
	for _, s := range list {
		w.b.same("spent", s, w.spent[[5]string{s.Day, s.User, s.Chat, s.Model, s.Group}])
	}
	w.b.same("rows", len(list), len(w.spent))
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
