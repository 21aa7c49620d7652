package client

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"sync"
	"unicode/utf8"
)

// Bounds on what a server may write. A line is one JSON-RPC message.
const (
	lineSlack    = 512 << 10 // of a line, beyond its longest string
	floodedLine  = 128 << 20 // of one line: the server is stopped
	floodedNoise = 64 << 20  // of text that is no JSON-RPC between two messages: the server is stopped
)

// intake stands between a server's output and the library, which reads lines
// of any length into memory. It shortens every string of a message to maxString
// bytes, so that a message stays valid JSON and its beginning is kept; it puts
// an error in place of an answer that is too long all the same; and it leaves
// out lines that are no messages. It needs no memory beyond its two buffers.
type intake struct {
	src       io.Reader
	maxString int
	noise     func(sample string) // called once, at the first line that is no message

	in, out []byte
	cause   string             // why the server must be stopped; set before Read returns io.EOF
	ended   func(cause string) // called once, before Read returns io.EOF
	wasted  int                // bytes of noise since the last message
	noisy   bool
	sample  []byte

	line lineState

	mu   sync.Mutex
	cuts map[string]int // by id of an expected answer: bytes that were left out of it
}

// lineState is what the scan knows of the message it is in.
type lineState struct {
	read, written int
	junk, over    bool // not a message; too long
	depth         int
	inString      bool
	escape        int  // hex digits that are left of an escape sequence, or escapeOpen
	rune          rune // of the hex digits so far
	length        int  // decoded bytes of the current string
	dropped       int  // decoded bytes left out of this message
	expectKey     bool
	inKey, inID   bool
	key, id       []byte
}

func newIntake(src io.Reader, maxString int, noise, ended func(string)) *intake {
	return &intake{src: src, maxString: maxString, noise: noise, ended: ended, in: make([]byte, 0, 32<<10), cuts: map[string]int{}}
}

// expect starts counting what is left out of the answer with this id.
func (t *intake) expect(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cuts[id] = 0
}

// taken ends the counting and returns the bytes that were left out.
func (t *intake) taken(id string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.cuts[id]
	delete(t.cuts, id)
	return n
}

// Read gives the library clean lines. Its only error is io.EOF.
func (t *intake) Read(p []byte) (int, error) {
	for len(t.out) == 0 {
		if t.cause != "" {
			return 0, io.EOF
		}
		n, err := t.src.Read(t.in[:cap(t.in)])
		t.out = t.out[:0]
		for p := t.in[:n]; len(p) > 0; {
			if fast := t.takeMany(p); fast > 0 {
				p = p[fast:]
				continue
			}
			t.take(p[0])
			p = p[1:]
		}
		if err != nil || t.line.read > floodedLine || t.wasted > floodedNoise {
			t.cause = "the process ended"
			if err == nil {
				t.cause = "it flooded its output"
			}
			t.ended(t.cause)
		}
	}
	n := copy(p, t.out)
	t.out = t.out[n:]
	return n, nil
}

// takeMany takes the plain bytes of a string or of noise that p begins with.
func (t *intake) takeMany(p []byte) int {
	l := &t.line
	if l.junk && len(t.sample) >= 200 {
		n := bytes.IndexByte(p, '\n')
		if n < 0 {
			n = len(p)
		}
		l.read += n
		t.wasted += n
		return n
	}
	if !l.inString || l.escape != 0 || l.inKey || l.inID || l.over {
		return 0
	}
	n := bytes.IndexAny(p, "\"\\\n")
	if n < 0 {
		n = len(p)
	}
	keep := min(n, max(0, t.maxString-l.length), max(0, t.maxString+lineSlack-l.written))
	if keep < n && l.length+keep < t.maxString {
		return 0 // the line becomes too long here
	}
	t.out = append(t.out, p[:keep]...)
	l.read, l.written = l.read+n, l.written+keep
	l.length, l.dropped = l.length+n, l.dropped+n-keep
	return n
}

