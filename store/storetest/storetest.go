// Package storetest is the suite that every store must pass: each sentence of
// the documentation of tasks.Store is a test here.
package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
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
	for name, test := range map[string]func(*env){
		"journal": testJournal, "times": testTimes, "isolation": testIsolation, "parts": testParts, "append": testAppend,
		"all or none": testAllOrNone, "fences": testFences, "redelivery": testRedelivery,
		"redelivery is forgotten": testRedeliveryForgotten, "guidance": testGuidance, "bad deliveries": testBadDeliveries,
		"queue": testQueue, "queue of plans": testQueueOfPlans, "drop": testDrop, "conversations": testConversations,
		"move": testMove, "move onto another conversation": testMoveOnto, "move and go on": testMoveGoOn,
		"history": testHistory, "history budget": testHistoryBudget, "brought": testBrought, "cut": testCut,
		"settings": testSettings, "summaries": testSummaries, "turns": testTurns, "summary and cut": testSummaryCut,
		"summary and forgetting": testSummaryForget, "summary and move": testSummaryMove, "forget": testForget,
		"forget a running task": testForgetRunning, "forget a long conversation": testForgetLong,
		"forget while others write": testForgetBesides, "erase a person": testErasePerson, "erase a chat": testEraseChat,
		"erase many": testEraseMany, "erase without waiting": testEraseWithoutWaiting, "retain": testRetain,
		"retain by time": testRetainByTime, "changed": testChanged, "follow": testFollow, "no lost wake-up": testWakeUps,
		"readers": testReaders, "senders": testSenders, "context": testContext, "closed": testClosed,
		"budgets": onLedger(testBudgets), "spent without a reservation": onLedger(testUnreserved),
		"clock far ahead": onLedger(testClockFarAhead), "spent": onLedger(testSpent),
		"bad reservations": onLedger(testBadReservations), "any ledger": onLedger(testAnyLedger),
		"kept back for the answer": onLedger(testKeptBack), "too little kept back": onLedger(testKeptBackTooLittle),
		"left over": onLedger(testLeftOver), "without tokens": onLedger(testWithoutTokens), "after a task": onLedger(testAfter), "extended budgets": onLedger(testExtended),
		"spending moves": onLedger(testSpentMoved), "schedules": onSchedules(testSchedules), "due": onSchedules(testDue),
		"schedules stay": onSchedules(testSchedulesStay), "bad schedules": onSchedules(testBadSchedules), "fire": onSchedules(testFire),
		"fire what is not due": onSchedules(testFireRefused), "fire again": onSchedules(testFireAgain), "rows": testRows, "waits since": testSince, "lists": testLists,
		"any index": testAnyIndex, "feed": testFeed, "feed is bounded": testFeedBounded, "audit log": testAudit,
		"audit log of decisions": testAuditDecides, "audit log forgets": testAuditForgets,
		"deliveries": testOutgoing, "outcomes to webhooks": testNotify,
		"files": onFiles(testFiles), "limits of files": onFiles(testFileLimits), "references to files": onFiles(testFileReferences),
		"end of files": onFiles(testFilesEnd), "erased files": onFiles(testFilesErased), "moved files": onFiles(testFilesMove),
		"files at once": onFiles(testFilesAtOnce),
		"sessions":      testSessions, "times of sessions": testSessionTimes, "sign-in links": testLinks, "bad sessions": testBadSessions,
		"connections": testConnections, "renewals": testRenewals, "forgotten connections": testConnectionsForgotten, "sign-ins at servers": testAttempts,
		"other sealing key": testReseal, "bad connections": testBadConnections,
		"posts": onPosts(testPosts), "changed posts": onPosts(testChangedPosts), "found posts": onPosts(testSearchPosts), "end of posts": onPosts(testPostsEnd),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // many of them wait for the disk
			b := &env{T: t, clock: &clock{}}
			b.store, b.reopen = open(t, b.clock.now)
			test(b)
		})
	}
}

// clock is a store's time, moved by hand.
type clock struct{ passed atomic.Int64 }

