package postgres_test

import (
	"bytes"
	"fmt"
	"testing"

	"legwork/store"
	"legwork/store/postgres"
)

const valueSize = 300

// BenchmarkUpdate is one update after the other, of 8 records that are known and
// read first.
func BenchmarkUpdate(b *testing.B) {
	db := open(b, postgres.Options{URL: shared.Server(b).URL(b)})
	value := bytes.Repeat([]byte("v"), valueSize)
	for b.Loop() {
		err := db.Update(b.Context(), func(x store.Tx) (func(), error) {
			for i := range 8 {
				key := fmt.Appendf(nil, "%d", i)
				if _, err := x.Get(store.TableJournal, key); err != nil {
					return nil, err
				}
				if err := x.Put(store.TableJournal, key, value); err != nil {
					return nil, err
				}
			}
			return nil, nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkView is a view of one record, and of a range of 20 beside it.
func BenchmarkView(b *testing.B) {
	db := open(b, postgres.Options{URL: shared.Server(b).URL(b)})
	err := db.Update(b.Context(), func(x store.Tx) (func(), error) {
		for i := range 20_000 {
			if err := x.Put(store.TableHistory, fmt.Appendf(nil, "%06d", i), bytes.Repeat([]byte("v"), valueSize)); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, size := range []int{0, 20} {
		b.Run(fmt.Sprintf("range of %d", size), func(b *testing.B) {
			for b.Loop() {
				err := db.View(b.Context(), func(x store.Tx) error {
					if _, err := x.Get(store.TableHistory, []byte("010000")); err != nil || size == 0 {
						return err
					}
					n := 0
					for _, err := range x.Range(store.TableHistory, []byte("010000"), nil, store.Ascending) {
						if n++; err != nil || n == size {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
