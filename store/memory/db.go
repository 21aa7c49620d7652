package memory

import (
	"context"
	"iter"
	"sync"

	"legwork/store"
	"legwork/store/chunks"
)

// DB implements store.DB.
type DB struct {
	mu      sync.Mutex
	records *store.Map // nil: closed
	reading int        // running views; an update does not change what they read
}

// NewDB returns an empty database.
func NewDB() *DB { return &DB{records: &store.Map{}} }

// View implements store.DB.
func (db *DB) View(ctx context.Context, do func(store.Tx) error) error {
	db.mu.Lock()
	err := db.check(ctx)
	if err == nil {
		records := db.records
		db.reading++
		db.mu.Unlock()
		err = do(tx{records: records})
		db.mu.Lock()
		db.reading--
	}
	db.mu.Unlock()
	return err
}

// Update implements store.DB.
func (db *DB) Update(ctx context.Context, do func(store.Tx) (done func(), err error)) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if err := db.check(ctx); err != nil {
		return err
	}
	over := store.NewOverlay(tx{records: db.records})
	done, err := do(over)
	if err != nil {
		return err
	}
	if db.reading > 0 {
		db.records = db.records.Copy()
	}
	for t, r := range over.Changes() {
		if r.Value == nil {
			db.records.Delete(t, r.Key)
		} else {
			db.records.Set(t, r.Key, r.Value)
		}
	}
	if done != nil {
		done()
	}
	return nil
}

func (db *DB) check(ctx context.Context) error {
	if db.records == nil {
		return store.ErrClosed
	}
	return ctx.Err()
}

// Contents implements store.DB.
func (db *DB) Contents() store.Contents { return chunks.New(db) }

// Close implements store.DB.
func (db *DB) Close() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.records = nil
	return nil
}

// tx implements store.Tx over records that do not change meanwhile. Overlays keep
// the changes.
type tx struct {
	store.ReadOnly

	records *store.Map
}

// Get implements store.Tx.
func (x tx) Get(t store.Table, key []byte) ([]byte, error) {
	value, _ := x.records.Get(t, key)
	return value, nil
}

// Range implements store.Tx.
func (x tx) Range(t store.Table, from, to []byte, o store.Order) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for r := range x.records.Range(t, from, to, o) {
			if !yield(r, nil) {
				return
			}
		}
	}
}
