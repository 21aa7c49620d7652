package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

func testHistory(b *env) {
	start := b.clock.now()
	for i := 1; i <= 4; i++ {
		b.ask(chat("c"), tasks.ID(fmt.Sprintf("t%d", i)), fmt.Sprintf("goal %d", i))
		b.clock.add(time.Minute)
	}
	turn := func(i int, answer string, failed bool) tasks.Turn {
		return tasks.Turn{
			Task: tasks.ID(fmt.Sprintf("t%d", i)), Order: uint64(i), At: start.Add(time.Duration(i-1) * time.Minute),
			Goal: fmt.Sprintf("goal %d", i), Answer: answer, Failed: failed, From: "test:ann",
		}
	}
	b.same("running", b.history(chat("c"), "", 1000), []tasks.Turn{turn(1, "", false), turn(2, "", false), turn(3, "", false), turn(4, "", false)})

	b.plan("t1")
	b.answer("t2", "answer 2")
	b.same("answered out of order, not shown yet", b.history(chat("c"), "t3", 1000), []tasks.Turn{turn(1, "", false), turn(2, "answer 2", false)})
	b.show("t2")
	b.append("t3", planner.Event{Type: planner.CallFailed, Action: b.wanted("t3"), Problem: &planner.Problem{Code: "unreachable"}})
	b.append("t1", planner.Event{Type: planner.Stopped})
	want := []tasks.Turn{turn(1, "", true), turn(2, "answer 2", false), turn(3, "", true), turn(4, "", false)}
	b.same("stopped and failed", b.history(chat("c"), "", 1000), want)
	b.same("before the first", b.history(chat("c"), "t1", 1000), []tasks.Turn(nil))
	b.same("before the last", b.history(chat("c"), "t4", 1000), want[:3])
	b.show("t1")
	b.show("t3")
	b.plan("t4")
	b.append("t4", planner.Event{Type: planner.Replied, Action: planner.WorkID("1/a", 1, 0), Reply: &planner.Reply{Calls: []planner.Call{{ID: "c", Name: "up", Tool: "web.up"}}}},
		planner.Event{Type: planner.Returned, Action: planner.CallID("1/a", 1, 1, 0), Result: &planner.Result{Text: "x", Untrusted: true, Private: planner.Origins{"web"}}},
		planner.Event{Type: planner.Stopped})
	want[3].Failed, want[3].Tainted, want[3].Private = true, true, planner.Origins{"web"}
	b.same("with words of outsiders", b.history(chat("c"), "", 1000), want)
	b.store = b.reopen()
	b.same("after reopening", b.history(chat("c"), "", 1000), want)
	if turns, err := b.store.History(b.Context(), chat("c").Key(), "unknown", 1000); !errors.Is(err, tasks.ErrNoTask) {
		b.Fatalf("History before an unknown task: got %+v, %v, want ErrNoTask", turns, err)
	}
}

func testHistoryBudget(b *env) {
	for i, answer := range []string{"12345", "", strings.Repeat("x", 50), "ж"} { // turns of 7, 2, 52 and 4 bytes
		id := tasks.ID(fmt.Sprintf("t%d", i))
		b.ask(chat("c"), id, "go")
		if answer == "" {
			b.append(id, Ending()...)
			continue
		}
		b.finish(id, answer)
	}
	for _, c := range []struct{ max, turns int }{
		{-1, 0}, {0, 0}, {3, 0}, {4, 1}, {6, 1}, {55, 1}, {56, 2}, {57, 2}, {58, 3}, {64, 3}, {65, 4}, {1 << 40, 4},
	} {
		got := b.history(chat("c"), "", c.max)
		if n := len(got); n != c.turns || n > 0 && got[n-1].Task != "t3" {
			b.Fatalf("history of at most %d bytes: got %+v, want the newest %d turns", c.max, got, c.turns)
		}
	}
	b.ask(chat("d"), "long", strings.Repeat("ж", 5000)) // is shortened, not left out with all that came before it
	got := b.history(chat("d"), "", 1000)
	if len(got) != 1 || len(got[0].Goal) > 500 || !strings.HasPrefix(got[0].Goal, "жжж") || !utf8.ValidString(got[0].Goal) {
		b.Fatalf("History of one goal of 10,000 bytes within 1,000: got %.80v", got)
	}
}

