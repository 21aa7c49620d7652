package storetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"legwork/store"
)

// RunDB puts a database through the suite: each sentence of store.DB and store.Tx is a
// test here. open makes an empty database, and closes it when the test ends.
func RunDB(t *testing.T, open func(t *testing.T) store.DB) {
	for name, test := range map[string]func(*testing.T, store.DB){
		"any operations":  testAnyOperations,
		"own changes":     testOwnChanges,
		"long range":      testLongRange,
		"large values":    testLargeValues,
		"snapshot":        testSnapshot,
		"many senders":    testManySenders,
		"large updates":   testLargeUpdates,
		"dependent reads": testDependentReads,
		"ended context":   testEndedContext,
		"closed database": testClosedDB,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // many of them wait for the disk
			test(t, open(t))
		})
	}
}

// Tables of the tests: a database may keep the ranges of short ones in memory.
const (
	shortTable = store.TableLive
	longTable  = store.TableJournal
)

// update runs an update that must succeed.
func update(t testing.TB, db store.DB, do func(store.Tx) error) {
	t.Helper()
	if err := db.Update(t.Context(), func(x store.Tx) (func(), error) { return nil, do(x) }); err != nil {
		t.Fatalf("Update: %v", err)
	}
}

// put stores one record.
func put(ctx context.Context, db store.DB, table store.Table, key, value []byte) error {
	return db.Update(ctx, func(x store.Tx) (func(), error) { return nil, x.Put(table, key, value) })
}

// get returns the committed value of a key of the long table.
func get(ctx context.Context, db store.DB, key []byte) (value []byte, err error) {
	err = db.View(ctx, func(x store.Tx) error {
		value, err = x.Get(longTable, key)
		return err
	})
	return value, err
}

// contents returns the records of a range as text.
func contents(x store.Tx, table store.Table, from, to []byte, o store.Order) (list []string, err error) {
	for r, err := range x.Range(table, from, to, o) {
		if err != nil {
			return nil, err
		}
		list = append(list, fmt.Sprintf("%x=%x", r.Key, r.Value))
	}
	return list, nil
}

// stored returns the committed records of a range as text.
func stored(t testing.TB, db store.DB, table store.Table, from, to []byte, o store.Order) (list []string) {
	t.Helper()
	err := db.View(t.Context(), func(x store.Tx) (err error) {
		list, err = contents(x, table, from, to, o)
		return err
	})
	if err != nil {
		t.Fatalf("View: %v", err)
	}
	return list
}

// testAnyOperations compares a database with an overlay over nothing: reads in updates, on
// top of their changes and of savepoints, and views. A bound may be beyond the other one.
func testAnyOperations(t *testing.T, db store.DB) {
	tables := []store.Table{shortTable, longTable, longTable + 1}
	bytesOf := rapid.SampledFrom([]byte{0, 1, 'a', 0xff})
	key := rapid.SliceOfN(bytesOf, 1, 2)
	bound := rapid.OneOf(rapid.Just[[]byte](nil), rapid.SliceOfN(bytesOf, 0, 2))
	table := rapid.SampledFrom(tables)
	order := rapid.SampledFrom([]store.Order{store.Ascending, store.Descending})
	steps := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) step {
		return step{
			what:  rapid.SampledFrom([]string{"put", "put", "put", "put", "delete", "get", "range", "range", "savepoint", "undo"}).Draw(r, "what"),
			table: table.Draw(r, "table"), key: key.Draw(r, "key"), from: bound.Draw(r, "from"), to: bound.Draw(r, "to"),
			value: rapid.SliceOfN(rapid.Byte(), 1, 4).Draw(r, "value"), order: order.Draw(r, "order"),
		}
	}), 1, 20)
	refused := errors.New("refused")
	rapid.Check(t, func(r *rapid.T) {
		model := store.NewOverlay(nothing{})
		update(t, db, func(x store.Tx) (failed error) { // rapid tries again with the same database
			for _, table := range tables {
				var keys [][]byte
				for r, err := range x.Range(table, nil, nil, store.Ascending) {
					keys, failed = append(keys, r.Key), errors.Join(failed, err)
				}
				for _, k := range keys {
					failed = errors.Join(failed, x.Delete(table, k))
				}
			}
			return failed
		})
		for range rapid.IntRange(1, 8).Draw(r, "updates") {
			steps, fails := steps.Draw(r, "steps"), rapid.IntRange(0, 4).Draw(r, "fails") == 0
			var got []string
			err := db.Update(t.Context(), func(x store.Tx) (_ func(), err error) {
				if got, err = do(x, steps); err == nil && fails {
					err = refused
				}
				return nil, err
			})
			if fails != errors.Is(err, refused) || !fails && err != nil {
				r.Fatalf("Update: %v, want an error: %v", err, fails)
			}
			over := store.NewOverlay(model)
			want, _ := do(over, steps)
			if !fails {
				_ = over.Flush()
			}
			if d := cmp.Diff(want, got); d != "" {
				r.Fatalf("reads in an update of %v (-want +got):\n%s", steps, d)
			}
			for _, of := range tables {
				from, to, o := bound.Draw(r, "from"), bound.Draw(r, "to"), order.Draw(r, "order")
				want, _ = contents(model, of, from, to, o)
				if d := cmp.Diff(want, stored(t, db, of, from, to, o)); d != "" {
					r.Fatalf("View of %s from %x to %x, descending %v (-want +got):\n%s", of, from, to, o, d)
				}
			}
		}
	})
}

