package bolt_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"legwork/bot"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/tasks"
)

// BenchmarkEarlierFile opens a file of 100,000 tasks that an earlier version wrote:
// how long until it can be used, until the lists are complete, and what a commit
// takes meanwhile.
func BenchmarkEarlierFile(b *testing.B) {
	const turns = 100_000
	dir := b.TempDir()
	s := open(b, dir, bolt.Options{})
	fill(b, s, turns, 1024)
	if _, err := s.Open(b.Context(), []tasks.Inbound{question(bot.Chat{Platform: "test", ID: "now"}, "t", "goal")}); err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	var opened, listed time.Duration
	var took []time.Duration
	for b.Loop() {
		b.StopTimer()
		stripIndex(b, dir)
		b.StartTimer()
		from := time.Now()
		s := open(b, dir, bolt.Options{})
		opened = time.Since(from)
		for complete := false; !complete; {
			select {
			case <-s.Indexed():
				complete = true
			default:
			}
			from := time.Now()
			if err := s.Append(b.Context(), "t", -1, 0, planner.Event{Type: planner.Resumed}); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(from))
		}
		listed = time.Since(from)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(opened.Milliseconds()), "open-ms")
	b.ReportMetric(float64(listed.Milliseconds()), "listed-ms")
	report(b, took)
	b.ReportMetric(float64(took[len(took)-1].Milliseconds()), "slowest-ms")
}

// stripIndex makes a file as a version without an index wrote it.
func stripIndex(b *testing.B, dir string) {
	b.Helper()
	db, err := bbolt.Open(filepath.Join(dir, bolt.FileName), 0o600, &bbolt.Options{FreelistType: bbolt.FreelistMapType})
	if err != nil {
		b.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range added()[6:] {
			if err := tx.DeleteBucket([]byte(name)); err != nil {
				return err
			}
		}
		meta := tx.Bucket([]byte("meta"))
		return errors.Join(meta.Delete([]byte("added")), meta.Delete([]byte("counts")))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		b.Fatal(err)
	}
}
