package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"

	"legwork/tasks"
)

// table is a table of the database with the form of its records: how a key is made
// of a K, and how a V becomes the body of a value and is read again. The stored
// value is the sealed body: the CRC-32C of key and body, then the body.
type table[K, V any] struct {
	Table
	key    func(K) []byte
	encode func(V) ([]byte, error)
	decode func(key, body []byte) (V, error)
}

// get reads a record; found is false when there is none. ErrDamaged.
func (t table[K, V]) get(tx Tx, k K) (v V, found bool, err error) {
	key := t.key(k)
	value, err := tx.Get(t.Table, key)
	if err == nil && value == nil {
		return v, false, nil
	}
	if err == nil {
		v, err = t.read(Record{key, value})
	}
	if err != nil {
		return v, true, fmt.Errorf("reading %s: %w", describe(t.Table, key), err)
	}
	return v, true, nil
}

// put writes a record.
func (t table[K, V]) put(tx Tx, k K, v V) error {
	key := t.key(k)
	body, err := t.encode(v)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", describe(t.Table, key), err)
	}
	return tx.Put(t.Table, key, seal(key, body))
}

// drop deletes a record.
func (t table[K, V]) drop(tx Tx, k K) error { return tx.Delete(t.Table, t.key(k)) }

// has reports whether a record exists, damaged or not.
func (t table[K, V]) has(tx Tx, k K) (bool, error) {
	value, err := tx.Get(t.Table, t.key(k))
	return value != nil, err
}

// read reads a stored record. ErrDamaged.
func (t table[K, V]) read(r Record) (v V, err error) {
	body, err := unseal(r.Key, r.Value)
	if err != nil {
		return v, err
	}
	v, err = t.decode(r.Key, body)
	if err != nil && !errors.Is(err, tasks.ErrDamaged) {
		err = fmt.Errorf("%w: %w", tasks.ErrDamaged, err)
	}
	return v, err
}

// entry is a record of a range. damaged says why its value cannot be read.
type entry[V any] struct {
	key     []byte
	value   V
	damaged error
}

// scan returns the records of a range, as Tx.Range does.
func (t table[K, V]) scan(tx Tx, from, to []byte, o Order) iter.Seq2[entry[V], error] {
	return func(yield func(entry[V], error) bool) {
		for r, err := range tx.Range(t.Table, from, to, o) {
			e := entry[V]{key: r.Key}
			if err == nil {
				e.value, e.damaged = t.read(r)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// sound is scan without damaged records, which it logs.
func (t table[K, V]) sound(x *txn, from, to []byte, o Order) iter.Seq2[entry[V], error] {
	return func(yield func(entry[V], error) bool) {
		for e, err := range t.scan(x, from, to, o) {
			if err == nil && e.damaged != nil {
				x.skip(t.Table, e.key, e.damaged)
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// jsonTable is a table whose values are JSON.
func jsonTable[K, V any](t Table, key func(K) []byte) table[K, V] {
	return table[K, V]{
		t, key,
		func(v V) ([]byte, error) { return json.Marshal(v) },
		func(_, body []byte) (V, error) { return decodeJSON[V](body) },
	}
}

func decodeJSON[V any](body []byte) (v V, err error) {
	err = json.Unmarshal(body, &v)
	return v, err
}

// keyTable is a table whose records have no content: their keys say everything.
func keyTable[K any](t Table, key func(K) []byte) table[K, struct{}] {
	return table[K, struct{}]{
		t, key,
		func(struct{}) ([]byte, error) { return nil, nil },
		func(_, _ []byte) (struct{}, error) { return struct{}{}, nil },
	}
}

// firstKey returns the first key of a range; nil when the range is empty.
func firstKey(tx Tx, t Table, from, to []byte, o Order) ([]byte, error) {
	for r, err := range tx.Range(t, from, to, o) {
		return r.Key, err
	}
	return nil, nil
}

// deleteRange deletes the records of a range, at most n of them.
func deleteRange(tx Tx, t Table, from, to []byte, n int) error {
	var keys [][]byte
	for r, err := range tx.Range(t, from, to, Ascending) {
		if err != nil {
			return err
		}
		if len(keys) == n {
			break
		}
		keys = append(keys, r.Key)
	}
	for _, key := range keys {
		if err := tx.Delete(t, key); err != nil {
			return err
		}
	}
	return nil
}

// seal returns the stored value of a body.
func seal(key, body []byte) []byte {
	value := make([]byte, 4, 4+len(body))
	value = append(value, body...)
	binary.BigEndian.PutUint32(value, checksum(key, body))
	return value
}

// unseal returns the body of a stored value, which it shares. ErrDamaged.
func unseal(key, value []byte) ([]byte, error) {
	if len(value) < 4 || binary.BigEndian.Uint32(value) != checksum(key, value[4:]) {
		return nil, fmt.Errorf("%w: checksum", tasks.ErrDamaged)
	}
	return value[4:], nil
}

func checksum(key, body []byte) uint32 {
	polynomial := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(key, polynomial), polynomial, body)
}

// Seal returns the stored value of a body under a key, with its checksum.
func Seal(key, body []byte) []byte { return seal(key, body) }

// Unseal returns the body of a stored record. ErrDamaged.
func Unseal(r Record) ([]byte, error) { return unseal(r.Key, r.Value) }

// CheckRecord checks the checksum of a stored record of a table. ErrDamaged.
func CheckRecord(t Table, r Record) error {
	if _, err := unseal(r.Key, r.Value); err != nil {
		return fmt.Errorf("%s: %w", describe(t, r.Key), err)
	}
	return nil
}

// describe names a record in a message.
func describe(t Table, key []byte) string {
	if t == TableJournal && len(key) > 8 {
		at := len(key) - 8
		return fmt.Sprintf("task %s, event %d", key[:at], binary.BigEndian.Uint64(key[at:]))
	}
	if len(key) > 80 {
		key = key[:80]
	}
	return fmt.Sprintf("%s %q", t, key)
}
