package storetest

import (
	"errors"
	"fmt"
	"time"

	"legwork/bot"
	"legwork/internal/test/need"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// asks opens a task of somebody, and ends it when it is to be over.
func (b *env) asks(c bot.Chat, id tasks.ID, who string, over bool) {
	b.Helper()
	in := b.question(c, id, "goal of "+string(id))
	in.Open.Opening.From = bot.Person{Platform: "test", ID: who}
	if got := b.deliver(in)[0]; got.Err != nil || !got.Opened {
		b.Fatalf("asking %s: got %+v", id, got)
	}
	if over {
		b.answer(id, "answer to "+string(id))
		b.show(id)
	}
}

func (b *env) putSetting(owner, name, value string) {
	b.Helper()
	if err := b.store.PutSetting(b.Context(), owner, name, value); err != nil {
		b.Fatal(err)
	}
}

func (b *env) valueOf(owner, name string) string {
	b.Helper()
	value, err := b.store.Setting(b.Context(), owner, name)
	if err != nil {
		b.Fatal(err)
	}
	return value
}

// spends lets a task cost something on a day.
func (b *env) spends(id tasks.ID, day, user, room string) {
	b.Helper()
	todo := planner.Todo(b.state(id))
	if len(todo) == 0 {
		b.Fatalf("task %s wants nothing", id)
	}
	r := tasks.Reservation{ID: tasks.ReservationID{Action: todo[0].ID}, Day: day, User: user, Chat: room, Model: "m", Most: llm.Usage{Input: 10}}
	if err := b.store.Reserve(b.Context(), id, r); err != nil {
		b.Fatal(err)
	}
	if err := b.store.Settle(b.Context(), id, r.ID, llm.Usage{Input: 10}); err != nil {
		b.Fatal(err)
	}
}

func (b *env) spenders() []string {
	b.Helper()
	rows, err := b.store.Spent(b.Context(), tasks.SpentQuery{})
	if err != nil {
		b.Fatal(err)
	}
	var list []string
	for _, r := range rows {
		list = append(list, r.Day+" "+r.User+" "+r.Chat)
	}
	return list
}

func (b *env) forgetWho(who string) tasks.Deleted {
	b.Helper()
	d, err := b.store.Erase(b.Context(), who)
	if err != nil {
		b.Fatalf("Erase(%s): %v", who, err)
	}
	return d
}

// none fails unless tasks are gone; there unless they are there.
func (b *env) none(ids ...tasks.ID) {
	b.Helper()
	for _, id := range ids {
		if _, err := b.store.Load(b.Context(), id, 0); !errors.Is(err, tasks.ErrNoTask) {
			b.Errorf("task %s: got %v, want ErrNoTask", id, err)
		}
	}
}

func (b *env) there(ids ...tasks.ID) {
	b.Helper()
	for _, id := range ids {
		b.load(id, 0)
	}
}

// testForgetPerson: a person's data goes, wherever it is; data of others in
// the same chats stays, and so do tasks that are not over.
func testForgetPerson(b *env) {
	private, group := chat("bob"), bot.Chat{Platform: "test", ID: "group"}
	b.asks(private, "a1", "bob", true)
	b.asks(group, "a2", "bob", true)
	b.asks(group, "a3", "ann", true)
	b.asks(group, "a4", "bob", false)
	b.spends("a4", "2026-11-20", "test:bob", "test:group")
	b.asks(chat("ann"), "a5", "ann", false)
	b.spends("a5", "2026-11-20", "test:ann", "test:ann")
	b.putSetting("test:bob", "language", "de")
	b.putSetting("test:bobby", "language", "en")
	b.putSetting("test:group", "prompt test:bob", "a form")
	b.putSetting("test:group", "grants", `[{"id":"1","by":"test:bob"},{"id":"2","by":"test:ann"}]`)
	b.putSetting("legwork", "access_requests", `[{"person":{"platform":"test","id":"bob"},"chat":{"platform":"test","id":"x"}}]`)
	b.putSetting("legwork", "admins", `["test:bob"]`)
	for id, who := range map[string]string{"s1": "bob", "s2": "ann"} {
		if err := b.store.PutSchedule(b.Context(), tasks.Schedule{ID: id, Chat: group, From: bot.Person{Platform: "test", ID: who}, Goal: "again"}); err != nil {
			b.Fatal(err)
		}
	}
	turns := b.history(group, "", 1<<20)
	if err := b.store.PutSummary(b.Context(), group.Key(), 0, tasks.Summary{Until: turns[1].Order, Text: "what bob said"}); err != nil {
		b.Fatal(err)
	}
	got := b.forgetWho("test:bob")
	b.same("deleted", got, tasks.Deleted{Tasks: 2, Turns: 2, Summaries: 1, Settings: 4, Schedules: 1, Spent: 1, Live: []tasks.ID{"a4"}})
	b.none("a1", "a2")
	b.there("a3", "a4", "a5")
	b.same("turns of the group", b.goals(group), []string{"goal of a3", "goal of a4"})
	b.same("turns of the private chat", b.goals(private), []string(nil))
	b.same("ledger", b.spenders(), []string{"2026-11-20 test:ann test:ann"})
	for _, s := range [][3]string{
		{"test:bob", "language", ""},
		{"test:bobby", "language", "en"},
		{"test:group", "prompt test:bob", ""},
		{"test:group", "grants", `[{"id":"2","by":"test:ann"}]`},
		{"legwork", "access_requests", ""},
		{"legwork", "admins", `["test:bob"]`},
	} {
		if value := b.valueOf(s[0], s[1]); value != s[2] {
			b.Errorf("setting %s of %s: got %q, want %q", s[1], s[0], value, s[2])
		}
	}
	if v, err := b.store.Summary(b.Context(), group.Key()); err != nil || v.Text != "" {
		b.Errorf("summary: got %+v, %v", v, err)
	}
	if again := b.forgetWho("test:bob"); !again.Empty() {
		b.Errorf("forgetting again deleted %+v", again)
	}
	if d := b.forgetWho("test:unknown"); !d.Empty() || len(d.Live) > 0 {
		b.Errorf("forgetting an unknown person deleted %+v", d)
	}
}

func (b *env) goals(c bot.Chat) []string {
	b.Helper()
	var list []string
	for _, t := range b.history(c, "", 1<<20) {
		list = append(list, t.Goal)
	}
	return list
}

// testForgetChat: a chat with its threads, and no other whose name begins alike.
func testForgetChat(b *env) {
	in := func(id, thread string) bot.Chat { return bot.Chat{Platform: "test", ID: id, Thread: thread} }
	b.asks(in("C1", ""), "a1", "ann", true)
	b.asks(in("C1", "7"), "a2", "bob", true)
	b.asks(in("C12", ""), "a3", "ann", true)
	b.asks(in("C1", "8"), "a4", "ann", false)
	b.putSetting("test:C1", "model", "big")
	b.putSetting("test:C1/7", "model", "big")
	b.putSetting("test:C12", "model", "big")
	b.same("deleted", b.forgetWho("test:C1"), tasks.Deleted{Tasks: 2, Turns: 2, Settings: 2, Live: []tasks.ID{"a4"}})
	b.none("a1", "a2")
	b.there("a3", "a4")
	b.same("turns", len(b.goals(in("C1", "")))+len(b.goals(in("C1", "7"))), 0)
	b.same("the setting of another chat", b.valueOf("test:C12", "model"), "big")
}

// testForgetMany: more than one transaction holds.
func testForgetMany(b *env) {
	n := need.Times(90, 450)
	for i := range n {
		who := "ann"
		if i%2 == 0 {
			who = "bob"
		}
		b.asks(bot.Chat{Platform: "test", ID: fmt.Sprint("g", i%3)}, tasks.ID(fmt.Sprintf("t%05d", i)), who, true)
	}
	d := b.forgetWho("test:bob")
	b.same("deleted", d, tasks.Deleted{Tasks: n / 2, Turns: n / 2})
	left := 0
	for i := range 3 {
		left += len(b.goals(bot.Chat{Platform: "test", ID: fmt.Sprint("g", i)}))
	}
	b.same("turns that are left", left, n/2)
}

// testRetain: journals go first, turns later; tasks that are not over stay.
func testRetain(b *env) {
	c := chat("c")
	begin := b.clock.now()
	b.asks(c, "a1", "ann", true)
	b.asks(chat("other"), "a2", "ann", false)
	b.spends("a2", begin.Format(time.DateOnly), "test:ann", "test:other")
	b.clock.add(100 * 24 * time.Hour)
	b.asks(c, "a3", "ann", true)
	retain := func(journals, history time.Time) tasks.Deleted {
		b.Helper()
		d, err := b.store.Retain(b.Context(), journals, history)
		if err != nil {
			b.Fatal(err)
		}
		return d
	}
	b.same("nothing is old", retain(begin, begin), tasks.Deleted{})
	b.same("nothing is asked for", retain(time.Time{}, time.Time{}), tasks.Deleted{})
	month := begin.Add(30 * 24 * time.Hour)
	b.same("journals", retain(month, begin), tasks.Deleted{Tasks: 1})
	b.none("a1")
	b.there("a2", "a3")
	b.same("turns stay", b.goals(c), []string{"goal of a1", "goal of a3"})
	b.same("again", retain(month, begin), tasks.Deleted{})
	b.same("turns", retain(month, month), tasks.Deleted{Turns: 1, Spent: 1})
	b.same("turns that are left", b.goals(c), []string{"goal of a3"})
	b.same("turns of what is not over", b.goals(chat("other")), []string{"goal of a2"})
	b.store = b.reopen()
	b.there("a2", "a3")
}

// testRetainByTime: the ids that tasks get tell when there is nothing older.
func testRetainByTime(b *env) {
	begin := b.clock.now()
	var ids []tasks.ID
	for day := range 4 {
		id := tasks.NewID(b.clock.now())
		b.asks(chat(fmt.Sprint(day)), id, "ann", true)
		ids = append(ids, id)
		b.clock.add(24 * time.Hour)
	}
	d, err := b.store.Retain(b.Context(), begin.Add(36*time.Hour), time.Time{})
	if err != nil {
		b.Fatal(err)
	}
	b.same("deleted", d, tasks.Deleted{Tasks: 2})
	b.none(ids[:2]...)
	b.there(ids[2:]...)
}
