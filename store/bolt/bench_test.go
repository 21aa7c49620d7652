package bolt_test

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"legwork/bot"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/store/storetest"
	"legwork/tasks"
)

const senders = 64

// send lets 64 senders work until b.N calls are made, and reports how many
// there were per second and how long the slowest took.
func send(b *testing.B, one func(sender, n int) error) {
	took := make([][]time.Duration, senders)
	var wg sync.WaitGroup
	b.ResetTimer()
	start := time.Now()
	for s := range senders {
		wg.Go(func() {
			for n := s; n < b.N; n += senders {
				from := time.Now()
				if err := one(s, n); err != nil {
					b.Error(err)
					return
				}
				took[s] = append(took[s], time.Since(from))
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(start)
	report(b, slices.Concat(took...))
	b.ReportMetric(float64(b.N)/elapsed.Seconds(), "msgs/s")
	b.ReportMetric(0, "ns/op")
}

// report gives the median and the 99th percentile.
func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkIntake stores messages that open tasks, durably.
func BenchmarkIntake(b *testing.B) {
	s := open(b, b.TempDir(), bolt.Options{})
	goal := strings.Repeat("What is it? ", 12)
	send(b, func(sender, n int) error {
		c := bot.Chat{Platform: "test", ID: fmt.Sprint(sender)}
		got, err := s.Open(b.Context(), []tasks.Inbound{storetest.Question(c, tasks.ID(fmt.Sprintf("%026d", n)), goal)})
		if err == nil && !got[0].Opened {
			err = fmt.Errorf("message %d: receipt %+v", n, got[0])
		}
		return err
	})
}

// BenchmarkIntakeLimit is what bbolt alone can do: the same senders and as many
// bytes, but one append-ordered record per message and no meaning.
func BenchmarkIntakeLimit(b *testing.B) {
	db, err := bbolt.Open(filepath.Join(b.TempDir(), "db"), 0o600, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	value := make([]byte, 1100)
	type job struct {
		n    int
		done chan error
	}
	jobs := make(chan job, senders)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for first := range jobs {
			batch := []job{first}
			for len(jobs) > 0 {
				batch = append(batch, <-jobs)
			}
			err := db.Update(func(tx *bbolt.Tx) error {
				bucket, err := tx.CreateBucketIfNotExists([]byte("b"))
				for _, j := range batch {
					if err == nil {
						err = bucket.Put(binary.BigEndian.AppendUint64(nil, uint64(j.n)), value)
					}
				}
				return err
			})
			for _, j := range batch {
				j.done <- err
			}
		}
	}()
	send(b, func(_, n int) error {
		j := job{n, make(chan error, 1)}
		jobs <- j
		return <-j.done
	})
	close(jobs)
	<-ended
}

// BenchmarkCommit is one event of one task, durably: the price of a step.
func BenchmarkCommit(b *testing.B) {
	s := open(b, b.TempDir(), bolt.Options{})
	if _, err := s.Open(b.Context(), []tasks.Inbound{storetest.Question(bot.Chat{Platform: "test", ID: "c"}, "t", "goal")}); err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for b.Loop() {
		from := time.Now()
		if err := s.Append(b.Context(), "t", -1, 0, planner.Event{Type: planner.GuidanceAdded, Text: "hint"}); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(from))
	}
	report(b, took)
}

// BenchmarkMillion uses a file of a million messages: it reads the newest 50
// turns of random conversations, opens the file, and looks at it as after a
// crash.
func BenchmarkMillion(b *testing.B) {
	const turns, chats = 500_000, 1024 // a goal and an answer each
	dir := b.TempDir()
	s := open(b, dir, bolt.Options{})
	fill(b, s, turns, chats)
	b.Run("History", func(b *testing.B) {
		random := uint64(1)
		var took []time.Duration
		for b.Loop() {
			random = random*6364136223846793005 + 1442695040888963407
			c := bot.Chat{Platform: "test", ID: fmt.Sprint(random >> 33 % chats)}
			from := time.Now()
			got, err := s.History(b.Context(), c.Key(), "", 50*220)
			took = append(took, time.Since(from))
			if err != nil || len(got) < 49 {
				b.Fatalf("history of %s: got %d turns, %v", c.Key(), len(got), err)
			}
		}
		report(b, took)
	})
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run("Open", func(b *testing.B) {
		for b.Loop() {
			if err := open(b, dir, bolt.Options{}).Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("VerifyQuick", func(b *testing.B) {
		for b.Loop() {
			if err := bolt.VerifyQuick(filepath.Join(dir, bolt.FileName)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// fill stores answered tasks of 200 bytes of text each. chats must be a multiple
// of 256, so that no conversation has two tasks at once.
func fill(b *testing.B, s *bolt.Store, turns, chats int) {
	goal, answer := strings.Repeat("g", 80), strings.Repeat("a", 120)
	answered := []planner.Event{
		{Type: planner.Replied, Action: planner.DecisionID("plan", 1, 0), Reply: &planner.Reply{Text: answer}},
		{Type: planner.SendStarted, Slot: planner.SlotAnswer},
		{Type: planner.Sent, Slot: planner.SlotAnswer, Message: "m", Last: true},
	}
	var wg sync.WaitGroup
	for w := range 256 {
		wg.Go(func() {
			for n := w; n < turns; n += 256 {
				id := tasks.ID(fmt.Sprintf("%026d", n))
				c := bot.Chat{Platform: "test", ID: fmt.Sprint(n % chats)}
				if _, err := s.Open(b.Context(), []tasks.Inbound{storetest.Question(c, id, goal)}); err != nil {
					b.Error(err)
					return
				}
				if err := s.Append(b.Context(), id, -1, 0, answered...); err != nil {
					b.Errorf("message %d: %v", n, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkFold folds a task of 4,000 events from the file, as after a start.
func BenchmarkFold(b *testing.B) {
	dir := b.TempDir()
	s := open(b, dir, bolt.Options{})
	if _, err := s.Open(b.Context(), []tasks.Inbound{storetest.Question(bot.Chat{Platform: "test", ID: "c"}, "t", "goal")}); err != nil {
		b.Fatal(err)
	}
	journal := longJournal()
	if err := s.Append(b.Context(), "t", -1, 0, journal...); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		s = open(b, dir, bolt.Options{})
		b.StartTimer()
		state, err := s.State(b.Context(), "t")
		if err != nil || state.Seq != len(journal)+1 {
			b.Fatalf("state at %d, %v, want %d", state.Seq, err, len(journal)+1)
		}
	}
}

// longJournal is what follows the opening of about the largest task that the
// limits allow: six rounds of twelve sub-tasks, twenty turns of two tool calls.
func longJournal() []planner.Event {
	opening := storetest.Question(bot.Chat{Platform: "test", ID: "c"}, "t", "goal").Open
	opening.Seq, opening.At = 1, time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	state := planner.Apply(planner.State{}, *opening)
	var journal []planner.Event
	for len(journal) < 4000 {
		e := planner.Event{Seq: state.Seq + 1, At: opening.At}
		switch a := planner.Todo(state)[0]; {
		case a.Kind == planner.KindTool:
			e.Type, e.Action, e.Result = planner.Returned, a.ID, &planner.Result{Text: strings.Repeat("result ", 60)}
		case a.Role == "work" && a.LastTurn:
			e.Type, e.Action, e.Reply = planner.Replied, a.ID, &planner.Reply{Text: "done"}
		case a.Role == "work":
			e.Type, e.Action, e.Reply = planner.Replied, a.ID, &planner.Reply{Calls: []planner.Call{
				{ID: "1", Name: "web_fetch", Arguments: `{"url":"https://example.com"}`, Tool: "web.fetch"},
				{ID: "2", Name: "web_fetch", Arguments: `{"url":"https://example.org"}`, Tool: "web.fetch"},
			}}
		default:
			e.Type, e.Action, e.Reply = planner.Replied, a.ID, &planner.Reply{IsPlan: true}
			for i := range state.Limits.Subtasks {
				e.Reply.Plan = append(e.Reply.Plan, planner.Subtask{
					ID: fmt.Sprintf("%d/%d", state.Round+1, i), Name: "web", Description: strings.Repeat("look ", 40),
				})
			}
		}
		journal = append(journal, e)
		state = planner.Apply(state, e)
	}
	return journal
}

// BenchmarkLongConversation moves and forgets a conversation of 10,000 finished
// tasks.
func BenchmarkLongConversation(b *testing.B) {
	const n = 10_000
	var moving, forgetting time.Duration
	for b.Loop() {
		b.StopTimer()
		s := open(b, b.TempDir(), bolt.Options{})
		from, to := bot.Chat{Platform: "test", ID: "from"}, bot.Chat{Platform: "test", ID: "to"}
		for part := 0; part < n; part += 500 {
			var batch []tasks.Inbound
			for i := part; i < part+500; i++ {
				id := tasks.ID(fmt.Sprintf("%026d", i))
				batch = append(batch, storetest.Question(from, id, strings.Repeat("word ", 40)))
				for _, e := range storetest.Ending() {
					batch = append(batch, tasks.Inbound{To: id, Event: e})
				}
			}
			if _, err := s.Open(b.Context(), batch); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		start := time.Now()
		if err := s.Move(b.Context(), from.Key(), to); err != nil {
			b.Fatal(err)
		}
		moved := time.Now()
		if got, err := s.Forget(b.Context(), to.Key()); err != nil || got != n {
			b.Fatalf("Forget: got %d, %v, want %d", got, err, n)
		}
		moving, forgetting = moving+moved.Sub(start), forgetting+time.Since(moved)
	}
	b.ReportMetric(float64(moving.Milliseconds())/float64(b.N), "ms/move")
	b.ReportMetric(float64(forgetting.Milliseconds())/float64(b.N), "ms/forget")
}