// testBrought: a turn holds the messages that its question brought along. The newest
// turn loses the second message first when it is too long.
func testBrought(b *env) {
	said := []bot.Quoted{{From: "ann", Text: "the site is down", At: b.clock.now(), Own: true}, {From: "bob", Text: "lunch?"}, {From: "eve", Text: "why?"}}
	in := b.question(chat("c"), "t1", "answer her")
	in.Open.Opening.Earlier = said
	b.open(in)
	b.finish("t1", "a full disk")
	b.same("all", b.history(chat("c"), "", 1000)[0].Brought, said)
	b.store = b.reopen()
	for _, c := range []struct {
		max  int
		want []bot.Quoted
	}{{56, said}, {55, []bot.Quoted{said[0], said[2]}}, {46, said[:1]}, {39, nil}} {
		got := b.history(chat("c"), "", c.max)
		if len(got) != 1 || got[0].Goal != "answer her" {
			b.Fatalf("history of at most %d bytes: got %+v, want the question", c.max, got)
		}
		b.same(fmt.Sprintf("at most %d bytes", c.max), append([]bot.Quoted(nil), got[0].Brought...), c.want)
	}
	turns, err := b.store.Turns(b.Context(), chat("c").Key(), 0, 10)
	b.ok(err)
	b.same("of a summary", turns[0].Brought, said)
}

func testCut(b *env) {
	b.ask(chat("c"), "t1", "one")
	b.ask(chat("d"), "u1", "elsewhere")
	b.deliver(tasks.Inbound{Key: "cut1", Cut: true, Chat: chat("c")})
	b.same("after a cut", b.turns(chat("c")), []tasks.ID(nil))
	b.answer("t1", "late answer")
	b.same("an answer after the cut", b.turns(chat("c")), []tasks.ID(nil))
	b.ask(chat("c"), "t2", "two")
	b.same("after a cut and a question", b.turns(chat("c")), []tasks.ID{"t2"})

	both := b.question(chat("c"), "t3", "three")
	both.Cut = true
	b.open(both)
	b.same("history then", b.turns(chat("c")), []tasks.ID{"t3"})
	b.same("before the cut", b.history(chat("c"), "t2", 1000), []tasks.Turn(nil))
	b.same("another conversation", len(b.history(chat("d"), "", 1000)), 1)
	b.store = b.reopen()
	b.same("after reopening", b.turns(chat("c")), []tasks.ID{"t3"})
}

func (b *env) set(owner, name, value string) {
	b.Helper()
	b.ok(b.store.PutSetting(b.Context(), owner, name, value))
}

func (b *env) setting(owner, name, want string) {
	b.Helper()
	got, err := b.store.Setting(b.Context(), owner, name)
	if err != nil || got != want {
		b.Fatalf("Setting(%q, %q): got %q, %v, want %q", owner, name, got, err, want)
	}
}

func testSettings(b *env) {
	b.setting("test:ann", "language", "")
	b.set("test:ann", "language", "ru")
	b.set("test:ann", "timezone", "Asia/Tokyo")
	b.set("test:an", "nlanguage", "zh")
	b.set("", "", "neither")
	b.setting("test:ann", "language", "ru")
	b.setting("test:an", "nlanguage", "zh")
	b.setting("test:ann", "nlanguage", "")
	b.set("test:ann", "language", "en")
	b.set("test:an", "nlanguage", "")
	b.store = b.reopen()
	b.setting("test:ann", "language", "en")
	b.setting("test:ann", "timezone", "Asia/Tokyo")
	b.setting("test:an", "nlanguage", "")
	b.setting("", "", "neither")
	b.set("test:bob", "language", "zh")
	owners, err := b.store.SettingOwners(b.Context(), "language")
	b.ok(err)
	b.same("owners of a language", owners, []string{"test:ann", "test:bob"})
	if err := b.store.PutSetting(b.Context(), strings.Repeat("x", 100000), "n", "v"); err == nil {
		b.Fatal("PutSetting of an owner of 100,000 bytes: got no error")
	}
	b.setting(strings.Repeat("x", 100000), "n", "")
}

