package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/store/memory"
	"legwork/tasks"
)

// Memory implements Opener with stores in memory.
func Memory(_ *testing.T, now func() time.Time) (tasks.Store, func() tasks.Store) {
	s := memory.New(now)
	return s, func() tasks.Store { s = s.Reopen(); return s }
}

// RunSame does the same random things to a store in memory and to another one, and
// closes and opens them now and then: both must give the same answers all the time.
func RunSame(t *testing.T, open Opener) {
	rapid.Check(t, func(r *rapid.T) {
		at := minute(0)
		now := func() time.Time { return at }
		p := &sameStores{t: t}
		var reopenMemory, reopen func() tasks.Store
		p.memory, reopenMemory = Memory(t, now)
		p.store, reopen = open(t, now)
		defer func() { _ = p.store.Close() }() // it may be closed already, after a failure
		r.Repeat(map[string]func(*rapid.T){
			"deliver": func(r *rapid.T) {
				at = at.Add(time.Duration(rapid.IntRange(0, 600).Draw(r, "minutes")) * time.Minute)
				p.deliver(r)
			},
			"reopen": func(*rapid.T) { p.memory, p.store = reopenMemory(), reopen() },
			"append": p.append, "end": p.end, "finish": p.end, "read": p.check,
			"spend": p.spend, "schedule": p.schedule, "summarise": p.summarise, "post": p.post,
		})
		p.check(r)
	})
}

// sameStores are stores that must not differ.
type sameStores struct {
	t             *testing.T
	memory, store tasks.Store
	opened        int
}

// same does one thing to both.
func (p *sameStores) same(r *rapid.T, what string, do func(tasks.Store) (any, error)) {
	r.Helper()
	want, wantErr := do(p.memory)
	got, err := do(p.store)
	var reached, wantReached *tasks.BudgetError
	if errors.As(err, &reached) && errors.As(wantErr, &wantReached) {
		want, got = wantReached.Overdraft, reached.Overdraft
	}
	if !sameKind(err, wantErr) {
		r.Fatalf("%s: the store says %v, the one in memory %v", what, err, wantErr)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.Comparer(sameKind)); diff != "" {
		r.Fatalf("%s (-memory +store):\n%s", what, diff)
	}
}

// sameKind compares errors of stores: callers branch on these kinds.
func sameKind(a, b error) bool {
	return !slices.ContainsFunc([]error{nil, tasks.ErrBudget, tasks.ErrConflict, tasks.ErrFenced, tasks.ErrRefused, tasks.ErrNoTask}, func(kind error) bool {
		return errors.Is(a, kind) != errors.Is(b, kind)
	})
}

// id draws a task that exists, or one that does not.
func (p *sameStores) id(r *rapid.T) tasks.ID {
	return tasks.ID(fmt.Sprintf("t%d", rapid.IntRange(0, p.opened).Draw(r, "task")))
}

func (p *sameStores) chat(r *rapid.T) bot.Chat {
	return bot.Chat{Platform: "test", ID: fmt.Sprint(rapid.IntRange(1, 2).Draw(r, "chat"))}
}

func (p *sameStores) deliver(r *rapid.T) {
	var batch []tasks.Inbound
	for range rapid.IntRange(1, 3).Draw(r, "batch") {
		in := tasks.Inbound{Chat: p.chat(r), Key: fmt.Sprint(rapid.IntRange(0, 30).Draw(r, "key")), Cut: rapid.IntRange(0, 9).Draw(r, "cut") == 0}
		if rapid.Bool().Draw(r, "guidance") {
			in.To, in.Event = p.id(r), planner.Event{Type: planner.GuidanceAdded, Text: "hint"}
		}
		if in.To == "" || rapid.Bool().Draw(r, "way out") {
			p.opened++
			q := Question(in.Chat, tasks.ID(fmt.Sprintf("t%d", p.opened)), rapid.StringN(0, 20, -1).Draw(r, "goal"))
			in.ID, in.Open = q.ID, q.Open
		}
		batch = append(batch, in)
	}
	p.same(r, "Open", func(s tasks.Store) (any, error) { return s.Open(p.t.Context(), batch) })
}

func (p *sameStores) append(r *rapid.T) {
	id, after, fence := p.id(r), rapid.IntRange(-1, 4).Draw(r, "after"), rapid.Int64Range(0, 3).Draw(r, "fence")
	state, err := p.memory.State(p.t.Context(), id)
	events := []planner.Event{said("x")}
	if err == nil {
		events = anyEvents(r, state)
	}
	p.same(r, "Append", func(s tasks.Store) (any, error) { return nil, s.Append(p.t.Context(), id, after, fence, events...) })
}

