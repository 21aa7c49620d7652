package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

const today = "2026-11-20"

// use is a usage of so many tokens, half of them input, at two millionths of a
// dollar each.
func use(tokens int) llm.Usage {
	return llm.Usage{Input: tokens / 2, Output: tokens - tokens/2, Cost: int64(2 * tokens)}
}

// input is what is counted for a call of which only its input is known.
func input(tokens int) llm.Usage {
	return llm.Usage{Input: tokens / 2, Cost: int64(2 * (tokens / 2)), Estimated: true}
}

// ReservationID is the id of the action that text spells, or of a call outside of
// actions.
func ReservationID(text string) tasks.ReservationID {
	if id, err := planner.ParseActionID(text); err == nil {
		return tasks.ReservationID{Action: id}
	}
	return tasks.ReservationID{Call: text}
}

// reservation is one of ann in chat c.
func reservation(action string, tokens int, budgets tasks.Budgets) tasks.Reservation {
	return tasks.Reservation{
		ID: ReservationID(action), Day: today, User: "test:ann", Chat: "test:c", Model: "main", Most: use(tokens), Budgets: budgets,
	}
}

// ledger is an env whose store is used as a ledger.
type ledger struct{ *env }

// onLedger makes a case of the suite of one that uses a ledger.
func onLedger(test func(ledger)) func(*env) { return func(b *env) { test(ledger{b}) } }

func (b ledger) reserve(id tasks.ID, r tasks.Reservation) {
	b.Helper()
	for _, err := range []error{b.store.Room(b.Context(), id, r), b.store.Reserve(b.Context(), id, r)} {
		if err != nil {
			b.Fatalf("reserving %+v for %s: %v", r, id, err)
		}
	}
}

// overdrawn expects that a budget has no room, and that this changes nothing.
func (b ledger) overdrawn(id tasks.ID, r tasks.Reservation, want planner.Overdraft) {
	b.Helper()
	for range 2 {
		b.same("Room tells", b.beyond(b.store.Room(b.Context(), id, r)), want)
		b.same("Reserve tells", b.beyond(b.store.Reserve(b.Context(), id, r)), want)
	}
}

func (b ledger) settle(id tasks.ID, action string, cost llm.Usage) {
	b.Helper()
	b.ok(b.store.Settle(b.Context(), id, ReservationID(action), cost))
}

// used is what is spent and reserved of a budget, in tokens of use: what a call
// that wants more than anybody has is told.
func (b ledger) used(id tasks.ID, budgets tasks.Budgets) int64 {
	b.Helper()
	return b.usedBy(id, reservation("probe", 0, budgets))
}

// usedBy is used for the day, person and chat of a reservation.
func (b ledger) usedBy(id tasks.ID, r tasks.Reservation) int64 {
	b.Helper()
	r.Most = llm.Usage{Input: 1 << 40, Cost: 1 << 40}
	over := b.beyond(b.store.Room(b.Context(), id, r))
	if strings.HasSuffix(over.Budget, "_usd") {
		return over.Spent / 2
	}
	return over.Spent
}

// beyond returns the overdraft that an error reports.
func (b ledger) beyond(err error) planner.Overdraft {
	b.Helper()
	var reached *tasks.BudgetError
	if !errors.As(err, &reached) || !errors.Is(err, tasks.ErrBudget) {
		b.Fatalf("got %v, want a BudgetError", err)
	}
	return reached.Overdraft
}

func (b ledger) spent(q tasks.SpentQuery) []tasks.Spent {
	b.Helper()
	list, err := b.store.Spent(b.Context(), q)
	b.ok(err)
	return list
}

// row is what ann spent in chat c today with the model main.
func row(calls int, u llm.Usage) tasks.Spent {
	return tasks.Spent{Day: today, User: "test:ann", Chat: "test:c", Model: "main", Calls: calls, Usage: u}
}

