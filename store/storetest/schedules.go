package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

// schedule is one of ann in a chat that is due so many minutes after the start.
func (b *env) schedule(id string, c bot.Chat, minutes int) tasks.Schedule {
	start := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	return tasks.Schedule{
		ID: id, Chat: c, From: bot.Person{Platform: "test", ID: "ann", Name: "Ann"}, Goal: "goal of " + id, Spec: "0 9 * * *", Words: "daily",
		Timezone: "Asia/Tokyo", Language: "en", CatchUp: true, Made: start.Add(time.Duration(len(id)) * time.Second),
		Next: start.Add(time.Duration(minutes) * time.Minute),
	}
}

func (b *env) put(list ...tasks.Schedule) {
	b.Helper()
	for _, v := range list {
		if err := b.store.PutSchedule(b.Context(), v); err != nil {
			b.Fatalf("PutSchedule(%+v): %v", v, err)
		}
	}
}

func (b *env) schedules(conversation string, want ...tasks.Schedule) {
	b.Helper()
	got, err := b.store.Schedules(b.Context(), conversation)
	if err != nil {
		b.Fatalf("Schedules(%q): %v", conversation, err)
	}
	b.same("schedules of "+conversation, got, want)
}

// due expects the ids of what is due, and the minute of what follows; -1 for
// nothing.
func (b *env) due(minutes, limit int, next int, want ...string) {
	b.Helper()
	start := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	got, then, err := b.store.Due(b.Context(), start.Add(time.Duration(minutes)*time.Minute), limit)
	if err != nil {
		b.Fatalf("Due(%d, %d): %v", minutes, limit, err)
	}
	var ids []string
	for _, v := range got {
		ids = append(ids, v.ID)
	}
	b.same(fmt.Sprintf("due in minute %d", minutes), ids, want)
	wantNext := time.Time{}
	if next >= 0 {
		wantNext = start.Add(time.Duration(next) * time.Minute)
	}
	b.same(fmt.Sprintf("next after minute %d", minutes), then, wantNext)
}

func testSchedules(b *env) {
	one, two, three := b.schedule("a", chat("c"), 10), b.schedule("bb", chat("c1"), 5), b.schedule("ccc", chat("c"), 7)
	three.Next, three.Paused, three.Config = time.Time{}, true, true
	b.schedules("")
	b.put(three, two, one)
	for range 2 {
		b.schedules("", one, two, three)
		b.schedules(chat("c").Key(), one, three)
		b.schedules(chat("unknown").Key())
		b.store = b.reopen()
	}
	one.Goal, one.Last, one.LastTask, one.Chat = "another", one.Next, "t", chat("c1")
	b.put(one)
	b.schedules(chat("c1").Key(), one, two)
	for _, id := range []string{"bb", "bb", "never"} {
		if err := b.store.DropSchedule(b.Context(), id); err != nil {
			b.Fatalf("DropSchedule(%s): %v", id, err)
		}
	}
	b.schedules("", one, three)
	b.due(100, 10, -1, "a")
}

// testDue: the earliest first, none that waits for nothing, and when to look
// again.
func testDue(b *env) {
	b.due(0, 10, -1)
	b.put(b.schedule("a", chat("c"), 10), b.schedule("b", chat("c"), 5), b.schedule("c", chat("d"), 20), b.schedule("d", chat("d"), 5))
	paused, never := b.schedule("e", chat("c"), 1), b.schedule("f", chat("c"), 1)
	paused.Paused, never.Next = true, time.Time{}
	b.put(paused, never)
	for range 2 {
		b.due(4, 10, 5)
		b.due(5, 10, 10, "b", "d")
		b.due(5, 1, 5, "b")
		b.due(15, 10, 20, "b", "d", "a")
		b.due(20, 10, -1, "b", "d", "a", "c")
		b.due(20, 0, 5)
		b.store = b.reopen()
	}
	paused.Paused, never.Next = false, b.clock.now().Add(90*time.Second)
	long := b.schedule("g", chat("c"), 0)
	long.Next = time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC)
	late := b.schedule("h", chat("c"), 0)
	late.Next = time.Date(2500, 1, 1, 0, 0, 0, 0, time.UTC)
	b.put(paused, never, long, late, b.schedule("b", chat("c"), 30))
	b.due(2, 10, 5, "g", "e", "f")
	if err := b.store.DropSchedule(b.Context(), "d"); err != nil {
		b.Fatal(err)
	}
	b.due(19, 10, 20, "g", "e", "f", "a")
}

// firing is a delivery for a fire time of a schedule.
func (b *env) firing(v tasks.Schedule, id tasks.ID, next int) tasks.Inbound {
	in := b.question(v.Chat, id, v.Goal)
	in.Key = fmt.Sprintf("schedule:%s:%d", v.ID, v.Next.Unix())
	in.Fire = &tasks.Firing{Schedule: v.ID, At: v.Next}
	if next > 0 {
		in.Fire.Next = time.Date(2026, 11, 20, 9, next, 0, 0, time.UTC)
	}
	return in
}

