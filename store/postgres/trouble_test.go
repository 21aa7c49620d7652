package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"legwork/bot"
	"legwork/internal/test/pg"
	"legwork/planner"
	"legwork/store"
	"legwork/store/postgres"
	"legwork/tasks"
)

// TestCutCommit: the connection breaks in the middle of a commit. The database finds
// out whether it was committed, and the update counts once.
func TestCutCommit(t *testing.T) {
	server := shared.Server(t)
	for name, cut := range map[string]pg.Cut{"not committed": pg.CutBefore, "committed": pg.CutAfter} {
		t.Run(name, func(t *testing.T) {
			proxy := pg.NewProxy(t, server, 0)
			db := open(t, postgres.Options{URL: proxy.URL(t, server.URL(t))}.WithClock(stands))
			for n := uint64(0); n < 10; n += 2 {
				mustAdd(t, db, "a", n)
				wasCut, done := proxy.CutCommit(cut), 0
				err := db.Update(t.Context(), func(x store.Tx) (func(), error) {
					before, err := get(x, "a")
					if err != nil {
						return nil, err
					}
					return func() { done++ }, x.Put(table, []byte("a"), []byte{0, 0, 0, 0, 0, 0, 0, byte(before + 1)})
				})
				if <-wasCut; err != nil || done != 1 {
					t.Fatalf("Update: %v, done was called %d times", err, done)
				}
				if got := number(t, db, "a"); got != n+2 {
					t.Fatalf("after the cut: got %d, want %d", got, n+2)
				}
			}
		})
	}
}

// load runs senders until stop is called, and then checks that each update counted
// once. The channel gets a value for each update.
func load(t *testing.T, db *postgres.DB) (updates <-chan int, stop func()) {
	t.Helper()
	const senders = 16
	ctx, cancel := context.WithCancel(t.Context())
	each := make(chan int)
	var counts [senders]uint64
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			key := fmt.Sprintf("sender %d", s)
			for n := uint64(0); ctx.Err() == nil; n++ {
				before, err := add(t.Context(), db, key)
				if err != nil || before != n {
					t.Errorf("%s: update %d found %d and %v", key, n, before, err)
					return
				}
				counts[s] = n + 1
				select {
				case each <- s:
				case <-ctx.Done():
				}
			}
		})
	}
	return each, func() {
		cancel()
		wg.Wait()
		for s, want := range counts {
			if got := number(t, db, fmt.Sprintf("sender %d", s)); got != want {
				t.Errorf("sender %d: got %d, want %d", s, got, want)
			}
		}
	}
}

// await waits for a number of updates.
func await(t testing.TB, updates <-chan int, n int) {
	t.Helper()
	for range n {
		select {
		case <-updates:
		case <-t.Context().Done():
			t.Fatal("the updates do not go on")
		}
	}
}

// TestKill: the server is killed and restarted under load. Each acknowledged update
// is there, and counts once.
func TestKill(t *testing.T) {
	t.Parallel()
	server := pg.Start(t)
	db := open(t, postgres.Options{URL: server.URL(t)}.WithClock(stands))
	updates, stop := load(t, db)
	for range 3 {
		await(t, updates, 500)
		server.Kill(t)
		server.Restart(t)
		await(t, updates, 100)
		server.Restart(t)
	}
	await(t, updates, 100)
	stop()
}

// TestCutConnections: all connections break again and again under load.
func TestCutConnections(t *testing.T) {
	server := shared.Server(t)
	proxy := pg.NewProxy(t, server, 0)
	db := open(t, postgres.Options{URL: proxy.URL(t, server.URL(t))}.WithClock(stands))
	updates, stop := load(t, db)
	for range 20 {
		await(t, updates, 50)
		proxy.Cut(false)
	}
	await(t, updates, 100)
	stop()
}

