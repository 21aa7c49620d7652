package bolt_test

import (
	"io"
	"testing"
	"time"

	"legwork/store"
	"legwork/store/bolt"
	"legwork/store/storetest"
	"legwork/tasks"
)

// open opens the store of dir and closes it when the test ends.
func open(t testing.TB, dir string, o bolt.Options) *bolt.Store {
	t.Helper()
	s, err := bolt.Open(t.Context(), dir, o)
	if err != nil {
		t.Fatalf("Open(%s): %v", dir, err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

func closeStore(t testing.TB, s io.Closer) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

func TestStore(t *testing.T) { storetest.Run(t, opener) }

// TestSame: a store on disk gives the same answers as one in memory.
func TestSame(t *testing.T) {
	t.Parallel()
	storetest.RunSame(t, opener)
}

// opener implements storetest.Opener.
func opener(t *testing.T, now func() time.Time) (tasks.Store, func() tasks.Store) {
	dir := t.TempDir()
	s := open(t, dir, bolt.Options{Now: now})
	return s, func() tasks.Store {
		closeStore(t, s)
		s = open(t, dir, bolt.Options{Now: now})
		return s
	}
}

func TestDB(t *testing.T) {
	storetest.RunDB(t, func(t *testing.T) store.DB { return openDB(t, t.TempDir()) })
}

// openDB opens the database of dir and closes it when the test ends.
func openDB(t *testing.T, dir string) *bolt.DB {
	t.Helper()
	db, err := bolt.OpenDB(t.Context(), dir, bolt.Options{})
	if err != nil {
		t.Fatalf("OpenDB(%s): %v", dir, err)
	}
	t.Cleanup(func() { closeStore(t, db) })
	return db
}