// step is something done in a transaction.
type step struct {
	what                 string
	table                store.Table
	key, value, from, to []byte
	order                store.Order
}

// do does steps, and returns what it read.
func do(x store.Tx, steps []step) (read []string, err error) {
	for i, s := range steps {
		if err != nil {
			return nil, err
		}
		switch s.what {
		case "put":
			err = x.Put(s.table, s.key, s.value)
		case "delete":
			err = x.Delete(s.table, s.key)
		case "get":
			var value []byte
			value, err = x.Get(s.table, s.key)
			read = append(read, fmt.Sprintf("%x", value))
		case "range":
			var list []string
			list, err = contents(x, s.table, s.from, s.to, s.order)
			read = append(read, list...)
		default: // the rest on top of it; undo forgets its changes
			over := store.NewOverlay(x)
			list, err := do(over, steps[i+1:])
			if err == nil && s.what == "savepoint" {
				err = over.Flush()
			}
			return append(read, list...), err
		}
	}
	return read, err
}

// nothing is a database without records, below an overlay.
type nothing struct{ store.Tx }

func (nothing) Get(store.Table, []byte) ([]byte, error) { return nil, nil }

func (nothing) Range(store.Table, []byte, []byte, store.Order) iter.Seq2[store.Record, error] {
	return func(func(store.Record, error) bool) {}
}

func numbered(n int) []byte { return binary.BigEndian.AppendUint32([]byte("n"), uint32(n)) }

// fill stores records with the numbers from 0 to n in the long table.
func fill(t testing.TB, db store.DB, n, size int) {
	t.Helper()
	update(t, db, func(x store.Tx) error {
		for i := range n {
			if err := x.Put(longTable, numbered(i), bytes.Repeat([]byte{byte(i) | 1}, size)); err != nil {
				return err
			}
		}
		return nil
	})
}

// expectFilled expects the records that fill stored, also when others are read
// meanwhile, up to where the reader stops.
func expectFilled(x store.Tx, o store.Order, n, size, stop int) error {
	i := 0
	for r, err := range x.Range(longTable, nil, nil, o) {
		want := i
		if o == store.Descending {
			want = n - 1 - i
		}
		if err != nil || !bytes.Equal(r.Key, numbered(want)) || len(r.Value) != size {
			return fmt.Errorf("record %d: got key %x, %d bytes and %w, want %d and %d bytes", i, r.Key, len(r.Value), err, want, size)
		}
		if i%1000 == 0 {
			if value, err := x.Get(longTable, numbered(i)); err != nil || len(value) != size {
				return fmt.Errorf("Get beside a range: got %d bytes and %w", len(value), err)
			}
		}
		if i++; i == stop {
			break
		}
	}
	if i != min(n, stop) {
		return fmt.Errorf("got %d records, want %d", i, min(n, stop))
	}
	return nil
}

