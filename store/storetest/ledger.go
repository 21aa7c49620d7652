package storetest

import (
	"cmp"
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

// within is the reservation of a call within an action.
func within(action planner.ActionID, call string, tokens int) tasks.Reservation {
	r := reservation(action.String(), tokens, tasks.Budgets{})
	r.ID.Call = call
	return r
}

func (b *env) reserve(id tasks.ID, r tasks.Reservation) {
	b.Helper()
	for _, err := range []error{b.store.Room(b.Context(), id, r), b.store.Reserve(b.Context(), id, r)} {
		if err != nil {
			b.Fatalf("reserving %+v for %s: %v", r, id, err)
		}
	}
}

// overdrawn expects that a budget has no room, and that this changes nothing.
func (b *env) overdrawn(id tasks.ID, r tasks.Reservation, want planner.Overdraft) {
	b.Helper()
	for range 2 {
		b.same("Room tells", b.beyond(b.store.Room(b.Context(), id, r)), want)
		b.same("Reserve tells", b.beyond(b.store.Reserve(b.Context(), id, r)), want)
	}
}

func (b *env) settle(id tasks.ID, action string, cost llm.Usage) {
	b.Helper()
	b.ok(b.store.Settle(b.Context(), id, ReservationID(action), cost))
}

// used is what is spent and reserved of a budget, in tokens of use: what a call
// that wants more than anybody has is told.
func (b *env) used(id tasks.ID, budgets tasks.Budgets) int64 {
	b.Helper()
	return b.usedBy(id, reservation("probe", 0, budgets))
}

// usedBy is used for the day, person and chat of a reservation.
func (b *env) usedBy(id tasks.ID, r tasks.Reservation) int64 {
	b.Helper()
	r.Most = llm.Usage{Input: 1 << 40, Cost: 1 << 40}
	over := b.beyond(b.store.Room(b.Context(), id, r))
	if strings.HasSuffix(over.Budget, "_usd") {
		return over.Spent / 2
	}
	return over.Spent
}

// beyond is what an error tells of a budget that has no room.
func (b *env) beyond(err error) planner.Overdraft {
	b.Helper()
	var reached *tasks.BudgetError
	if !errors.As(err, &reached) || !errors.Is(err, tasks.ErrBudget) {
		b.Fatalf("got %v, want a BudgetError", err)
	}
	return reached.Overdraft
}

func (b *env) spent(q tasks.SpentQuery) []tasks.Spent {
	b.Helper()
	list, err := b.store.Spent(b.Context(), q)
	b.ok(err)
	return list
}

// row is what ann spent in chat c today with the model main.
func row(calls int, u llm.Usage) tasks.Spent {
	return tasks.Spent{Day: today, User: "test:ann", Chat: "test:c", Model: "main", Calls: calls, Usage: u}
}

// testBudgets: each budget counts what it is for, and is named in the order of
// the constants.
func testBudgets(b *env) {
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
		task     tasks.ID
		budgets  tasks.Budgets // of which the first is reached
		key, who string
		day      string
		used     int64 // of what the budget counts
	}{
		{"t1", tasks.Budgets{TaskTokens: 105, TaskUSD: 1, DayTokens: 1}, tasks.BudgetTaskTokens, "", "", 100},
		{"t1", tasks.Budgets{TaskTokens: 110, TaskUSD: 210, DayUSD: 1}, tasks.BudgetTaskUSD, "", "", 200},
		{"t3", tasks.Budgets{TaskTokens: 10, UserDayUSD: 310, ChatDayUSD: 1}, tasks.BudgetUserDayUSD, "test:ann", today, 300},
		{"t3", tasks.Budgets{UserDayUSD: 320, ChatDayUSD: 250, DayUSD: 1}, tasks.BudgetChatDayUSD, "test:c", today, 240},
		{"t3", tasks.Budgets{ChatDayUSD: 260, DayUSD: 359, DayTokens: 1}, tasks.BudgetDayUSD, "", today, 340},
		{"t3", tasks.Budgets{DayUSD: 360, DayTokens: 171}, tasks.BudgetDayTokens, "", today, 170},
	} {
		limit, wanted := limitOf(c.budgets, c.key), int64(10)
		if strings.HasSuffix(c.key, "_usd") {
			wanted = 20
		}
		b.overdrawn(c.task, reservation("new", 10, c.budgets), planner.Overdraft{
			Budget: c.key, Day: c.day, Who: c.who, Limit: limit, Spent: c.used, Wanted: wanted, Extend: max((limit+1)/2, wanted),
		})
	}
	b.reserve("t3", reservation("new", 10, tasks.Budgets{
		TaskTokens: 10, TaskUSD: 20, UserDayUSD: 320, ChatDayUSD: 260, DayUSD: 360, DayTokens: 180,
	}))
	free := reservation("free", 0, tasks.Budgets{TaskUSD: 1, DayUSD: 1})
	free.Most = llm.Usage{Input: 5, Output: 5} // of a model without a price
	b.reserve("t3", free)
	b.same("reservations", b.spent(tasks.SpentQuery{}), []tasks.Spent(nil))
}

