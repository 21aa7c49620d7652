// Package storetest is the suite that every store must pass: each sentence of
// the documentation of tasks.Store is a test here.
package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

// Opener makes an empty store whose clock is now, and a function that closes it
// and opens it again. It closes what it opened when the test ends.
type Opener func(t *testing.T, now func() time.Time) (s tasks.Store, reopen func() tasks.Store)

// Run puts a store through the suite.
func Run(t *testing.T, open Opener) {
	for _, test := range []struct {
		name string
		run  func(*env)
	}{
		{"journal", testJournal},
		{"times", testTimes},
		{"isolation", testIsolation},
		{"redelivery", testRedelivery},
		{"redelivery is forgotten", testRedeliveryForgotten},
		{"guidance", testGuidance},
		{"bad deliveries", testBadDeliveries},
		{"append", testAppend},
		{"all or none", testAllOrNone},
		{"fences", testFences},
		{"queue", testQueue},
		{"queue of plans", testQueueOfPlans},
		{"stopped in the queue", testStoppedInQueue},
		{"drop", testDrop},
		{"live", testLive},
		{"history", testHistory},
		{"history budget", testHistoryBudget},
		{"a turn longer than the budget of the history", testHistoryLongest},
		{"cut", testCut},
		{"conversations", testConversations},
		{"settings", testSettings},
		{"forget", testForget},
		{"forget a running task", testForgetRunning},
		{"forget a long conversation", testForgetLong},
		{"forget while others write", testForgetBesides},
		{"forget a person", testForgetPerson},
		{"forget a chat", testForgetChat},
		{"forget many", testForgetMany},
		{"retain", testRetain},
		{"retain by time", testRetainByTime},
		{"move", testMove},
		{"move onto another conversation", testMoveOnto},
		{"move and go on", testMoveGoOn},
		{"move nothing", testMoveNothing},
		{"state", testState},
		{"changed", testChanged},
		{"follow", testFollow},
		{"no lost wake-up", testWakeUps},
		{"state behind its journal", testBehind},
		{"senders", testSenders},
		{"workers", testWorkers},
		{"context", testContext},
		{"closed", testClosed},
		{"reopened", testReopened},
		{"budgets", testBudgets},
		{"settle", testSettle},
		{"spent without a reservation", testUnreserved},
		{"reserve again", testReserveAgain},
		{"cut off within", testCutOffWithin},
		{"clock far ahead", testClockFarAhead},
		{"kept back for the answer", testKeptBack},
		{"too little kept back", testKeptBackTooLittle},
		{"left over", testLeftOver},
		{"extended budgets", testExtended},
		{"after a task", testAfter},
		{"a rush on a budget", testBudgetRush},
		{"spent", testSpent},
		{"bad reservations", testBadReservations},
		{"spending is forgotten", testSpentForgotten},
		{"spending moves", testSpentMoved},
		{"any ledger", testAnyLedger},
		{"schedules", testSchedules},
		{"due", testDue},
		{"fire", testFire},
		{"fire what is not due", testFireRefused},
		{"fire again", testFireAgain},
		{"schedules move", testSchedulesMove},
		{"schedules of forgotten tasks", testSchedulesForget},
		{"bad schedules", testBadSchedules},
		{"summaries", testSummaries},
		{"turns", testTurns},
		{"summary and cut", testSummaryCut},
		{"summary and forgetting", testSummaryForget},
		{"summary and move", testSummaryMove},
		{"rows", testRows},
		{"waits since", testSince},
		{"lists", testLists},
		{"lists after a change", testListsChange},
		{"any index", testAnyIndex},
		{"feed", testFeed},
		{"feed is bounded", testFeedBounded},
		{"feed beside writers", testFeedBesides},
		{"audit log", testAudit},
		{"audit log of starts", testAuditStarts},
		{"audit log of decisions", testAuditDecides},
		{"audit log forgets", testAuditForgets},
		{"deliveries", testOutgoing},
		{"outcomes to webhooks", testNotify},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // many of them wait for the disk
			b := &env{T: t, clock: &clock{at: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)}}
			b.store, b.reopen = open(t, b.clock.now)
			test.run(b)
		})
	}
}

// clock is a store's time, moved by hand.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// env is a store under test with helpers. They end the test at an unexpected error.
type env struct {
	*testing.T
	clock  *clock
	store  tasks.Store
	reopen func() tasks.Store
	keys   int
}

// chat is a private conversation.
func chat(id string) bot.Chat { return bot.Chat{Platform: "test", ID: id, Private: true} }

// question is a delivery that opens a task.
func (b *env) question(c bot.Chat, id tasks.ID, goal string) tasks.Inbound {
	b.keys++
	in := opening(c, id, goal)
	in.Key = fmt.Sprintf("test:%d", b.keys)
	return in
}