// testLongRange: a range has all records, and ends early when its reader does.
func testLongRange(t *testing.T, db store.DB) {
	const n, size = 10_000, 20
	fill(t, db, n, size)
	for _, o := range []store.Order{store.Ascending, store.Descending} {
		for _, stop := range []int{1, 64, 65, 2 * n} {
			view := db.View(t.Context(), func(x store.Tx) error { return expectFilled(x, o, n, size, stop) })
			var last error // of the run that is committed
			update(t, db, func(x store.Tx) error {
				last = expectFilled(x, o, n, size, stop)
				return nil
			})
			if view != nil || last != nil {
				t.Errorf("descending %v, stopping at %d: View %v, Update %v", o, stop, view, last)
			}
		}
	}
}

// testLargeValues: values of any size and any bytes come back.
func testLargeValues(t *testing.T, db store.DB) {
	const n, size = 40, 1 << 20
	fill(t, db, n, size)
	for _, o := range []store.Order{store.Ascending, store.Descending} {
		if err := db.View(t.Context(), func(x store.Tx) error { return expectFilled(x, o, n, size, n) }); err != nil {
			t.Errorf("descending %v: %v", o, err)
		}
	}
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	update(t, db, func(x store.Tx) error { return x.Put(longTable, every, every) })
	if got, err := get(t.Context(), db, every); err != nil || !bytes.Equal(got, every) {
		t.Errorf("a key and a value of all bytes: got %x and %v", got, err)
	}
}

// testOwnChanges: an update reads its own changes, also over a savepoint.
func testOwnChanges(t *testing.T, db store.DB) {
	fill(t, db, 4, 1)
	var got [][]string
	update(t, db, func(x store.Tx) error {
		got = nil
		read := func(x store.Tx) error {
			up, errUp := contents(x, longTable, numbered(0), numbered(3), store.Ascending)
			down, errDown := contents(x, longTable, numbered(0), numbered(3), store.Descending)
			got = append(got, up, down)
			return errors.Join(errUp, errDown)
		}
		over := store.NewOverlay(x)
		return errors.Join(
			x.Put(longTable, numbered(1), []byte{7}), x.Delete(longTable, numbered(2)), read(x),
			over.Put(longTable, numbered(2), []byte{8}), over.Delete(longTable, numbered(1)), read(over), read(x),
			over.Flush(), read(x))
	})
	a, b, c := "6e00000000=01", "6e00000001=07", "6e00000002=08"
	if d := cmp.Diff([][]string{{a, b}, {b, a}, {a, c}, {c, a}, {a, b}, {b, a}, {a, c}, {c, a}}, got); d != "" {
		t.Errorf("reads (-want +got):\n%s", d)
	}
}

