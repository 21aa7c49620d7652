package postgres_test

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/pg"
	"legwork/store"
	"legwork/store/postgres"
	"legwork/store/storetest"
	"legwork/tasks"
)

// open opens a database and closes it when the test ends.
func open(t testing.TB, o postgres.Options) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return db
}

// stands is a clock that stands still: the lease is never lost by it. A server may
// take long to restart on a busy machine.
func stands() time.Time { return time.Time{} }

// messages is a log that passes on the texts of its messages.
type messages chan string

func newLog() (*slog.Logger, messages) {
	m := make(messages, 1000)
	return slog.New(m), m
}

func (messages) Enabled(context.Context, slog.Level) bool { return true }
func (m messages) WithAttrs([]slog.Attr) slog.Handler     { return m }
func (m messages) WithGroup(string) slog.Handler          { return m }
func (m messages) Handle(_ context.Context, r slog.Record) error {
	select {
	case m <- r.Message:
	default:
	}
	return nil
}

// wait waits for a message.
func (m messages) wait(t testing.TB, text string) {
	t.Helper()
	for {
		select {
		case got := <-m:
			if got == text {
				return
			}
		case <-t.Context().Done():
			t.Fatalf("no message %q", text)
		}
	}
}

const table = store.TableJournal

// get returns the number under a key; 0 when there is none.
func get(x store.Tx, key string) (uint64, error) {
	value, err := x.Get(table, []byte(key))
	if value == nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(value), err
}

// add adds 1 to the number under a key, and returns what it found.
func add(ctx context.Context, db store.DB, key string) (before uint64, err error) {
	err = db.Update(ctx, func(x store.Tx) (func(), error) {
		before, err = get(x, key)
		if err != nil {
			return nil, err
		}
		return nil, x.Put(table, []byte(key), binary.BigEndian.AppendUint64(nil, before+1))
	})
	return before, err
}

// mustAdd is add, which must find a number.
func mustAdd(t testing.TB, db store.DB, key string, want uint64) {
	t.Helper()
	if got, err := add(t.Context(), db, key); err != nil || got != want {
		t.Fatalf("adding to %q: found %d and %v, want %d", key, got, err, want)
	}
}

// number returns the committed number under a key.
func number(t testing.TB, db store.DB, key string) (n uint64) {
	t.Helper()
	err := db.View(t.Context(), func(x store.Tx) (err error) {
		n, err = get(x, key)
		return err
	})
	if err != nil {
		t.Fatalf("View: %v", err)
	}
	return n
}

func TestDB(t *testing.T) {
	server := shared.Server(t)
	storetest.RunDB(t, func(t *testing.T) store.DB {
		return open(t, postgres.Options{URL: server.URL(t)})
	})
}

// commitBeside raises the number in the id of the last commit, as another writer does.
const commitBeside = `update legwork_store set commit_id = (lpad(to_hex(('x' || left(replace(commit_id::text, '-', ''), 16))::bit(64)::bigint + 1), 16, '0')
	|| substr(md5(random()::text), 1, 16))::uuid`

// TestColdDB runs the suite on a database that knows nothing at each update, because
// somebody else wrote before it.
func TestColdDB(t *testing.T) {
	server := shared.Server(t)
	storetest.RunDB(t, func(t *testing.T) store.DB {
		url := server.URL(t)
		return coldDB{open(t, postgres.Options{URL: url}), func() {
			pg.Query(t, url, commitBeside)
		}}
	})
}

type coldDB struct {
	*postgres.DB
	forget func()
}

func (db coldDB) Update(ctx context.Context, do func(store.Tx) (func(), error)) error {
	db.forget()
	return db.DB.Update(ctx, do)
}

// TestReopen: committed records are there after a restart, also for a reader.
func TestReopen(t *testing.T) {
	o := postgres.Options{URL: shared.Server(t).URL(t)}
	db := open(t, o)
	mustAdd(t, db, "a", 0)
	if err := db.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	db = open(t, o)
	mustAdd(t, db, "a", 1)
	reader, err := postgres.OpenReader(t.Context(), o)
	if err != nil {
		t.Fatalf("OpenReader: %v", err)
	}
	defer func() { _ = reader.Close() }() // it only reads
	if got := number(t, reader, "a"); got != 2 {
		t.Errorf("a reader finds %d, want 2", got)
	}
	if _, err := add(t.Context(), reader, "a"); err != store.ErrReadOnly { //nolint:errorlint // as documented
		t.Errorf("an update of a reader: %v, want ErrReadOnly", err)
	}
	if reader.Version() == "" || reader.Lost() != nil {
		t.Errorf("a reader has version %q, and can be lost: %v", reader.Version(), reader.Lost() != nil)
	}
}

// TestRoundTrips: an update whose reads are in memory, or find nothing, takes two
// round trips. One that depends on unknown records takes one more for each step.
func TestRoundTrips(t *testing.T) {
	server := shared.Server(t)
	proxy := pg.NewProxy(t, server, 0)
	db := open(t, postgres.Options{URL: proxy.URL(t, server.URL(t))})
	mustAdd(t, db, "a", 0)
	mustAdd(t, db, "a", 1)
	const updates = 100
	before := proxy.Trips()
	for i := range updates {
		mustAdd(t, db, "a", uint64(i+2))
		mustAdd(t, db, string(binary.BigEndian.AppendUint32(nil, uint32(i))), 0)
	}
	// Renewals of the lease come on top.
	if trips := float64(proxy.Trips()-before) / (2 * updates); trips > 2.2 {
		t.Errorf("an update took %.2f round trips, want 2", trips)
	}
}

// TestLostCommits: the server comes back without the last commits, as after a failover
// to a replica that lags. The process holds things in memory that no longer exist, so
// it must end.
func TestLostCommits(t *testing.T) {
	url := shared.Server(t).URL(t)
	db := open(t, postgres.Options{URL: url})
	mustAdd(t, db, "a", 0)
	pg.Query(t, url, "create table before as select commit_id from legwork_store")
	mustAdd(t, db, "a", 1)
	pg.Query(t, url, "update legwork_store set commit_id = before.commit_id from before")
	_, err := add(t.Context(), db, "a")
	if !errors.Is(err, tasks.ErrFenced) || !strings.Contains(err.Error(), "has lost commits of this process") {
		t.Errorf("an update after a loss: %v, want ErrFenced with the cause", err)
	}
	<-db.Lost()
}

// TestTurns: two writers take turns by the lock. One is a DB, and the other one
// follows the same rules in SQL. The DB never reads what the other one has replaced,
// also when it began before the other one committed.
func TestTurns(t *testing.T) {
	url := shared.Server(t).URL(t)
	db := open(t, postgres.Options{URL: url})
	mustAdd(t, db, "a", 0)
	other := pg.Connect(t, url)
	for n := uint64(1); n < 40; n += 2 {
		other.Exec("begin")
		other.Exec("select commit_id from legwork_store for update")
		other.Exec("update legwork_kv set v = $1 where k = 'a'", binary.BigEndian.AppendUint64(nil, n+1))
		other.Exec(commitBeside)
		added := make(chan error, 1)
		var found uint64
		go func() {
			var err error
			found, err = add(t.Context(), db, "a")
			added <- err
		}()
		for other.Number("select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'") == 0 {
		}
		other.Exec("commit")
		if err := <-added; err != nil || found != n+1 {
			t.Fatalf("after the other writer's %d: found %d and %v", n+1, found, err)
		}
		if got := number(t, db, "a"); got != n+2 {
			t.Fatalf("after both writers: got %d, want %d", got, n+2)
		}
	}
}
