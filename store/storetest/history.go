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
	b.append("t3", planner.Event{Type: planner.CallFailed, Action: planner.Todo(b.state("t3"))[0].ID, Problem: &planner.Problem{Code: "unreachable"}})
	b.append("t1", planner.Event{Type: planner.Stopped})
	want := []tasks.Turn{turn(1, "", true), turn(2, "answer 2", false), turn(3, "", true), turn(4, "", false)}
	b.same("stopped and failed", b.history(chat("c"), "", 1000), want)
	b.same("before the first", b.history(chat("c"), "t1", 1000), []tasks.Turn(nil))
	b.same("before the last", b.history(chat("c"), "t4", 1000), want[:3])
	b.show("t1")
	b.show("t3")
	b.plan("t4")
	b.append("t4", planner.Event{Type: planner.Replied, Action: planner.WorkID("1/a", 1, 0), Reply: &planner.Reply{Calls: []planner.Call{{ID: "c", Name: "up", Tool: "web.up"}}}},
		planner.Event{Type: planner.Returned, Action: planner.CallID("1/a", 1, 1, 0), Result: &planner.Result{Text: "x", Untrusted: true}},
		planner.Event{Type: planner.Stopped})
	want[3].Failed, want[3].Tainted = true, true
	b.same("with words of outsiders", b.history(chat("c"), "", 1000), want)
	b.store = b.reopen()
	b.same("after reopening", b.history(chat("c"), "", 1000), want)
	turns, err := b.store.Turns(b.Context(), chat("c").Key(), 0, 10)
	if err != nil {
		b.Fatalf("listing turns: %v", err)
	}
	b.same("as a list", turns, want)
	if turns, err := b.store.History(b.Context(), chat("c").Key(), "unknown", 1000); !errors.Is(err, tasks.ErrNoTask) {
		b.Fatalf("History before an unknown task: got %+v, %v, want ErrNoTask", turns, err)
	}
}

func testHistoryBudget(b *env) {
	for i, answer := range []string{"12345", "", strings.Repeat("x", 50), "ж"} { // turns of 7, 2, 52 and 4 bytes
		id := tasks.ID(fmt.Sprintf("t%d", i))
		b.ask(chat("c"), id, "go")
		if answer != "" {
			b.answer(id, answer)
		} else {
			b.append(id, planner.Event{Type: planner.Stopped})
		}
		b.show(id)
	}
	for _, c := range []struct{ max, turns int }{
		{-1, 0}, {0, 0}, {3, 0}, {4, 1}, {6, 1}, {55, 1}, {56, 2}, {57, 2}, {58, 3}, {64, 3}, {65, 4}, {1 << 40, 4},
	} {
		got := b.history(chat("c"), "", c.max)
		if len(got) != c.turns {
			b.Fatalf("history of at most %d bytes: got %d turns, %+v, want %d", c.max, len(got), got, c.turns)
		}
		if n := len(got); n > 0 && got[n-1].Task != "t3" {
			b.Fatalf("history of at most %d bytes ends with %q, want the newest turn", c.max, got[n-1].Task)
		}
	}
}

// testHistoryLongest: one turn longer than the budget is shortened, not left
// out with all that came before it.
func testHistoryLongest(b *env) {
	b.ask(chat("c"), "t1", strings.Repeat("ж", 5000))
	got := b.history(chat("c"), "", 1000)
	if len(got) != 1 || len(got[0].Goal) > 500 || !strings.HasPrefix(got[0].Goal, "жжж") || !utf8.ValidString(got[0].Goal) {
		b.Fatalf("History of one goal of 10,000 bytes within 1,000: got %.80v", got)
	}
}

func testCut(b *env) {
	goals := func(before tasks.ID) (list []string) {
		for _, t := range b.history(chat("c"), before, 1000) {
			list = append(list, t.Goal)
		}
		return list
	}
	b.ask(chat("c"), "t1", "one")
	b.ask(chat("d"), "u1", "elsewhere")
	b.deliver(tasks.Inbound{Key: "cut1", Cut: true, Chat: chat("c")})
	b.same("after a cut", goals(""), []string(nil))
	b.answer("t1", "late answer")
	b.same("an answer after the cut", goals(""), []string(nil))
	b.ask(chat("c"), "t2", "two")
	b.same("after a cut and a question", goals(""), []string{"two"})

	both := b.question(chat("c"), "t3", "three")
	both.Cut = true
	b.same("a cut with a question", b.deliver(both), []tasks.Receipt{{Task: "t3", Seq: 1, Opened: true}})
	b.same("history then", goals(""), []string{"three"})
	b.same("before the cut", goals("t2"), []string(nil))
	b.same("another conversation", len(b.history(chat("d"), "", 1000)), 1)
	b.store = b.reopen()
	b.same("after reopening", goals(""), []string{"three"})
}

// testConversations uses names that a careless key would mix up.
func testConversations(b *env) {
	names := []bot.Chat{
		chat("1"), chat("12"), chat("1\x00"), chat("1/2"),
		{Platform: "test", ID: "1", Thread: "3"},
		chat("1\xff"), chat(strings.Repeat("n", 300)), chat("群聊"),
	}
	for i, c := range names {
		for n := range 3 {
			b.ask(c, tasks.ID(fmt.Sprintf("t%d.%d", i, n)), c.Key())
		}
	}
	for i, c := range names {
		turns := b.history(c, "", 10000)
		if len(turns) != 3 {
			b.Fatalf("history of %q: got %+v, want its 3 turns", c.Key(), turns)
		}
		for n, turn := range turns {
			b.same("task", turn.Task, tasks.ID(fmt.Sprintf("t%d.%d", i, n)))
		}
		b.same("live", len(b.live(c.Key())), 3)
	}
}

func testSettings(b *env) {
	put := func(owner, name, value string) {
		b.Helper()
		if err := b.store.PutSetting(b.Context(), owner, name, value); err != nil {
			b.Fatalf("PutSetting(%q, %q, %q): %v", owner, name, value, err)
		}
	}
	get := func(owner, name, want string) {
		b.Helper()
		got, err := b.store.Setting(b.Context(), owner, name)
		if err != nil || got != want {
			b.Fatalf("Setting(%q, %q): got %q, %v, want %q", owner, name, got, err, want)
		}
	}
	get("test:ann", "language", "")
	put("test:ann", "language", "ru")
	put("test:ann", "timezone", "Asia/Tokyo")
	put("test:an", "nlanguage", "zh")
	put("", "", "neither")
	get("test:ann", "language", "ru")
	get("test:an", "nlanguage", "zh")
	get("test:ann", "nlanguage", "")
	put("test:ann", "language", "en")
	put("test:an", "nlanguage", "")
	b.store = b.reopen()
	get("test:ann", "language", "en")
	get("test:ann", "timezone", "Asia/Tokyo")
	get("test:an", "nlanguage", "")
	get("", "", "neither")
	if err := b.store.PutSetting(b.Context(), strings.Repeat("x", 100000), "n", "v"); err == nil {
		b.Fatal("PutSetting of an owner of 100,000 bytes: got no error")
	}
	get(strings.Repeat("x", 100000), "n", "")
}