// guidance is a delivery for a running task.
func (b *env) guidance(to tasks.ID, text string) tasks.Inbound {
	b.keys++
	return tasks.Inbound{Key: fmt.Sprintf("test:%d", b.keys), To: to, Event: said(text)}
}

func said(text string) planner.Event { return planner.Event{Type: planner.GuidanceAdded, Text: text} }

func (b *env) deliver(batch ...tasks.Inbound) []tasks.Receipt {
	b.Helper()
	receipts, err := b.store.Open(b.Context(), batch)
	if err != nil {
		b.Fatalf("Open(%+v): %v", batch, err)
	}
	if len(receipts) != len(batch) {
		b.Fatalf("Open of %d deliveries gave %d receipts", len(batch), len(receipts))
	}
	return receipts
}

// known expects what the store knows of a key.
func (b *env) known(what, key string, want tasks.Receipt, found bool) {
	b.Helper()
	r, ok, err := b.store.Known(b.Context(), key)
	if err != nil || ok != found {
		b.Fatalf("%s: known %v, %v; want %v", what, ok, err, found)
	}
	b.same(what, r, want)
}

// ask opens a task and expects that it was opened.
func (b *env) ask(c bot.Chat, id tasks.ID, goal string) {
	b.Helper()
	got := b.deliver(b.question(c, id, goal))[0]
	if want := (tasks.Receipt{Task: id, Seq: 1, Opened: true}); got != want {
		b.Fatalf("asking %q: got %+v, want %+v", goal, got, want)
	}
}

func (b *env) append(id tasks.ID, e ...planner.Event) {
	b.Helper()
	if err := b.store.Append(b.Context(), id, -1, 0, e...); err != nil {
		b.Fatalf("Append(%s, %+v): %v", id, e, err)
	}
}

func (b *env) load(id tasks.ID, from int) []planner.Event {
	b.Helper()
	events, err := b.store.Load(b.Context(), id, from)
	if err != nil {
		b.Fatalf("Load(%s, %d): %v", id, from, err)
	}
	return events
}

func (b *env) state(id tasks.ID) planner.State {
	b.Helper()
	s, err := b.store.State(b.Context(), id)
	if err != nil {
		b.Fatalf("State(%s): %v", id, err)
	}
	return s
}

// reply appends what the model says to the task's first wanted action.
func (b *env) reply(id tasks.ID, r planner.Reply) {
	b.Helper()
	s := b.state(id)
	todo := planner.Todo(s)
	if len(todo) == 0 {
		b.Fatalf("task %s wants nothing in phase %q, so that it cannot take %+v", id, s.Phase, r)
	}
	b.append(id, planner.Event{Type: planner.Replied, Action: todo[0].ID, Reply: &r})
}

func (b *env) answer(id tasks.ID, text string) {
	b.Helper()
	b.reply(id, planner.Reply{Text: text})
}

// plan lets the task decide for one sub-task.
func (b *env) plan(id tasks.ID) {
	b.Helper()
	round := b.state(id).Round + 1
	b.reply(id, planner.Reply{IsPlan: true, Plan: []planner.Subtask{
		{ID: fmt.Sprintf("%d/a", round), Name: "web", Description: "look"},
		{ID: fmt.Sprintf("%d/b", round), Name: "web", Description: "look there"},
	}})
}

// show ends a task whose outcome is known.
func (b *env) show(id tasks.ID) {
	b.Helper()
	b.append(id,
		planner.Event{Type: planner.SendStarted, Slot: planner.SlotAnswer},
		planner.Event{Type: planner.Sent, Slot: planner.SlotAnswer, Message: "m-" + string(id), Last: true})
}

func (b *env) phase(id tasks.ID, want planner.Phase) {
	b.Helper()
	if got := b.state(id).Phase; got != want {
		b.Fatalf("phase of %s: got %q, want %q; journal %v", id, got, want, types(b.load(id, 0)))
	}
}

func (b *env) live(c string) []tasks.ID {
	b.Helper()
	list, err := b.store.Live(b.Context(), c)
	if err != nil {
		b.Fatalf("Live(%q): %v", c, err)
	}
	var ids []tasks.ID
	for _, l := range list {
		ids = append(ids, l.Task)
	}
	return ids
}

func (b *env) history(c bot.Chat, before tasks.ID, maxBytes int) []tasks.Turn {
	b.Helper()
	turns, err := b.store.History(b.Context(), c.Key(), before, maxBytes)
	if err != nil {
		b.Fatalf("History(%s, %s, %d): %v", c.Key(), before, maxBytes, err)
	}
	return turns
}

// same compares values and says what differs.
func (b *env) same(what string, got, want any) {
	b.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		b.Fatalf("%s: got %+v, want %+v (-want +got):\n%s", what, got, want, diff)
	}
}

func types(events []planner.Event) []planner.EventType {
	list := make([]planner.EventType, len(events))
	for i, e := range events {
		list[i] = e.Type
	}
	return list
}
