package storetest

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"legwork/bot"
	"legwork/internal/test/need"
	"legwork/planner"
	"legwork/tasks"
)

// lists expects the tasks that a query chooses, and whether there are more.
func (b *env) lists(q tasks.TaskQuery, more bool, want ...tasks.ID) {
	b.Helper()
	rows, further, err := b.store.Tasks(b.Context(), q)
	b.ok(err)
	var ids []tasks.ID
	for _, r := range rows {
		ids = append(ids, r.Task)
	}
	b.same(fmt.Sprintf("tasks of %+v", q), ids, want)
	b.same(fmt.Sprintf("more of %+v", q), further, more)
}

func (b *env) counts(want map[string]int) {
	b.Helper()
	counts, err := b.store.Counts(b.Context())
	b.ok(err)
	b.same("counts", counts, want)
}

// testRows: a row has the beginning of a long goal. The rest is in any index.
func testRows(b *env) {
	b.ask(chat("c"), "t", "größe "+string(make([]byte, 600)))
	row, err := b.store.Row(b.Context(), "t")
	b.ok(err)
	if n := len(row.Goal); n > 500 || n <= 450 || !strings.HasPrefix(row.Goal, "größe ") {
		b.Fatalf("goal of a row: got %d bytes, %.20q, want some 500", n, row.Goal)
	}
}

// testSince: a task waits since the first question came that is open now.
func testSince(b *env) {
	b.ask(chat("c"), "t", "goal")
	b.plan("t")
	begin := b.clock.now()
	for _, a := range planner.Todo(b.state("t")) {
		b.append("t", planner.Event{Type: planner.Replied, Action: a.ID, Reply: &planner.Reply{
			Calls: []planner.Call{{ID: "1", Name: "ask_person", Arguments: "{}", Ask: &planner.Question{Text: "?"}}},
		}})
		b.clock.add(time.Minute)
	}
	for _, want := range []time.Time{begin, begin.Add(time.Minute)} {
		row, err := b.store.Row(b.Context(), "t")
		b.ok(err)
		b.same("waits", []any{row.Waits, row.Since}, []any{true, want})
		if want.Equal(begin) {
			b.append("t", planner.Event{Type: planner.Decided, By: "test:ann", Action: b.wanted("t"), Decision: &planner.Decision{Text: "yes"}})
		}
	}
}

// testLists: every filter, pages, and what moves between them.
func testLists(b *env) {
	in := func(platform, id, thread string) bot.Chat {
		return bot.Chat{Platform: platform, ID: id, Thread: thread}
	}
	b.ask(in("test", "a", ""), "t1", "goal")
	b.ask(in("test", "a", "7"), "t2", "goal")
	b.ask(in("test", "ab", ""), "t3", "goal")
	b.ask(in("api", "ops", "t4"), "t4", "goal")
	b.finished(in("api", "ci", "t5"), "t5")
	b.finished(in("test", "a", "8"), "t6")
	all := []tasks.ID{"t6", "t5", "t4", "t3", "t2", "t1"}
	for _, step := range []struct {
		query tasks.TaskQuery
		want  []tasks.ID
	}{
		{tasks.TaskQuery{}, all},
		{tasks.TaskQuery{Rooms: []string{"*"}}, all},
		{tasks.TaskQuery{Rooms: []string{}}, nil},
		{tasks.TaskQuery{Rooms: []string{"test:a"}}, []tasks.ID{"t6", "t2", "t1"}},
		{tasks.TaskQuery{Rooms: []string{"test:a/7"}}, nil},
		{tasks.TaskQuery{Rooms: []string{"test:unknown", ""}}, nil},
		{tasks.TaskQuery{Rooms: []string{"api:*"}}, []tasks.ID{"t5", "t4"}},
		{tasks.TaskQuery{Rooms: []string{"api:*", "api:ci", "test:ab"}}, []tasks.ID{"t5", "t4", "t3"}},
		{tasks.TaskQuery{Statuses: []string{"done"}}, []tasks.ID{"t6", "t5"}},
		{tasks.TaskQuery{Statuses: []string{"done", "planning"}, Rooms: []string{"api:*"}}, []tasks.ID{"t5", "t4"}},
		{tasks.TaskQuery{Statuses: []string{"planning"}}, []tasks.ID{"t4", "t3", "t2", "t1"}},
		{tasks.TaskQuery{Statuses: []string{"nonsense", ""}}, nil},
		{tasks.TaskQuery{Before: "t3"}, []tasks.ID{"t2", "t1"}},
		{tasks.TaskQuery{Before: "t35", Rooms: []string{"test:*"}}, []tasks.ID{"t3", "t2", "t1"}},
		{tasks.TaskQuery{Before: "t1"}, nil},
		{tasks.TaskQuery{Waits: true}, nil},
		{tasks.TaskQuery{From: "test:ann", Rooms: []string{"api:*"}}, []tasks.ID{"t5", "t4"}},
		{tasks.TaskQuery{From: "test:an"}, nil},
	} {
		b.lists(step.query, false, step.want...)
	}
	b.lists(tasks.TaskQuery{Limit: 5}, true, all[:5]...)
	b.lists(tasks.TaskQuery{Limit: 5, Before: all[4]}, false, all[5])
	b.counts(map[string]int{"done": 2, "planning": 4})
}

