package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"legwork/bot"
	"legwork/internal/test/need"
	"legwork/planner"
	"legwork/tasks"
)

func (b *env) forget(c bot.Chat, want int) {
	b.Helper()
	n, err := b.store.Forget(b.Context(), c.Key())
	if err != nil || n != want {
		b.Fatalf("Forget(%s): got %d, %v, want %d", c.Key(), n, err, want)
	}
}

func (b *env) erase(who string) tasks.Deleted {
	b.Helper()
	d, err := b.store.Erase(b.Context(), who)
	b.ok(err)
	return d
}

func testForget(b *env) {
	first, thread := b.question(chat("c"), "t1", "goal of t1"), bot.Chat{Platform: "test", ID: "c", Thread: "1"}
	b.open(first)
	b.finish("t1", "answer of t1")
	b.deliver(tasks.Inbound{Key: "cut", Cut: true, Chat: chat("c")})
	b.finished(chat("c"), "t")   // a name that others begin with
	b.finished(chat("c1"), "t2") // a conversation whose name begins with the other's
	b.finished(thread, "t3")
	b.ask(chat("c"), "t4", "dropped")
	b.drop("t4")
	told := b.store.Changed("t1")
	b.forget(chat("c"), 3)
	<-told
	for range 2 {
		b.missing("t1", "t", "t4")
		b.same("turns", b.turns(chat("c")), []tasks.ID(nil))
		b.same("turns of another", b.turns(chat("c1")), []tasks.ID{"t2"})
		b.same("turns of a thread", b.turns(thread), []tasks.ID{"t3"})
		b.same("journal of another", len(b.load("t2", 0)), 4)
		b.forget(chat("c"), 0)
		b.store = b.reopen()
	}
	first.ID = "again"
	b.same("a redelivery", b.deliver(first), []tasks.Receipt{{Task: "t1", Again: true}})
	if late := b.deliver(b.guidance("t1", "hint"))[0]; !errors.Is(late.Err, tasks.ErrNoTask) {
		b.Fatalf("guidance for a forgotten task: got %+v, want ErrNoTask", late)
	}
	b.finished(chat("c"), "t1")
	b.same("turns then", b.turns(chat("c")), []tasks.ID{"t1"})
	b.forget(chat("unknown"), 0)
}

// testForgetRunning: a task that has not ended keeps its turn, its place and its cut.
func testForgetRunning(b *env) {
	b.finished(chat("c"), "t1")
	b.ask(chat("c"), "t2", "works")
	b.plan("t2")
	b.finished(chat("c"), "t3")
	b.ask(chat("c"), "t4", "decides")
	b.ask(chat("c"), "t5", "waits")
	b.forget(chat("c"), 2)
	b.missing("t1", "t3")
	b.store = b.reopen()
	b.same("turns", b.turns(chat("c")), []tasks.ID{"t2", "t4", "t5"})
	b.same("live", b.live(chat("c").Key()), []tasks.ID{"t2", "t4", "t5"})
	b.phase("t2", planner.PhaseWorking)
	b.phase("t5", planner.PhaseQueued)
	b.finish("t4", "answer 4")
	b.phase("t5", planner.PhaseDeciding)

	b.deliver(tasks.Inbound{Key: "cut", Cut: true, Chat: chat("c")})
	b.forget(chat("c"), 1)
	b.same("turns behind a cut", b.turns(chat("c")), []tasks.ID(nil))
	b.append("t2", Ending()...)
	b.append("t5", Ending()...)
	b.forget(chat("c"), 2)
	b.same("live at the end", b.live(""), []tasks.ID(nil))
	b.finished(chat("c"), "t6")
	b.same("turns at the end", b.turns(chat("c")), []tasks.ID{"t6"})
}

// testForgetLong has more turns than one transaction takes.
func testForgetLong(b *env) {
	const n = 1201
	var batch []tasks.Inbound
	for i := range n {
		id := tasks.ID(fmt.Sprintf("t%d", i))
		batch = append(batch, b.question(chat("c"), id, strings.Repeat("long ", 10)))
		if i%100 == 0 {
			continue // it stays live
		}
		for _, e := range Ending() {
			batch = append(batch, tasks.Inbound{To: id, Event: e})
		}
	}
	for some := range slices.Chunk(batch, 200) { // a store bounds the time of a commit
		for _, r := range b.deliver(some...) {
			b.ok(r.Err)
		}
	}
	b.forget(chat("c"), n-13)
	b.same("live turns", len(b.turns(chat("c"))), 13)
	b.same("live", len(b.live(chat("c").Key())), 13)
	b.missing("t1", "t1199")
}

