package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// testKeptBack: the closing answer has its room, whatever was spent meanwhile.
func testKeptBack(b *env) {
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
	b.overdrawn("t", reservation("c", 1, budgets), planner.Overdraft{
		Budget: tasks.BudgetTaskTokens, Limit: 100, Spent: 240, Wanted: 1, Extend: 141,
	})
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

// testKeptBackTooLittle: a closing answer that needs more than was kept back
// must have room for all of it.
func testKeptBackTooLittle(b *env) {
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

// testLeftOver: what a task that is over has left reserved counts as spent to
// the amount of its input, and what it kept back for its answer is free.
func testLeftOver(b *env) {
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

// testAfter: a call that follows its task counts for the day, also when it is
// cut off.
func testAfter(b *env) {
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
func testExtended(b *env) {
	for i, c := range []struct {
		budgets tasks.Budgets
		extend  bool
	}{
		{tasks.Budgets{TaskTokens: 10}, true}, {tasks.Budgets{TaskUSD: 20}, true},
		{tasks.Budgets{UserDayUSD: 20}, true}, {tasks.Budgets{ChatDayUSD: 20}, true},
		{tasks.Budgets{DayUSD: 20}, true}, {tasks.Budgets{DayTokens: 10}, true}, {tasks.Budgets{DayTokens: 10}, false},
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

// testBudgetRush: of a thousand calls at once only those get room that there is
// room for, and what is overshot is what they turn out to be larger.
func testBudgetRush(b *env) {
	const callers, fit, size = 1000, 37, 100
	budgets := tasks.Budgets{DayTokens: fit*size + size - 1}
	var batch []tasks.Inbound
	for n := range callers {
		batch = append(batch, b.question(chat(fmt.Sprint(n)), tasks.ID(fmt.Sprintf("t%d", n)), "goal"))
	}
	b.deliver(batch...)
	var mu sync.Mutex
	var had []tasks.ID
	var wg sync.WaitGroup
	for n := range callers {
		wg.Go(func() {
			id := tasks.ID(fmt.Sprintf("t%d", n))
			err := b.store.Reserve(b.Context(), id, reservation("plan 1.0", size, budgets))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				had = append(had, id)
			} else if !errors.Is(err, tasks.ErrBudget) {
				b.Errorf("Reserve: %v", err)
			}
		})
	}
	wg.Wait()
	b.same("calls that had room", len(had), fit)
	b.same("reserved", b.used("t0", budgets), int64(fit*size))
	for _, id := range had {
		b.reply(id, planner.Reply{Text: "x", Usage: use(2 * size), Model: "main"})
	}
	b.same("spent", b.spent(tasks.SpentQuery{}), []tasks.Spent{row(fit, llm.Usage{
		Input: fit * size, Output: fit * size, Cost: fit * size * 4,
	})})
	b.same("overshot", b.used("t0", budgets)-budgets.DayTokens, int64(fit*size-size+1))
}

// testSpentMoved: a chat that goes on under another id goes on with its budget.
func testSpentMoved(b *env) {
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

// testSpentForgotten: nothing tells any more what a person has spent who is
// forgotten, but the sum of the day holds for everybody.
func testSpentForgotten(b *env) {
	b.ask(chat("c"), "t", "goal")
	b.reserve("t", reservation("plan 1.0", 100, tasks.Budgets{}))
	b.reply("t", planner.Reply{Text: "answer", Usage: use(80)})
	b.show("t")
	b.ask(chat("d"), "probe", "goal")
	b.same("of her", b.used("probe", tasks.Budgets{UserDayUSD: 1}), int64(80))
	b.erase("test:ann")
	b.store = b.reopen()
	b.same("rows", b.spent(tasks.SpentQuery{}), []tasks.Spent(nil))
	b.same("of her", b.used("probe", tasks.Budgets{UserDayUSD: 1}), int64(0))
	b.same("of all", b.used("probe", tasks.Budgets{DayUSD: 1}), int64(80))
}

// testBadReservations: what cannot be counted is refused.
func testBadReservations(b *env) {
	b.ask(chat("c"), "t", "goal")
	for name, spoil := range map[string]func(*tasks.Reservation){
		"no action":       func(r *tasks.Reservation) { r.ID = tasks.ReservationID{} },
		"no day":          func(r *tasks.Reservation) { r.Day = "" },
		"another day":     func(r *tasks.Reservation) { r.Day = "today" },
		"less than zero":  func(r *tasks.Reservation) { r.Most.Output = -1 },
		"a negative cost": func(r *tasks.Reservation) { r.Hold = &llm.Usage{Cost: -1} },
		"a long name":     func(r *tasks.Reservation) { r.User = strings.Repeat("u", 100000) },
		"no UTF-8":        func(r *tasks.Reservation) { r.Model = "a\xff" },
	} {
		r := reservation("a", 10, tasks.Budgets{})
		spoil(&r)
		if err := b.store.Reserve(b.Context(), "t", r); err == nil {
			b.Errorf("Reserve with %s: got no error", name)
		}
	}
	b.same("used", b.used("t", tasks.Budgets{DayTokens: 1}), int64(0))
}