func testFire(b *env) {
	v := b.schedule("a", chat("c"), 10)
	other := b.schedule("bb", chat("c"), 10)
	b.put(v, other)
	b.same("fired", b.deliver(b.firing(v, "t1", 70)), []tasks.Receipt{{Task: "t1", Seq: 1, Opened: true}})
	fired := v
	fired.Last, fired.Next, fired.LastTask = v.Next, v.Next.Add(time.Hour), "t1"
	b.schedules("", fired, other)
	b.store = b.reopen()
	b.schedules("", fired, other)
	b.due(10, 10, 70, "bb")
	b.same("the last time", b.deliver(b.firing(fired, "t2", 0)), []tasks.Receipt{{Task: "t2", Seq: 1, Opened: true}})
	b.due(100, 10, -1, "bb")
	fired.Last, fired.Next, fired.LastTask = fired.Next, time.Time{}, "t2"
	b.schedules(chat("c").Key(), fired, other)
	b.same("journal", b.load("t2", 0)[0].Opening.Goal, v.Goal)
}

// testFireRefused: a schedule that is not due at that time opens nothing, and is
// not moved; neither is one whose task cannot be opened.
func testFireRefused(b *env) {
	v := b.schedule("a", chat("c"), 10)
	gone, early, paused := b.firing(v, "t1", 20), b.firing(v, "t2", 20), b.firing(v, "t3", 20)
	refused := func(what string, in tasks.Inbound) {
		b.Helper()
		got := b.deliver(in)[0]
		if !errors.Is(got.Err, tasks.ErrRefused) || got.Opened || got.Task != "" {
			b.Fatalf("%s: got %+v, want ErrRefused and no task", what, got)
		}
	}
	refused("of a schedule that is gone", gone)
	b.put(v)
	early.Fire.At = early.Fire.At.Add(-time.Second)
	early.Key += "early"
	refused("before its time", early)
	v.Paused = true
	b.put(v)
	refused("while it is paused", paused)
	refused("again", paused)
	b.schedules("", v)
	b.missing("t1")

	v.Paused = false
	b.put(v)
	broken := b.firing(v, "", 20)
	broken.Key += "broken"
	if got := b.deliver(broken)[0]; got.Err == nil || got.Opened {
		b.Fatalf("a task without an id: got %+v, want an error", got)
	}
	b.schedules("", v)
	b.same("when it is due at last", b.deliver(paused), []tasks.Receipt{{Task: "t3", Seq: 1, Opened: true}})
	b.same("live", b.live(""), []tasks.ID{"t3"})
}

// testFireAgain: a fire time opens one task, however often it is delivered and
// whatever the schedule says.
func testFireAgain(b *env) {
	v := b.schedule("a", chat("c"), 10)
	b.put(v)
	second := b.firing(v, "t2", 20)
	b.same("twice in one batch", b.deliver(b.firing(v, "t1", 20), second), []tasks.Receipt{
		{Task: "t1", Seq: 1, Opened: true}, {Task: "t1", Again: true},
	})
	b.store = b.reopen()
	b.put(v) // somebody changed it as it was before it fired
	b.due(10, 10, -1, "a")
	b.same("again", b.deliver(second), []tasks.Receipt{{Task: "t1", Again: true}})
	b.due(10, 10, 20)
	b.same("live", b.live(""), []tasks.ID{"t1"})
}

func testSchedulesMove(b *env) {
	v, w, other := b.schedule("a", chat("old"), 10), b.schedule("bb", chat("new"), 5), b.schedule("ccc", chat("older"), 7)
	b.put(v, w, other)
	b.deliver(b.firing(v, "t1", 70))
	b.move(chat("old"), chat("new"))
	b.store = b.reopen()
	v.Chat, v.Last, v.Next, v.LastTask = chat("new"), v.Next, v.Next.Add(time.Hour), "t1"
	b.schedules(chat("new").Key(), v, w)
	b.schedules("", v, w, other)
	b.due(100, 10, -1, "bb", "ccc", "a")
}

// testSchedulesForget: schedules stay, what they say of forgotten tasks does not.
func testSchedulesForget(b *env) {
	v, w, other := b.schedule("a", chat("c"), 10), b.schedule("bb", chat("c"), 10), b.schedule("ccc", chat("d"), 10)
	b.put(v, w, other)
	b.deliver(b.firing(v, "t1", 70), b.firing(other, "t3", 70))
	b.append("t1", planner.Event{Type: planner.Stopped})
	b.show("t1")
	b.deliver(b.firing(w, "t2", 70)) // is not over
	b.forget(chat("c"), 1)
	for _, s := range []*tasks.Schedule{&v, &w, &other} {
		s.Last, s.Next = s.Next, s.Next.Add(time.Hour)
	}
	w.LastTask, other.LastTask = "t2", "t3"
	for range 2 {
		b.schedules("", v, w, other)
		b.store = b.reopen()
	}
}

func testBadSchedules(b *env) {
	for name, spoil := range map[string]func(*tasks.Schedule){
		"no id": func(v *tasks.Schedule) { v.ID = "" }, "a long id": func(v *tasks.Schedule) { v.ID = strings.Repeat("x", 100000) },
		"no chat": func(v *tasks.Schedule) { v.Chat = bot.Chat{} },
	} {
		v := b.schedule("a", chat("c"), 1)
		spoil(&v)
		if err := b.store.PutSchedule(b.Context(), v); err == nil {
			b.Errorf("PutSchedule with %s: got no error", name)
		}
	}
	b.schedules("")
}