// testForgetBesides: new questions and other conversations are kept whole meanwhile.
func testForgetBesides(b *env) {
	const senders, each = 4, 15
	var forgetting sync.WaitGroup
	stop := make(chan struct{})
	forgetting.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := b.store.Forget(b.Context(), chat("c").Key()); err != nil {
				b.Errorf("Forget: %v", err)
				return
			}
		}
	})
	atOnce(b.T, senders, func(s int) error {
		for n := range each {
			id, events := tasks.ID(fmt.Sprintf("t%d.%d", s, n)), Ending()
			if n%3 > 0 {
				events = events[:1]
			}
			_, err := b.store.Open(b.Context(), []tasks.Inbound{Question([]bot.Chat{chat("c"), chat("d")}[n%2], id, "goal")})
			for _, e := range events {
				err = errors.Join(err, b.store.Append(b.Context(), id, -1, 0, e))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	close(stop)
	forgetting.Wait()
	if b.Failed() {
		return
	}
	_, err := b.store.Forget(b.Context(), chat("c").Key())
	b.ok(err)
	for s := range senders {
		for n := range each {
			id := tasks.ID(fmt.Sprintf("t%d.%d", s, n))
			if n%2 == 0 && n%3 == 0 {
				b.missing(id)
			} else if got := len(b.load(id, 0)); got < 2 {
				b.Fatalf("journal of %s: got %d events, want at least 2", id, got)
			}
		}
	}
	b.same("turns left", len(b.turns(chat("c"))), len(b.live(chat("c").Key())))
	b.same("turns of the other", len(b.turns(chat("d"))), senders*(each/2))
}

// asks opens a task of somebody, and ends it when it is to be over.
func asks(b *env, c bot.Chat, id tasks.ID, who string, over bool) {
	b.Helper()
	in := b.question(c, id, "goal of "+string(id))
	in.Open.Opening.From.ID = who
	b.open(in)
	if over {
		b.finish(id, "answer to "+string(id))
	}
}

// testErasePerson: a person's data goes. That of others stays, and tasks that have not ended.
func testErasePerson(b *env) {
	private, group := chat("bob"), bot.Chat{Platform: "test", ID: "group"}
	asks(b, private, "a1", "bob", true)
	asks(b, group, "a2", "bob", true)
	asks(b, group, "a3", "ann", true)
	asks(b, group, "a4", "bob", false)
	asks(b, chat("ann"), "a5", "ann", false)
	for id, who := range map[tasks.ID]string{"a4": "bob", "a5": "ann"} {
		r := reservation("a", 10, tasks.Budgets{})
		r.User = "test:" + who
		ledger{b}.reserve(id, r)
		ledger{b}.settle(id, "a", use(10))
	}
	settings := [][4]string{ // before and after
		{"test:bob", "language", "de", ""},
		{"test:bobby", "language", "en", "en"},
		{"test:group", "prompt test:bob", "a form", ""},
		{"test:group", "grants", `[{"id":"1","by":"test:bob"},{"id":"2","by":"test:ann"}]`, `[{"id":"2","by":"test:ann"}]`},
		{"legwork", "access_requests", `[{"person":{"platform":"test","id":"bob"},"chat":{"platform":"test","id":"x"}}]`, ""},
		{"legwork", "admins", `["test:bob"]`, `["test:bob"]`},
	}
	for _, s := range settings {
		b.set(s[0], s[1], s[2])
	}
	for id, who := range map[string]string{"s1": "bob", "s2": "ann"} {
		scheduleEnv{b}.put(tasks.Schedule{ID: id, Chat: group, From: bot.Person{Platform: "test", ID: who}, Goal: "again"})
	}
	turns := b.history(group, "", 1<<20)
	b.ok(b.store.PutSummary(b.Context(), group.Key(), 0, tasks.Summary{Until: turns[1].Order, Text: "words of bob"}))
	b.same("deleted", b.erase("test:bob"), tasks.Deleted{Tasks: 2, Turns: 2, Summaries: 1, Settings: 4, Schedules: 1, Spent: 1, Live: []tasks.ID{"a4"}})
	b.missing("a1", "a2")
	b.same("turns of the group", b.history(group, "", 1<<20), turns[1:])
	b.same("turns of the private chat", b.turns(private), []tasks.ID(nil))
	b.same("ledger", ledger{b}.spent(tasks.SpentQuery{}), []tasks.Spent{row(1, use(10))})
	probe := reservation("probe", 0, tasks.Budgets{UserDayUSD: 1})
	probe.User = "test:bob"
	b.same("used by bob", ledger{b}.usedBy("a5", probe), int64(0))
	b.same("used by all, also by bob", ledger{b}.used("a5", tasks.Budgets{DayUSD: 1}), int64(20))
	for _, s := range settings {
		b.setting(s[0], s[1], s[3])
	}
	b.summary(group, tasks.Summary{})
	b.same("deleted again", b.erase("test:bob").Empty(), true)
	b.same("deleted of an unknown person", b.erase("test:unknown"), tasks.Deleted{})
	for _, id := range []tasks.ID{"a3", "a4", "a5"} {
		b.load(id, 0)
	}
}

// testEraseChat: a chat with its threads, and no other whose name begins alike.
func testEraseChat(b *env) {
	in := func(id, thread string) bot.Chat { return bot.Chat{Platform: "test", ID: id, Thread: thread} }
	asks(b, in("C1", ""), "a1", "ann", true)
	asks(b, in("C1", "7"), "a2", "bob", true)
	asks(b, in("C12", ""), "a3", "ann", true)
	asks(b, in("C1", "8"), "a4", "ann", false)
	for _, c := range []string{"test:C1", "test:C1/7", "test:C12"} {
		b.set(c, "model", "big")
	}
	b.same("deleted", b.erase("test:C1"), tasks.Deleted{Tasks: 2, Turns: 2, Settings: 2, Live: []tasks.ID{"a4"}})
	b.missing("a1", "a2")
	b.load("a3", 0)
	b.load("a4", 0)
	b.same("turns", len(b.turns(in("C1", "")))+len(b.turns(in("C1", "7"))), 0)
	b.setting("test:C12", "model", "big")
}

// testEraseMany: more than one transaction holds.
func testEraseMany(b *env) {
	n := need.Times(90, 450)
	group := func(i int) bot.Chat { return bot.Chat{Platform: "test", ID: fmt.Sprint("g", i%3)} }
	for i := range n {
		asks(b, group(i), tasks.ID(fmt.Sprintf("t%05d", i)), []string{"bob", "ann"}[i%2], true)
	}
	b.same("deleted", b.erase("test:bob"), tasks.Deleted{Tasks: n / 2, Turns: n / 2})
	b.same("turns that are left", len(b.turns(group(0)))+len(b.turns(group(1)))+len(b.turns(group(2))), n/2)
}

// testEraseWithoutWaiting: a caller that leaves early shares nothing with the store.
func testEraseWithoutWaiting(b *env) {
	for n := range 100 {
		v := schedule("a", chat("c"), 10)
		scheduleEnv{b}.put(v)
		b.set("test:ann", "language", "en")
		ctx, cancel := context.WithCancel(b.Context())
		time.AfterFunc(time.Duration(n)*10*time.Microsecond, cancel)
		d, err := b.store.Erase(ctx, "test:ann")
		cancel()
		if errors.Is(err, context.Canceled) { // the schedule may be left
			d.Schedules, err = 1, nil
			b.erase("test:ann")
		}
		b.ok(err)
		b.same("schedules deleted", d.Schedules, 1)
		scheduleEnv{b}.schedules("")
	}
}

// testRetain: journals go first, turns later; tasks that are not over stay.
func testRetain(b *env) {
	begin := b.clock.now()
	asks(b, chat("c"), "a1", "ann", true)
	asks(b, chat("other"), "a2", "ann", false)
	ledger{b}.reserve("a2", reservation("a", 10, tasks.Budgets{}))
	ledger{b}.settle("a2", "a", use(10))
	b.clock.add(100 * 24 * time.Hour)
	asks(b, chat("c"), "a3", "ann", true)
	month, turns := begin.Add(30*24*time.Hour), b.history(chat("c"), "", 1000)
	for _, step := range []struct {
		what              string
		journals, history time.Time
		want              tasks.Deleted
		turns             []tasks.Turn
	}{
		{"nothing is old", begin, begin, tasks.Deleted{}, turns},
		{"nothing is asked for", time.Time{}, time.Time{}, tasks.Deleted{}, turns},
		{"journals", month, begin, tasks.Deleted{Tasks: 1}, turns},
		{"again", month, begin, tasks.Deleted{}, turns},
		{"turns", month, month, tasks.Deleted{Turns: 1, Spent: 1}, turns[1:]},
	} {
		d, err := b.store.Retain(b.Context(), step.journals, step.history)
		b.ok(err)
		b.same(step.what, d, step.want)
		b.same("turns after "+step.what, b.history(chat("c"), "", 1000), step.turns)
		if d.Tasks > 0 {
			b.missing("a1")
		}
	}
	b.same("turns of a task that is not over", b.turns(chat("other")), []tasks.ID{"a2"})
	b.store = b.reopen()
	b.load("a2", 0)
	b.load("a3", 0)
}

// testRetainByTime: the ids that tasks get tell when there is nothing older.
func testRetainByTime(b *env) {
	begin := b.clock.now()
	var ids []tasks.ID
	for day := range 4 {
		id := tasks.NewID(b.clock.now())
		asks(b, chat(fmt.Sprint(day)), id, "ann", true)
		ids = append(ids, id)
		b.clock.add(24 * time.Hour)
	}
	d, err := b.store.Retain(b.Context(), begin.Add(36*time.Hour), time.Time{})
	b.ok(err)
	b.same("deleted", d, tasks.Deleted{Tasks: 2})
	b.missing(ids[:2]...)
	b.load(ids[2], 0)
	b.load(ids[3], 0)
}
