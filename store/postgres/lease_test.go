package postgres_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"legwork/internal/test/pg"
	"legwork/store"
	"legwork/store/postgres"
	"legwork/tasks"
)

// expire makes the lease of a database expire, as if its holder had not renewed it.
func expire(t testing.TB, url string) {
	t.Helper()
	pg.Query(t, url, "update legwork_lease set expires_at = clock_timestamp() - interval '1 second'")
}

// standby opens a database as a standby. It returns when the standby waits; the
// channel gets the database when it has taken over.
func standby(t *testing.T, url string) <-chan *postgres.DB {
	t.Helper()
	waits, taken := make(chan string, 1), make(chan *postgres.DB, 1)
	go func() {
		db, err := postgres.Open(t.Context(), postgres.Options{URL: url, Command: "the standby", Standby: func(holder string) { waits <- holder }})
		if err != nil {
			t.Errorf("opening a standby: %v", err)
		}
		taken <- db
	}()
	t.Cleanup(func() {
		if db := <-taken; db != nil {
			_ = db.Close()
		}
	})
	if holder := <-waits; !strings.Contains(holder, "(the holder)") {
		t.Errorf("the standby waits for %q, want the holder", holder)
	}
	handed := make(chan *postgres.DB, 1)
	go func() {
		db := <-taken
		taken <- db // for the cleanup
		handed <- db
	}()
	return handed
}

// fenced checks that a database has lost its lease for good.
func fenced(t testing.TB, db *postgres.DB) {
	t.Helper()
	if _, err := add(t.Context(), db, "a"); !errors.Is(err, tasks.ErrFenced) {
		t.Errorf("an update after another process took over: %v, want ErrFenced", err)
	}
	<-db.Lost()
}