func (b *env) feed(after uint64, limit int) (entries []tasks.FeedEntry, oldest, newest uint64) {
	b.Helper()
	entries, oldest, newest, err := b.store.Feed(b.Context(), after, limit)
	b.ok(err)
	return entries, oldest, newest
}

// testFeed: all events of all tasks in their order, each with its own number.
func testFeed(b *env) {
	none, oldest, newest := b.feed(0, 10)
	b.same("an empty feed", []any{len(none), oldest, newest}, []any{0, uint64(0), uint64(0)})
	b.ask(chat("c"), "t1", "goal")
	b.ask(chat("d"), "t2", "goal")
	b.append("t1", said("a"), said("b"))
	b.append("t2", said("c"))
	want, seq := []tasks.FeedEntry{}, map[tasks.ID]int{}
	for i, id := range []tasks.ID{"t1", "t2", "t1", "t1", "t2"} {
		seq[id]++
		want = append(want, tasks.FeedEntry{Cursor: uint64(i + 1), Task: id, Seq: seq[id]})
	}
	for after := range uint64(7) {
		for limit := range 7 {
			from := min(int(after), len(want))
			got, oldest, newest := b.feed(after, limit)
			b.same(fmt.Sprintf("feed after %d, limit %d", after, limit), got, want[from:min(from+limit, len(want))])
			b.same("its ends", []uint64{oldest, newest}, []uint64{1, 5})
		}
	}
	got, oldest, newest := b.feed(math.MaxUint64, 10)
	b.same("after numbers that were never given", []any{len(got), oldest, newest}, []any{0, uint64(1), uint64(5)})
	b.append("t2", Ending()...)
	b.forget(chat("d"), 1)
	b.store = b.reopen()
	got, _, newest = b.feed(5, 10)
	b.same("entries of a task that is gone", []any{len(got), newest}, []any{3, uint64(8)})
	b.append("t1", said("d"))
	got, _, _ = b.feed(8, 10)
	b.same("numbers go on", got, []tasks.FeedEntry{{Cursor: 9, Task: "t1", Seq: 4}})
}

// testFeedBounded: old entries go, and who is behind can tell.
func testFeedBounded(b *env) {
	need.Check(b)
	const kept, each = 100_000, 2000
	batch := make([]planner.Event, each)
	for i := range batch {
		batch[i] = planner.Event{Type: planner.Resumed}
	}
	b.ask(chat("c"), "t", "goal")
	total := uint64(1)
	for total < kept*3/2 {
		b.append("t", batch...)
		total += each
	}
	entries, oldest, newest := b.feed(0, 10)
	b.same("newest", newest, total)
	if oldest <= 1 || newest-oldest+1 < kept || newest-oldest+1 > kept*5/4 {
		b.Fatalf("kept are %d to %d, want some %d entries", oldest, newest, kept)
	}
	b.same("a slow reader begins with the oldest", entries[0], tasks.FeedEntry{Cursor: oldest, Task: "t", Seq: int(oldest)})
	entries, _, _ = b.feed(newest-3, 10)
	b.same("the end", len(entries), 3)
}

