// Package memory keeps a store in memory, in a B-tree. It starts no goroutine and
// waits for nothing, so that a simulation under testing/synctest can run on it.
package memory

import (
	"context"
	"time"

	"legwork/store"
	"legwork/tasks"
)

// Store implements tasks.Store.
type Store struct {
	*store.Store
	db  *DB
	now func() time.Time
}

var _ tasks.Store = (*Store)(nil)

// New returns an empty store. now is the clock; nil means time.Now.
func New(now func() time.Time) *Store { return open(NewDB(), now) }

func open(db *DB, now func() time.Time) *Store {
	s, err := store.Open(context.Background(), db, store.Options{Now: now})
	if err != nil {
		panic(err) // nothing is ever damaged here
	}
	return &Store{s, db, now}
}

// Reopen closes the store and returns another one with the same contents, as after a
// restart: waiters of the old one hear nothing about changes in it.
func (s *Store) Reopen() *Store {
	s.db.mu.Lock()
	again := &DB{records: s.db.records}
	s.db.records = nil
	s.db.mu.Unlock()
	return open(again, s.now)
}
