package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"legwork/bot"
	"legwork/tasks"
)

// minute is a time so many minutes after the one that the clock of a test shows first.
func minute(n int) time.Time { return time.Date(2026, 11, 20, 9, n, 0, 0, time.UTC) }

// schedule is one of ann in a chat that is due so many minutes after the start.
func schedule(id string, c bot.Chat, minutes int) tasks.Schedule {
	return tasks.Schedule{
		ID: id, Chat: c, From: bot.Person{Platform: "test", ID: "ann", Name: "Ann"}, Goal: "goal of " + id, Spec: "0 9 * * *", Words: "daily",
		Timezone: "Asia/Tokyo", Language: "en", CatchUp: true, Made: minute(0).Add(time.Duration(len(id)) * time.Second),
		Next: minute(minutes),
	}
}

// scheduleEnv is an env whose store keeps schedules.
type scheduleEnv struct{ *env }

// onSchedules makes a case of the suite of one that uses a scheduleEnv.
func onSchedules(test func(scheduleEnv)) func(*env) { return func(b *env) { test(scheduleEnv{b}) } }

func (b scheduleEnv) put(list ...tasks.Schedule) {
	b.Helper()
	for _, v := range list {
		b.ok(b.store.PutSchedule(b.Context(), v))
	}
}

func (b scheduleEnv) schedules(conversation string, want ...tasks.Schedule) {
	b.Helper()
	got, err := b.store.Schedules(b.Context(), conversation)
	b.ok(err)
	b.same("schedules of "+conversation, got, want)
}

// due expects the ids of what is due, and the minute of what follows; -1 for
// nothing.
func (b scheduleEnv) due(minutes, limit int, next int, want ...string) {
	b.Helper()
	got, then, err := b.store.Due(b.Context(), minute(minutes), limit)
	b.ok(err)
	var ids []string
	for _, v := range got {
		ids = append(ids, v.ID)
	}
	b.same(fmt.Sprintf("due in minute %d", minutes), ids, want)
	wantNext := time.Time{}
	if next >= 0 {
		wantNext = minute(next)
	}
	b.same(fmt.Sprintf("next after minute %d", minutes), then, wantNext)
}

func testSchedules(b scheduleEnv) {
	one, two, three := schedule("a", chat("c"), 10), schedule("bb", chat("c1"), 5), schedule("ccc", chat("c"), 7)
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
		b.ok(b.store.DropSchedule(b.Context(), id))
	}
	b.schedules("", one, three)
	b.due(100, 10, -1, "a")
}

// testDue: the earliest first, none that is paused or over, and when to look again.
func testDue(b scheduleEnv) {
	b.due(0, 10, -1)
	b.put(schedule("a", chat("c"), 10), schedule("b", chat("c"), 5), schedule("c", chat("d"), 20), schedule("d", chat("d"), 5))
	paused, never := schedule("e", chat("c"), 1), schedule("f", chat("c"), 1)
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
	long, late := schedule("g", chat("c"), 0), schedule("h", chat("c"), 0)
	long.Next, late.Next = time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2500, 1, 1, 0, 0, 0, 0, time.UTC)
	b.put(paused, never, long, late, schedule("b", chat("c"), 30))
	b.due(2, 10, 5, "g", "e", "f")
	b.ok(b.store.DropSchedule(b.Context(), "d"))
	b.due(19, 10, 20, "g", "e", "f", "a")
}

// firing is a delivery for a fire time of a schedule.
func firing(v tasks.Schedule, id tasks.ID, next int) tasks.Inbound {
	in := Question(v.Chat, id, v.Goal)
	in.Key = fmt.Sprintf("schedule:%s:%d", v.ID, v.Next.Unix())
	in.Fire = &tasks.Firing{Schedule: v.ID, At: v.Next}
	if next > 0 {
		in.Fire.Next = minute(next)
	}
	return in
}

