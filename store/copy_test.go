package store_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/internal/test/need"
	"legwork/internal/test/pg"
	"legwork/store"
	"legwork/store/bolt"
	"legwork/store/memory"
	"legwork/store/postgres"
	"legwork/tasks"
)

// contents are the records of all tables that a test stored.
type contents map[store.Table]map[string]string

// sample returns records in every table: many small ones in one, so that they need
// several updates, and large ones in another.
func sample(small int) contents {
	c := contents{}
	for _, t := range store.Tables() {
		if t.Bytes() {
			continue // each database has its own
		}
		c[t] = map[string]string{"a": "1", "b\x00c": "\x00", "\xff\xff": strings.Repeat("z", 300)}
	}
	for i := range small {
		c[store.TableJournal][string(binary.BigEndian.AppendUint64([]byte("task"), uint64(i)))] = fmt.Sprintf("event %d", i)
	}
	for i := range 3 {
		c[store.TableHistory][fmt.Sprint(i)] = strings.Repeat("h", 3<<20)
	}
	return c
}

// put stores contents.
func put(t testing.TB, db store.DB, c contents) {
	t.Helper()
	change(t, db, func(x store.Tx) error {
		for table, records := range c {
			for key, body := range records {
				if err := x.Put(table, []byte(key), store.Seal([]byte(key), []byte(body))); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func change(t testing.TB, db store.DB, do func(store.Tx) error) {
	t.Helper()
	if err := db.Update(t.Context(), func(x store.Tx) (func(), error) { return nil, do(x) }); err != nil {
		t.Fatalf("Update: %v", err)
	}
}

// read returns the contents of a database, without the names of bolt in meta.
func read(t testing.TB, db store.DB) contents {
	t.Helper()
	c := contents{}
	err := db.View(t.Context(), func(x store.Tx) error {
		for _, table := range store.Tables() {
			if table.Bytes() {
				continue
			}
			c[table] = map[string]string{}
			for r, err := range x.Range(table, nil, nil, store.Ascending) {
				if err != nil {
					return err
				}
				body, err := store.Unseal(r)
				if err != nil {
					return err
				}
				c[table][string(r.Key)] = string(body)
			}
		}
		delete(c[store.TableMeta], "format")
		delete(c[store.TableMeta], "added")
		return nil
	})
	if err != nil {
		t.Fatalf("View: %v", err)
	}
	return c
}

// opened closes a database when the test ends.
func opened[DB store.DB](t testing.TB, db DB, err error) DB {
	t.Helper()
	if err != nil {
		t.Fatalf("opening: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return db
}

func openBolt(t testing.TB, dir string) *bolt.DB {
	t.Helper()
	db, err := bolt.OpenDB(t.Context(), dir, bolt.Options{})
	return opened(t, db, err)
}

func openMemory(testing.TB) store.DB { return memory.NewDB() }

func openFile(t testing.TB) store.DB { return openBolt(t, t.TempDir()) }

// openServer returns a function that makes empty databases on a server.
func openServer(t testing.TB) func(testing.TB) store.DB {
	t.Helper()
	need.Check(t)
	server := pg.Start(t)
	return func(t testing.TB) store.DB {
		db, err := postgres.Open(t.Context(), postgres.Options{URL: server.URL(t)})
		return opened(t, db, err)
	}
}

func TestCopy(t *testing.T) {
	for _, from := range []func(testing.TB) store.DB{openMemory, openFile} {
		testCopy(t, from, openMemory)
		testCopy(t, from, openFile)
	}
}

// TestCopyPostgres copies to a server, from it to another database there, and back.
func TestCopyPostgres(t *testing.T) {
	open := openServer(t)
	testCopy(t, openFile, open)
	testCopy(t, open, open)
	testCopy(t, open, openFile)
}

// testCopy copies a database to another one and back into a third one: the checksums
// stay the same.
func testCopy(t *testing.T, from, to func(testing.TB) store.DB) {
	t.Helper()
	source, target, back := from(t), to(t), from(t)
	want := sample(12_000)
	put(t, source, want)
	progress := 0
	r, err := store.Copy(t.Context(), source, target, store.CopyOptions{Progress: func(store.CopyProgress) { progress++ }})
	if err != nil {
		t.Fatalf("Copy: %v", err)
	}
	if d := cmp.Diff(want, read(t, target)); d != "" {
		t.Errorf("target (-want +got):\n%s", d)
	}
	if n := len(sample(0))*3 + 12_003; r.Records != n || r.Changed != n || r.Continued || r.Unfinished || progress < 20 {
		t.Errorf("got %d records, %d changed, continued %v, unfinished %v, %d reports; want %d records, all changed", r.Records, r.Changed, r.Continued, r.Unfinished, progress, n)
	}
	again, err := store.Copy(t.Context(), target, back, store.CopyOptions{})
	if d := cmp.Diff(r.Tables, again.Tables); err != nil || d != "" {
		t.Errorf("Copy back: %v; tables (-want +got):\n%s", err, d)
	}
	if _, err := store.Copy(t.Context(), source, target, store.CopyOptions{}); err == nil || !strings.Contains(err.Error(), "the target holds data already") {
		t.Errorf("Copy onto a finished copy: %v, want a refusal", err)
	}
}

// failing is a database whose updates fail after some of them.
type failing struct {
	store.DB
	left int
}

var errBroken = errors.New("broken")

func (f *failing) Update(ctx context.Context, do func(store.Tx) (func(), error)) error {
	if f.left == 0 {
		return errBroken
	}
	f.left--
	return f.DB.Update(ctx, do)
}

// TestCopyInterrupted: a copy that ends after any of its updates is continued, and
// writes no record twice. Until then the target is no store.
func TestCopyInterrupted(t *testing.T) {
	want := sample(12_000)
	for to, open := range map[string]func(testing.TB) store.DB{"memory": openMemory, "bolt": openFile} {
		source, target := memory.NewDB(), open(t)
		put(t, source, want)
		changed, tries := 0, 0
		for ; ; tries++ {
			r, err := store.Copy(t.Context(), source, &failing{target, 2}, store.CopyOptions{Source: "there"})
			changed += r.Changed
			if r.Continued != (tries > 0) || r.Unfinished != (err != nil) {
				t.Fatalf("try %d: continued %v, unfinished %v, error %v", tries, r.Continued, r.Unfinished, err)
			}
			if err == nil {
				break
			}
			if !errors.Is(err, errBroken) {
				t.Fatalf("try %d: %v", tries, err)
			}
			_, err = store.Open(t.Context(), target, store.Options{})
			if err == nil || !strings.Contains(err.Error(), "unfinished copy of there") || !strings.Contains(err.Error(), `run the same "legwork data copy" again`) {
				t.Fatalf("Open of an unfinished copy: %v, want a refusal", err)
			}
			if _, err = store.Copy(t.Context(), target, memory.NewDB(), store.CopyOptions{}); err == nil || !strings.Contains(err.Error(), "unfinished copy of there") {
				t.Fatalf("Copy of an unfinished copy: %v, want a refusal", err)
			}
		}
		if n := len(sample(0))*3 + 12_003; changed != n || tries < 20 {
			t.Errorf("%s: %d records written in %d tries, want %d in 20 at least", to, changed, tries, n)
		}
		if d := cmp.Diff(want, read(t, target)); d != "" {
			t.Errorf("%s (-want +got):\n%s", to, d)
		}
	}
}

// TestCopyCancelled: the end of the context leaves a copy that can be continued.
func TestCopyCancelled(t *testing.T) {
	source, target := memory.NewDB(), openBolt(t, t.TempDir())
	put(t, source, sample(12_000))
	for _, comparing := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := store.Copy(ctx, source, target, store.CopyOptions{Progress: func(p store.CopyProgress) {
			if p.Comparing == comparing && p.Table == store.TableJournal {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) || !r.Unfinished {
			t.Errorf("when comparing %v: %v, unfinished %v; want Canceled", comparing, err, r.Unfinished)
		}
	}
	if r, err := store.Copy(t.Context(), source, target, store.CopyOptions{}); err != nil || r.Changed != 0 || !r.Continued {
		t.Errorf("the last try: %v, %d records changed; want none", err, r.Changed)
	}
}

// TestCopyChanged: when the source changed before the copy is continued, the copy
// shows the source as it is then.
func TestCopyChanged(t *testing.T) {
	for to, open := range map[string]func(testing.TB) store.DB{"memory": openMemory, "bolt": openFile} {
		source, target := memory.NewDB(), open(t)
		put(t, source, sample(12_000))
		if _, err := store.Copy(t.Context(), source, &failing{target, 20}, store.CopyOptions{}); !errors.Is(err, errBroken) {
			t.Fatalf("Copy: %v, want it broken", err)
		}
		change(t, source, func(x store.Tx) error {
			var keys [][]byte
			for r, err := range x.Range(store.TableJournal, nil, nil, store.Ascending) {
				if err != nil {
					return err
				}
				keys = append(keys, r.Key)
			}
			for i, key := range keys {
				if i == 7000 || i < 5500 && i != 100 {
					if err := x.Delete(store.TableJournal, key); err != nil {
						return err
					}
				}
			}
			between, other := []byte("between"), []byte("a")
			return errors.Join(x.Put(store.TableJournal, between, store.Seal(between, []byte("new"))),
				x.Put(store.TableJournal, other, store.Seal(other, []byte("other"))))
		})
		r, err := store.Copy(t.Context(), source, target, store.CopyOptions{})
		if err != nil || !r.Continued {
			t.Errorf("%s: continued %v, error %v", to, r.Continued, err)
		}
		if d := cmp.Diff(read(t, source), read(t, target)); d != "" {
			t.Errorf("%s (-want +got):\n%s", to, d)
		}
	}
}

// TestCopyDamaged: a damaged record ends a copy, or is left out and named.
func TestCopyDamaged(t *testing.T) {
	source, target := memory.NewDB(), openBolt(t, t.TempDir())
	want := sample(10)
	put(t, source, want)
	key := binary.BigEndian.AppendUint64([]byte("task"), 7)
	change(t, source, func(x store.Tx) error { return x.Put(store.TableJournal, key, []byte("damaged")) })
	_, err := store.Copy(t.Context(), source, target, store.CopyOptions{})
	if !errors.Is(err, tasks.ErrDamaged) || !strings.Contains(err.Error(), "task task, event 7") || !strings.Contains(err.Error(), "--skip-damaged") {
		t.Errorf("Copy: %v, want an error that names the record and says what to do", err)
	}
	r, err := store.Copy(t.Context(), source, target, store.CopyOptions{SkipDamaged: true})
	if d := cmp.Diff([]string{"task task, event 7"}, r.LeftOut); err != nil || d != "" {
		t.Errorf("Copy without damaged records: %v; left out (-want +got):\n%s", err, d)
	}
	delete(want[store.TableJournal], string(key))
	if d := cmp.Diff(want, read(t, target)); d != "" {
		t.Errorf("target (-want +got):\n%s", d)
	}
}

// lossy is a database that loses one record.
type lossy struct{ store.DB }

func (l lossy) Update(ctx context.Context, do func(store.Tx) (func(), error)) error {
	return l.DB.Update(ctx, func(x store.Tx) (func(), error) { return do(lossyTx{x}) })
}

type lossyTx struct{ store.Tx }

func (x lossyTx) Put(t store.Table, key, value []byte) error {
	if t == store.TableSettings && string(key) == "a" {
		return nil
	}
	return x.Tx.Put(t, key, value)
}

// TestCopyDiffers: a target that does not keep what is written to it is noticed, and
// stays marked.
func TestCopyDiffers(t *testing.T) {
	source, target := memory.NewDB(), memory.NewDB()
	put(t, source, sample(1))
	r, err := store.Copy(t.Context(), source, lossy{target}, store.CopyOptions{})
	if err == nil || !strings.Contains(err.Error(), "table settings differs: 3 records") || !r.Unfinished {
		t.Errorf("Copy: %v, unfinished %v; want a difference in settings", err, r.Unfinished)
	}
	if r, err := store.Copy(t.Context(), source, target, store.CopyOptions{}); err != nil || r.Changed != 1 {
		t.Errorf("Copy again: %v, %d records changed; want 1", err, r.Changed)
	}
}

// TestCopyLive: the copy of a store in use is marked, and what is beside it is copied
// before it counts as finished.
func TestCopyLive(t *testing.T) {
	source, target := memory.NewDB(), openBolt(t, t.TempDir())
	put(t, source, contents{store.TableCuts: {"chat": "5"}})
	began := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	o := store.CopyOptions{Began: began, Live: true, Beside: func() error { return errBroken }}
	if r, err := store.Copy(t.Context(), source, target, o); !errors.Is(err, errBroken) || !r.Unfinished {
		t.Errorf("Copy: %v, unfinished %v; want it broken", err, r.Unfinished)
	}
	o.Beside = nil
	if _, err := store.Copy(t.Context(), source, target, o); err != nil {
		t.Fatalf("Copy: %v", err)
	}
	if copied := read(t, target)[store.TableMeta]["copied"]; copied != `"2026-05-01T12:00:00Z"` {
		t.Errorf("mark of a copy: got %s, want %s", copied, began)
	}
	if _, err := store.Open(t.Context(), target, store.Options{}); err != nil {
		t.Fatalf("Open of a copy: %v", err)
	}
	if marks := read(t, target)[store.TableMeta]; marks["copied"] != "" || marks["copying"] != "" {
		t.Errorf("after Open: got the marks %v, want none", marks)
	}
}

// BenchmarkCopy copies records like those of a journal, from bolt.
func BenchmarkCopy(b *testing.B) {
	const n = 200_000
	dir := filepath.Join(b.TempDir(), "source")
	source := openBolt(b, dir)
	for from := 0; from < n; from += 20_000 {
		c := contents{store.TableJournal: {}, store.TableRows: {}}
		for i := from; i < from+20_000; i += 2 {
			c[store.TableJournal][string(binary.BigEndian.AppendUint64([]byte("01JABCDEFGHJKMNPQRSTVWXYZ0"), uint64(i)))] = strings.Repeat("e", 300)
			c[store.TableRows][fmt.Sprintf("01JABCDEFGHJKMNPQR%08d", i)] = strings.Repeat("r", 150)
		}
		put(b, source, c)
	}
	for _, to := range []string{"memory", "bolt", "postgres"} {
		b.Run(to, func(b *testing.B) {
			open := map[string]func(testing.TB) store.DB{"memory": openMemory, "bolt": openFile}[to]
			if open == nil {
				open = openServer(b)
			}
			for range b.N {
				b.StopTimer()
				target := open(b)
				b.StartTimer()
				if r, err := store.Copy(b.Context(), source, target, store.CopyOptions{}); err != nil || r.Records != n {
					b.Fatalf("Copy: %v, %d records", err, r.Records)
				}
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
