package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"time"

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

// transaction is a *txn, or a type of rules over it.
type transaction interface {
	Tx
	fail(err error)
	skip(t Table, key []byte, damage error)
}

// get reads a record; found is false when there is none. The error is ErrDamaged;
// any other one fails the transaction.
func (t table[K, V]) get(x transaction, k K) (v V, found bool, err error) {
	key := t.key(k)
	value, err := x.Get(t.Table, key)
	if err == nil && value == nil {
		return v, false, nil
	}
	if err == nil {
		v, err = t.read(Record{key, value})
	}
	if err == nil {
		return v, true, nil
	}
	err = fmt.Errorf("reading %s: %w", describe(t.Table, key), err)
	if !errors.Is(err, tasks.ErrDamaged) {
		x.fail(err)
		return v, false, nil
	}
	return v, true, err
}

// load is get for a record that the transaction cannot do without: damage fails it.
func (t table[K, V]) load(x transaction, k K) (v V, found bool) {
	v, found, err := t.get(x, k)
	x.fail(err)
	return v, found
}

// put writes a record.
func (t table[K, V]) put(x transaction, k K, v V) {
	key := t.key(k)
	body, err := t.encode(v)
	if err != nil {
		x.fail(fmt.Errorf("encoding %s: %w", describe(t.Table, key), err))
		return
	}
	x.fail(x.Put(t.Table, key, Seal(key, body)))
}

// drop deletes a record.
func (t table[K, V]) drop(x transaction, k K) { x.fail(x.Delete(t.Table, t.key(k))) }

// has reports whether a record exists, damaged or not.
func (t table[K, V]) has(x transaction, k K) bool {
	value, err := x.Get(t.Table, t.key(k))
	x.fail(err)
	return value != nil
}

// read reads a stored record. ErrDamaged.
func (t table[K, V]) read(r Record) (v V, err error) {
	body, err := Unseal(r)
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

// scan returns the records of a range, as Tx.Range does. An error ends the range and
// fails the transaction.
func (t table[K, V]) scan(x transaction, from, to []byte, o Order) iter.Seq[entry[V]] {
	return func(yield func(entry[V]) bool) {
		for r := range records(x, t.Table, from, to, o) {
			v, err := t.read(r)
			if !yield(entry[V]{r.Key, v, err}) {
				return
			}
		}
	}
}

// sound is scan without damaged records, which it logs.
func (t table[K, V]) sound(x transaction, from, to []byte, o Order) iter.Seq[entry[V]] {
	return func(yield func(entry[V]) bool) {
		for e := range t.scan(x, from, to, o) {
			if e.damaged != nil {
				x.skip(t.Table, e.key, e.damaged)
			} else if !yield(e) {
				return
			}
		}
	}
}

// records returns the stored records of a range. An error ends the range and fails
// the transaction.
func records(x transaction, t Table, from, to []byte, o Order) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		for r, err := range x.Range(t, from, to, o) {
			if err != nil {
				x.fail(err)
				return
			}
			if !yield(r) {
				return
			}
		}
	}
}

// firstKey returns the first key of a range; nil when the range is empty.
func firstKey(x transaction, t Table, from, to []byte, o Order) []byte {
	for r := range records(x, t, from, to, o) {
		return r.Key
	}
	return nil
}

// matchingKeys returns the keys of a table, from one on and at most n, that read can
// read and that match.
func matchingKeys[K any](x transaction, t Table, from []byte, n int, read func([]byte) (K, bool), match func(K) bool) (list []K) {
	for r := range records(x, t, from, nil, Ascending) {
		if k, ok := read(r.Key); ok && match(k) {
			if list = append(list, k); len(list) == n {
				break
			}
		}
	}
	return list
}

