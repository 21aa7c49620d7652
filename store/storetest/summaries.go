package storetest

import (
	"errors"
	"fmt"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

// summarise stores a summary and expects an error, or nil.
func (b *env) summarise(c bot.Chat, before, until uint64, want error) tasks.Summary {
	b.Helper()
	v := tasks.Summary{Until: until, Text: fmt.Sprintf("%s up to %d", c.Key(), until), At: b.clock.now(), Tainted: until%2 == 0}
	if err := b.store.PutSummary(b.Context(), c.Key(), before, v); !errors.Is(err, want) || (want == nil) != (err == nil) {
		b.Fatalf("PutSummary(%s, %d, %+v): got %v, want %v", c.Key(), before, v, err, want)
	}
	return v
}

func (b *env) summary(c bot.Chat, want tasks.Summary) {
	b.Helper()
	got, err := b.store.Summary(b.Context(), c.Key())
	if err != nil {
		b.Fatalf("Summary(%s): %v", c.Key(), err)
	}
	b.same("summary of "+c.Key(), got, want)
}

func (b *env) orders(c bot.Chat, after uint64, limit int, want ...uint64) {
	b.Helper()
	turns, err := b.store.Turns(b.Context(), c.Key(), after, limit)
	if err != nil {
		b.Fatalf("Turns(%s, %d, %d): %v", c.Key(), after, limit, err)
	}
	var got []uint64
	for _, t := range turns {
		got = append(got, t.Order)
	}
	b.same(fmt.Sprintf("turns of %s after %d", c.Key(), after), got, want)
}

// exchanges opens and ends so many tasks of each chat in turn, and counts their
// orders from 1.
func (b *env) exchanges(rounds int, chats ...bot.Chat) {
	b.Helper()
	for n := range rounds {
		for _, c := range chats {
			b.finished(c, tasks.ID(fmt.Sprintf("%s.%d", c.ID, n)))
			b.clock.add(time.Minute)
		}
	}
}

func testSummaries(b *env) {
	b.exchanges(3, chat("c"), chat("d")) // c has 1, 3 and 5
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
	b.summary(chat("c"), first)
	second := b.summarise(chat("c"), 1, 5, nil)
	b.summarise(chat("d"), 0, 4, nil)
	b.summary(chat("c"), second)
	b.same("the turns are still there", len(b.history(chat("c"), "", 1000)), 3)
}

func testTurns(b *env) {
	b.exchanges(3, chat("c"), chat("d"))
	b.ask(chat("c"), "t", "runs") // 7
	b.orders(chat("c"), 0, 10, 1, 3, 5, 7)
	b.orders(chat("c"), 1, 2, 3, 5)
	b.orders(chat("c"), 4, 10, 5, 7)
	b.orders(chat("c"), 7, 10)
	b.orders(chat("c"), 0, 0)
	b.orders(chat("unknown"), 0, 10)
	turns, err := b.store.Turns(b.Context(), chat("c").Key(), 0, 100)
	if err != nil {
		b.Fatal(err)
	}
	b.same("as in the history", turns, b.history(chat("c"), "", 10000))
	b.append("t", planner.Event{Type: planner.Stopped})
	b.deliver(tasks.Inbound{Key: "cut", Cut: true, Chat: chat("d")})
	b.store = b.reopen()
	turns, err = b.store.Turns(b.Context(), chat("c").Key(), 5, 100)
	if err != nil || len(turns) != 1 || !turns[0].Failed || turns[0].Goal != "runs" {
		b.Fatalf("Turns after one was stopped: got %+v, %v, want it failed", turns, err)
	}
	b.orders(chat("d"), 0, 10)
	b.finished(chat("d"), "after")
	b.orders(chat("d"), 0, 10, 8)
}

// testSummaryCut: the part that was cut is in no summary any more.
func testSummaryCut(b *env) {
	b.exchanges(3, chat("c"))
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

// testSummaryForget: a forgotten text comes back by no summary, also by none
// that was being made of it, beside a task that is not over.
func testSummaryForget(b *env) {
	b.exchanges(3, chat("c"), chat("d"))
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
	b.answer("runs", "answer")
	b.show("runs")
	b.finished(chat("c"), "after")
	b.summary(chat("c"), b.summarise(chat("c"), 0, 8, nil))
	b.store = b.reopen()
	b.forget(chat("c"), 2)
	b.summary(chat("c"), tasks.Summary{})
	b.store = b.reopen()
	b.summary(chat("c"), tasks.Summary{})
}

// testSummaryMove: a summary goes with its turns, and hides none of the other
// conversation.
func testSummaryMove(b *env) {
	b.exchanges(2, chat("old")) // 1 and 2
	b.exchanges(2, chat("new")) // 3 and 4
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
