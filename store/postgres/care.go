package postgres

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// Try connects to the database at a URL, and returns the version of the server. The
// database may be empty, and another process may hold it.
func Try(ctx context.Context, url string) (version string, err error) {
	db, err := open(ctx, Options{URL: url}, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := schema(ctx, conn)
		return err
	})
	if err != nil {
		return "", err
	}
	return db.server, db.Close()
}

// WriteFailure returns why the newest change, or the newest renewal of the lease, is
// not written; nil when it is.
func (db *DB) WriteFailure() error {
	if err := db.lease.check(); err != nil {
		return err
	}
	for _, failure := range []*atomic.Pointer[error]{&db.writeFailure, &db.lease.failure} {
		if err := failure.Load(); err != nil {
			return *err
		}
	}
	return nil
}

// Size is the size of the records on the server, in bytes.
func (db *DB) Size(ctx context.Context) (size int64, err error) {
	err = db.pool.QueryRow(ctx, `select pg_total_relation_size('legwork_kv')`).Scan(&size)
	return size, err
}

// Vacuum lets the server use the space of deleted records again.
func (db *DB) Vacuum(ctx context.Context) error {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	// It may take longer than a statement of the store.
	_, err = conn.Exec(ctx, `set statement_timeout = 0`)
	if err == nil {
		_, err = conn.Exec(ctx, `vacuum legwork_kv`)
	}
	_, reset := conn.Exec(context.WithoutCancel(ctx), `reset statement_timeout`)
	if err == nil {
		err = reset
	}
	return err
}
