package bolt

import (
	"bytes"
	"iter"

	"go.etcd.io/bbolt"

	"legwork/store"
)

// tx implements store.Tx over a transaction of bbolt. Each table is a bucket.
type tx struct {
	*bbolt.Tx
	buckets map[store.Table]*bbolt.Bucket
}

func newTx(btx *bbolt.Tx) *tx { return &tx{btx, make(map[store.Table]*bbolt.Bucket, 8)} }

// bucket returns the bucket of a table. It is called under guard.
func (x *tx) bucket(t store.Table) *bbolt.Bucket {
	b := x.buckets[t]
	if b == nil {
		if b = x.Bucket([]byte(t.String())); t.Grows() && x.Writable() {
			b.FillPercent = 0.95 // of a page, before it is split
		}
		x.buckets[t] = b
	}
	return b
}

// Get implements store.Tx.
func (x *tx) Get(t store.Table, key []byte) (value []byte, err error) {
	err = guard(func() error { value = x.bucket(t).Get(key); return nil })
	return value, err
}

// Put implements store.Tx.
func (x *tx) Put(t store.Table, key, value []byte) error {
	return guard(func() error { return x.bucket(t).Put(key, value) })
}

// Delete implements store.Tx.
func (x *tx) Delete(t store.Table, key []byte) error {
	return guard(func() error { return x.bucket(t).Delete(key) })
}

// Range implements store.Tx.
func (x *tx) Range(t store.Table, from, to []byte, o store.Order) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		var c *bbolt.Cursor
		step := func() (key, value []byte) {
			c = x.bucket(t).Cursor()
			return first(c, from, to, o)
		}
		for {
			var r store.Record
			err := guard(func() error { r.Key, r.Value = step(); return nil })
			ended := err == nil && (r.Key == nil || o == store.Ascending && to != nil && bytes.Compare(r.Key, to) >= 0 ||
				o == store.Descending && bytes.Compare(r.Key, from) < 0)
			if ended || !yield(r, err) || err != nil {
				return
			}
			if step = c.Next; o == store.Descending {
				step = c.Prev
			}
		}
	}
}

// first moves a cursor to the first record of a range.
func first(c *bbolt.Cursor, from, to []byte, o store.Order) (key, value []byte) {
	if o == store.Ascending {
		return c.Seek(from)
	}
	if to != nil {
		if key, _ := c.Seek(to); key != nil {
			return c.Prev()
		}
	}
	return c.Last()
}
