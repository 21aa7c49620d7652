package postgres_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"legwork/store"
	"legwork/store/postgres"
)

// Sizes of the benchmarks: 64 senders, each update of 12 records, of which 8 are new
// ones that it looks for first.
const (
	senders   = 64
	records   = 12
	newOnes   = 8
	valueSize = 300
)

// BenchmarkIntake is the intake of updates.
func BenchmarkIntake(b *testing.B) {
	db := open(b, postgres.Options{URL: shared.Server(b).URL(b)})
	value := bytes.Repeat([]byte("v"), valueSize)
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for s := range senders {
		wg.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(b.N) {
					return
				}
				err := db.Update(b.Context(), func(x store.Tx) (func(), error) {
					for i := range records {
						key := fmt.Appendf(nil, "sender%d/%d", s, i)
						if i < newOnes {
							key = fmt.Appendf(nil, "message%012d/%d", n, i)
						}
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
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "updates/s")
	b.ReportMetric(float64(b.N*records)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkBareInserts inserts the same rows without a store: groups of as many rows
// as 64 updates have, by one connection.
func BenchmarkBareInserts(b *testing.B) {
	url := shared.Server(b).URL(b)
	conn, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(context.Background()) //nolint:errcheck // the end of the benchmark
	if _, err := conn.Exec(b.Context(), "create table bare (t smallint, k bytea, v bytea, primary key (t, k))"); err != nil {
		b.Fatal(err)
	}
	value := bytes.Repeat([]byte("v"), valueSize)
	b.ResetTimer()
	for n := 0; n < b.N; n += senders {
		var tables []int16
		var keys, values [][]byte
		for i := range senders * records {
			tables, keys, values = append(tables, 2), append(keys, fmt.Appendf(nil, "message%012d/%d", n, i)), append(values, value)
		}
		if _, err := conn.Exec(b.Context(), "insert into bare select * from unnest($1::smallint[], $2::bytea[], $3::bytea[])", tables, keys, values); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*records)/b.Elapsed().Seconds(), "rows/s")
}

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