// testBudgets: each budget counts what it is for. The first one in their order is named.
func testBudgets(b ledger) {
	b.ask(chat("c"), "t1", "one")
	b.ask(chat("c"), "t2", "another task of the chat")
	b.ask(chat("c"), "t3", "the same")
	b.reserve("t1", reservation("a", 100, tasks.Budgets{}))
	elsewhere := reservation("a", 50, tasks.Budgets{})
	elsewhere.Chat = "test:d"
	b.reserve("t2", elsewhere)
	other := reservation("b", 20, tasks.Budgets{})
	other.User = "test:bob"
	b.reserve("t2", other)
	yesterday := reservation("c", 1000, tasks.Budgets{})
	yesterday.Day = "2026-11-19"
	b.reserve("t2", yesterday)
	for _, c := range []struct {
		task    tasks.ID
		budgets tasks.Budgets     // of which the first is reached
		want    planner.Overdraft // without what the call wants, and the extension
	}{
		{"t1", tasks.Budgets{TaskTokens: 105, TaskUSD: 1, DayTokens: 1}, planner.Overdraft{Budget: tasks.BudgetTaskTokens, Limit: 105, Spent: 100}},
		{"t1", tasks.Budgets{TaskTokens: 110, TaskUSD: 210, DayUSD: 1}, planner.Overdraft{Budget: tasks.BudgetTaskUSD, Limit: 210, Spent: 200}},
		{"t3", tasks.Budgets{TaskTokens: 10, UserDayUSD: 310, ChatDayUSD: 1}, planner.Overdraft{Budget: tasks.BudgetUserDayUSD, Who: "test:ann", Day: today, Limit: 310, Spent: 300}},
		{"t3", tasks.Budgets{UserDayUSD: 320, ChatDayUSD: 250, DayUSD: 1}, planner.Overdraft{Budget: tasks.BudgetChatDayUSD, Who: "test:c", Day: today, Limit: 250, Spent: 240}},
		{"t3", tasks.Budgets{ChatDayUSD: 260, DayUSD: 359, DayTokens: 1}, planner.Overdraft{Budget: tasks.BudgetDayUSD, Day: today, Limit: 359, Spent: 340}},
		{"t3", tasks.Budgets{DayUSD: 360, DayTokens: 171}, planner.Overdraft{Budget: tasks.BudgetDayTokens, Day: today, Limit: 171, Spent: 170}},
	} {
		want := c.want
		want.Wanted = 10
		if strings.HasSuffix(want.Budget, "_usd") {
			want.Wanted = 20
		}
		want.Extend = max((want.Limit+1)/2, want.Wanted)
		b.overdrawn(c.task, reservation("new", 10, c.budgets), want)
	}
	b.reserve("t3", reservation("new", 10, tasks.Budgets{
		TaskTokens: 10, TaskUSD: 20, UserDayUSD: 320, ChatDayUSD: 260, DayUSD: 360, DayTokens: 180,
	}))
	free := reservation("free", 0, tasks.Budgets{TaskUSD: 1, DayUSD: 1})
	free.Most = llm.Usage{Input: 5, Output: 5} // of a model without a price
	b.reserve("t3", free)
	b.same("reservations", b.spent(tasks.SpentQuery{}), []tasks.Spent(nil))
}

// testUnreserved: an event that nothing was reserved for counts for its own day.
func testUnreserved(b ledger) {
	b.ask(bot.Chat{Platform: "test", ID: "c", Thread: "7"}, "t", "goal")
	at := time.Date(2026, 11, 20, 1, 0, 0, 0, time.FixedZone("east", 2*3600)) // the day before in UTC
	b.append("t", planner.Event{Type: planner.Malformed, At: at, Action: b.wanted("t"), Problem: &planner.Problem{Code: "x", Usage: use(10)}})
	b.reply("t", planner.Reply{Text: "answer", Usage: use(20), Model: "main"})
	unknown := row(1, use(10))
	unknown.Day, unknown.Model = "2026-11-19", ""
	b.same("spent", b.spent(tasks.SpentQuery{}), []tasks.Spent{unknown, row(1, use(20))})
}

// testSpent: the ledger is read in order, by days, people and chats of any name.
func testSpent(b ledger) {
	b.ask(chat("c"), "t", "goal")
	names := []string{"", "a", "a\x00", "a\x00\x01", "aa", "群"}
	var want []tasks.Spent // in order
	for _, day := range []string{"2026-11-19", "2026-11-20", "2026-11-21"} {
		for _, user := range names {
			for _, model := range names {
				for _, group := range []string{"", "a\x00", "web"} {
					want = append(want, tasks.Spent{Day: day, User: user, Chat: "c" + user, Model: model, Group: group, Calls: 1, Usage: use(10)})
				}
			}
		}
	}
	for _, n := range rand.New(rand.NewPCG(5, 6)).Perm(len(want)) {
		s := want[n]
		b.reserve("t", tasks.Reservation{ID: ReservationID("a"), Day: s.Day, User: s.User, Chat: s.Chat, Model: s.Model, Group: s.Group, Most: use(20)})
		b.settle("t", "a", s.Usage)
	}
	for range 2 {
		for _, q := range []tasks.SpentQuery{
			{},
			{From: "2026-11-20"},
			{To: "2026-11-20"},
			{From: "2026-11-20", To: "2026-11-20"},
			{From: "2026-11-22"},
			{To: "2026-11-18"},
			{User: "a"},
			{Chat: "ca\x00"},
			{User: "a", Chat: "c"},
			{From: "2026-11-21", User: "群"},
		} {
			chosen := slices.DeleteFunc(slices.Clone(want), func(s tasks.Spent) bool {
				return s.Day < q.From || q.To != "" && s.Day > q.To || q.User != "" && s.User != q.User || q.Chat != "" && s.Chat != q.Chat
			})
			b.same(fmt.Sprintf("Spent(%+v)", q), b.spent(q), chosen)
		}
		b.store = b.reopen()
	}
}