// TestFrozenServer: the server stops answering for a moment.
func TestFrozenServer(t *testing.T) {
	t.Parallel()
	server := pg.Start(t)
	db := open(t, postgres.Options{URL: server.URL(t)}.WithClock(stands))
	updates, stop := load(t, db)
	await(t, updates, 100)
	thaw := server.Freeze(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := add(ctx, db, "a"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an update of a frozen server: %v, want DeadlineExceeded", err)
	}
	thaw()
	await(t, updates, 100)
	stop()
}

// TestReadOnly: the server refuses changes for a while, as after a failover. The
// updates wait.
func TestReadOnly(t *testing.T) {
	url := shared.Server(t).URL(t)
	log, messages := newLog()
	db := open(t, postgres.Options{URL: url, Log: log}.WithClock(stands))
	mustAdd(t, db, "a", 0)
	session := pg.Connect(t, url)
	set := func(to string) {
		session.Exec("set default_transaction_read_only = off")
		session.Exec("do $$ begin execute format('alter database %I set default_transaction_read_only = " + to + "', current_database()); end $$")
		session.Exec("select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'legwork'")
	}
	set("on")
	added := make(chan error, 1)
	go func() {
		_, err := add(t.Context(), db, "a")
		added <- err
	}()
	messages.wait(t, "postgres has no answer, updates wait")
	if got := number(t, db, "a"); got != 1 {
		t.Errorf("a view of a read-only server: got %d, want 1", got)
	}
	set("off")
	if err := <-added; err != nil {
		t.Errorf("the update that waited: %v", err)
	}
	mustAdd(t, db, "a", 2)
}

// TestDiskFull: the server has no room for a record. The update is ErrFull and
// leaves nothing, and others of the same transaction are stored.
func TestDiskFull(t *testing.T) {
	url := shared.Server(t).URL(t)
	db := open(t, postgres.Options{URL: url})
	session := pg.Connect(t, url)
	session.Exec(`create function full_disk() returns trigger as $$ begin raise exception 'no space left on device' using errcode = '53100'; end $$ language plpgsql`)
	session.Exec(`create trigger full_disk before insert or update on legwork_kv for each row when (length(new.v) > 1000) execute function full_disk()`)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			key, size := fmt.Sprintf("key %d", i), 1
			if i%5 == 0 {
				size = 2000
			}
			err := db.Update(t.Context(), func(x store.Tx) (func(), error) {
				return nil, x.Put(table, []byte(key), bytes.Repeat([]byte("v"), size))
			})
			if full := i%5 == 0; errors.Is(err, tasks.ErrFull) != full || !full && err != nil {
				t.Errorf("an update of %d bytes: %v, want it full: %v", size, err, full)
			}
		})
	}
	wg.Wait()
	if got := session.Number("select count(*) from legwork_kv"); got != 16 {
		t.Errorf("got %d records, want 16", got)
	}
	session.Exec("drop trigger full_disk on legwork_kv")
	err := db.Update(t.Context(), func(x store.Tx) (func(), error) {
		return nil, x.Put(table, []byte("key 0"), bytes.Repeat([]byte("v"), 2000))
	})
	if err != nil {
		t.Errorf("an update when there is room again: %v", err)
	}
}