func limitOf(b tasks.Budgets, key string) int64 {
	return map[string]int64{
		tasks.BudgetTaskTokens: b.TaskTokens, tasks.BudgetTaskUSD: b.TaskUSD, tasks.BudgetUserDayUSD: b.UserDayUSD,
		tasks.BudgetChatDayUSD: b.ChatDayUSD, tasks.BudgetDayUSD: b.DayUSD, tasks.BudgetDayTokens: b.DayTokens,
	}[key]
}

// testSettle: what an event says takes the place of what was reserved, and so
// does Settle; it counts for the day, person and chat of the reservation.
func testSettle(b *env) {
	b.ask(chat("c"), "t", "goal")
	action := func() planner.ActionID { return b.wanted("t") }
	day := tasks.Budgets{DayTokens: 1}

	r := reservation(action().String(), 100, tasks.Budgets{})
	r.Day = "2026-11-19" // in the time zone of the config it is still yesterday
	b.reserve("t", r)
	b.append("t", planner.Event{Type: planner.Malformed, Action: action(), Problem: &planner.Problem{Code: "x", Usage: use(30)}})
	first := row(1, use(30))
	first.Day = r.Day
	b.same("after an event", b.spent(tasks.SpentQuery{}), []tasks.Spent{first})
	b.same("today", b.used("t", day), int64(0))
	b.same("of the task", b.used("t", tasks.Budgets{TaskTokens: 1}), int64(30))

	b.reserve("t", reservation("side", 50, tasks.Budgets{}))
	b.settle("t", "side", use(40))
	b.settle("t", "side", use(40)) // there is none any more
	b.settle("t", "never", use(40))
	b.same("after Settle", b.spent(tasks.SpentQuery{}), []tasks.Spent{first, row(1, use(40))})
	b.reserve("t", reservation("side", 50, tasks.Budgets{}))
	b.settle("t", "side", llm.Usage{}) // it was cancelled before it began
	b.same("nothing was spent", b.used("t", day), int64(40))

	b.store = b.reopen()
	b.reserve("t", reservation(action().String(), 100, tasks.Budgets{}))
	b.reserve("t", within(action(), "1", 100))
	b.same("reserved", b.used("t", day), int64(240))
	b.append("t", planner.Event{Type: planner.Malformed, Action: action(), Problem: &planner.Problem{Code: "x", Usage: use(60)}})
	b.same("after the event of both", b.spent(tasks.SpentQuery{}), []tasks.Spent{first, row(2, use(100))})
	b.same("used", b.used("t", day), int64(100))

	// Another model answered than it was reserved for; more than was reserved.
	b.reserve("t", reservation(action().String(), 10, tasks.Budgets{}))
	b.reply("t", planner.Reply{Text: "answer", Usage: use(500), Model: "backup"})
	backup := row(1, use(500))
	backup.Model = "backup"
	b.same("of two models", b.spent(tasks.SpentQuery{From: today}), []tasks.Spent{backup, row(2, use(100))})
	b.same("used at last", b.used("t", day), int64(600))
}

// testUnreserved: an event that nothing was reserved for counts for its own day.
func testUnreserved(b *env) {
	c := bot.Chat{Platform: "test", ID: "c", Thread: "7"}
	b.ask(c, "t", "goal")
	at := time.Date(2026, 11, 20, 1, 0, 0, 0, time.FixedZone("east", 2*3600)) // the day before in UTC
	b.append("t", planner.Event{
		Type: planner.Malformed, At: at, Action: b.wanted("t"), Problem: &planner.Problem{Code: "x", Usage: use(10)},
	})
	b.reply("t", planner.Reply{Text: "answer", Usage: use(20), Model: "main"})
	unknown := row(1, use(10))
	unknown.Day, unknown.Model = "2026-11-19", ""
	b.same("spent", b.spent(tasks.SpentQuery{}), []tasks.Spent{unknown, row(1, use(20))})
}

