package bolt

import (
	"encoding/binary"
	"fmt"

	"legwork/llm"
	"legwork/store/rules"
	"legwork/tasks"
)

// appendOrdered appends a name to a key, such that keys have the order of their names
// and no name is the beginning of another.
func appendOrdered(key []byte, name string) []byte {
	for _, c := range []byte(name) {
		key = append(key, c)
		if c == 0 {
			key = append(key, 0xff)
		}
	}
	return append(key, 0, 1)
}

// readOrdered reads a name that ordered wrote, and returns what follows it.
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

func totalKey(of rules.TotalKey) []byte {
	return appendOrdered(appendOrdered(appendOrdered(nil, of.Day), of.User), of.Chat)
}

// readTotalKey reads what sumKey wrote.
func readTotalKey(key []byte) (of rules.TotalKey, ok bool) {
	ok = readNames(key, &of.Day, &of.User, &of.Chat)
	return of, ok
}

func spentKey(r rules.SpentKey) []byte {
	return appendOrdered(appendOrdered(appendOrdered(appendOrdered(nil, r.Day), r.User), r.Chat), r.Model)
}

// readSpentKey reads what spentKey wrote.
func readSpentKey(key []byte) (r rules.SpentKey, ok bool) {
	ok = readNames(key, &r.Day, &r.User, &r.Chat, &r.Model)
	return r, ok
}

// readNames reads the names that a key consists of.
func readNames(key []byte, parts ...*string) bool {
	ok := true
	for _, part := range parts {
		if ok {
			*part, key, ok = readOrdered(key)
		}
	}
	return ok
}

// spentBody is calls, input, cached input, output, cost and whether some of it
// is estimated.
func spentBody(s tasks.Spent) []byte {
	body := make([]byte, 0, 24)
	estimated := uint64(0)
	if s.Usage.Estimated {
		estimated = 1
	}
	u := s.Usage
	for _, n := range []uint64{uint64(s.Calls), uint64(u.Input), uint64(u.CachedInput), uint64(u.Output), uint64(u.Cost), estimated} {
		body = binary.AppendUvarint(body, n)
	}
	return body
}

// spentValue reads what spentBody wrote.
func spentValue(row rules.SpentKey, key, value []byte) (tasks.Spent, error) {
	s := tasks.Spent{Day: row.Day, User: row.User, Chat: row.Chat, Model: row.Model}
	body, err := unseal(key, value)
	if err != nil {
		return s, err
	}
	var n [6]uint64
	for i := range n {
		v, size := binary.Uvarint(body)
		if size <= 0 {
			return s, fmt.Errorf("%w: what was spent", tasks.ErrDamaged)
		}
		n[i], body = v, body[size:]
	}
	s.Calls = int(n[0])
	s.Usage = llm.Usage{Input: int(n[1]), CachedInput: int(n[2]), Output: int(n[3]), Cost: int64(n[4]), Estimated: n[5] != 0}
	return s, nil
}
