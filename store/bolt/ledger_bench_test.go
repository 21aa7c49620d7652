package bolt_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/store/storetest"
	"legwork/tasks"
)

// BenchmarkAnswer stores what a plain answer takes, as 64 people wait for theirs:
// the question, the reply, its way out. With a reservation it is one transaction
// more, which the callers of the moment share.
func BenchmarkAnswer(b *testing.B) {
	for _, people := range []int{1, senders} {
		for name, reserves := range map[string]bool{"unreserved": false, "reserved": true} {
			b.Run(fmt.Sprintf("%d/%s", people, name), func(b *testing.B) {
				s := open(b, b.TempDir(), bolt.Options{})
				took := make([][]time.Duration, people)
				var wg sync.WaitGroup
				b.ResetTimer()
				for p := range people {
					wg.Go(func() {
						for n := p; n < b.N; n += people {
							from := time.Now()
							if err := answerOnce(b, s, p, n, reserves); err != nil {
								b.Error(err)
								return
							}
							took[p] = append(took[p], time.Since(from))
						}
					})
				}
				wg.Wait()
				report(b, slices.Concat(took...))
			})
		}
	}
}

// answerOnce is one question and its answer.
func answerOnce(b *testing.B, s *bolt.Store, person, n int, reserves bool) error {
	id := tasks.ID(fmt.Sprintf("%026d", n))
	in := storetest.Question(bot.Chat{Platform: "test", ID: fmt.Sprint(person)}, id, "What is it?")
	if _, err := s.Open(b.Context(), []tasks.Inbound{in}); err != nil {
		return err
	}
	var err error
	if reserves {
		r := reserved("plan 1.0", 1<<40)
		r.User, r.Chat = fmt.Sprint("test:u", person), fmt.Sprint("test:", person)
		hold := r.Most
		r.Hold = &hold
		err = s.Reserve(b.Context(), id, r)
	}
	reply := &planner.Reply{Text: "It is.", Usage: llm.Usage{Input: 50, Output: 30}, Model: "main"}
	return errors.Join(err,
		s.Append(b.Context(), id, -1, 0, planner.Event{Type: planner.Replied, Action: planner.DecisionID("plan", 1, 0), Reply: reply},
			planner.Event{Type: planner.SendStarted, Slot: planner.SlotAnswer}),
		s.Append(b.Context(), id, -1, 0, planner.Event{Type: planner.Sent, Slot: planner.SlotAnswer, Message: "m", Last: true}))
}

// BenchmarkReserve is the transaction that a call waits for before it is made.
func BenchmarkReserve(b *testing.B) {
	s := open(b, b.TempDir(), bolt.Options{})
	var batch []tasks.Inbound
	for p := range senders {
		batch = append(batch, storetest.Question(bot.Chat{Platform: "test", ID: fmt.Sprint(p)}, tasks.ID(fmt.Sprint(p)), "goal"))
	}
	if _, err := s.Open(b.Context(), batch); err != nil {
		b.Fatal(err)
	}
	send(b, func(sender, n int) error {
		id, action := tasks.ID(fmt.Sprint(sender)), fmt.Sprint("call ", n)
		err := s.Reserve(b.Context(), id, reserved(action, 1<<40))
		return errors.Join(err, s.Settle(b.Context(), id, storetest.ReservationID(action), llm.Usage{Input: 50, Output: 30}))
	})
}

// BenchmarkYear reads the ledger of a year, of a hundred people with three
// models, and of one day and one person of it.
func BenchmarkYear(b *testing.B) {
	const days, people, models = 365, 100, 3
	s := open(b, b.TempDir(), bolt.Options{})
	var batch []tasks.Inbound
	for p := range people {
		batch = append(batch, storetest.Question(bot.Chat{Platform: "test", ID: fmt.Sprint(p)}, tasks.ID(fmt.Sprint(p)), "goal"))
	}
	if _, err := s.Open(b.Context(), batch); err != nil {
		b.Fatal(err)
	}
	day := func(n int) string { return time.Date(2026, 1, 1+n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly) }
	var wg sync.WaitGroup
	for p := range people {
		wg.Go(func() {
			for n := range days * models {
				r := reserved("a", 0)
				r.Day, r.User, r.Chat, r.Model = day(n/models), fmt.Sprint("test:", p), fmt.Sprint("test:", p), fmt.Sprint("model", n%models)
				id := tasks.ID(fmt.Sprint(p))
				if err := errors.Join(s.Reserve(b.Context(), id, r), s.Settle(b.Context(), id, r.ID, r.Most)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for name, q := range map[string]struct {
		tasks.SpentQuery
		rows int
	}{
		"all":    {tasks.SpentQuery{}, days * people * models},
		"day":    {tasks.SpentQuery{From: day(200), To: day(200)}, people * models},
		"person": {tasks.SpentQuery{User: "test:7"}, days * models},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if list, err := s.Spent(b.Context(), q.SpentQuery); err != nil || len(list) != q.rows {
					b.Fatalf("Spent: got %d rows, %v, want %d", len(list), err, q.rows)
				}
			}
		})
	}
}
