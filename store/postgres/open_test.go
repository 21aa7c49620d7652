package postgres_test

import (
	"net"
	"strings"
	"testing"

	"legwork/internal/test/pg"
	"legwork/store/postgres"
)

// TestBadURL: a URL that cannot be read is refused, and its password is not shown.
func TestBadURL(t *testing.T) {
	for _, url := range []string{
		"", "data", "http://localhost/db", "host=localhost user=u password=s3cret",
		"postgres://u:s3cret@localhost:port/db", "postgres://u:s3cret/x@localhost/db", "postgres://u:s3cret%zz@localhost/db",
		"postgres://u:s3cret@localhost/db?sslmode=maybe", "postgres://u@localhost/db?password=s3cret&sslmode=maybe",
		"postgres://u:s3cret@localhost/db?connect_timeout=soon", "postgres://u:s3cret@localhost:99999/db",
	} {
		_, err := postgres.Open(t.Context(), postgres.Options{URL: url})
		if err == nil {
			t.Errorf("Open(%q): no error", url)
			continue
		}
		if text := err.Error(); strings.Contains(text, "s3c") || strings.Contains(text, "\n") {
			t.Errorf("Open(%q): %q, want one line without the password", url, text)
		}
	}
}

func TestVersions(t *testing.T) {
	for _, test := range []struct {
		number int
		name   string
		ok     bool
	}{{130023, "13.23", false}, {140000, "14.0", true}, {150018, "15.18 (Debian)", true}, {180001, "18.1", true}, {190000, "19beta1", false}} {
		err := postgres.CheckVersion(test.number, test.name)
		if (err == nil) != test.ok || err != nil && !strings.Contains(err.Error(), "14 to 18") {
			t.Errorf("Postgres %s: %v, want it supported: %v", test.name, err, test.ok)
		}
	}
}

// TestRefusals: each reason for which a database cannot be opened is one sentence
// that says what to do.
func TestRefusals(t *testing.T) {
	server := shared.Server(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nowhere := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	url := func(user, address, database string) string {
		return "postgres://" + user + "@" + address + "/" + database + "?sslmode=disable"
	}
	prepared := func(sql string) string {
		url := server.URL(t)
		db := open(t, postgres.Options{URL: url})
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		pg.Query(t, url, sql)
		return url
	}
	readOnly := server.URL(t)
	pg.Query(t, readOnly, "do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$")
	for _, test := range []struct{ name, url, want string }{
		{"nobody listens", url("postgres", nowhere, "db"), "cannot be reached"},
		{"wrong password", url("locked:s3cret", server.Address(), "postgres"), `refuses the user "locked": check the user and the password`},
		{"no database", url("postgres", server.Address(), "nowhere"), `has no database "nowhere": create it`},
		{"no rights", url("locked:right", server.Address(), "postgres"), `the user "locked" has too few rights`},
		{"read-only", readOnly, "is read-only: use the URL of a primary server"},
		{"newer schema", prepared("insert into legwork_schema values (99)"), "another version of legwork"},
		{"other format", prepared("update legwork_store set format = 99"), "another version of legwork"},
	} {
		_, err := postgres.Open(t.Context(), postgres.Options{URL: test.url})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want an error with %q", test.name, err, test.want)
			continue
		}
		if text := err.Error(); strings.Contains(text, "s3cret") || strings.Contains(text, "\n") {
			t.Errorf("%s: %q, want one line without the password", test.name, text)
		}
	}
	if _, err := postgres.OpenReader(t.Context(), postgres.Options{URL: server.URL(t)}); err == nil || !strings.Contains(err.Error(), "holds no data of legwork") {
		t.Errorf("a reader of an empty database: %v", err)
	}
}

// TestOpenAtOnce: processes that open an empty database at the same time make its
// tables once, and one of them gets it.
func TestOpenAtOnce(t *testing.T) {
	o := postgres.Options{URL: shared.Server(t).URL(t)}
	const n = 5
	results := make(chan error, n)
	for range n {
		go func() {
			db, err := postgres.Open(t.Context(), o)
			if err == nil {
				t.Cleanup(func() { _ = db.Close() })
			}
			results <- err
		}()
	}
	opened := 0
	for range n {
		err := <-results
		if err == nil {
			opened++
		} else if !strings.Contains(err.Error(), "is in use by") {
			t.Errorf("Open: %v", err)
		}
	}
	if opened != 1 {
		t.Errorf("%d processes got the database, want 1", opened)
	}
}
