// Package postgres is the database of a store on a Postgres server.
//
// One process at a time works on a database: it holds a lease (lease.go), which
// another process takes over when the first one ends, freezes or is cut off. Each
// commit checks under a lock that this process still holds the lease. One goroutine
// writes: it commits all queued updates in one transaction (writer.go), and keeps in
// memory what updates read (cache.go). Views read from the server (view.go).
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"legwork/internal/clock"
	"legwork/internal/telemetry"
	"legwork/store"
	"legwork/store/chunks"
)

// The supported major versions of Postgres.
const (
	oldest = 14
	newest = 18
)

// Bounds of connections.
const (
	maxViews       = 8 // connections for views
	connectTimeout = 5 * time.Second
	closeGrace     = 5 * time.Second // for what is queued when Close is called
	leaveTimeout   = 5 * time.Second // for giving back the lease: a busy server takes seconds for a connection
)

// Options configure a DB. URL is needed.
type Options struct {
	// URL is postgres://USER:PASSWORD@HOST:PORT/DATABASE. Several hosts, separated by
	// commas, are tried for the primary one.
	URL string
	// Command is the command that a second process names when the database is in use,
	// such as "legwork chat". Empty: the name of the program.
	Command string
	// Standby, when set, makes Open wait while another process holds the database. It
	// is called once, with a description of that process. Nil: Open returns a
	// *HeldError.
	Standby func(holder string)
	// Log gets messages about the server. Nil: no log.
	Log *slog.Logger
	// Metrics count transactions; may be nil.
	Metrics *telemetry.Metrics

	now func() time.Time // for tests; nil: a clock that cannot be set
}

// DB implements store.DB.
type DB struct {
	o      Options
	log    *slog.Logger
	config *pgxpool.Config
	pool   *pgxpool.Pool // for views
	server string
	lease  *lease // nil: open for reading only

	updates *store.Queue
	close   sync.Once
	closed  error
	kept    chan struct{}      // closed when the lease is no longer renewed
	abort   context.CancelFunc // ends the writer
	stop    context.CancelFunc // ends the renewals of the lease

	writeFailure atomic.Pointer[error] // why the newest change waits, or was refused
}

var _ store.DB = (*DB)(nil)

// Open opens a database, creates the tables in an empty one, and takes the lease.
// ctx bounds the opening only. Errors are one sentence that says what to do.
func Open(ctx context.Context, o Options) (*DB, error) {
	db, err := open(ctx, o, migrate)
	if err != nil {
		return nil, err
	}
	if db.lease, err = db.acquire(ctx); err != nil {
		db.pool.Close()
		return nil, explain(err, db.config.ConnConfig)
	}
	work, lose := context.WithCancel(context.WithoutCancel(ctx))
	writes, abort := context.WithCancel(work)
	renewals, stop := context.WithCancel(work)
	db.lease.lost, db.lease.cancel = work.Done(), lose
	db.kept, db.abort, db.stop = make(chan struct{}), abort, stop
	go (&writer{DB: db}).run(writes)
	go db.keep(renewals)
	return db, nil
}

// OpenReader opens a database for reading, beside the process that holds it. Update
// returns store.ErrReadOnly.
func OpenReader(ctx context.Context, o Options) (*DB, error) {
	return open(ctx, o, func(ctx context.Context, conn *pgx.Conn) error {
		version, err := schema(ctx, conn)
		if err == nil && version == 0 {
			err = errors.New("the database holds no data of legwork: check the URL")
		}
		return err
	})
}

// open connects to the server and checks it. prepare checks or makes the tables.
func open(ctx context.Context, o Options, prepare func(context.Context, *pgx.Conn) error) (*DB, error) {
	config, err := parse(o.URL)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.now == nil {
		o.now = clock.New().Now
	}
	db := &DB{o: o, log: o.Log, config: config, updates: store.NewQueue()}
	conn, err := db.connect(ctx)
	if err != nil {
		return nil, explain(err, config.ConnConfig)
	}
	defer hangUp(conn)
	if db.server, err = check(ctx, conn); err != nil {
		return nil, explain(err, config.ConnConfig)
	}
	if err := prepare(ctx, conn); err != nil {
		return nil, explain(err, config.ConnConfig)
	}
	if db.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), config); err != nil {
		return nil, explain(err, config.ConnConfig)
	}
	o.Log.InfoContext(ctx, "postgres opened", "at", db.name(), "server", db.server, "supported", fmt.Sprintf("Postgres %d to %d", oldest, newest))
	return db, nil
}