func (c *clock) now() time.Time { return minute(0).Add(time.Duration(c.passed.Load())) }

func (c *clock) add(d time.Duration) { c.passed.Add(int64(d)) }

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

// Question is a delivery of ann that opens a task.
func Question(c bot.Chat, id tasks.ID, goal string) tasks.Inbound {
	return tasks.Inbound{
		Key: "test:update:" + string(id), Chat: c, ID: id,
		Open: &planner.Event{Type: planner.Opened, Opening: &planner.Opening{
			Goal: goal, Chat: c, From: bot.Person{Platform: "test", ID: "ann"}, Language: "en", Timezone: "UTC",
			Limits: planner.DefaultLimits(),
		}},
	}
}

// Ending are the events that stop a task and bring that to the chat.
func Ending() []planner.Event { return append([]planner.Event{{Type: planner.Stopped}}, shown("m")...) }

// shown are the events that bring an outcome to the chat.
func shown(message string) []planner.Event {
	return []planner.Event{
		{Type: planner.SendStarted, Slot: planner.SlotAnswer},
		{Type: planner.Sent, Slot: planner.SlotAnswer, Message: message, Last: true},
	}
}

func said(text string) planner.Event { return planner.Event{Type: planner.GuidanceAdded, Text: text} }

// question is a delivery with a key of its own that opens a task.
func (b *env) question(c bot.Chat, id tasks.ID, goal string) tasks.Inbound {
	b.keys++
	in := Question(c, id, goal)
	in.Key = fmt.Sprintf("test:%d", b.keys)
	return in
}

// guidance is a delivery for a running task.
func (b *env) guidance(to tasks.ID, text string) tasks.Inbound {
	b.keys++
	return tasks.Inbound{Key: fmt.Sprintf("test:%d", b.keys), To: to, Event: said(text)}
}

func (b *env) deliver(batch ...tasks.Inbound) []tasks.Receipt {
	b.Helper()
	receipts, err := b.store.Open(b.Context(), batch)
	if err != nil || len(receipts) != len(batch) {
		b.Fatalf("Open(%+v): got %+v, %v", batch, receipts, err)
	}
	return receipts
}

// open delivers something that must open a task.
func (b *env) open(in tasks.Inbound) {
	b.Helper()
	b.same("receipt", b.deliver(in), []tasks.Receipt{{Task: in.ID, Seq: 1, Opened: true}})
}

// ask opens a task.
func (b *env) ask(c bot.Chat, id tasks.ID, goal string) {
	b.Helper()
	b.open(b.question(c, id, goal))
}

func (b *env) append(id tasks.ID, e ...planner.Event) {
	b.Helper()
	if err := b.store.Append(b.Context(), id, -1, 0, e...); err != nil {
		b.Fatalf("Append(%s, %+v): %v", id, e, err)
	}
}

// appendWith appends after so many events were read, and expects an error; nil for none.
func (b *env) appendWith(id tasks.ID, after int, fence int64, want error, e ...planner.Event) {
	b.Helper()
	if err := b.store.Append(b.Context(), id, after, fence, e...); !errors.Is(err, want) {
		b.Fatalf("Append(%s, %d, %d, %+v): got %v, want %v", id, after, fence, e, err, want)
	}
}

func (b *env) load(id tasks.ID, from int) []planner.Event {
	b.Helper()
	events, err := b.store.Load(b.Context(), id, from)
	b.ok(err)
	return events
}

func (b *env) state(id tasks.ID) planner.State {
	b.Helper()
	s, err := b.store.State(b.Context(), id)
	b.ok(err)
	return s
}

// reply appends what the model says to the task's first wanted action. Files of the task
// are read before: none is there any more.
func (b *env) reply(id tasks.ID, r planner.Reply) {
	b.Helper()
	for _, a := range planner.Todo(b.state(id)) {
		if a.Kind == planner.KindFetch {
			b.append(id, planner.Event{Type: planner.FileRead, Action: a.ID, Read: &planner.ReadFile{Problem: "gone"}})
		}
	}
	b.append(id, planner.Event{Type: planner.Replied, Action: b.wanted(id), Reply: &r})
}

