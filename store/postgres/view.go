package postgres

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"legwork/internal/retry"
	"legwork/store"
)

// Bounds of the parts in which a range is read.
const (
	firstPart = 64      // records
	maxPart   = 4096    // records
	partBytes = 4 << 20 // of records; the last one may go beyond it
)

// query runs a query in a transaction and calls each for its rows.
type query func(each func(pgx.Rows) error, sql string, args ...any) error

// Pauses between tries to reach the server.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = time.Second
	spread       = 0.5
)

const beginView = `begin isolation level repeatable read read only`

// View implements store.DB. While the server cannot be reached, it waits until ctx
// ends.
func (db *DB) View(ctx context.Context, do func(store.Tx) error) error {
	var conn *pgxpool.Conn
	defer func() { leave(conn) }()
	return do(view{query: func(each func(pgx.Rows) error, sql string, args ...any) (err error) {
		if conn == nil {
			conn, err = db.begin(ctx, each, sql, args)
			return err
		}
		if err = classify(queryOn(ctx, conn.Conn())(each, sql, args...)); err != nil && conn.Conn().IsClosed() {
			err = fmt.Errorf("%w: %w", store.ErrBroken, err)
		}
		return err
	}})
}

// queryOn returns a query of a session.
func queryOn(ctx context.Context, conn *pgx.Conn) query {
	return func(each func(pgx.Rows) error, sql string, args ...any) error {
		b := &pgx.Batch{}
		b.Queue(sql, args...).Query(each)
		return conn.SendBatch(ctx, b).Close()
	}
}

// begin begins a view with its first query, in one round trip.
func (db *DB) begin(ctx context.Context, each func(pgx.Rows) error, sql string, args []any) (*pgxpool.Conn, error) {
	pauses := retry.New(firstPause, longestPause, spread)
	for {
		select {
		case <-db.updates.Closing:
			return nil, store.ErrClosed
		default:
		}
		conn, err := db.pool.Acquire(ctx)
		if err == nil {
			b := &pgx.Batch{}
			b.Queue(beginView)
			b.Queue(sql, args...).Query(each)
			if err = conn.SendBatch(ctx, b).Close(); err == nil {
				return conn, nil
			}
		}
		retries := passes(err, conn == nil || conn.Conn().IsClosed())
		leave(conn)
		if db.lease != nil && db.lease.check() != nil {
			return nil, db.lease.check()
		}
		if !retries || ctx.Err() != nil {
			return nil, classify(err)
		}
		if err := pauses.Sleep(ctx); err != nil {
			return nil, err
		}
	}
}

// leave ends a view and gives its connection back to the pool.
func leave(conn *pgxpool.Conn) {
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	_, _ = conn.Exec(ctx, "rollback") // when it fails, the pool closes the connection
	conn.Release()
}

// view is the transaction of a view.
type view struct {
	store.ReadOnly

	query query
}

// Get implements store.Tx.
func (x view) Get(t store.Table, key []byte) (value []byte, err error) {
	err = x.query(func(rows pgx.Rows) error {
		value = nil
		if !rows.Next() {
			return rows.Err()
		}
		return rows.Scan(&value)
	}, `select v from legwork_kv where t = $1 and k = $2`, int16(t), notNil(key))
	return value, err
}

// Range implements store.Tx.
func (x view) Range(t store.Table, from, to []byte, o store.Order) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for s := newScan(span{t, from, to}, o); !s.ended; s.records = nil {
			if err := s.next(x.query); err != nil {
				yield(store.Record{}, err)
				return
			}
			for _, r := range s.records {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// scan reads a range in parts.
type scan struct {
	rest    span // not read yet
	order   store.Order
	limit   int
	records []store.Record
	ended   bool
}

func newScan(s span, o store.Order) *scan { return &scan{rest: s, order: o, limit: firstPart} }

// next appends the next part to the records.
func (s *scan) next(q query) error {
	before, bytes := len(s.records), 0
	err := q(func(rows pgx.Rows) error {
		s.records, bytes = s.records[:before], 0
		for bytes < partBytes && rows.Next() {
			var r store.Record
			if err := rows.Scan(nil, &r.Key, &r.Value); err != nil {
				return err
			}
			s.records = append(s.records, r)
			bytes += len(r.Key) + len(r.Value)
		}
		return rows.Err()
	}, getRange(s.order), s.rest.arguments(s.limit)...)
	n := len(s.records) - before
	if err != nil || n == 0 || n < s.limit && bytes < partBytes {
		s.ended = true
		return err
	}
	if last := s.records[len(s.records)-1].Key; s.order == store.Descending {
		s.rest.to = last
	} else {
		s.rest.from = append(last[:len(last):len(last)], 0)
	}
	if s.limit = min(2*s.limit, maxPart); bytes >= partBytes {
		s.limit = n
	}
	return nil
}

// getRange is the statement that reads a range.
func getRange(o store.Order) string {
	if o == store.Descending {
		return `select t, k, v from legwork_kv where (t, k) >= ($1, $2) and (t, k) < ($3, $4) order by t desc, k desc limit $5`
	}
	return `select t, k, v from legwork_kv where (t, k) >= ($1, $2) and (t, k) < ($3, $4) order by t, k limit $5`
}

// arguments are those of getRange. A nil limit means no limit.
func (s span) arguments(limit any) []any {
	if s.to == nil {
		return []any{int16(s.table), notNil(s.from), int16(s.table) + 1, []byte{}, limit}
	}
	return []any{int16(s.table), notNil(s.from), int16(s.table), s.to, limit}
}

// notNil is a key as an argument: nil would be null.
func notNil(key []byte) []byte {
	if key == nil {
		return []byte{}
	}
	return key
}