func TestHeld(t *testing.T) {
	o := postgres.Options{URL: shared.Server(t).URL(t), Command: "the holder"}
	open(t, o)
	_, err := postgres.Open(t.Context(), o)
	var held *postgres.HeldError
	if !errors.As(err, &held) || !strings.Contains(held.Holder, "(the holder)") || held.Since.IsZero() {
		t.Fatalf("opening a database in use: %v, want a HeldError", err)
	}
	if text := err.Error(); !strings.Contains(text, held.Holder) || strings.Contains(text, "\n") {
		t.Errorf("the error is %q, want one line with the holder", text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o.Standby = func(string) { cancel() }
	if _, err := postgres.Open(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("a standby whose context ends: %v, want Canceled", err)
	}
}

func TestStandbyAfterClose(t *testing.T) {
	url := shared.Server(t).URL(t)
	db := open(t, postgres.Options{URL: url, Command: "the holder"})
	mustAdd(t, db, "a", 0)
	second := standby(t, url)
	if err := db.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	mustAdd(t, <-second, "a", 1)
}

// TestStandbyAfterCut: the holder is cut off. The standby takes over, and the holder
// finds itself fenced when the connection is back.
func TestStandbyAfterCut(t *testing.T) {
	server := shared.Server(t)
	url := server.URL(t)
	proxy := pg.NewProxy(t, server, 0)
	db := open(t, postgres.Options{URL: proxy.URL(t, url), Command: "the holder"}.WithClock(stands))
	mustAdd(t, db, "a", 0)
	second := standby(t, url)
	proxy.Cut(true)
	expire(t, url)
	mustAdd(t, <-second, "a", 1)
	proxy.Mend()
	fenced(t, db)
	if got := number(t, db, "a"); got != 2 {
		t.Errorf("the fenced holder reads %d, want 2", got)
	}
}

// TestStandbyAfterFreeze: the holder freezes within a transaction, with the lock. The
// server ends its session, and the standby takes over.
func TestStandbyAfterFreeze(t *testing.T) {
	t.Parallel() // it waits for the end of the session
	server := shared.Server(t)
	url := server.URL(t)
	proxy := pg.NewProxy(t, server, 0)
	db := open(t, postgres.Options{URL: proxy.URL(t, url), Command: "the holder"}.WithClock(stands))
	mustAdd(t, db, "a", 0)
	second := standby(t, url)
	pg.Query(t, url, commitBeside) // so that the holder must read "a"
	frozen, thaw, result := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		runs := 0
		result <- db.Update(t.Context(), func(x store.Tx) (func(), error) {
			before, err := get(x, "a")
			if err != nil {
				return nil, err
			}
			if runs++; runs == 2 { // the lock is held
				close(frozen)
				<-thaw
			}
			return nil, x.Put(table, []byte("a"), []byte{0, 0, 0, 0, 0, 0, 0, byte(before + 100)})
		})
	}()
	<-frozen
	proxy.Freeze()
	expire(t, url)
	mustAdd(t, <-second, "a", 1)
	close(thaw)
	proxy.Mend()
	if err := <-result; !errors.Is(err, tasks.ErrFenced) {
		t.Errorf("the update that froze: %v, want ErrFenced", err)
	}
	fenced(t, db)
	if got := number(t, db, "a"); got != 2 {
		t.Errorf("the fenced holder reads %d, want 2", got)
	}
}

// TestLostByTime: a process that cannot renew the lease for too long stores nothing
// more when a standby waits. Without one it goes on.
func TestLostByTime(t *testing.T) {
	t.Parallel() // it waits for a renewal
	server := shared.Server(t)
	url := server.URL(t)
	var later atomic.Int64
	log, said := newLog()
	proxy := pg.NewProxy(t, server, 0)
	db := open(t, postgres.Options{URL: proxy.URL(t, url), Log: log}.WithClock(func() time.Time { return time.Time{}.Add(time.Duration(later.Load())) }))
	mustAdd(t, db, "a", 0)
	proxy.Cut(true)
	said.wait(t, "postgres lease not renewed")
	later.Store(int64(time.Minute))
	proxy.Mend()
	mustAdd(t, db, "a", 1)
	select {
	case <-db.Lost():
		t.Fatal("the lease is lost, and nobody waits for it")
	default:
	}

	pg.Query(t, url, "update legwork_lease set asked_at = 'infinity'")
	session := pg.Connect(t, url)
	for range 2 { // the first renewal may have no answer yet
		session.Exec("drop table if exists seen")
		session.Exec("create table seen as select expires_at from legwork_lease")
		for session.Number("select count(*) from legwork_lease join seen using (expires_at)") > 0 {
			session.Exec("select pg_sleep(0.1)")
		}
	}
	mustAdd(t, db, "a", 2)
	proxy.Cut(true)
	later.Store(int64(2 * time.Minute))
	<-db.Lost()
	proxy.Mend()
	fenced(t, db)
}

// TestRenewals: a process that does nothing keeps the lease. A standby that asks
// after it expired would get it.
func TestRenewals(t *testing.T) {
	t.Parallel() // it waits for a renewal
	url := shared.Server(t).URL(t)
	db := open(t, postgres.Options{URL: url})
	session := pg.Connect(t, url)
	session.Exec("create table seen as select expires_at from legwork_lease")
	for session.Number("select count(*) from legwork_lease join seen using (expires_at)") > 0 {
		session.Exec("select pg_sleep(0.1)")
	}
	mustAdd(t, db, "a", 0)
}

// TestTakenAway: the renewal finds that another process has the lease.
func TestTakenAway(t *testing.T) {
	t.Parallel() // it waits for a renewal
	url := shared.Server(t).URL(t)
	log, _ := newLog()
	db := open(t, postgres.Options{URL: url, Log: log})
	pg.Query(t, url, "update legwork_lease set fence = fence + 1, holder = 'another one'")
	<-db.Lost()
	if _, err := add(t.Context(), db, "a"); !errors.Is(err, tasks.ErrFenced) {
		t.Errorf("Update: %v, want ErrFenced", err)
	}
}
