package postgres

import "context"

// WriteFailure returns why nothing can be written any more; nil while this process
// holds the database.
func (db *DB) WriteFailure() error { return db.lease.check() }

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