// testSnapshot: a view does not see what is committed after its first read.
func testSnapshot(t *testing.T, db store.DB) {
	fill(t, db, 200, 1)
	want := stored(t, db, longTable, nil, nil, store.Ascending)
	err := db.View(t.Context(), func(x store.Tx) error {
		if _, err := x.Get(longTable, numbered(0)); err != nil {
			return err
		}
		update(t, db, func(x store.Tx) error {
			return errors.Join(x.Put(longTable, numbered(150), []byte{9}), x.Delete(longTable, numbered(10)), x.Put(longTable, numbered(300), []byte{9}))
		})
		got, err := contents(x, longTable, nil, nil, store.Ascending)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("the view (-want +got):\n%s", d)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := stored(t, db, longTable, nil, nil, store.Ascending); len(got) != 200 || got[199] != "6e0000012c=09" {
		t.Errorf("a view after the update: got %d records, the last %s; want 200, the last one new", len(got), got[len(got)-1])
	}
}

// testManySenders: updates run one on top of the other, and done is called once for
// each, in their order. Those that fail leave nothing.
func testManySenders(t *testing.T, db store.DB) {
	const senders, each = 32, 20
	var order []uint64
	counter, refused := []byte("counter"), errors.New("refused")
	atOnce(t, senders, func(s int) (failed error) {
		for i := range each {
			fails := (s+i)%5 == 0
			err := db.Update(t.Context(), func(x store.Tx) (func(), error) {
				value, err := x.Get(longTable, counter)
				n := uint64(0)
				if value != nil {
					n = binary.BigEndian.Uint64(value)
				}
				err = errors.Join(err,
					x.Put(longTable, counter, binary.BigEndian.AppendUint64(nil, n+1)),
					x.Put(shortTable, numbered(s*each+i), []byte{1}))
				if fails {
					return func() { t.Error("done of an update that failed was called") }, errors.Join(err, refused)
				}
				return func() { order = append(order, n) }, err
			})
			if fails != errors.Is(err, refused) || !fails {
				failed = errors.Join(failed, err)
			}
		}
		return failed
	})
	const committed = senders * each * 4 / 5
	if got := len(stored(t, db, shortTable, nil, nil, store.Ascending)); got != committed || len(order) != committed {
		t.Fatalf("got %d records, and done was called %d times, want %d", got, len(order), committed)
	}
	for i, n := range order {
		if n != uint64(i) {
			t.Fatalf("call %d of done was of the update that found %d: %v", i, n, order)
		}
	}
}

// testLargeUpdates: more changes than a database may put into one transaction.
func testLargeUpdates(t *testing.T, db store.DB) {
	const senders, size = 24, 3 << 20
	atOnce(t, senders, func(s int) error {
		return put(t.Context(), db, longTable, numbered(s), bytes.Repeat([]byte{byte(s)}, size))
	})
	if got := stored(t, db, longTable, nil, nil, store.Ascending); len(got) != senders {
		t.Errorf("got %d records, want %d", len(got), senders)
	}
}

// testDependentReads: an update may decide by a record what it reads next.
func testDependentReads(t *testing.T, db store.DB) {
	const n = 6
	update(t, db, func(x store.Tx) (err error) {
		for i := range n {
			err = errors.Join(err, x.Put(longTable, numbered(i), numbered(i+1)), x.Put(shortTable, append(numbered(i), 'x'), numbered(i)))
		}
		return err
	})
	var path []string
	update(t, db, func(x store.Tx) error {
		path = nil
		key := numbered(0)
		for {
			next, err := x.Get(longTable, key)
			if err != nil || next == nil {
				return err
			}
			list, errShort := contents(x, shortTable, key, next, store.Ascending)
			more, errLong := contents(x, longTable, key, next, store.Ascending)
			if err := errors.Join(errShort, errLong); err != nil {
				return err
			}
			path = append(path, fmt.Sprintf("%d and %d", len(list), len(more)))
			key = next
		}
	})
	if d := cmp.Diff(slices.Repeat([]string{"1 and 1"}, n), path); d != "" {
		t.Errorf("records on the way (-want +got):\n%s", d)
	}
}

func testEndedContext(t *testing.T, db store.DB) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := put(ctx, db, longTable, numbered(1), []byte{1}); !errors.Is(err, context.Canceled) {
		t.Errorf("Update: %v, want Canceled", err)
	}
	if _, err := get(ctx, db, numbered(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("View: %v, want Canceled", err)
	}
	if got := stored(t, db, longTable, nil, nil, store.Ascending); len(got) != 0 {
		t.Errorf("got %v, want nothing stored", got)
	}
}

func testClosedDB(t *testing.T, db store.DB) {
	fill(t, db, 1, 1)
	if err := errors.Join(db.Close(), db.Close()); err != nil {
		t.Fatalf("closing twice: %v", err)
	}
	if err := put(t.Context(), db, longTable, numbered(1), []byte{1}); err == nil {
		t.Error("Update of a closed database: no error")
	}
	if _, err := get(t.Context(), db, numbered(0)); err == nil {
		t.Error("View of a closed database: no error")
	}
}