func (t *intake) take(b byte) {
	l := &t.line
	if b == '\n' {
		t.endLine()
		return
	}
	l.read++
	if l.depth == 0 && !l.inString && !l.junk && l.written == 0 {
		switch b {
		case ' ', '\t', '\r':
			return
		case '{':
		default:
			l.junk = true
		}
	}
	if l.junk {
		if len(t.sample) < 200 {
			t.sample = append(t.sample, b)
		}
		t.wasted++
		return
	}
	if keep := t.scan(b); keep {
		t.emit(b)
	}
}

// scan follows the message and tells whether b is kept.
func (t *intake) scan(b byte) bool {
	l := &t.line
	if l.inString {
		return t.scanString(b)
	}
	if l.inID && (b == ',' || b == '}') && l.depth == 1 {
		l.inID = false
	}
	switch b {
	case '"':
		l.inString, l.length = true, 0
		if l.depth == 1 && l.expectKey {
			l.inKey, l.expectKey, l.key = true, false, l.key[:0]
		}
	case '{', '[':
		l.depth++
		l.expectKey = b == '{' && l.depth == 1
	case '}', ']':
		l.depth--
	case ',':
		l.expectKey = l.depth == 1
	case ':':
		if l.depth == 1 && string(l.key) == "id" {
			l.inID, l.id = true, l.id[:0]
			return true
		}
	}
	l.note(b)
	return true
}

// scanString follows a string and leaves out what is too long, never parting
// an escape sequence.
func (t *intake) scanString(b byte) bool {
	l := &t.line
	keep := l.length < t.maxString
	size := 0
	switch {
	case l.escape == escapeOpen && b == 'u':
		l.escape, l.rune = 4, 0
	case l.escape == escapeOpen:
		l.escape, size = 0, 1
	case l.escape > 0:
		l.escape--
		l.rune = l.rune<<4 | hexValue(b)
		if l.escape == 0 {
			size = max(1, utf8.RuneLen(l.rune))
		}
	case b == '\\':
		l.escape = escapeOpen
	case b == '"':
		l.inString, l.inKey = false, false
		l.note(b)
		return true
	default:
		size = 1
	}
	l.length += size
	if !keep {
		l.dropped += size
		return false
	}
	if l.inKey && len(l.key) < 16 {
		l.key = append(l.key, b)
	}
	l.note(b)
	return true
}

// escapeOpen: a backslash was read and what follows it decides.
const escapeOpen = -1

func hexValue(b byte) rune {
	switch {
	case b >= '0' && b <= '9':
		return rune(b - '0')
	case b >= 'a' && b <= 'f':
		return rune(b-'a') + 10
	case b >= 'A' && b <= 'F':
		return rune(b-'A') + 10
	}
	return 0
}

func (l *lineState) note(b byte) {
	if l.inID && len(l.id) < 64 {
		l.id = append(l.id, b)
	}
}

func (t *intake) emit(b byte) {
	l := &t.line
	if l.over {
		return
	}
	if l.written >= t.maxString+lineSlack {
		l.over = true
		t.out = append(t.out, '\n') // the library drops what cannot be parsed
		return
	}
	l.written++
	t.out = append(t.out, b)
}

func (t *intake) endLine() {
	l := &t.line
	switch {
	case l.written == 0 && !l.junk: // blank
	case l.junk || l.depth != 0 || l.inString:
		t.wasted += l.read
		if !t.noisy {
			t.noisy = true
			t.noise(string(t.sample))
		}
		if l.written > 0 && !l.over {
			t.out = append(t.out, '\n')
		}
	case l.over:
		t.wasted = 0
		if len(l.id) > 0 {
			t.out = fmt.Appendf(t.out, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`+"\n", l.id, codeTooLarge, strconv.Quote(fmt.Sprintf("the result is too large (%d bytes); ask for less", l.read)))
		}
	default:
		t.wasted = 0
		if l.dropped > 0 {
			t.note(string(l.id), l.dropped)
		}
		t.out = append(t.out, '\n')
	}
	*l = lineState{key: l.key[:0], id: l.id[:0]}
}

// codeTooLarge is the JSON-RPC error code of an answer that intake left out.
const codeTooLarge = -32099

func (t *intake) note(id string, dropped int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, expected := t.cuts[id]; expected {
		t.cuts[id] += dropped
	}
}