func (b *env) auditLog(before uint64, limit int) []tasks.AuditEntry {
	b.Helper()
	list, err := b.store.AuditLog(b.Context(), before, limit)
	b.ok(err)
	return list
}

// testAudit: what people and programs decide and change is entered with its event;
// the rest by who did it.
func testAudit(b *env) {
	begin := b.clock.now()
	in := b.question(bot.Chat{Platform: "api", ID: "ci", Thread: "t1"}, "t1", "secret goal")
	in.Open.Opening.From, in.Open.Opening.Preview = bot.Person{Platform: "api", ID: "ci"}, true
	_, err := b.store.Open(tasks.WithOrigin(b.Context(), tasks.Origin{Role: "operator", Addr: "10.0.0.1"}), []tasks.Inbound{in})
	b.ok(err)
	b.ask(chat("c"), "t2", "secret question") // of a person: nothing to tell
	agents := b.question(chat("c"), "t3", "secret question")
	agents.Open.Opening.From = bot.Person{Platform: "agent", ID: "x"}
	b.open(agents)
	b.plan("t1")
	b.append("t1", planner.Event{
		Type: planner.Decided, By: "slack:U1", Action: b.wanted("t1"),
		Decision: &planner.Decision{Approve: true, Text: "secret words"},
	})
	set := planner.Event{Type: planner.StateSet, By: "agent:x", Values: map[string]json.RawMessage{"b": json.RawMessage(`"secret"`), "a": nil}}
	b.ok(b.store.Append(tasks.WithOrigin(b.Context(), tasks.Origin{Role: "agent", Addr: "10.0.0.2"}), "t1", -1, 0, set))
	b.append("t1", said("secret hint"), planner.Event{Type: planner.Stopped, By: "slack:U2"})
	b.ok(b.store.Record(b.Context(), tasks.AuditEntry{Who: "api:ops", Role: "admin", Action: "config.reload", Target: "x", From: "127.0.0.1", Detail: "two\nlines"}))
	if err := b.store.Record(b.Context(), tasks.AuditEntry{Who: "api:ops"}); err == nil {
		b.Fatal("an entry that does not say what was done was taken")
	}
	want := []tasks.AuditEntry{
		{Seq: 6, At: begin, Who: "api:ops", Role: "admin", Action: "config.reload", Target: "x", Detail: "two…", From: "127.0.0.1"},
		{Seq: 5, At: begin, Who: "slack:U2", Action: "task.cancel", Target: "t1"},
		{Seq: 4, At: begin, Who: "agent:x", Role: "agent", Action: "state.set", Target: "t1", Detail: `"a", "b"`, From: "10.0.0.2"},
		{Seq: 3, At: begin, Who: "slack:U1", Action: "task.decide", Target: "t1", Detail: "plan 2.0, approve"},
		{Seq: 2, At: begin, Who: "agent:x", Action: "task.start", Target: "t3"},
		{Seq: 1, At: begin, Who: "api:ci", Role: "operator", Action: "task.start", Target: "t1", From: "10.0.0.1"},
	}
	got := b.auditLog(0, 100)
	got[0].Detail = "two…" // how a line is cut is not the store's
	b.same("audit log", got, want)
	b.same("its first page", b.auditLog(0, 2)[1], want[1])
	b.same("its second page", b.auditLog(5, 2), want[2:4])
	b.same("before the first", b.auditLog(1, 2), []tasks.AuditEntry(nil))
	b.store = b.reopen()
	b.ok(b.store.Record(b.Context(), tasks.AuditEntry{Action: "pause"}))
	b.same("numbers go on", b.auditLog(0, 1)[0].Seq, uint64(7))
}