// parse reads a URL. Its errors do not show the password.
func parse(text string) (*pgxpool.Config, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, errors.New("this is not the URL of a Postgres database: it looks like postgres://USER:PASSWORD@HOST:5432/DATABASE, with special characters of the password as %XX")
	}
	config, err := pgxpool.ParseConfig(text)
	if err != nil {
		_, part, _ := strings.Cut(err.Error(), "`: ") // the error begins with the URL
		return nil, fmt.Errorf("the Postgres URL has a wrong part: %s", part)
	}
	c := config.ConnConfig
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	if c.ValidateConnect == nil && strings.Contains(u.Host, ",") {
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	for name, value := range map[string]string{
		"application_name":   cmp.Or(c.RuntimeParams["application_name"], "legwork"),
		"synchronous_commit": "on",
		"lock_timeout":       "10s",
		// Longer than maxAttempt: a commit that the server cuts short does not wait for
		// synchronous standbys.
		"statement_timeout":             "1min",
		"default_transaction_isolation": "read committed",
		// A view may do something long between two reads. It holds no locks.
		"idle_in_transaction_session_timeout": "10min",
		// Every query goes by the primary key. Without statistics, as in a new database,
		// the planner would rather read the whole table.
		"enable_seqscan":    "off",
		"enable_bitmapscan": "off",
		"enable_hashjoin":   "off",
		"enable_mergejoin":  "off",
		"jit":               "off",
	} {
		c.RuntimeParams[name] = value
	}
	config.MaxConns = maxViews
	// A view tries another connection when its first query finds this one broken.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	return config, nil
}

// connect opens a session beside those of the pool. When its process freezes within
// a transaction, the server ends the session soon, because it holds locks.
func (db *DB) connect(ctx context.Context) (*pgx.Conn, error) {
	c := db.config.ConnConfig.Copy()
	c.RuntimeParams["idle_in_transaction_session_timeout"] = "5s"
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return nil, connectError{err}
	}
	return conn, nil
}

// hangUp closes a session.
func hangUp(conn *pgx.Conn) {
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	_ = conn.Close(ctx) // the server notices by itself
}

// check returns the name of the server's version. It refuses one that is not
// supported.
func check(ctx context.Context, conn *pgx.Conn) (name string, err error) {
	var number int
	err = conn.QueryRow(ctx, "select current_setting('server_version_num')::integer, current_setting('server_version')").Scan(&number, &name)
	if err != nil {
		return "", err
	}
	return name, checkVersion(number, name)
}

// checkVersion refuses a version that is not supported. number is the major version
// times 10000 and the minor one.
func checkVersion(number int, name string) error {
	if major := number / 10000; major < oldest || major > newest {
		return fmt.Errorf("the server is Postgres %s, and this version of legwork supports %d to %d: use one of them", name, oldest, newest)
	}
	return nil
}

// name is the host, port and name of the database.
func (db *DB) name() string {
	c := db.config.ConnConfig
	return c.Host + ":" + strconv.Itoa(int(c.Port)) + "/" + c.Database
}

// self describes this process to others.
func (db *DB) self() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("pid %d on %s (%s)", os.Getpid(), host, cmp.Or(db.o.Command, filepath.Base(os.Args[0])))
}

// Version is the version of the server, such as "15.18".
func (db *DB) Version() string { return db.server }

// Lost is closed when another process has taken the lease, or may have: nothing can
// be stored any more, and this process must end. It is nil in a reader.
func (db *DB) Lost() <-chan struct{} {
	if db.lease == nil {
		return nil
	}
	return db.lease.lost
}

// Contents implements store.DB.
func (db *DB) Contents() store.Contents { return chunks.New(db) }

// Close commits the queued updates and gives back the lease. It waits for running
// views. When the server does not answer, the updates fail after closeGrace.
func (db *DB) Close() error {
	db.close.Do(func() {
		close(db.updates.Closing)
		if db.lease != nil {
			late := time.AfterFunc(closeGrace, db.abort)
			<-db.updates.Ended
			late.Stop()
			db.stop()
			<-db.kept
			db.closed = db.release()
		}
		db.pool.Close()
	})
	return db.closed
}
