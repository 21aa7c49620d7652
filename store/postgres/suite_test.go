package postgres_test

import (
	"testing"
	"time"

	"legwork/internal/test/pg"
	"legwork/store"
	"legwork/store/postgres"
	"legwork/store/storetest"
	"legwork/tasks"
)

// TestStore puts the rules through the suite of all stores.
func TestStore(t *testing.T) { storetest.Run(t, opener(shared.Server(t))) }

// TestSame: a store on a server gives the same answers as one in memory.
func TestSame(t *testing.T) {
	t.Parallel()
	storetest.RunSame(t, opener(shared.Server(t)))
}

// opener returns an opener of stores in databases of their own.
func opener(server *pg.Server) storetest.Opener {
	return func(t *testing.T, now func() time.Time) (tasks.Store, func() tasks.Store) {
		o := postgres.Options{URL: server.URL(t)}
		var s *store.Store
		reopen := func() tasks.Store {
			if s != nil {
				if err := s.Close(); err != nil {
					t.Fatalf("Close: %v", err)
				}
			}
			var err error
			if s, err = store.Open(t.Context(), open(t, o), store.Options{Now: now}); err != nil {
				t.Fatalf("Open: %v", err)
			}
			return s
		}
		return reopen(), reopen
	}
}