// testReserveAgain: an earlier reservation for an action may have been spent.
func testReserveAgain(b *env) {
	b.ask(chat("c"), "t", "goal")
	b.reserve("t", reservation("a", 100, tasks.Budgets{}))
	b.store = b.reopen()
	again := reservation("a", 60, tasks.Budgets{DayTokens: 109})
	b.overdrawn("t", again, planner.Overdraft{Budget: tasks.BudgetDayTokens, Day: today, Limit: 109, Spent: 50, Wanted: 60, Extend: 60})
	b.same("after a refusal", b.used("t", tasks.Budgets{DayTokens: 1}), int64(100))
	again.Budgets.DayTokens, again.Least = 110, llm.Usage{Input: 30, Cost: 7}
	b.reserve("t", again)
	b.same("spent", b.spent(tasks.SpentQuery{}), []tasks.Spent{row(1, input(100))})
	again.Budgets = tasks.Budgets{}
	b.reserve("t", again)
	sum := input(100).Add(again.Least)
	b.same("spent by its input", b.spent(tasks.SpentQuery{}), []tasks.Spent{row(2, sum)})
	b.settle("t", "a", use(10))
	b.same("settled", b.spent(tasks.SpentQuery{}), []tasks.Spent{row(3, sum.Add(use(10)))})
	b.same("used", b.used("t", tasks.Budgets{TaskTokens: 1}), int64(90))
}

// testSpent: the ledger is read by days, people and chats, in order, however
// they are called.
func testSpent(b *env) {
	b.ask(chat("c"), "t", "goal")
	names := []string{"", "a", "a\x00", "a\x00\x01", "aa", "群"}
	var want []tasks.Spent
	for _, day := range []string{"2026-11-19", "2026-11-20", "2026-11-21"} {
		for _, user := range names {
			for _, model := range names {
				want = append(want, tasks.Spent{Day: day, User: user, Chat: "c" + user, Model: model, Calls: 1, Usage: use(10)})
			}
		}
	}
	slices.SortFunc(want, func(x, y tasks.Spent) int {
		return cmp.Or(cmp.Compare(x.Day, y.Day), cmp.Compare(x.User, y.User), cmp.Compare(x.Chat, y.Chat), cmp.Compare(x.Model, y.Model))
	})
	for _, n := range rand.New(rand.NewPCG(5, 6)).Perm(len(want)) {
		s := want[n]
		b.reserve("t", tasks.Reservation{ID: ReservationID("a"), Day: s.Day, User: s.User, Chat: s.Chat, Model: s.Model, Most: use(20)})
		b.settle("t", "a", s.Usage)
	}
	for range 2 {
		for _, q := range []tasks.SpentQuery{
			{}, {From: "2026-11-20"}, {To: "2026-11-20"}, {From: "2026-11-20", To: "2026-11-20"}, {From: "2026-11-22"}, {To: "2026-11-18"},
			{User: "a"}, {Chat: "ca\x00"}, {User: "a", Chat: "c"}, {From: "2026-11-21", User: "群"},
		} {
			chosen := slices.DeleteFunc(slices.Clone(want), func(s tasks.Spent) bool {
				return s.Day < q.From || q.To != "" && s.Day > q.To || q.User != "" && s.User != q.User || q.Chat != "" && s.Chat != q.Chat
			})
			b.same(fmt.Sprintf("Spent(%+v)", q), b.spent(q), chosen)
		}
		b.store = b.reopen()
	}
}

// testCutOffWithin: the cost of a call within an action that no event reports
// counts by its input, when the action begins anew and when it ends.
func testCutOffWithin(b *env) {
	b.ask(chat("c"), "t", "goal")
	action := b.wanted("t")
	b.reserve("t", reservation(action.String(), 100, tasks.Budgets{}))
	b.reserve("t", within(action, "2", 60))
	b.reserve("t", reservation(action.String()+"1", 10, tasks.Budgets{})) // another action
	b.store = b.reopen()
	b.reserve("t", reservation(action.String(), 40, tasks.Budgets{}))
	b.same("used", b.used("t", tasks.Budgets{DayTokens: 1}), int64(50+30+10+40))
	b.same("spent", b.spent(tasks.SpentQuery{}), []tasks.Spent{row(2, input(100).Add(input(60)))})

	b.reserve("t", within(action, "1", 20))
	b.store = b.reopen()
	b.append("t", planner.Event{Type: planner.Malformed, Action: action, Problem: &planner.Problem{Code: "x"}})
	b.same("spent at its end", b.spent(tasks.SpentQuery{}), []tasks.Spent{row(3, input(100).Add(input(60)).Add(input(20)))})
	b.same("used at its end", b.used("t", tasks.Budgets{DayTokens: 1}), int64(50+30+10+10))
}

// testClockFarAhead: after a month by a clock that was far ahead, what is spent
// by the right one counts.
func testClockFarAhead(b *env) {
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