// end ends, deletes or moves something.
func (p *sameStores) end(r *rapid.T) {
	id, from, to := p.id(r), p.chat(r).Key(), p.chat(r)
	switch how := rapid.SampledFrom([]string{"Append", "Drop", "Forget", "Move"}).Draw(r, "how"); how {
	case "Append":
		p.same(r, how, func(s tasks.Store) (any, error) { return nil, s.Append(p.t.Context(), id, -1, 0, Ending()...) })
	case "Drop":
		p.same(r, how, func(s tasks.Store) (any, error) { return nil, s.Drop(p.t.Context(), id) })
	case "Forget":
		p.same(r, how, func(s tasks.Store) (any, error) { return s.Forget(p.t.Context(), from) })
	default:
		p.same(r, how, func(s tasks.Store) (any, error) { return nil, s.Move(p.t.Context(), from, to) })
	}
}

// check reads everything.
func (p *sameStores) check(r *rapid.T) {
	for n := range p.opened + 1 {
		id := tasks.ID(fmt.Sprintf("t%d", n))
		p.same(r, "Load", func(s tasks.Store) (any, error) { return s.Load(p.t.Context(), id, 0) })
		p.same(r, "State", func(s tasks.Store) (any, error) { return s.State(p.t.Context(), id) })
	}
	for n := range 3 {
		c := bot.Chat{Platform: "test", ID: fmt.Sprint(n)}.Key()
		p.same(r, "Live", func(s tasks.Store) (any, error) { return s.Live(p.t.Context(), c) })
		p.same(r, "History", func(s tasks.Store) (any, error) { return s.History(p.t.Context(), c, "", 100) })
		p.same(r, "Turns", func(s tasks.Store) (any, error) { return s.Turns(p.t.Context(), c, 2, 3) })
		p.same(r, "Summary", func(s tasks.Store) (any, error) { return s.Summary(p.t.Context(), c) })
		p.same(r, "Schedules", func(s tasks.Store) (any, error) { return s.Schedules(p.t.Context(), c) })
	}
	for _, limit := range []int{1, 100} {
		p.same(r, "Due", func(s tasks.Store) (any, error) {
			due, next, err := s.Due(p.t.Context(), p.times(3), limit)
			return []any{due, next}, err
		})
	}
	p.same(r, "Spent", func(s tasks.Store) (any, error) { return s.Spent(p.t.Context(), tasks.SpentQuery{}) })
	id := p.id(r)
	probe := callOf(tasks.ReservationID{Call: "probe"}, 1000, 1)
	p.same(r, "Room", func(s tasks.Store) (any, error) { return nil, s.Room(p.t.Context(), id, probe) })
	p.same(r, "Live of all", func(s tasks.Store) (any, error) { return s.Live(p.t.Context(), "") })
	p.checkIndex(r)
}

// checkIndex reads lists, counts, feed, audit log and deliveries.
func (p *sameStores) checkIndex(r *rapid.T) {
	q := tasks.TaskQuery{Limit: rapid.IntRange(1, 4).Draw(r, "limit"), Before: p.id(r)}
	q.Rooms = rapid.SampledFrom([][]string{nil, {"test:*"}, {"test:1"}}).Draw(r, "rooms")
	for _, q.Statuses = range [][]string{nil, {"stopped", "failed"}, {"planning", "done"}} {
		p.same(r, "Tasks", func(s tasks.Store) (any, error) {
			rows, more, err := s.Tasks(p.t.Context(), q)
			return []any{rows, more}, err
		})
	}
	p.same(r, "Counts", func(s tasks.Store) (any, error) { return s.Counts(p.t.Context()) })
	p.same(r, "Feed", func(s tasks.Store) (any, error) {
		entries, oldest, newest, err := s.Feed(p.t.Context(), 3, 1000)
		return []any{entries, oldest, newest}, err
	})
	p.same(r, "AuditLog", func(s tasks.Store) (any, error) { return s.AuditLog(p.t.Context(), 0, 1000) })
	p.same(r, "Outgoing", func(s tasks.Store) (any, error) {
		due, next, err := s.Outgoing(p.t.Context(), p.times(3), 3, "ci")
		return []any{due, next}, err
	})
}

