package storetest

import (
	"errors"

	"legwork/tasks"
)

// testFollow: who follows a store hears of each task that a transaction
// changed, of those that it released, too, and of nothing after the end.
func testFollow(b *env) {
	heard := make(chan tasks.ID, 100)
	stop := b.store.Follow(func(id tasks.ID) { heard <- id })
	next := func(want ...tasks.ID) {
		b.Helper()
		for _, id := range want {
			select {
			case got := <-heard:
				b.same("heard of", got, id)
			default:
				b.Fatalf("nobody was told that %s changed", id)
			}
		}
		select {
		case got := <-heard:
			b.Fatalf("heard of %s, want nothing more", got)
		default:
		}
	}
	b.ask(chat("c"), "t1", "first")
	b.ask(chat("c"), "t2", "second")
	next("t1", "t2")
	if err := b.store.Append(b.Context(), "t1", 0, 0, said("x")); !errors.Is(err, tasks.ErrConflict) {
		b.Fatalf("Append: got %v, want ErrConflict", err)
	}
	next()
	b.answer("t1", "answer")
	next("t1")
	b.show("t1")
	told := map[tasks.ID]bool{}
	for len(heard) > 0 {
		told[<-heard] = true
	}
	b.same("heard of the end of t1 and of t2's release", told, map[tasks.ID]bool{"t1": true, "t2": true})
	stop()
	b.append("t2", said("late"))
	next()
}