func testFire(b scheduleEnv) {
	v := schedule("a", chat("c"), 10)
	other := schedule("bb", chat("c"), 10)
	b.put(v, other)
	b.open(firing(v, "t1", 70))
	fired := v
	fired.Last, fired.Next, fired.LastTask = v.Next, v.Next.Add(time.Hour), "t1"
	for range 2 {
		b.schedules("", fired, other)
		b.store = b.reopen()
	}
	b.due(10, 10, 70, "bb")
	b.open(firing(fired, "t2", 0)) // the last time
	b.due(100, 10, -1, "bb")
	fired.Last, fired.Next, fired.LastTask = fired.Next, time.Time{}, "t2"
	b.schedules(chat("c").Key(), fired, other)
	b.same("journal", b.load("t2", 0)[0].Opening.Goal, v.Goal)
}

// testFireRefused: a schedule that is not due, or whose task cannot be opened, stays.
func testFireRefused(b scheduleEnv) {
	v := schedule("a", chat("c"), 10)
	gone, early, paused := firing(v, "t1", 20), firing(v, "t2", 20), firing(v, "t3", 20)
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
	v.Paused = false
	b.put(v)
	broken := firing(v, "", 20) // a task without an id
	broken.Key += "broken"
	got := b.deliver(broken)[0]
	b.same("receipt of what cannot be opened", []any{got.Err != nil, got.Opened}, []any{true, false})
	b.schedules("", v)
	b.open(paused) // it is due at last
	b.same("live", b.live(""), []tasks.ID{"t3"})
}

// testFireAgain: a fire time opens one task, however often it is delivered.
func testFireAgain(b scheduleEnv) {
	v := schedule("a", chat("c"), 10)
	b.put(v)
	second := firing(v, "t2", 20)
	b.same("twice in one batch", b.deliver(firing(v, "t1", 20), second), []tasks.Receipt{
		{Task: "t1", Seq: 1, Opened: true}, {Task: "t1", Again: true},
	})
	b.store = b.reopen()
	b.put(v) // somebody changed it as it was before it fired
	b.due(10, 10, -1, "a")
	b.same("again", b.deliver(second), []tasks.Receipt{{Task: "t1", Again: true}})
	b.due(10, 10, 20)
	b.same("live", b.live(""), []tasks.ID{"t1"})
}

// testSchedulesStay: schedules go with their conversation, and lose only forgotten tasks.
func testSchedulesStay(b scheduleEnv) {
	v, w := schedule("a", chat("old"), 10), schedule("bb", chat("old"), 12)
	there, other := schedule("ccc", chat("new"), 5), schedule("dddd", chat("older"), 7)
	b.put(v, w, there, other)
	b.deliver(firing(v, "t1", 70), firing(other, "t3", 67))
	b.append("t1", Ending()...)
	b.deliver(firing(w, "t2", 72)) // is not over
	b.move(chat("old"), chat("new"))
	for _, s := range []*tasks.Schedule{&v, &w, &other} {
		s.Last, s.Next = s.Next, s.Next.Add(time.Hour)
	}
	v.Chat, w.Chat, v.LastTask, w.LastTask, other.LastTask = chat("new"), chat("new"), "t1", "t2", "t3"
	for range 2 {
		b.schedules("", v, w, there, other)
		b.schedules(chat("new").Key(), v, w, there)
		b.due(100, 10, -1, "ccc", "dddd", "a", "bb")
		b.store = b.reopen()
	}
	b.forget(chat("new"), 1)
	v.LastTask = ""
	for range 2 {
		b.schedules("", v, w, there, other)
		b.store = b.reopen()
	}
}

func testBadSchedules(b scheduleEnv) {
	for _, v := range []tasks.Schedule{schedule("", chat("c"), 1), schedule(strings.Repeat("x", 100000), chat("c"), 1), schedule("a", bot.Chat{}, 1)} {
		if err := b.store.PutSchedule(b.Context(), v); err == nil {
			b.Errorf("PutSchedule(%.100v): got no error", v)
		}
	}
	b.schedules("")
}