// post enters something into the audit log, queues a delivery or tries one.
func (p *sameStores) post(r *rapid.T) {
	id, at := fmt.Sprint("d", rapid.IntRange(0, 3).Draw(r, "delivery")), p.times(rapid.IntRange(0, 5).Draw(r, "at"))
	switch rapid.IntRange(0, 3).Draw(r, "what") {
	case 0:
		p.same(r, "Record", func(s tasks.Store) (any, error) {
			return nil, s.Record(p.t.Context(), tasks.AuditEntry{Who: "test:ann", Action: "pause"})
		})
	case 1, 2:
		again := rapid.SampledFrom([]time.Time{at, {}}).Draw(r, "again")
		p.same(r, "Tried", func(s tasks.Store) (any, error) { return nil, s.Tried(p.t.Context(), id, again) })
	default:
		d := tasks.Delivery{ID: id, Webhook: rapid.SampledFrom([]string{"ops", "ci", ""}).Draw(r, "webhook"), At: at, Next: at}
		p.same(r, "Queue", func(s tasks.Store) (any, error) { return nil, s.Queue(p.t.Context(), d) })
	}
}

// spend reserves, settles or asks for room.
func (p *sameStores) spend(r *rapid.T) {
	id, tokens := p.id(r), rapid.IntRange(0, 50).Draw(r, "tokens")
	action := rapid.SampledFrom([]tasks.ReservationID{{Action: planner.DecisionID("plan", 1, 0)}, {Call: "x"}, {Call: "x", Attempt: 1}}).Draw(r, "action")
	if rapid.Bool().Draw(r, "settle") {
		p.same(r, "Settle", func(s tasks.Store) (any, error) {
			return nil, s.Settle(p.t.Context(), id, action, llm.Usage{Input: tokens, Cost: int64(tokens)})
		})
		return
	}
	v := callOf(action, tokens, rapid.Int64Range(0, 300).Draw(r, "limit"))
	p.same(r, "Reserve", func(s tasks.Store) (any, error) { return nil, s.Reserve(p.t.Context(), id, v) })
}

// callOf is a reservation of so many tokens, within the budget of a day.
func callOf(action tasks.ReservationID, tokens int, limit int64) tasks.Reservation {
	return tasks.Reservation{
		ID: action, Day: today, User: "test:ann", Chat: fmt.Sprint("test:", 1+tokens%2), Model: "main", Group: []string{"", "web", "llm_tool"}[tokens%3], // one of the chats that move
		Most: llm.Usage{Input: tokens, Output: tokens, Cost: int64(tokens)}, Hold: &llm.Usage{Input: 5},
		Closing: action == (tasks.ReservationID{Call: "x"}), Budgets: tasks.Budgets{DayTokens: limit},
	}
}

// times are those that schedules are due at.
func (p *sameStores) times(n int) time.Time { return time.Date(2026, 11, 20, n, 0, 0, 0, time.UTC) }

// schedule stores, deletes or fires one of a few schedules.
func (p *sameStores) schedule(r *rapid.T) {
	id := fmt.Sprintf("s%d", rapid.IntRange(0, 3).Draw(r, "schedule"))
	at := p.times(rapid.IntRange(0, 5).Draw(r, "at"))
	switch rapid.IntRange(0, 3).Draw(r, "what") {
	case 0:
		p.same(r, "DropSchedule", func(s tasks.Store) (any, error) { return nil, s.DropSchedule(p.t.Context(), id) })
	case 1:
		v := tasks.Schedule{ID: id, Chat: p.chat(r), Goal: "goal", Made: at, Next: at, Paused: rapid.Bool().Draw(r, "paused")}
		p.same(r, "PutSchedule", func(s tasks.Store) (any, error) { return nil, s.PutSchedule(p.t.Context(), v) })
	default:
		p.opened++
		in := Question(p.chat(r), tasks.ID(fmt.Sprintf("t%d", p.opened)), "goal")
		in.Key, in.Fire = fmt.Sprintf("fire:%s:%d", id, at.Unix()), &tasks.Firing{Schedule: id, At: at, Next: at.Add(2 * time.Hour)}
		p.same(r, "Open", func(s tasks.Store) (any, error) { return s.Open(p.t.Context(), []tasks.Inbound{in}) })
	}
}

// summarise stores a summary that may fit.
func (p *sameStores) summarise(r *rapid.T) {
	c := p.chat(r).Key()
	now, err := p.memory.Summary(p.t.Context(), c)
	if err != nil {
		r.Fatal(err)
	}
	turns, err := p.memory.Turns(p.t.Context(), c, now.Until, rapid.IntRange(1, 3).Draw(r, "turns"))
	if err != nil {
		r.Fatal(err)
	}
	v := tasks.Summary{Until: rapid.Uint64Range(0, 9).Draw(r, "until"), Text: c}
	if n := len(turns); n > 0 && rapid.Bool().Draw(r, "fits") {
		v.Until = turns[n-1].Order
	}
	before := now.Until + uint64(rapid.IntRange(0, 4).Draw(r, "off")/4)
	p.same(r, "PutSummary", func(s tasks.Store) (any, error) { return nil, s.PutSummary(p.t.Context(), c, before, v) })
}
