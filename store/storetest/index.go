package storetest

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"legwork/bot"
	"legwork/internal/test/need"
	"legwork/planner"
	"legwork/tasks"
)

func (b *env) row(id tasks.ID) tasks.Row {
	b.Helper()
	row, err := b.store.Row(b.Context(), id)
	if err != nil {
		b.Fatalf("Row(%s): %v", id, err)
	}
	return row
}

// listed are the tasks that a query chooses.
func (b *env) listed(q tasks.TaskQuery) (ids []tasks.ID, more bool) {
	b.Helper()
	rows, more, err := b.store.Tasks(b.Context(), q)
	if err != nil {
		b.Fatalf("Tasks(%+v): %v", q, err)
	}
	for _, r := range rows {
		ids = append(ids, r.Task)
	}
	return ids, more
}

func (b *env) lists(q tasks.TaskQuery, want ...tasks.ID) {
	b.Helper()
	got, more := b.listed(q)
	b.same(fmt.Sprintf("tasks of %+v", q), got, want)
	b.same(fmt.Sprintf("more of %+v", q), more, false)
}

func (b *env) counts() map[string]int {
	b.Helper()
	counts, err := b.store.Counts(b.Context())
	if err != nil {
		b.Fatalf("Counts: %v", err)
	}
	return counts
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
	b.append("t1", planner.Event{Type: planner.Decided, Action: planner.Todo(b.state("t1"))[0].ID, By: "test:ann", Decision: &planner.Decision{Approve: true}})
	row = b.row("t1")
	b.same("it waits no more", []any{row.Status, row.Waits, row.Since.IsZero()}, []any{"working", false, true})
	b.store = b.reopen()
	b.same("row after reopening", b.row("t1"), row)
	b.append("t1", planner.Event{Type: planner.Stopped})
	b.show("t1")
	b.same("its end", b.row("t1").Status, "stopped")
	b.same("counts", b.counts(), map[string]int{"stopped": 1})
	for _, id := range []tasks.ID{"", "unknown", "t"} {
		if _, err := b.store.Row(b.Context(), id); !errors.Is(err, tasks.ErrNoTask) {
			b.Fatalf("Row(%q): got %v, want ErrNoTask", id, err)
		}
	}
}

// testSince: a task waits since the first question came that is open now.
func testSince(b *env) {
	b.ask(chat("c"), "t", "goal")
	b.plan("t")
	var asked []time.Time
	for _, a := range planner.Todo(b.state("t")) {
		b.append("t", planner.Event{Type: planner.Replied, Action: a.ID, Reply: &planner.Reply{
			Calls: []planner.Call{{ID: "1", Name: "ask_person", Arguments: "{}", Ask: &planner.Question{Text: "?"}}},
		}})
		asked = append(asked, b.clock.now())
		b.clock.add(time.Minute)
	}
	b.same("first of two", b.row("t").Since, asked[0])
	b.append("t", planner.Event{Type: planner.Decided, By: "test:ann", Action: planner.Todo(b.state("t"))[0].ID, Decision: &planner.Decision{Text: "yes"}})
	row := b.row("t")
	b.same("the one that is left", []any{row.Status, row.Waits, row.Since}, []any{"working", true, asked[1]})
	b.lists(tasks.TaskQuery{Waits: true}, "t")
	b.lists(tasks.TaskQuery{Waits: true, Statuses: []string{"waiting"}})
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
		b.lists(step.query, step.want...)
	}
	got, more := b.listed(tasks.TaskQuery{Limit: 5})
	b.same("first page", []any{got, more}, []any{all[:5], true})
	got, more = b.listed(tasks.TaskQuery{Limit: 5, Before: got[4]})
	b.same("second page", []any{got, more}, []any{all[5:], false})
	b.same("counts", b.counts(), map[string]int{"done": 2, "planning": 4})
}

// testListsChange: dropped, forgotten and moved tasks are so in the lists too.
func testListsChange(b *env) {
	b.finished(chat("c"), "t1")
	b.ask(chat("c"), "t2", "goal")
	b.ask(chat("d"), "t3", "goal")
	_, _, newest := b.feed(0, 0)
	for range 2 { // once is enough
		if err := b.store.Drop(b.Context(), "t3"); err != nil {
			b.Fatal(err)
		}
	}
	told, _, _ := b.feed(newest, 10)
	b.same("the feed reports a dropped task", told, []tasks.FeedEntry{{Cursor: newest + 1, Task: "t3"}})
	b.lists(tasks.TaskQuery{Statuses: []string{"failed"}}, "t3")
	b.same("a dropped task", b.row("t3").Status, "failed")
	b.forget(chat("c"), 1)
	b.lists(tasks.TaskQuery{}, "t3", "t2")
	b.same("counts", b.counts(), map[string]int{"failed": 1, "planning": 1})
	if _, err := b.store.Row(b.Context(), "t1"); !errors.Is(err, tasks.ErrNoTask) {
		b.Fatalf("row of a forgotten task: got %v, want ErrNoTask", err)
	}
	if err := b.store.Move(b.Context(), chat("c").Key(), chat("e")); err != nil {
		b.Fatal(err)
	}
	b.lists(tasks.TaskQuery{Rooms: []string{"test:c"}})
	b.lists(tasks.TaskQuery{Rooms: []string{"test:e"}}, "t2")
	b.same("the chat of a moved task", b.row("t2").Chat, chat("e"))
	b.answer("t2", "answer")
	b.show("t2")
	b.lists(tasks.TaskQuery{Rooms: []string{"test:e"}, Statuses: []string{"done"}}, "t2")
	b.store = b.reopen()
	b.lists(tasks.TaskQuery{}, "t3", "t2")
}

func (b *env) feed(after uint64, limit int) (entries []tasks.FeedEntry, oldest, newest uint64) {
	b.Helper()
	entries, oldest, newest, err := b.store.Feed(b.Context(), after, limit)
	if err != nil {
		b.Fatalf("Feed(%d, %d): %v", after, limit, err)
	}
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
		{Cursor: 1, Task: "t1", Seq: 1},
		{Cursor: 2, Task: "t2", Seq: 1},
		{Cursor: 3, Task: "t1", Seq: 2},
		{Cursor: 4, Task: "t1", Seq: 3},
		{Cursor: 5, Task: "t2", Seq: 2},
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
	b.append("t2", planner.Event{Type: planner.Stopped})
	b.show("t2")
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

// testFeedBesides: who follows the feed while others write misses nothing, and
// finds each event in its journal.
func testFeedBesides(b *env) {
	const writers, each = 4, 60
	var writing sync.WaitGroup
	for w := range writers {
		id := tasks.ID(fmt.Sprint("t", w))
		b.ask(chat(string(id)), id, "goal")
		writing.Go(func() {
			for range each {
				if err := b.store.Append(b.Context(), id, -1, 0, said("x")); err != nil {
					b.Error(err)
				}
			}
		})
	}
	seen := map[tasks.ID]int{}
	for cursor := uint64(0); cursor < writers*(each+1); {
		entries, _, _ := b.feed(cursor, 7)
		for _, e := range entries {
			cursor++
			if e.Cursor != cursor || e.Seq != seen[e.Task]+1 {
				b.Fatalf("entry %+v after %d, of its task after %d", e, cursor-1, seen[e.Task])
			}
			seen[e.Task] = e.Seq
			if events := b.load(e.Task, e.Seq-1); len(events) == 0 || events[0].Seq != e.Seq {
				b.Fatalf("the feed reports %+v, which is not in its journal yet", e)
			}
		}
		if b.Failed() {
			break
		}
	}
	writing.Wait()
}
