// Package lenient reads JSON as language models write it: fenced or bare, with
// prose and thinking around it, with trailing commas, single quotes, comments
// and Python literals. It reports values that were cut off, and never completes them.
package lenient

import "strings"

// Object is a JSON value found in a text; Start and End are byte offsets into
// that text.
type Object struct {
	// Raw is the value as valid JSON, owned by the caller; nil when the value
	// is Truncated or Broken.
	Raw        []byte
	Start, End int
	// Truncated: the text, or the code block around it, ended before the value
	// did. End is there.
	Truncated bool
	// Broken: it begins like JSON and cannot be read. End is behind its last
	// bracket, or behind the first where the brackets do not match.
	Broken bool
	// Keys are those read of the outermost object, or of the objects directly in
	// an outermost array, in order; at most 64. Of a truncated value the last
	// key may be cut off too.
	Keys []string
}

// Objects returns the outermost JSON objects of a text in order, complete and
// truncated ones. The time is linear in the length of the text, whatever it holds.
func Objects(text string) []Object {
	var list []Object
	for _, o := range scan(text, false) {
		if !o.Broken {
			list = append(list, o)
		}
	}
	return list
}

// Values is like Objects and also returns arrays whose first element is an
// object, as one value each, and Broken values.
func Values(text string) []Object { return scan(text, true) }

// Whole returns the JSON object, or the array of objects, that a text is and nothing
// else, as valid JSON; nil for other texts.
func Whole(text string) []byte {
	text = strings.TrimSpace(text)
	for _, o := range Values(text) {
		if o.Start == 0 && o.End == len(text) {
			return o.Raw
		}
	}
	return nil
}

const (
	maxDepth = 512 // of values in values
	maxKeys  = 64  // that are remembered of one value
)

// scan tries every place where a value can begin. After an attempt that fails it
// tries the next such place, except where the failed attempt has shown that this
// would fail as well. A budget of bytes bounds the remaining repetition.
func scan(text string, arrays bool) []Object {
	var found []Object
	var cut *Object // truncated before its first value, perhaps just a brace in prose
	r := reader{text: text, dead: map[int]bool{}}
	budget, repairs := 8*len(text)+4096, repairBytes
	for pos := 0; pos < len(text) && budget > 0; {
		start := next(text, pos, arrays)
		if start < 0 {
			break
		}
		pos = start + 1
		if r.dead[start] {
			continue
		}
		end := r.read(start)
		o := Object{Start: start, End: r.pos, Keys: r.keys}
		budget -= r.pos - start
		switch {
		case end == complete:
			o.Raw = r.out
			pos = o.End
		case end == ended && r.pairs > 0:
			o.Truncated = true
			pos = o.End
		case end == ended:
			o.Truncated = true
			if cut == nil {
				cut = &o
			}
			continue
		case !r.quoted:
			continue
		default:
			budget -= mend(&o, text, &repairs)
			pos = max(pos, o.End)
		}
		found, cut = append(found, o), nil
	}
	if cut != nil {
		found = append(found, *cut)
	}
	return found
}

// mend repairs an object that could not be read, or marks it as Broken. Where its
// brackets match, it ends with them. mend returns the number of bytes read.
func mend(o *Object, text string, repairs *int) int {
	size := balanced(text[o.Start:])
	if o.End = o.Start + 1; size.length > 0 {
		o.End = o.Start + size.length
	}
	o.Raw = size.repair(text[o.Start:], repairs)
	o.Broken = o.Raw == nil
	return size.read
}

// next returns where the next value may begin, or -1.
func next(text string, pos int, arrays bool) int {
	for {
		if !arrays {
			if i := strings.IndexByte(text[pos:], '{'); i >= 0 {
				return pos + i
			}
			return -1
		}
		i := strings.IndexAny(text[pos:], "{[")
		if i < 0 {
			return -1
		}
		pos += i
		if text[pos] == '{' {
			return pos
		}
		rest := strings.TrimLeft(text[pos+1:], " \t\r\n")
		if strings.HasPrefix(rest, "{") {
			return pos
		}
		pos = len(text) - len(rest)
	}
}