// testClockFarAhead: spending counts also after a month by a clock that was far ahead.
func testClockFarAhead(b ledger) {
	b.ask(chat("c"), "t", "goal")
	for i := range 40 {
		r := reservation("a", 10, tasks.Budgets{})
		r.Day = time.Date(2031, 1, 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		b.reserve("t", r)
		b.settle("t", "a", use(10))
	}
	for i := range 3 {
		b.reserve("t", reservation(fmt.Sprintf("b%d", i), 100, tasks.Budgets{}))
		b.store = b.reopen()
		b.same("used of all", b.used("t", tasks.Budgets{DayTokens: 1}), int64(100*(i+1)))
		b.same("used of her", b.used("t", tasks.Budgets{UserDayUSD: 1}), int64(100*(i+1)))
	}
}

// testKeptBack: the closing answer has its room, whatever was spent meanwhile.
func testKeptBack(b ledger) {
	budgets := tasks.Budgets{TaskTokens: 100, DayTokens: 100}
	hold := use(30)
	b.ask(chat("c"), "t", "goal")
	first := reservation("a", 71, budgets)
	first.Hold = &hold
	b.overdrawn("t", first, planner.Overdraft{Budget: tasks.BudgetTaskTokens, Limit: 100, Wanted: 101, Extend: 101})
	first.Most = use(60)
	b.reserve("t", first)
	b.same("used", b.used("t", budgets), int64(90))
	second := reservation("b", 10, budgets)
	second.Hold = &hold // once
	b.reserve("t", second)
	b.settle("t", "a", use(200)) // misjudged
	b.same("overshot", b.used("t", budgets), int64(240))
	b.overdrawn("t", reservation("c", 1, budgets), planner.Overdraft{Budget: tasks.BudgetTaskTokens, Limit: 100, Spent: 240, Wanted: 1, Extend: 141})
	b.store = b.reopen()
	closing := reservation("answer", 30, budgets)
	closing.Closing, closing.Hold = true, &hold
	b.reserve("t", closing)
	b.same("while it answers", b.used("t", budgets), int64(240))
	b.store = b.reopen()
	b.reserve("t", closing) // the same after a crash
	b.same("after a crash", b.used("t", budgets), int64(255))
	other := closing
	other.ID = ReservationID("answer again")
	b.overdrawn("t", other, planner.Overdraft{Budget: tasks.BudgetTaskTokens, Limit: 100, Spent: 255, Wanted: 30, Extend: 185})
}

// testKeptBackTooLittle: a closing answer beyond what was kept needs room for all of it.
func testKeptBackTooLittle(b ledger) {
	budgets, hold := tasks.Budgets{DayTokens: 100}, use(30)
	b.ask(chat("c"), "t", "goal")
	first := reservation("a", 60, budgets)
	first.Hold = &hold
	b.reserve("t", first)
	closing := reservation("answer", 41, budgets)
	closing.Closing = true
	b.overdrawn("t", closing, planner.Overdraft{Budget: tasks.BudgetDayTokens, Day: today, Limit: 100, Spent: 60, Wanted: 41, Extend: 50})
	b.same("still kept back", b.used("t", budgets), int64(90))
	closing.Most = use(40)
	b.reserve("t", closing)
	b.same("used", b.used("t", budgets), int64(100))
}

// testLeftOver: what a task leaves reserved counts by its input, and what it kept is free.
func testLeftOver(b ledger) {
	day, hold := tasks.Budgets{DayTokens: 1}, use(1000)
	for _, id := range []tasks.ID{"shown", "dropped"} {
		b.ask(chat("c"), id, "goal")
		r := reservation("a", 100, tasks.Budgets{})
		r.Hold = &hold
		b.reserve(id, r)
		b.reserve(id, reservation("b", 20, tasks.Budgets{}))
	}
	b.ask(chat("d"), "probe", "goal")
	b.same("reserved", b.used("probe", day), int64(2240))
	b.append("shown", planner.Event{Type: planner.Stopped})
	b.same("stopped, nothing to tell", b.used("probe", day), int64(1240))
	b.settle("shown", "b", use(15)) // cancelled
	b.show("shown")
	b.same("over", b.used("probe", day), int64(1120+15+50))
	b.drop("dropped")
	b.same("dropped", b.used("probe", day), int64(15+50+50+10))
	b.same("spent", b.spent(tasks.SpentQuery{}), []tasks.Spent{row(4, use(15).Add(input(100)).Add(input(100)).Add(input(20)))})
	b.forget(chat("c"), 2)
	b.same("after forgetting", b.used("probe", day), int64(125))

	b.settle("shown", "a", use(5)) // it is gone
	b.finished(chat("c"), "done")
	for id, want := range map[tasks.ID]error{"unknown": tasks.ErrNoTask, "done": tasks.ErrRefused} {
		r := reservation("late", 1, tasks.Budgets{})
		if room, err := b.store.Room(b.Context(), id, r), b.store.Reserve(b.Context(), id, r); !errors.Is(room, want) || !errors.Is(err, want) {
			b.Fatalf("Room and Reserve for %s: got %v and %v, want %v", id, room, err, want)
		}
	}
}

// testWithoutTokens: pictures, audio and speech are kept beside tokens. Of a call without
// tokens that was lost, all counts, also where its price is not known.
func testWithoutTokens(b ledger) {
	b.ask(chat("c"), "t", "goal")
	picture, unpriced := reservation("a", 0, tasks.Budgets{}), reservation("b", 0, tasks.Budgets{})
	picture.Most = llm.Usage{Images: 1, Cost: 40000}
	unpriced.Most = llm.Usage{AudioSeconds: 90, Characters: 12, Unpriced: true}
	b.reserve("t", picture)
	b.settle("t", "a", picture.Most)
	want := picture.Most
	b.same("settled", b.spent(tasks.SpentQuery{}), []tasks.Spent{row(1, want)})
	b.reserve("t", picture)
	b.reserve("t", unpriced)
	b.drop("t")
	want = want.Add(picture.Most).Add(unpriced.Most)
	want.Estimated = true
	b.same("lost", b.spent(tasks.SpentQuery{}), []tasks.Spent{row(3, want)})
	b.store = b.reopen()
	b.same("reopened", b.spent(tasks.SpentQuery{}), []tasks.Spent{row(3, want)})
}

// testAfter: a call that follows its task counts for the day, also when it is cut off.
func testAfter(b ledger) {
	b.ask(chat("d"), "probe", "goal")
	b.finished(chat("c"), "t")
	after := reservation("summary", 100, tasks.Budgets{DayTokens: 120})
	after.After = true
	b.reserve("t", after)
	b.settle("t", "summary", use(20))
	b.same("settled", b.used("probe", tasks.Budgets{DayTokens: 1}), int64(20))
	b.reserve("t", after)
	b.same("reserved", b.used("probe", tasks.Budgets{DayTokens: 1}), int64(120))
	b.store = b.reopen()
	b.same("cut off", b.used("probe", tasks.Budgets{DayTokens: 1}), int64(70))
	b.settle("t", "summary", use(20))
	b.same("spent", b.spent(tasks.SpentQuery{}), []tasks.Spent{row(2, use(20).Add(input(100)))})
}

// testExtended: a yes extends the budget that it is about, once.
func testExtended(b ledger) {
	for i, c := range []struct {
		budgets tasks.Budgets
		extend  bool
	}{
		{tasks.Budgets{TaskTokens: 10}, true},
		{tasks.Budgets{TaskUSD: 20}, true},
		{tasks.Budgets{UserDayUSD: 20}, true},
		{tasks.Budgets{ChatDayUSD: 20}, true},
		{tasks.Budgets{DayUSD: 20}, true},
		{tasks.Budgets{DayTokens: 10}, true},
		{tasks.Budgets{DayTokens: 10}, false},
	} {
		id, name := tasks.ID(fmt.Sprintf("t%d", i)), fmt.Sprint(i)
		b.ask(chat(name), id, "goal")
		r := reservation("a", 10, c.budgets)
		r.User, r.Chat, r.Day = "test:u"+name, "test:"+name, fmt.Sprintf("2026-11-%02d", i+1)
		b.reserve(id, r)
		r.ID = ReservationID("b")
		over := b.beyond(b.store.Reserve(b.Context(), id, r))
		b.append(id, planner.Event{Type: planner.BudgetReached, Budget: over.Budget, Overdraft: &over})
		todo := planner.Todo(b.state(id))
		b.append(id, planner.Event{Type: planner.Decided, Action: todo[len(todo)-1].ID, By: "test:ann", Decision: &planner.Decision{Approve: c.extend}})
		b.store = b.reopen()
		extended, err := b.store.Extended(b.Context(), r.Day)
		b.ok(err)
		if !c.extend {
			b.same("extended by", extended, []tasks.Extended(nil))
			b.overdrawn(id, r, over)
			continue
		}
		b.same("extended by", extended, map[string][]tasks.Extended{ // a task's own budgets are no budgets of the day
			tasks.BudgetUserDayUSD: {{User: over.Who, Cost: over.Extend}},
			tasks.BudgetChatDayUSD: {{Chat: over.Who, Cost: over.Extend}},
			tasks.BudgetDayUSD:     {{Cost: over.Extend}},
			tasks.BudgetDayTokens:  {{Tokens: over.Extend}},
		}[over.Budget])
		b.reserve(id, r)
		r.ID = ReservationID("c")
		over.Limit, over.Spent = over.Limit+over.Extend, 2*over.Spent
		b.overdrawn(id, r, over)
	}
}

// testSpentMoved: a chat that goes on under another id goes on with its budget.
func testSpentMoved(b ledger) {
	budgets, hold := tasks.Budgets{ChatDayUSD: 1}, use(5)
	b.ask(chat("old"), "t", "goal")
	b.ask(chat("new"), "probe", "goal")
	for i, room := range []string{"test:old", "test:new"} {
		r := reservation("a", 100, tasks.Budgets{})
		r.Chat = room
		b.reserve("t", r)
		b.settle("t", "a", use(10+i))
	}
	held := reservation("held", 100, tasks.Budgets{})
	held.Chat, held.Hold = "test:old", &hold
	b.reserve("t", held)
	chatUsed := func(room string) int64 {
		b.Helper()
		r := reservation("probe", 0, budgets)
		r.Chat = room
		return b.usedBy("probe", r)
	}
	for range 2 {
		b.move(chat("old"), chat("new"))
		b.store = b.reopen()
		b.same("used by the old one", chatUsed("test:old"), int64(0))
		b.same("used by the new one", chatUsed("test:new"), int64(10+11+100+5))
		moved := row(2, use(10).Add(use(11)))
		moved.Chat = "test:new"
		b.same("rows", b.spent(tasks.SpentQuery{}), []tasks.Spent{moved})
		b.same("of all", b.used("probe", tasks.Budgets{DayUSD: 1}), int64(126))
	}
	b.settle("t", "held", use(7))
	b.append("t", planner.Event{Type: planner.Stopped})
	b.same("at the end", chatUsed("test:new"), int64(10+11+7))
}

// testBadReservations: what cannot be counted is refused.
func testBadReservations(b ledger) {
	b.ask(chat("c"), "t", "goal")
	for name, spoil := range map[string]func(*tasks.Reservation){
		"no action":         func(r *tasks.Reservation) { r.ID = tasks.ReservationID{} },
		"no day":            func(r *tasks.Reservation) { r.Day = "" },
		"another day":       func(r *tasks.Reservation) { r.Day = "today" },
		"less than zero":    func(r *tasks.Reservation) { r.Most.Output = -1 },
		"negative pictures": func(r *tasks.Reservation) { r.Most.Images = -1 },
		"a negative cost":   func(r *tasks.Reservation) { r.Hold = &llm.Usage{Cost: -1} },
		"a long name":       func(r *tasks.Reservation) { r.User = strings.Repeat("u", 100000) },
		"a long group":      func(r *tasks.Reservation) { r.Group = strings.Repeat("g", 100000) },
		"no UTF-8":          func(r *tasks.Reservation) { r.Model = "a\xff" },
	} {
		r := reservation("a", 10, tasks.Budgets{})
		spoil(&r)
		if err := b.store.Reserve(b.Context(), "t", r); err == nil {
			b.Errorf("Reserve with %s: got no error", name)
		}
	}
	b.same("used", b.used("t", tasks.Budgets{DayTokens: 1}), int64(0))
}
