package postgres

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"legwork/tasks"
)

// HeldError means that another process holds the database.
type HeldError struct {
	Database string // host, port and name
	Holder   string
	Since    time.Time     // by the database's clock
	Expires  time.Duration // until the database is free, if that process does not run any more
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("the database %s is in use by %s since %s: run the command there, in the folder of that process, or stop it; after a kill the database is free within %v", e.Database, e.Holder, e.Since.Local().Format(time.DateTime), leaseFor)
}

// connectError means that no session could be opened.
type connectError struct{ error }

func (e connectError) Unwrap() error { return e.error }

// pgError returns the server's error in err; one without a code when there is none.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
func pgError(err error) *pgconn.PgError {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg
	}
	return &pgconn.PgError{}
}

// refused reports whether the server refused a statement in a session that goes on.
// Then the transaction has left no changes. After any other error of a commit it is
// not known whether the server has committed.
func refused(err error) bool { return pgError(err).SeverityUnlocalized == "ERROR" }

// passes reports whether an error is one that ends by itself, such as a restart or
// a failover of the server. broken says that there is no session any more.
func passes(err error, broken bool) bool {
	switch code := pgError(err).Code; {
	case broken:
		return true
	case code == "53100": // disk full
		return false
	case code == "25006", code == "55P03": // read-only after a failover; lock timeout
		return true
	case code == "23505": // the cache was wrong about a new key; it is empty now
		return true
	case len(code) == 5: // connection, serialization failure, resources, operator
		return strings.Contains("08 40 53 57", code[:2])
	}
	return false
}

// classify adds the sentinel that callers need.
func classify(err error) error {
	if err == nil {
		return nil
	}
	if pgError(err).Code == "53100" {
		return fmt.Errorf("%w: the Postgres server: %w", tasks.ErrFull, err)
	}
	return fmt.Errorf("the Postgres server: %w", err)
}

// explain says in one sentence why a database cannot be opened, and what to do.
func explain(err error, c *pgx.ConnConfig) error {
	if errors.As(err, new(*HeldError)) {
		return err
	}
	server, user := fmt.Sprintf("Postgres at %s:%d", c.Host, c.Port), c.User
	var dial *net.OpError
	pg := pgError(err)
	switch {
	case strings.HasPrefix(pg.Code, "28"): // invalid authorization
		return fmt.Errorf("%s refuses the user %q: check the user and the password in the URL (%w)", server, user, pg)
	case pg.Code == "3D000":
		return fmt.Errorf("%s has no database %q: create it with createdb, or correct the URL", server, c.Database)
	case pg.Code == "42501":
		return fmt.Errorf("the user %q has too few rights in the database %q of %s: make the user its owner (%w)", user, c.Database, server, pg)
	case pg.Code == "25006":
		return fmt.Errorf("the database %q of %s is read-only: use the URL of a primary server", c.Database, server)
	case pg.Code == "53300":
		return fmt.Errorf("%s has no free connection for the user %q (%w): raise max_connections of the server, or the limit of the user; legwork needs up to %d", server, user, pg, maxViews+2)
	case pg.Code == "42P07", pg.Code == "42703":
		return fmt.Errorf("the database %q of %s has tables of another program whose names begin with legwork_: use a database of its own (%w)", c.Database, server, pg)
	case pg.Code == "57P03":
		return fmt.Errorf("%s is starting or stopping: try again in a moment (%w)", server, pg)
	case pg.Code != "":
		return fmt.Errorf("%s: %w", server, pg)
	case errors.As(err, &dial):
		err = dial // without the addresses that were tried
	case !errors.As(err, new(connectError)):
		return fmt.Errorf("%s: %w", server, err)
	}
	cause := strings.Join(strings.Fields(err.Error()), " ")
	if strings.Contains(cause, "tls") || strings.Contains(cause, "TLS") || strings.Contains(cause, "x509") {
		return fmt.Errorf("%s and legwork do not agree on TLS (%s): check sslmode and sslrootcert in the URL, and the server's certificate", server, cause)
	}
	return fmt.Errorf("%s cannot be reached (%s): check that it runs, and the host and port in the URL", server, cause)
}
