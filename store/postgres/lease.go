package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"legwork/internal/retry"
	"legwork/tasks"
)

// Times of the lease. A standby takes it leaseFor after the last renewal. When one
// waits, the holder stops before that, by its own clock.
const (
	leaseFor     = 9 * time.Second
	holdFor      = 8 * time.Second
	renewEvery   = 3 * time.Second
	renewTimeout = 2 * time.Second
	tryAgain     = 500 * time.Millisecond // after a renewal that failed
	askEvery     = time.Second            // of a standby
	waitsFor     = "5 seconds"            // after it asked
	takeTimeout  = 10 * time.Second       // the server ends a frozen holder's session in half of that
)

const takenOver = "another legwork has taken over the database"

// lostError says why the lease is lost.
type lostError string

func (e lostError) Error() string {
	return string(e) + ". This process can store nothing any more and must be started again"
}

// Is makes callers see that somebody else may hold their tasks.
func (lostError) Is(target error) bool { return target == tasks.ErrFenced }

// Statements of the lease. The expiry is by the clock of the server.
const (
	takeLease = `update legwork_lease set fence = fence + 1, holder = $1, since = clock_timestamp(), expires_at = clock_timestamp() + $2::interval
		where holder = '' or expires_at < clock_timestamp() returning fence`
	raiseFence   = `update legwork_store set fence = $1`
	askLease     = `update legwork_lease set asked_at = clock_timestamp() returning holder, since, expires_at - clock_timestamp()`
	readLease    = `select holder, since, expires_at - clock_timestamp() from legwork_lease`
	renewLease   = `update legwork_lease set expires_at = clock_timestamp() + $2::interval where fence = $1 returning asked_at > clock_timestamp() - interval '` + waitsFor + `'`
	releaseLease = `update legwork_lease set holder = '' where fence = $1`
)

// lease is the right of this process to write. It is lost for good when another
// process has taken it, or may have: a standby waited at the last renewal, and none
// succeeded for holdFor. Without a standby the process waits for the server, and goes
// on when the lease is still its own.
type lease struct {
	fence  int64 // grows with each holder
	now    func() time.Time
	lost   <-chan struct{}
	cancel context.CancelFunc // closes lost

	failure atomic.Pointer[error] // why the newest renewal failed

	mu      sync.Mutex
	renewed time.Time // when the last renewal that succeeded was sent
	wanted  bool      // a standby waited then
	cause   error     // why the lease is lost
}

// check returns why the lease is lost; nil while this process holds it.
func (l *lease) check() error {
	l.mu.Lock()
	idle := l.now().Sub(l.renewed)
	cause, wanted := l.cause, l.wanted
	l.mu.Unlock()
	if cause == nil && wanted && idle >= holdFor {
		return l.lose(fmt.Sprintf("the Postgres server did not renew the lease for %v, so another legwork may have taken over the database", idle.Round(time.Second)))
	}
	return cause
}

// lose gives up the lease because of a fact, and returns why it is lost.
func (l *lease) lose(fact string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause == nil {
		l.cause = lostError(fact)
		l.cancel()
	}
	return l.cause
}

// acquire takes the lease. It waits for it when this process is a standby.
func (db *DB) acquire(ctx context.Context) (*lease, error) {
	var conn *pgx.Conn
	defer func() { hangUp(conn) }()
	for waiting, silent := false, false; ; {
		l, pause, err := (*lease)(nil), askEvery, error(nil)
		if conn == nil || conn.IsClosed() {
			conn, err = db.connect(ctx)
		}
		if err == nil {
			l, err = db.take(ctx, conn)
		}
		var held *HeldError
		switch {
		case err == nil:
			db.log.InfoContext(ctx, "postgres lease taken", "fence", l.fence)
			return l, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, &held) && db.o.Standby != nil:
			if !waiting {
				db.o.Standby(held.Holder)
			}
			if silent {
				db.log.InfoContext(ctx, "postgres answers the standby again")
			}
			waiting, silent, pause = true, false, min(askEvery, held.Expires)
		case waiting && passes(err, conn == nil || conn.IsClosed()):
			if !silent {
				db.log.WarnContext(ctx, "postgres does not answer the standby", "cause", explain(err, db.config.ConnConfig))
			}
			silent = true
		default:
			return nil, err
		}
		if err := retry.Sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// take takes the lease if it is free. Otherwise it returns a *HeldError.
func (db *DB) take(ctx context.Context, conn *pgx.Conn) (l *lease, err error) {
	ctx, cancel := context.WithTimeout(ctx, takeTimeout)
	defer cancel()
	l = &lease{now: db.o.now, renewed: db.o.now()}
	var held *HeldError
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, takeLease, db.self(), leaseFor).Scan(&l.fence)
		if err == nil {
			_, err = tx.Exec(ctx, raiseFence, l.fence) // it waits for a commit that has begun
			return err
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		ask := readLease
		if db.o.Standby != nil {
			ask = askLease
		}
		held = &HeldError{Database: db.name()}
		return tx.QueryRow(ctx, ask).Scan(&held.Holder, &held.Since, &held.Expires)
	})
	if err == nil && held != nil {
		held.Expires += time.Millisecond
		err = held
	}
	return l, err
}

// keep renews the lease until ctx ends, or the lease is lost.
func (db *DB) keep(ctx context.Context) {
	defer close(db.kept)
	var conn *pgx.Conn
	defer func() { hangUp(conn) }()
	var pause time.Duration
	for retry.Sleep(ctx, pause) == nil && db.lease.check() == nil {
		pause = renewEvery
		err := db.renew(ctx, &conn)
		if err == nil {
			db.lease.failure.Store(nil)
		} else if ctx.Err() == nil {
			err = explain(err, db.config.ConnConfig)
			db.lease.failure.Store(&err)
			db.log.WarnContext(ctx, "postgres lease not renewed", "cause", err)
			pause = tryAgain
		}
	}
	if cause := db.lease.check(); cause != nil {
		db.log.ErrorContext(ctx, "postgres lease lost", "cause", cause)
	}
}

// renew renews the lease in the session conn. It opens a new one when that is broken.
func (db *DB) renew(ctx context.Context, conn **pgx.Conn) (err error) {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	if *conn == nil || (*conn).IsClosed() {
		if *conn, err = db.connect(ctx); err != nil {
			return err
		}
	}
	sent := db.lease.now()
	var wanted bool
	switch err := (*conn).QueryRow(ctx, renewLease, db.lease.fence, leaseFor).Scan(&wanted); {
	case errors.Is(err, pgx.ErrNoRows):
		return db.lease.lose(takenOver)
	case err != nil:
		return err
	}
	db.lease.mu.Lock()
	defer db.lease.mu.Unlock()
	db.lease.renewed, db.lease.wanted = sent, wanted
	return nil
}

// release gives back the lease. It does nothing when the lease is lost.
func (db *DB) release() error {
	if db.lease.check() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	conn, err := db.connect(ctx)
	if err == nil {
		defer hangUp(conn)
		_, err = conn.Exec(ctx, releaseLease, db.lease.fence)
	}
	if err != nil {
		return fmt.Errorf("giving back the lease of the database %s, which expires within %v: %w", db.name(), leaseFor, err)
	}
	return nil
}
