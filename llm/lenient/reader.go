package lenient

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// verdict says how the attempt to read a value ended.
type verdict int

const (
	complete verdict = iota
	ended            // the text, or the code block, ended first
	bad              // this is no JSON, even leniently
)

// reader reads one value after another, writing each as strict JSON.
type reader struct {
	text   string
	pos    int
	out    []byte
	open   []int        // starts of the objects and arrays being read
	dead   map[int]bool // starts that were open when an attempt failed: each would fail at the same place
	keys   []string
	pairs  int  // keys read together with their colon
	quoted bool // the first of them was quoted
	array  bool // the outermost value is an array
}

// read tries to read the value that begins at start.
func (r *reader) read(start int) verdict {
	r.pos, r.out, r.open = start, nil, r.open[:0]
	r.keys, r.pairs, r.quoted, r.array = nil, 0, false, r.text[start] == '['
	v := r.value()
	if v != complete {
		for _, i := range r.open {
			r.dead[i] = true
		}
	}
	return v
}

func (r *reader) value() verdict {
	if r.over() {
		return ended
	}
	switch c := r.text[r.pos]; {
	case c == '{':
		return r.container('}', r.pair)
	case c == '[':
		return r.container(']', r.value)
	case closer(r.text[r.pos:]) != "":
		_, v := r.quotedString(false)
		return v
	case c >= '0' && c <= '9' || strings.IndexByte("+-.", c) >= 0:
		return r.number()
	}
	return r.literal()
}

// container reads an object or array: elements between commas, the last of
// which may be followed by one more comma.
func (r *reader) container(end byte, element func() verdict) verdict {
	if len(r.open) >= maxDepth {
		return bad
	}
	r.open = append(r.open, r.pos)
	r.out = append(r.out, bracket(r.text[r.pos]))
	r.pos++
	for n := 0; ; n++ {
		r.blank()
		if n > 0 && !r.accept(",", "，") && !r.at(end) {
			return r.fault()
		}
		r.blank()
		if r.at(end) {
			r.pos++
			r.out = append(r.out, bracket(end))
			r.open = r.open[:len(r.open)-1]
			return complete
		}
		if n > 0 {
			r.out = append(r.out, ',')
		}
		if v := element(); v != complete {
			return v
		}
	}
}

// bracket is a bracket as JSON has it: arguments in parentheses become an object.
func bracket(c byte) byte {
	switch c {
	case '(':
		return '{'
	case ')':
		return '}'
	}
	return c
}

// arguments reads what follows the name of a function, from its parenthesis on: named
// arguments as an object, or one value, also a text.
func (r *reader) arguments(start int) verdict {
	r.pos, r.out, r.open = start, nil, r.open[:0]
	r.keys, r.pairs, r.quoted, r.array = nil, 0, false, false
	r.pos++
	r.blank()
	switch {
	case closer(r.text[r.pos:]) != "":
		r.open = append(r.open, start)
	case !r.at('{') && !r.at('['):
		r.pos = start
		return r.container(')', r.pair)
	}
	if v := r.value(); v != complete {
		return v
	}
	if r.blank(); !r.at(')') {
		return r.fault()
	}
	r.pos++
	return complete
}

// inCall says that the reader is directly between the parentheses of a call.
func (r *reader) inCall() bool {
	n := len(r.open)
	return n > 0 && r.text[r.open[n-1]] == '('
}

// over says whether the text ends here, or the code block around the value.
func (r *reader) over() bool {
	return r.pos >= len(r.text) || strings.HasPrefix(r.text[r.pos:], "```")
}

// fault is the verdict where something else was expected.
func (r *reader) fault() verdict {
	if r.over() {
		return ended
	}
	return bad
}

// pair reads a key, a colon and a value.
func (r *reader) pair() verdict {
	key, quoted, v := r.key()
	if outer := len(r.open) == 1 || len(r.open) == 2 && r.array; outer && v != bad && key != "" && len(r.keys) < maxKeys {
		r.keys = append(r.keys, key)
	}
	if v != complete {
		return v
	}
	r.blank()
	if !r.accept(":", "：") && (!r.inCall() || !r.accept("=")) {
		return r.fault()
	}
	if r.pairs++; r.pairs == 1 {
		r.quoted = quoted
	}
	r.out = append(r.out, ':')
	r.blank()
	return r.value()
}

func (r *reader) key() (key string, quoted bool, v verdict) {
	if r.over() {
		return "", false, ended
	}
	if closer(r.text[r.pos:]) != "" {
		key, v = r.quotedString(true)
		return key, true, v
	}
	key = r.word("-$")
	switch {
	case key == "":
		return "", false, bad
	case r.over():
		return key, false, ended
	}
	r.out = append(append(append(r.out, '"'), key...), '"')
	return key, false, complete
}

// literal reads true, false and null, in the spelling of any language.
func (r *reader) literal() verdict {
	var strict string
	start := r.pos
	switch word := strings.ToLower(r.word("")); word {
	case "true", "false", "null":
		strict = word
	case "none", "undefined", "nan":
		strict = "null"
	default:
		if r.blank(); word != "" && r.over() {
			return ended
		}
		r.pos = start
		return bad
	}
	r.out = append(r.out, strict...)
	return complete
}

// word reads letters, digits, underscores and the given signs.
func (r *reader) word(signs string) string {
	start := r.pos
	for r.pos < len(r.text) {
		c, size := utf8.DecodeRuneInString(r.text[r.pos:])
		if c == utf8.RuneError && size < 2 {
			break
		}
		if c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune(signs, c) {
			break
		}
		r.pos += size
	}
	return r.text[start:r.pos]
}

// number reads a number. What only begins like one (2026-01-02, 12:30, 007)
// becomes a string.
func (r *reader) number() verdict {
	start := r.pos
	for r.pos < len(r.text) && numeric(r.text[r.pos]) {
		r.pos++
	}
	token := r.text[start:r.pos]
	if !strings.ContainsAny(token, "0123456789") {
		r.pos = start
		return bad
	}
	strict := strings.TrimPrefix(token, "+")
	if strings.HasPrefix(strict, ".") {
		strict = "0" + strict
	}
	strict = strings.TrimSuffix(strict, ".")
	if !json.Valid([]byte(strict)) {
		strict = `"` + token + `"`
	}
	r.out = append(r.out, strict...)
	return complete
}

func numeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("+-._:", c) >= 0
}

// blank skips white space, invisible marks and comments.
func (r *reader) blank() {
	for r.pos < len(r.text) {
		rest := r.text[r.pos:]
		c, size := utf8.DecodeRuneInString(rest)
		switch {
		case unicode.IsSpace(c) || c == '\ufeff' || c == '\u200b':
			r.pos += size
		case c == '#' || strings.HasPrefix(rest, "//"):
			r.skip(rest, "\n")
		case strings.HasPrefix(rest, "/*"):
			r.skip(rest, "*/")
		default:
			return
		}
	}
}

// skip moves behind the next end, or to the end of the text.
func (r *reader) skip(rest, end string) {
	if i := strings.Index(rest, end); i >= 0 {
		r.pos += i + len(end)
		return
	}
	r.pos = len(r.text)
}

func (r *reader) at(c byte) bool { return r.pos < len(r.text) && r.text[r.pos] == c }

func (r *reader) accept(signs ...string) bool {
	for _, s := range signs {
		if strings.HasPrefix(r.text[r.pos:], s) {
			r.pos += len(s)
			return true
		}
	}
	return false
}