// summarise stores a summary and expects an error, or nil.
func (b *env) summarise(c bot.Chat, before, until uint64, want error) tasks.Summary {
	b.Helper()
	v := tasks.Summary{Until: until, Text: fmt.Sprintf("%s up to %d", c.Key(), until), At: b.clock.now(), Tainted: until%2 == 0, Private: planner.Origins{"mail", "web"}}
	if err := b.store.PutSummary(b.Context(), c.Key(), before, v); !errors.Is(err, want) || (want == nil) != (err == nil) {
		b.Fatalf("PutSummary(%s, %d, %+v): got %v, want %v", c.Key(), before, v, err, want)
	}
	return v
}

func (b *env) summary(c bot.Chat, want tasks.Summary) {
	b.Helper()
	got, err := b.store.Summary(b.Context(), c.Key())
	b.ok(err)
	b.same("summary of "+c.Key(), got, want)
}

func (b *env) orders(c bot.Chat, after uint64, limit int, want ...uint64) {
	b.Helper()
	turns, err := b.store.Turns(b.Context(), c.Key(), after, limit)
	b.ok(err)
	var got []uint64
	for _, t := range turns {
		got = append(got, t.Order)
	}
	b.same(fmt.Sprintf("turns of %s after %d", c.Key(), after), got, want)
}

// exchanges opens and ends so many tasks of each chat in turn. Their orders begin at 1.
func exchanges(b *env, rounds int, chats ...bot.Chat) {
	b.Helper()
	for n := range rounds {
		for _, c := range chats {
			b.finished(c, tasks.ID(fmt.Sprintf("%s.%d", c.ID, n)))
			b.clock.add(time.Minute)
		}
	}
}

func testSummaries(b *env) {
	exchanges(b, 3, chat("c"), chat("d")) // c has 1, 3 and 5
	b.summary(chat("c"), tasks.Summary{})
	b.summarise(chat("c"), 1, 3, tasks.ErrConflict) // there is none up to 1
	b.summarise(chat("c"), 0, 2, tasks.ErrConflict) // it is no turn of c
	b.summarise(chat("c"), 0, 7, tasks.ErrConflict)
	b.summarise(chat("c"), 0, 0, tasks.ErrConflict)
	first := b.summarise(chat("c"), 0, 1, nil)
	b.summary(chat("c"), first)
	b.summarise(chat("c"), 0, 3, tasks.ErrConflict) // another has taken its place
	b.summarise(chat("c"), 1, 1, tasks.ErrConflict)
	b.store = b.reopen()
	b.summary(chat("c"), first)
	b.summary(chat("d"), tasks.Summary{})
	second := b.summarise(chat("c"), 1, 5, nil)
	b.summarise(chat("d"), 0, 4, nil)
	b.summary(chat("c"), second)
	b.same("the turns are still there", len(b.history(chat("c"), "", 1000)), 3)
}

func testTurns(b *env) {
	exchanges(b, 3, chat("c"), chat("d"))
	b.ask(chat("c"), "t", "runs") // 7
	b.orders(chat("c"), 0, 10, 1, 3, 5, 7)
	b.orders(chat("c"), 1, 2, 3, 5)
	b.orders(chat("c"), 4, 10, 5, 7)
	b.orders(chat("c"), 7, 10)
	b.orders(chat("c"), 0, 0)
	b.orders(chat("unknown"), 0, 10)
	turns, err := b.store.Turns(b.Context(), chat("c").Key(), 0, 100)
	b.ok(err)
	b.same("as in the history", turns, b.history(chat("c"), "", 10000))
	b.append("t", planner.Event{Type: planner.Stopped})
	b.deliver(tasks.Inbound{Key: "cut", Cut: true, Chat: chat("d")})
	b.store = b.reopen()
	turns, err = b.store.Turns(b.Context(), chat("c").Key(), 0, 100)
	b.ok(err)
	b.same("as in the history, where one was stopped", turns, b.history(chat("c"), "", 10000))
	b.orders(chat("d"), 0, 10)
	b.finished(chat("d"), "after")
	b.orders(chat("d"), 0, 10, 8)
}