// deleteRange deletes the records of a range, at most n of them.
func deleteRange(x transaction, t Table, from, to []byte, n int) {
	var keys [][]byte
	for r := range records(x, t, from, to, Ascending) {
		if len(keys) == n {
			break
		}
		keys = append(keys, r.Key)
	}
	for _, key := range keys {
		x.fail(x.Delete(t, key))
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

// Seal returns the stored value of a body under a key, with its checksum.
func Seal(key, body []byte) []byte {
	value := make([]byte, 4, 4+len(body))
	value = append(value, body...)
	binary.BigEndian.PutUint32(value, checksum(key, body))
	return value
}

// Unseal returns the body of a stored record, whose memory it shares. ErrDamaged.
func Unseal(r Record) ([]byte, error) {
	if len(r.Value) < 4 || binary.BigEndian.Uint32(r.Value) != checksum(r.Key, r.Value[4:]) {
		return nil, fmt.Errorf("%w: checksum", tasks.ErrDamaged)
	}
	return r.Value[4:], nil
}

func checksum(key, body []byte) uint32 {
	polynomial := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(key, polynomial), polynomial, body)
}

// CheckRecord checks the checksum of a stored record of a table. ErrDamaged.
func CheckRecord(t Table, r Record) error {
	_, err := Unseal(r)
	return wrap(describe(t, r.Key), err)
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

// nameKey is a key that is a name.
func nameKey[S ~string](name S) []byte { return []byte(name) }

// numberKey is a key that is a number.
func numberKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// numberOf reads the number in a key; 0 when the key is none.
func numberOf(key []byte) uint64 {
	if len(key) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(key)
}

// eventKey names an event of a journal.
type eventKey struct {
	task tasks.ID
	seq  int
}

func journalKey(e eventKey) []byte {
	return binary.BigEndian.AppendUint64([]byte(e.task), uint64(e.seq))
}

// namePrefix is the beginning of a key: a name of any length, with no name the
// beginning of another.
func namePrefix(name string) []byte {
	return append(binary.BigEndian.AppendUint16(make([]byte, 0, len(name)+16), uint16(len(name))), name...)
}

// nameIn returns the name at the beginning of a key that namePrefix began.
func nameIn(key []byte) string {
	if len(key) < 2 {
		return ""
	}
	return string(key[2:min(2+int(binary.BigEndian.Uint16(key)), len(key))])
}

// afterPrefix is the first key behind all keys that begin with a prefix; nil when
// there is none.
func afterPrefix(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for n := len(end); n > 0; n-- {
		if end[n-1]++; end[n-1] != 0 {
			return end[:n]
		}
	}
	return nil
}

// orderedKey is a key of names. Such keys sort like their names, and no name is the
// beginning of another.
func orderedKey(names ...string) (key []byte) {
	for _, name := range names {
		for _, c := range []byte(name) {
			key = append(key, c)
			if c == 0 {
				key = append(key, 0xff)
			}
		}
		key = append(key, 0, 1)
	}
	return key
}

// readNames reads the names of a key that orderedKey made.
func readNames(key []byte, names ...*string) bool {
	for _, name := range names {
		var ok bool
		if *name, key, ok = readOrdered(key); !ok {
			return false
		}
	}
	return true
}

// readOrdered reads the first name of a key that orderedKey made, and returns the rest
// of the key.
func readOrdered(key []byte) (name string, rest []byte, ok bool) {
	var text []byte
	for len(key) > 1 {
		c, next := key[0], key[1]
		switch {
		case c != 0:
			text, key = append(text, c), key[1:]
		case next == 1:
			return string(text), key[2:], true
		default:
			text, key = append(text, 0), key[2:]
		}
	}
	return "", nil, false
}

// timeBytes is how many bytes of a timeKey are its time.
const timeBytes = 12

// timeKey is a key that sorts by time: seconds, with those before 1970 first,
// nanoseconds, id.
func timeKey(at time.Time, id string) []byte {
	key := binary.BigEndian.AppendUint64(make([]byte, 0, timeBytes+len(id)), uint64(at.Unix())^1<<63)
	key = binary.BigEndian.AppendUint32(key, uint32(at.Nanosecond()))
	return append(key, id...)
}

// reader reads the parts of a body, empty ones after its end.
type reader struct {
	rest  []byte
	short bool // the body was too short
}

// take returns the next n bytes; nil when they are not there.
func (r *reader) take(n uint64) (part []byte) {
	if n > uint64(len(r.rest)) {
		r.short = true
		return nil
	}
	part, r.rest = r.rest[:n], r.rest[n:]
	return part
}

func (r *reader) byte() byte {
	if part := r.take(1); part != nil {
		return part[0]
	}
	return 0
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.short = true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) text() string { return string(r.take(r.number())) }

func (r *reader) time() time.Time {
	seconds, size := binary.Varint(r.rest)
	if size <= 0 {
		r.short = true
		return time.Time{}
	}
	r.rest = r.rest[size:]
	return time.Unix(seconds, int64(r.number()%uint64(time.Second))).UTC()
}

func flag(bit byte, set bool) byte {
	if set {
		return bit
	}
	return 0
}

// appendText appends the length of a text, and the text.
func appendText(body []byte, text string) []byte {
	return append(binary.AppendUvarint(body, uint64(len(text))), text...)
}
