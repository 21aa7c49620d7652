package storetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"legwork/store"
)

// RunDB puts a database through the suite: each sentence of the documentation of
// store.DB and store.Tx is a test here. open makes an empty database, and closes it
// when the test ends.
func RunDB(t *testing.T, open func(t *testing.T) store.DB) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, store.DB)
	}{
		{"any operations", testAnyOperations},
		{"bounds", testRangeBounds},
		{"long range", testLongRange},
		{"large values", testLargeValues},
		{"own changes", testOwnChanges},
		{"snapshot", testSnapshot},
		{"failed update", testFailedUpdate},
		{"many senders", testManySenders},
		{"large updates", testLargeUpdates},
		{"dependent reads", testDependentReads},
		{"ended context", testEndedContext},
		{"closed database", testClosedDB},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // many of them wait for the disk
			test.run(t, open(t))
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
	err := db.Update(t.Context(), func(x store.Tx) (func(), error) { return nil, do(x) })
	if err != nil {
		t.Fatalf("Update: %v", err)
	}
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

// testAnyOperations compares a database with a store.Map.
func testAnyOperations(t *testing.T, db store.DB) {
	var model store.Map
	key := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0xff}), 1, 3), func(b []byte) []byte { return b })
	bound := rapid.OneOf(rapid.Just[[]byte](nil), key)
	table := rapid.SampledFrom([]store.Table{shortTable, longTable})
	order := rapid.SampledFrom([]store.Order{store.Ascending, store.Descending})
	empty := func(x store.Tx) error { // rapid tries again with the same database
		for _, table := range []store.Table{shortTable, longTable} {
			var keys [][]byte
			for r, err := range x.Range(table, nil, nil, store.Ascending) {
				if err != nil {
					return err
				}
				keys = append(keys, r.Key)
			}
			for _, k := range keys {
				if err := x.Delete(table, k); err != nil {
					return err
				}
			}
		}
		return nil
	}
	refused := errors.New("refused")
	rapid.Check(t, func(r *rapid.T) {
		model = store.Map{}
		update(t, db, empty)
		for range rapid.IntRange(1, 8).Draw(r, "updates") {
			steps := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) step {
				return step{
					what:  rapid.SampledFrom([]string{"put", "put", "delete", "get", "range", "savepoint", "undo"}).Draw(r, "what"),
					table: table.Draw(r, "table"), key: key.Draw(r, "key"), to: bound.Draw(r, "to"),
					value: rapid.SliceOfN(rapid.Byte(), 1, 4).Draw(r, "value"), order: order.Draw(r, "order"),
				}
			}), 1, 10).Draw(r, "steps")
			fails := rapid.IntRange(0, 4).Draw(r, "fails") == 0
			var got []string
			err := db.Update(t.Context(), func(x store.Tx) (_ func(), err error) {
				got, err = do(x, steps)
				if err == nil && fails {
					err = refused
				}
				return nil, err
			})
			if fails != errors.Is(err, refused) || !fails && err != nil {
				r.Fatalf("Update: %v, want an error: %v", err, fails)
			}
			over := store.NewOverlay(mapTx{&model})
			want, _ := do(over, steps)
			if !fails {
				_ = over.Flush()
			}
			if d := cmp.Diff(want, got); d != "" {
				r.Fatalf("reads in an update of %v (-want +got):\n%s", steps, d)
			}
			of, from, to, o := table.Draw(r, "table"), bound.Draw(r, "from"), bound.Draw(r, "to"), order.Draw(r, "order")
			want, _ = contents(mapTx{&model}, of, from, to, o)
			if d := cmp.Diff(want, stored(t, db, of, from, to, o)); d != "" {
				r.Fatalf("View of %s from %x to %x, descending %v (-want +got):\n%s", of, from, to, o, d)
			}
		}
	})
}

