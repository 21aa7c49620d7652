package bolt_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"legwork/bot"
	"legwork/internal/fsutil"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/store/storetest"
	"legwork/tasks"
)

// BenchmarkCare backs up, verifies and compacts a file of a million messages
// while others write, and tells how long they wait.
func BenchmarkCare(b *testing.B) {
	dir := b.TempDir()
	s := open(b, dir, bolt.Options{})
	fill(b, s, 500_000, 10_240)
	for b.Loop() {
		measure(b, s, "idle", func() { <-time.After(5 * time.Second) })
		copied := filepath.Join(dir, "copy.db")
		measure(b, s, "backup", func() {
			if _, err := fsutil.Write(b.Context(), copied, func(w io.Writer) error { return s.Backup(b.Context(), w) }); err != nil {
				b.Error(err)
			}
		})
		measure(b, s, "verify", func() {
			if err := bolt.Verify(copied); err != nil {
				b.Error(err)
			}
		})
		start := time.Now()
		if err := bolt.VerifyQuick(copied); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms/quick-look")
		measure(b, s, "compact", func() {
			c, err := s.Compact(b.Context())
			if err != nil {
				b.Error(err)
			}
			b.Logf("%+v", c)
		})
		start = time.Now()
		d, err := s.Retain(b.Context(), time.Now().Add(-time.Hour), time.Time{})
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("looking for old tasks: %v, %+v", time.Since(start), d)
		if err := os.Remove(copied); err != nil {
			b.Fatal(err)
		}
	}
}

// measure writes while do runs, and reports how long a commit takes.
func measure(b *testing.B, s *bolt.Store, what string, do func()) {
	b.Helper()
	ctx, stop := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	var mu sync.Mutex
	var took []time.Duration
	for w := range 4 {
		wg.Go(func() {
			id := tasks.ID(fmt.Sprintf("%s.%d.%d", what, w, time.Now().UnixNano()))
			c := bot.Chat{Platform: "test", ID: string(id)}
			if _, err := s.Open(b.Context(), []tasks.Inbound{storetest.Question(c, id, "goal")}); err != nil {
				b.Error(err)
				return
			}
			for ctx.Err() == nil {
				start := time.Now()
				if err := s.Append(b.Context(), id, -1, 0, planner.Event{Type: planner.GuidanceAdded, Text: "more"}); err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				took = append(took, time.Since(start))
				mu.Unlock()
			}
		})
	}
	start := time.Now()
	do()
	length := time.Since(start)
	stop()
	wg.Wait()
	slices.Sort(took)
	b.Logf("%s: %v; %d commits, median %v, p99 %v, most %v", what, length.Round(time.Millisecond), len(took),
		took[len(took)/2].Round(time.Microsecond), took[len(took)*99/100].Round(time.Microsecond), took[len(took)-1].Round(time.Microsecond))
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms-p99/"+what)
}