// testAuditDecides: the log tells which question was decided, and about which tools.
func testAuditDecides(b *env) {
	b.ask(chat("c"), "t", "goal")
	b.plan("t")
	b.reply("t", planner.Reply{Calls: []planner.Call{
		{ID: "1", Name: "book", Arguments: "{}", Tool: "desk.book"},
		{ID: "2", Name: "pay", Arguments: "{}", Tool: "desk.pay"},
		{ID: "3", Name: "pay", Arguments: "{}", Tool: "desk.pay"},
	}})
	todo := planner.Todo(b.state("t"))
	ask := func(question planner.Question) int {
		b.append("t", planner.Event{Type: planner.Asked, Action: todo[question.Calls[0].Call].ID, Question: &question})
		return b.state("t").Seq
	}
	both := ask(planner.Question{Calls: []planner.Approval{{Call: 0, Tool: "desk.book"}, {Call: 1, Tool: "desk.pay"}}})
	one := ask(planner.Question{Calls: []planner.Approval{{Call: 2, Tool: "desk.pay"}}})
	for i, d := range []planner.Decision{{Approve: true}, {Approve: true, Scope: planner.ScopeTask}} {
		b.append("t", planner.Event{Type: planner.Decided, By: "test:ann", Action: planner.AskID(planner.SubjectCalls, []int{one, both}[i]), Decision: &d})
	}
	log := b.auditLog(0, 10)
	b.same("entries", len(log), 2)
	b.same("about one call", log[1].Detail, fmt.Sprintf("calls %d.0, approve, desk.pay", one))
	b.same("about two", log[0].Detail, fmt.Sprintf("calls %d.0, approve, scope task, desk.book, desk.pay", both))
}

// testAuditForgets: a forgotten person has no name in the log, and old entries go.
func testAuditForgets(b *env) {
	const n = 450
	begin := b.clock.now()
	for i := range n {
		b.ok(b.store.Record(b.Context(), tasks.AuditEntry{Who: fmt.Sprintf("test:p%d", i%3), From: "10.0.0.1", Action: "pause", Target: "test:p1/7", Detail: "by test:p1, now"}))
	}
	b.clock.add(48 * time.Hour)
	b.ok(b.store.Record(b.Context(), tasks.AuditEntry{Who: "test:p10", Action: "resume", Detail: "by test:p10"}))
	b.erase("test:p1")
	for _, e := range b.auditLog(0, n+1) {
		want := tasks.AuditEntry{Seq: e.Seq, At: begin, Who: e.Who, From: "10.0.0.1", Action: "pause", Target: "forgotten", Detail: "by forgotten, now"}
		switch {
		case e.Seq == n+1:
			want = tasks.AuditEntry{Seq: e.Seq, At: b.clock.now(), Who: "test:p10", Action: "resume", Detail: "by test:p10"}
		case e.Seq%3 == 2:
			want.Who, want.From = "forgotten", ""
		}
		b.same("entry", e, want)
	}
	_, err := b.store.Retain(b.Context(), time.Time{}, begin.Add(time.Hour))
	b.ok(err)
	b.same("the rest", len(b.auditLog(0, n+1)), 1)
	b.ok(b.store.Record(b.Context(), tasks.AuditEntry{Action: "pause"}))
	b.same("numbers go on", b.auditLog(0, 1)[0].Seq, uint64(n+2))
}

// outgoing expects deliveries, and when the next one is due.
func (b *env) outgoing(limit int, except []string, next time.Time, want ...string) []tasks.Delivery {
	b.Helper()
	list, got, err := b.store.Outgoing(b.Context(), b.clock.now(), limit, except...)
	b.ok(err)
	var ids []string
	for _, d := range list {
		ids = append(ids, d.ID)
	}
	b.same("due", ids, want)
	b.same("next", got, next)
	return list
}