// TestUnreachable: while the server cannot be reached, callers wait until their
// contexts end, and Close ends with an error.
func TestUnreachable(t *testing.T) {
	t.Parallel() // it waits for the end of closing
	server := shared.Server(t)
	url := server.URL(t)
	proxy := pg.NewProxy(t, server, 0)
	log, messages := newLog()
	db, err := postgres.Open(t.Context(), postgres.Options{URL: proxy.URL(t, url), Log: log}.WithClock(stands))
	if err != nil {
		t.Fatal(err)
	}
	mustAdd(t, db, "a", 0)
	proxy.Cut(true)
	ctx, cancel := context.WithCancel(t.Context())
	var left atomic.Int64
	for range 3 {
		go func() {
			if _, err := add(ctx, db, "a"); !errors.Is(err, context.Canceled) {
				t.Errorf("Update: %v, want Canceled", err)
			}
			left.Add(1)
		}()
	}
	messages.wait(t, "postgres has no answer, updates wait")
	cancel()
	err = db.View(ctx, func(x store.Tx) error {
		_, err := get(x, "a")
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("View: %v, want Canceled", err)
	}
	waits := make(chan error, 1)
	go func() {
		_, err := add(t.Context(), db, "a")
		waits <- err
	}()
	messages.wait(t, "postgres lease not renewed")
	if err := db.Close(); err == nil {
		t.Error("Close without a server: no error, but the lease is not given back")
	}
	if err := <-waits; !errors.Is(err, store.ErrClosed) {
		t.Errorf("an update during Close: %v, want ErrClosed", err)
	}
}

// TestViewAfterRestart: a view does not fail because the server was restarted since
// the one before.
func TestViewAfterRestart(t *testing.T) {
	server := shared.Server(t)
	proxy := pg.NewProxy(t, server, 0)
	db := open(t, postgres.Options{URL: proxy.URL(t, server.URL(t))}.WithClock(stands))
	mustAdd(t, db, "a", 0)
	for range 3 {
		if got := number(t, db, "a"); got != 1 {
			t.Errorf("got %d, want 1", got)
		}
		proxy.Cut(false)
	}
	err := db.View(t.Context(), func(x store.Tx) error {
		if _, err := get(x, "a"); err != nil {
			return err
		}
		proxy.Cut(false)
		_, err := get(x, "a")
		return err
	})
	if err == nil {
		t.Error("a view that lost its connection in the middle: no error")
	}
}

// cutting is a database whose connections are cut once, in the middle of a range.
type cutting struct {
	store.DB
	cut func()
}

func (db *cutting) View(ctx context.Context, do func(store.Tx) error) error {
	return db.DB.View(ctx, func(x store.Tx) error { return do(cuttingTx{x, db}) })
}

type cuttingTx struct {
	store.Tx
	db *cutting
}

func (x cuttingTx) Range(t store.Table, from, to []byte, o store.Order) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for r, err := range x.Tx.Range(t, from, to, o) {
			if x.db.cut != nil {
				x.db.cut()
				x.db.cut = nil
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// TestCutView: the connection breaks in the middle of a view. The store reads again
// from the beginning.
func TestCutView(t *testing.T) {
	server := shared.Server(t)
	proxy := pg.NewProxy(t, server, 0)
	db := &cutting{DB: open(t, postgres.Options{URL: proxy.URL(t, server.URL(t))}.WithClock(stands))}
	s, err := store.Open(t.Context(), db, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const entries = 200 // more than one query reads
	for n := range entries {
		if err := s.Record(t.Context(), tasks.AuditEntry{Action: "test", Target: fmt.Sprint(n)}); err != nil {
			t.Fatal(err)
		}
	}
	db.cut = func() { proxy.Cut(false) }
	list, err := s.AuditLog(t.Context(), 0, 2*entries)
	if err != nil || len(list) != entries || db.cut != nil {
		t.Fatalf("AuditLog: got %d entries, %v, want %d; cut: %t", len(list), err, entries, db.cut == nil)
	}
}

// TestLanesAfterCutCommit: after a commit whose reply was lost, the queue of a
// conversation is what was committed, whatever the store remembers.
func TestLanesAfterCutCommit(t *testing.T) {
	server := shared.Server(t)
	proxy := pg.NewProxy(t, server, 0)
	s, err := store.Open(t.Context(), open(t, postgres.Options{URL: proxy.URL(t, server.URL(t))}.WithClock(stands)), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	chat := bot.Chat{Platform: "terminal", ID: "c"}
	ask := func(id tasks.ID) {
		t.Helper()
		e := planner.Event{Type: planner.Opened, At: time.Now(), Opening: &planner.Opening{Goal: "x", Chat: chat}}
		if _, err := s.Open(t.Context(), []tasks.Inbound{{Key: string(id), ID: id, Chat: chat, Open: &e}}); err != nil {
			t.Fatal(err)
		}
	}
	ask("t1")
	ask("t2")
	wasCut := proxy.CutCommit(pg.CutAfter)
	ask("t3")
	<-wasCut
	if err := s.Drop(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	live, err := s.Live(t.Context(), chat.Key())
	if err != nil || len(live) != 2 || live[0].Task != "t2" || live[1].Task != "t3" {
		t.Errorf("Live after t1 was dropped: got %+v, %v, want t2 and t3", live, err)
	}
}
