package postgres

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed migrations/0001_tables.sql
var tablesScript string

// migrations returns the scripts that make the schema. Each runs once in a database,
// in this order. A worker of the version before may be running meanwhile: a new script
// must leave it able to work, for example by adding only.
func migrations() []string { return []string{tablesScript} }

// format is the version of the records in the tables, see package store.
const format = 3

const readVersion = `select coalesce(max(version), 0) from legwork_schema`

// migrate runs the scripts that have not run in the database. One process at a time
// does that.
func migrate(ctx context.Context, conn *pgx.Conn) error {
	scripts := migrations()
	if version, err := schema(ctx, conn); err != nil || version == len(scripts) {
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		const begin = `select pg_advisory_xact_lock(1818585975); create table if not exists legwork_schema (version integer primary key)`
		if _, err := conn.PgConn().Exec(ctx, begin).ReadAll(); err != nil {
			return err
		}
		var version int // again: another process may have been quicker
		if err := tx.QueryRow(ctx, readVersion).Scan(&version); err != nil {
			return err
		}
		for ; version < len(scripts); version++ {
			if _, err := conn.PgConn().Exec(ctx, scripts[version]).ReadAll(); err != nil {
				return fmt.Errorf("running migration %d: %w", version+1, err)
			}
			if _, err := tx.Exec(ctx, "insert into legwork_schema values ($1)", version+1); err != nil {
				return err
			}
		}
		return nil
	})
}

// schema returns how many scripts have run in the database. It refuses a database
// that another version of legwork wrote.
func schema(ctx context.Context, conn *pgx.Conn) (version int, err error) {
	var exists bool
	err = conn.QueryRow(ctx, "select to_regclass('legwork_schema') is not null").Scan(&exists)
	if err != nil || !exists {
		return 0, err
	}
	if err := conn.QueryRow(ctx, readVersion).Scan(&version); err != nil || version == 0 {
		return 0, err
	}
	var found int
	if err := conn.QueryRow(ctx, "select format from legwork_store").Scan(&found); err != nil {
		return 0, err
	}
	if known := len(migrations()); version > known || found != format {
		return 0, fmt.Errorf("the database holds data of another version of legwork (schema %d, format %d; this version knows schema %d, format %d): use that version, or another database", version, found, known, format)
	}
	return version, nil
}
