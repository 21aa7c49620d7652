package main

import (
	"errors"
	"net/url"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"legwork/internal/test/need"
	"legwork/internal/test/pg"
	"legwork/store"
	"legwork/store/postgres"
)

// TestPostgres runs testdata/postgres/*.txtar, with a server and a worker that holds
// one of its databases.
func TestPostgres(t *testing.T) {
	need.Check(t)
	server := pg.Start(t)
	held, mine := server.URL(t), server.URL(t)
	pg.Query(t, mine, "grant all on schema public to locked")
	db, err := postgres.Open(t.Context(), postgres.Options{URL: held, Command: "the worker"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	err = db.Update(t.Context(), func(x store.Tx) (func(), error) {
		a, b := []byte("a"), []byte("b")
		return nil, errors.Join(x.Put(store.TableCuts, a, store.Seal(a, []byte("1"))), x.Put(store.TableCuts, b, store.Seal(b, []byte("2"))))
	})
	if err != nil {
		t.Fatal(err)
	}
	as := func(user *url.Userinfo) string {
		u, err := url.Parse(mine)
		if err != nil {
			t.Fatal(err)
		}
		u.User = user
		return u.String()
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/postgres",
		Setup: func(e *testscript.Env) error {
			e.Setenv("EMPTY_URL", server.URL(t))
			e.Setenv("HELD_URL", held)
			e.Setenv("LOCKED_URL", as(url.UserPassword("locked", "right")))
			e.Setenv("WRONG_URL", as(url.UserPassword("locked", "tattletale")))
			return nil
		},
	})
}