// testOutgoing: queued messages go out in order, once, or again after a failure.
func testOutgoing(b *env) {
	var never time.Time
	queue := func(list ...tasks.Delivery) {
		b.Helper()
		b.ok(b.store.Queue(b.Context(), list...))
	}
	tried := func(id string, next time.Time) {
		b.Helper()
		b.ok(b.store.Tried(b.Context(), id, next))
	}
	b.outgoing(10, nil, never)
	begin := b.clock.now()
	later := begin.Add(time.Hour)
	queue(
		tasks.Delivery{ID: "b", Webhook: "ops", Kind: "server.down", Body: []byte(`{"a":1}`)},
		tasks.Delivery{ID: "a", Webhook: "ci", Kind: "server.down"},
		tasks.Delivery{ID: "c", Webhook: "ops", Next: later})
	got := b.outgoing(10, nil, later, "a", "b")
	b.same("a delivery", got[1], tasks.Delivery{ID: "b", Webhook: "ops", Kind: "server.down", Body: []byte(`{"a":1}`), At: begin, Next: begin})
	b.outgoing(1, nil, begin, "a")
	b.outgoing(10, []string{"ops"}, never, "a")
	b.outgoing(10, []string{"ops", "ci"}, never)

	again := begin.Add(2 * time.Minute)
	tried("b", again)
	tried("a", never)
	tried("unknown", never)
	b.outgoing(10, nil, again)
	b.clock.add(3 * time.Minute)
	queue(tasks.Delivery{ID: "d", Webhook: "ops"}, tasks.Delivery{ID: "a", Webhook: "ci"}, tasks.Delivery{ID: "b", Webhook: "ci"})
	b.store = b.reopen()
	b.same("tries", b.outgoing(10, nil, later, "b", "d")[0].Tries, 1)
	for _, id := range []string{"b", "c", "d"} {
		tried(id, never)
	}
	b.outgoing(10, nil, never)
	b.clock.add(50 * time.Hour)
	queue(tasks.Delivery{ID: "a", Webhook: "ci"})
	b.outgoing(10, nil, never, "a")
	if err := b.store.Queue(b.Context(), tasks.Delivery{}); err == nil {
		b.Fatal("a delivery without an id was taken")
	}
}

// testNotify: the outcome of a task is queued with the event that settles it.
func testNotify(b *env) {
	var never time.Time
	for id, c := range map[tasks.ID]string{"t1": "a", "t2": "b", "t3": "c", "t4": "d"} {
		in := b.question(chat(c), id, "goal")
		in.Open.Opening.Notify, in.Open.Opening.External = &planner.Notify{Webhook: "ops"}, id == "t2"
		b.open(in)
	}
	b.ask(chat("e"), "t5", "goal")
	b.answer("t5", "answer")
	b.outgoing(10, nil, never)
	b.answer("t1", "answer")
	b.append("t2", planner.Event{Type: planner.Answered, By: "agent:x", Text: "answer"})
	b.append("t3", planner.Event{Type: planner.Stopped})
	b.drop("t4")
	list := b.outgoing(10, nil, never, "notify-t1", "notify-t2", "notify-t3", "notify-t4")
	for i, kind := range []string{"task.done", "task.done", "task.stopped", "task.failed"} {
		id, now := fmt.Sprint("t", i+1), b.clock.now()
		b.same("delivery", list[i], tasks.Delivery{ID: "notify-" + id, Webhook: "ops", Kind: kind, Task: tasks.ID(id), At: now, Next: now})
	}
	b.show("t1")
	b.forget(chat("a"), 1) // there is no waiter to tell any more
	b.outgoing(10, nil, never, "notify-t2", "notify-t3", "notify-t4")
	b.ok(b.store.Queue(b.Context(), tasks.Delivery{ID: "alert", Webhook: "ops", Task: "t4"}))
	b.erase("test:d")
	b.outgoing(10, nil, never, "notify-t2", "notify-t3")
}
