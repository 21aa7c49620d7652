package store

import (
	"bytes"
	"encoding/binary"
	"time"

	"legwork/tasks"
)

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