// testSummaryCut: the part that was cut is in no summary any more.
func testSummaryCut(b *env) {
	exchanges(b, 3, chat("c"))
	b.summarise(chat("c"), 0, 2, nil)
	b.deliver(tasks.Inbound{Key: "cut", Cut: true, Chat: chat("c")})
	b.summary(chat("c"), tasks.Summary{})
	b.summarise(chat("c"), 2, 3, tasks.ErrConflict) // it was being made
	b.summarise(chat("c"), 0, 3, tasks.ErrConflict)
	b.store = b.reopen()
	b.summarise(chat("c"), 0, 3, tasks.ErrConflict)
	b.finished(chat("c"), "after")
	b.summarise(chat("c"), 2, 4, tasks.ErrConflict)
	b.summary(chat("c"), tasks.Summary{})
	b.summary(chat("c"), b.summarise(chat("c"), 0, 4, nil))
}

// testSummaryForget: no summary has forgotten text, also none that was being made.
func testSummaryForget(b *env) {
	exchanges(b, 3, chat("c"), chat("d"))
	b.summarise(chat("c"), 0, 1, nil)
	kept := b.summarise(chat("d"), 0, 4, nil)
	b.ask(chat("c"), "runs", "goal") // 7
	b.forget(chat("c"), 3)
	b.summary(chat("c"), tasks.Summary{})
	for _, until := range []uint64{1, 5, 7} {
		b.summarise(chat("c"), 0, until, tasks.ErrConflict)
		b.summarise(chat("c"), 1, until, tasks.ErrConflict)
	}
	b.summary(chat("d"), kept)
	b.finish("runs", "answer")
	b.finished(chat("c"), "after")
	b.summary(chat("c"), b.summarise(chat("c"), 0, 8, nil))
	b.store = b.reopen()
	b.forget(chat("c"), 2)
	for range 2 {
		b.summary(chat("c"), tasks.Summary{})
		b.store = b.reopen()
	}
}

// testSummaryMove: a summary goes with its turns, and hides no turn of the other one.
func testSummaryMove(b *env) {
	exchanges(b, 2, chat("old")) // 1 and 2
	exchanges(b, 2, chat("new")) // 3 and 4
	first := b.summarise(chat("old"), 0, 2, nil)
	b.summarise(chat("new"), 0, 3, nil) // leaves out 1 and 2
	b.move(chat("old"), chat("new"))
	b.store = b.reopen()
	b.summary(chat("new"), first)
	b.summary(chat("old"), tasks.Summary{})
	second := b.summarise(chat("new"), 2, 4, nil)

	b.finished(chat("x"), "x") // 5
	b.move(chat("x"), chat("new"))
	b.summary(chat("new"), second)
	b.finished(chat("x"), "x2") // 6
	b.finished(chat("new"), "n6")
	b.summarise(chat("new"), 4, 7, nil)
	b.move(chat("x"), chat("new")) // 6 is in no summary
	b.summary(chat("new"), tasks.Summary{})
	b.orders(chat("new"), 0, 10, 1, 2, 3, 4, 5, 6, 7)
	b.finished(chat("y"), "y1") // 8
	b.finished(chat("y"), "y2") // 9
	b.summarise(chat("y"), 0, 9, nil)
	b.move(chat("y"), chat("new"))
	b.summary(chat("new"), tasks.Summary{})
	b.move(chat("new"), chat("z"))
	b.summarise(chat("z"), 0, 9, tasks.ErrConflict) // made of what z had before
	b.finished(chat("z"), "z")
	b.summary(chat("z"), b.summarise(chat("z"), 0, 10, nil))
}
