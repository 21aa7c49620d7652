// Package plainjson tells JSON that every program reads alike from JSON that
// one reads this way and another that way.
package plainjson

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// RepeatedKey finds a key that an object anywhere in raw has twice: of both
// values some programs take the first and others the last. Text that is not
// JSON is looked at as far as it is JSON.
func RepeatedKey(raw []byte) (key string, found bool) {
	return repeated(raw, func(key string) string { return key })
}

// SimilarKey finds a key that an object anywhere in raw has twice, perhaps in
// another case: some programs, those in Go among them, take these for the same.
func SimilarKey(raw []byte) (key string, found bool) {
	return repeated(raw, func(key string) string { return strings.ToUpper(strings.ToLower(key)) })
}

// maxExponent is beyond what numbers of most programs can have.
const maxExponent = 400

// HugeNumber finds a number in raw that is beyond what programs can hold, and
// that takes long to be read exactly.
func HugeNumber(raw []byte) (number string, found bool) {
	walk(raw, func(_ object, t json.Token) bool {
		if n, ok := t.(json.Number); ok && !moderate(string(n)) {
			number, found = string(n), true
		}
		return !found
	})
	return number, found
}

func moderate(n string) bool {
	if len(n) > maxExponent {
		return false
	}
	if i := strings.IndexAny(n, "eE"); i >= 0 {
		exponent, err := strconv.Atoi(n[i+1:])
		return err == nil && exponent >= -maxExponent && exponent <= maxExponent
	}
	return true
}

// object is the keys that were met in an object so far; nil for a list, or for
// a value in neither.
type object map[string]bool

// add reports whether a key was not met before.
func (o object) add(key string) bool {
	if o[key] {
		return false
	}
	o[key] = true
	return true
}

func repeated(raw []byte, form func(key string) string) (key string, found bool) {
	walk(raw, func(in object, t json.Token) bool {
		name, ok := t.(string)
		if in == nil || !ok {
			return true
		}
		if !in.add(form(name)) {
			key, found = name, true
		}
		return !found
	})
	return key, found
}

// walk calls see with each token: for a key with the object that it is in,
// otherwise with nil; until see returns false, or there is no more JSON.
func walk(raw []byte, see func(in object, t json.Token) bool) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var around []object
	key := false // the next token is a key, or the end of an object
	for {
		t, err := decoder.Token()
		if err != nil {
			return
		}
		if key && t != json.Delim('}') {
			if !see(around[len(around)-1], t) {
				return
			}
			key = false
			continue
		}
		switch t {
		case json.Delim('{'):
			around, key = append(around, object{}), true
			continue
		case json.Delim('['):
			around, key = append(around, nil), false
			continue
		case json.Delim('}'), json.Delim(']'):
			around = around[:len(around)-1]
		}
		if !see(nil, t) {
			return
		}
		key = len(around) > 0 && around[len(around)-1] != nil
	}
}