// wanted is the first action that a task wants.
func (b *env) wanted(id tasks.ID) planner.ActionID {
	b.Helper()
	s := b.state(id)
	todo := planner.Todo(s)
	if len(todo) == 0 {
		b.Fatalf("task %s wants nothing in phase %q", id, s.Phase)
	}
	return todo[0].ID
}

func (b *env) answer(id tasks.ID, text string) {
	b.Helper()
	b.reply(id, planner.Reply{Text: text})
}

// plan lets the task decide for two sub-tasks.
func (b *env) plan(id tasks.ID) {
	b.Helper()
	round := b.state(id).Round + 1
	b.reply(id, planner.Reply{IsPlan: true, Plan: []planner.Subtask{
		{ID: fmt.Sprintf("%d/a", round), Name: "web", Description: "look"},
		{ID: fmt.Sprintf("%d/b", round), Name: "web", Description: "look there"},
	}})
}

// finish answers a task and ends it.
func (b *env) finish(id tasks.ID, answer string) {
	b.Helper()
	b.answer(id, answer)
	b.show(id)
}

// show ends a task whose outcome is known.
func (b *env) show(id tasks.ID) {
	b.Helper()
	b.append(id, shown("m-"+string(id))...)
}

// finished opens a task, answers it and ends it.
func (b *env) finished(c bot.Chat, id tasks.ID) {
	b.Helper()
	b.ask(c, id, "goal of "+string(id))
	b.finish(id, "answer of "+string(id))
}

func (b *env) drop(id tasks.ID) {
	b.Helper()
	b.ok(b.store.Drop(b.Context(), id))
}

// missing expects that nothing is left of tasks.
func (b *env) missing(ids ...tasks.ID) {
	b.Helper()
	for _, id := range ids {
		_, load := b.store.Load(b.Context(), id, 0)
		_, event := b.store.Event(b.Context(), id, 1)
		_, state := b.store.State(b.Context(), id)
		_, row := b.store.Row(b.Context(), id)
		for what, err := range map[string]error{
			"Load": load, "Event": event, "State": state, "Row": row, "Drop": b.store.Drop(b.Context(), id),
			"Append": b.store.Append(b.Context(), id, -1, 0, said("x")),
		} {
			if !errors.Is(err, tasks.ErrNoTask) {
				b.Fatalf("%s of %q: got %v, want ErrNoTask", what, id, err)
			}
		}
	}
}

func (b *env) phase(id tasks.ID, want planner.Phase) {
	b.Helper()
	if got := b.state(id).Phase; got != want {
		b.Fatalf("phase of %s: got %q, want %q; journal %v", id, got, want, types(b.load(id, 0)))
	}
}

// live are the tasks of a conversation that have not ended; "" for all.
func (b *env) live(c string) (ids []tasks.ID) {
	b.Helper()
	list, err := b.store.Live(b.Context(), c)
	b.ok(err)
	for _, l := range list {
		ids = append(ids, l.Task)
	}
	return ids
}

func (b *env) history(c bot.Chat, before tasks.ID, maxBytes int) []tasks.Turn {
	b.Helper()
	turns, err := b.store.History(b.Context(), c.Key(), before, maxBytes)
	b.ok(err)
	return turns
}

// turns are the tasks of the whole history.
func (b *env) turns(c bot.Chat) (ids []tasks.ID) {
	b.Helper()
	for _, t := range b.history(c, "", 1<<20) {
		ids = append(ids, t.Task)
	}
	return ids
}

// ok ends the test at an error.
func (b *env) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatalf("got %v, want no error", err)
	}
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

// atOnce lets so many senders run beside each other, and reports their errors.
func atOnce(t *testing.T, senders int, one func(sender int) error) {
	t.Helper()
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			if err := one(s); err != nil {
				t.Errorf("sender %d: %v", s, err)
			}
		})
	}
	wg.Wait()
}
