package storetest

import (
	"fmt"
	"math"
	"time"

	"legwork/bot"
	"legwork/internal/test/need"
	"legwork/planner"
	"legwork/tasks"
)

func (b *env) row(id tasks.ID) tasks.Row {
	b.Helper()
	row, err := b.store.Row(b.Context(), id)
	b.ok(err)
	return row
}

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

// testRows: a row tells what a task is about, and follows it.
func testRows(b *env) {
	c := bot.Chat{Platform: "test", ID: "room", Thread: "7"}
	in := b.question(c, "t1", "größe "+string(make([]byte, 600)))
	in.Open.Opening.Preview = true
	b.deliver(in)
	opened := b.clock.now()
	row := b.row("t1")
	b.same("bytes of the goal", len(row.Goal) <= 500 && len(row.Goal) > 450, true)
	row.Goal = ""
	want := tasks.Row{
		Task: "t1", Chat: c, From: bot.Person{Platform: "test", ID: "ann"}, Status: "planning", Opened: opened, Changed: opened,
	}
	b.same("row of a new task", row, want)

	b.clock.add(time.Minute)
	b.plan("t1")
	want.Status, want.Round, want.Changed, want.Waits, want.Since = "waiting", 1, b.clock.now(), true, b.clock.now()
	row = b.row("t1")
	row.Goal = ""
	b.same("row of a proposed plan", row, want)

	b.clock.add(time.Minute)
	b.append("t1", planner.Event{Type: planner.Decided, Action: b.wanted("t1"), By: "test:ann", Decision: &planner.Decision{Approve: true}})
	row = b.row("t1")
	b.same("it waits no more", []any{row.Status, row.Waits, row.Since.IsZero()}, []any{"working", false, true})
	b.store = b.reopen()
	b.same("row after reopening", b.row("t1"), row)
	b.append("t1", Ending()...)
	b.same("its end", b.row("t1").Status, "stopped")
	b.counts(map[string]int{"stopped": 1})
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
	want := []tasks.FeedEntry{
		{Cursor: 1, Task: "t1", Seq: 1}, {Cursor: 2, Task: "t2", Seq: 1},
		{Cursor: 3, Task: "t1", Seq: 2}, {Cursor: 4, Task: "t1", Seq: 3}, {Cursor: 5, Task: "t2", Seq: 2},
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