// step is something done in a transaction.
type step struct {
	what           string
	table          store.Table
	key, to, value []byte
	order          store.Order
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
			list, err = contents(x, s.table, s.key, s.to, s.order)
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

// mapTx is a transaction over a store.Map.
type mapTx struct{ *store.Map }

func (x mapTx) Get(t store.Table, key []byte) ([]byte, error) {
	value, _ := x.Map.Get(t, key)
	return value, nil
}

func (x mapTx) Put(t store.Table, key, value []byte) error {
	x.Set(t, key, value)
	return nil
}

func (x mapTx) Delete(t store.Table, key []byte) error {
	x.Map.Delete(t, key)
	return nil
}

func (x mapTx) Range(t store.Table, from, to []byte, o store.Order) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for r := range x.Map.Range(t, from, to, o) {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// testRangeBounds: tables do not touch each other, and a nil key is their beginning
// or end.
func testRangeBounds(t *testing.T, db store.DB) {
	tables := []store.Table{store.TableLive, store.TableJournal, store.TableTasks, store.TableOutbox}
	update(t, db, func(x store.Tx) error {
		for _, table := range tables {
			for _, key := range []string{"\x00", "a", "\xff\xff"} {
				if err := x.Put(table, []byte(key), []byte{byte(table)}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	for _, table := range tables {
		v := fmt.Sprintf("=%02x", byte(table))
		all := []string{"00" + v, "61" + v, "ffff" + v}
		for _, test := range []struct {
			from, to []byte
			want     []string
		}{
			{nil, nil, all},
			{[]byte{}, nil, all},
			{[]byte{0}, []byte{0xff, 0xff, 0xff}, all},
			{[]byte{1}, nil, all[1:]},
			{nil, []byte("a"), all[:1]},
			{[]byte("a"), []byte("a\x00"), all[1:2]},
			{[]byte("a"), []byte("a"), nil},
			{[]byte("b"), []byte("a"), nil},
			{nil, []byte{}, nil},
		} {
			for _, o := range []store.Order{store.Ascending, store.Descending} {
				want := slices.Clone(test.want)
				if o == store.Descending {
					slices.Reverse(want)
				}
				if d := cmp.Diff(want, stored(t, db, table, test.from, test.to, o)); d != "" {
					t.Errorf("View of %s from %q to %q, descending %v (-want +got):\n%s", table, test.from, test.to, o, d)
				}
				var got []string
				update(t, db, func(x store.Tx) (err error) {
					got, err = contents(x, table, test.from, test.to, o)
					return err
				})
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("Update over %s from %q to %q, descending %v (-want +got):\n%s", table, test.from, test.to, o, d)
				}
			}
		}
	}
}

func numbered(n int) []byte { return binary.BigEndian.AppendUint32([]byte("n"), uint32(n)) }

// fill stores records with the numbers from 0 to n.
func fill(t testing.TB, db store.DB, table store.Table, n, size int) {
	t.Helper()
	update(t, db, func(x store.Tx) error {
		for i := range n {
			if err := x.Put(table, numbered(i), bytes.Repeat([]byte{byte(i) | 1}, size)); err != nil {
				return err
			}
		}
		return nil
	})
}

// testLongRange: a range has all records, also when other ones are read meanwhile,
// and ends early when its reader does.
func testLongRange(t *testing.T, db store.DB) {
	const n = 10_000
	fill(t, db, longTable, n, 20)
	read := func(o store.Order, stop int) func(store.Tx) error {
		return func(x store.Tx) error {
			i := 0
			for r, err := range x.Range(longTable, nil, nil, o) {
				if err != nil {
					return err
				}
				want := numbered(i)
				if o == store.Descending {
					want = numbered(n - 1 - i)
				}
				if !bytes.Equal(r.Key, want) {
					return fmt.Errorf("record %d: got key %x, want %x", i, r.Key, want)
				}
				if i%1000 == 0 {
					if value, err := x.Get(longTable, numbered(i)); err != nil || len(value) != 20 {
						return fmt.Errorf("Get beside a range: got %x and %w", value, err)
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
	}
	for _, o := range []store.Order{store.Ascending, store.Descending} {
		for _, stop := range []int{1, 64, 65, 2 * n} {
			if err := db.View(t.Context(), read(o, stop)); err != nil {
				t.Errorf("View, descending %v, stopping at %d: %v", o, stop, err)
			}
			var last error // of the run that is committed
			update(t, db, func(x store.Tx) error {
				last = read(o, stop)(x)
				return nil
			})
			if last != nil {
				t.Errorf("Update, descending %v, stopping at %d: %v", o, stop, last)
			}
		}
	}
}

// testLargeValues: values of any size and any bytes come back.
func testLargeValues(t *testing.T, db store.DB) {
	const n, size = 40, 1 << 20
	fill(t, db, longTable, n, size)
	for _, o := range []store.Order{store.Ascending, store.Descending} {
		found := 0
		err := db.View(t.Context(), func(x store.Tx) error {
			for r, err := range x.Range(longTable, nil, nil, o) {
				if err != nil {
					return err
				}
				if len(r.Value) == size {
					found++
				}
			}
			return nil
		})
		if err != nil || found != n {
			t.Errorf("descending %v: got %d records of %d bytes and %v, want %d", o, found, size, err, n)
		}
	}
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	update(t, db, func(x store.Tx) error { return x.Put(shortTable, every, every) })
	want := []string{fmt.Sprintf("%x=%x", every, every)}
	if d := cmp.Diff(want, stored(t, db, shortTable, nil, nil, store.Ascending)); d != "" {
		t.Errorf("a key and a value of all bytes (-want +got):\n%s", d)
	}
}

// testOwnChanges: an update reads its own changes, also over a savepoint.
func testOwnChanges(t *testing.T, db store.DB) {
	for _, table := range []store.Table{shortTable, longTable} {
		fill(t, db, table, 4, 1)
		var got []string
		update(t, db, func(x store.Tx) error {
			got = nil
			note := func(x store.Tx) error {
				value, err := x.Get(table, numbered(1))
				if err != nil {
					return err
				}
				list, err := contents(x, table, numbered(0), numbered(3), store.Descending)
				got = append(append(got, fmt.Sprintf("%x", value)), list...)
				return err
			}
			over := store.NewOverlay(x)
			return errors.Join(
				x.Put(table, numbered(1), []byte{7}), x.Delete(table, numbered(2)), note(x),
				over.Put(table, numbered(2), []byte{8}), over.Delete(table, numbered(1)), note(over), note(x),
				over.Flush(), note(x))
		})
		over := []string{"", "6e00000002=08", "6e00000000=01"}
		before := []string{"07", "6e00000001=07", "6e00000000=01"}
		if d := cmp.Diff(slices.Concat(before, over, before, over), got); d != "" {
			t.Errorf("reads of %s (-want +got):\n%s", table, d)
		}
		if d := cmp.Diff([]string{"6e00000000=01", "6e00000002=08", "6e00000003=03"}, stored(t, db, table, nil, nil, store.Ascending)); d != "" {
			t.Errorf("%s afterwards (-want +got):\n%s", table, d)
		}
	}
}

// testSnapshot: a view does not see what is committed after its first read.
func testSnapshot(t *testing.T, db store.DB) {
	fill(t, db, longTable, 200, 1)
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

// testFailedUpdate: an update that fails leaves nothing, also beside others.
func testFailedUpdate(t *testing.T, db store.DB) {
	refused := errors.New("refused")
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			err := db.Update(t.Context(), func(x store.Tx) (func(), error) {
				if err := x.Put(longTable, numbered(i), []byte{1}); err != nil {
					return nil, err
				}
				if i%2 == 1 {
					return func() { t.Error("done of an update that failed was called") }, refused
				}
				return nil, nil
			})
			if want := i%2 == 1; errors.Is(err, refused) != want || !want && err != nil {
				t.Errorf("update %d: %v, want it refused: %v", i, err, want)
			}
		})
	}
	wg.Wait()
	got := stored(t, db, longTable, nil, nil, store.Ascending)
	if len(got) != 16 {
		t.Errorf("got %d records, want 16: %v", len(got), got)
	}
}

// testManySenders: updates run one on top of the other, and done is called once for
// each, in their order.
func testManySenders(t *testing.T, db store.DB) {
	const senders, each = 32, 20
	var order []uint64
	counter := []byte("counter")
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				err := db.Update(t.Context(), func(x store.Tx) (func(), error) {
					value, err := x.Get(longTable, counter)
					if err != nil {
						return nil, err
					}
					n := uint64(0)
					if value != nil {
						n = binary.BigEndian.Uint64(value)
					}
					done := func() { order = append(order, n) }
					return done, errors.Join(
						x.Put(longTable, counter, binary.BigEndian.AppendUint64(nil, n+1)),
						x.Put(shortTable, numbered(s*each+i), []byte{1}))
				})
				if err != nil {
					t.Errorf("sender %d: %v", s, err)
				}
			}
		})
	}
	wg.Wait()
	if len(order) != senders*each {
		t.Fatalf("done was called %d times, want %d", len(order), senders*each)
	}
	for i, n := range order {
		if n != uint64(i) {
			t.Fatalf("call %d of done was of the update that found %d: %v", i, n, order)
		}
	}
	if got := len(stored(t, db, shortTable, nil, nil, store.Ascending)); got != senders*each {
		t.Errorf("got %d records, want %d", got, senders*each)
	}
}

// testLargeUpdates: more changes than a database may put into one transaction.
func testLargeUpdates(t *testing.T, db store.DB) {
	const senders, size = 24, 3 << 20
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			err := db.Update(t.Context(), func(x store.Tx) (func(), error) {
				return nil, x.Put(longTable, numbered(s), bytes.Repeat([]byte{byte(s)}, size))
			})
			if err != nil {
				t.Errorf("sender %d: %v", s, err)
			}
		})
	}
	wg.Wait()
	if got := stored(t, db, longTable, nil, nil, store.Ascending); len(got) != senders {
		t.Errorf("got %d records, want %d", len(got), senders)
	}
}

// testDependentReads: an update may decide by a record what it reads next.
func testDependentReads(t *testing.T, db store.DB) {
	const n = 6
	update(t, db, func(x store.Tx) error {
		for i := range n {
			if err := x.Put(longTable, numbered(i), numbered(i+1)); err != nil {
				return err
			}
			if err := x.Put(shortTable, append(numbered(i), 'x'), numbered(i)); err != nil {
				return err
			}
		}
		return nil
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
			list, err := contents(x, shortTable, key, next, store.Ascending)
			if err != nil {
				return err
			}
			more, err := contents(x, longTable, key, next, store.Ascending)
			if err != nil {
				return err
			}
			path = append(path, fmt.Sprintf("%d and %d", len(list), len(more)))
			key = next
		}
	})
	want := slices.Repeat([]string{"1 and 1"}, n)
	if d := cmp.Diff(want, path); d != "" {
		t.Errorf("records on the way (-want +got):\n%s", d)
	}
}

func testEndedContext(t *testing.T, db store.DB) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := db.Update(ctx, func(x store.Tx) (func(), error) { return nil, x.Put(longTable, numbered(1), []byte{1}) })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Update: %v, want Canceled", err)
	}
	err = db.View(ctx, func(x store.Tx) error {
		_, err := x.Get(longTable, numbered(1))
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("View: %v, want Canceled", err)
	}
	if got := stored(t, db, longTable, nil, nil, store.Ascending); len(got) != 0 {
		t.Errorf("got %v, want nothing stored", got)
	}
}

func testClosedDB(t *testing.T, db store.DB) {
	fill(t, db, longTable, 1, 1)
	if err := db.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
	err := db.Update(t.Context(), func(x store.Tx) (func(), error) { return nil, x.Put(longTable, numbered(1), []byte{1}) })
	if err == nil {
		t.Error("Update of a closed database: no error")
	}
	err = db.View(t.Context(), func(x store.Tx) error {
		_, err := x.Get(longTable, numbered(0))
		return err
	})
	if err == nil {
		t.Error("View of a closed database: no error")
	}
}
