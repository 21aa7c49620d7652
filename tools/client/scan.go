package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"unicode/utf8"
)

const (
	lineSlack = 512 << 10 // what a message may have beyond its longest string
	listSlack = 4 << 20   // the same while a list is waited for, so that one large entry does not cost the others
	reusable  = 64 << 10  // a larger buffer is used for one message only
)

// messageScanner takes in one JSON-RPC message after the other, in pieces and of any
// length. It shortens every string to maxString bytes, so that a message stays
// valid JSON and its beginning is kept, and drops messages that are too long
// all the same: it holds maxString+lineSlack bytes at most, or maxString+listSlack.
type messageScanner struct {
	maxString  int
	truncation *truncation // knows whether a list is expected, which may be longer; nil: never
	out        []byte
	messageState
}

// messageState is what the scanner knows of the message it is in.
type messageState struct {
	read, most  int  // bytes that came, and that may be kept
	junk, over  bool // not a message; too long
	depth       int
	inString    bool
	escape      int  // hex digits that are left of an escape sequence, or escapeOpen
	rune        rune // of the hex digits so far
	length      int  // decoded bytes of the current string
	dropped     int  // decoded bytes left out of this message
	expectKey   bool
	inKey, inID bool
	method      bool // it has a method: it is a request or a notification
	result      bool // it has a result
	key, id     []byte
	sample      []byte // the beginning of what is no message
}

// scanned is one message as the scanner shortened it.
type scanned struct {
	raw     []byte // valid until the next write; nil when there is nothing to pass on
	id      string // as it is on the wire; empty without
	method  bool
	result  bool
	dropped int  // decoded bytes left out of it
	junk    bool // it was no message
	sample  string
	read    int
}

// request tells a request of the server from answers and notifications.
func (m scanned) request() bool { return m.method && m.id != "" }

// write takes a piece of a message, which has no line ends in it.
func (s *messageScanner) write(p []byte) {
	for len(p) > 0 {
		if fast := s.takeRun(p); fast > 0 {
			p = p[fast:]
			continue
		}
		s.take(p[0])
		p = p[1:]
	}
}

// end ends the message and begins the next.
func (s *messageScanner) end() scanned {
	m := scanned{id: string(bytes.TrimSpace(s.id)), method: s.method, result: s.result, dropped: s.dropped, read: s.read}
	switch {
	case s.junk || s.depth != 0 || s.inString:
		m.junk, m.sample = true, string(s.sample)+string(s.out[:min(len(s.out), 200)])
	case s.over:
		if m.id != "" && !m.method {
			m.raw = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, m.id, codeTooLarge, strconv.Quote(fmt.Sprintf("the result is too large (%d bytes); ask for less", s.read)))
		}
	case len(s.out) > 0:
		m.raw = s.out
	}
	s.messageState = messageState{key: s.key[:0], id: s.id[:0]}
	if s.out = s.out[:0]; cap(s.out) > reusable {
		s.out = nil
	}
	return m
}

// codeTooLarge is the JSON-RPC error code of an answer that was left out.
const codeTooLarge = -32099

// takeRun takes the plain bytes of a string or of noise that p begins with.
func (s *messageScanner) takeRun(p []byte) int {
	if s.junk && len(s.sample) >= 200 {
		s.read += len(p)
		return len(p)
	}
	if !s.inString || s.escape != 0 || s.inKey || s.inID || s.over {
		return 0
	}
	n := bytes.IndexAny(p, "\"\\")
	if n < 0 {
		n = len(p)
	}
	keep := min(n, max(0, s.maxString-s.length), max(0, s.most-len(s.out)))
	if keep < n && s.length+keep < s.maxString {
		return 0 // the message becomes too long here
	}
	s.grow(keep)
	s.out = append(s.out, p[:keep]...)
	s.read += n
	s.length, s.dropped = s.length+n, s.dropped+n-keep
	return n
}

func (s *messageScanner) take(b byte) {
	s.read++
	if s.depth == 0 && !s.inString && !s.junk && len(s.out) == 0 {
		switch b {
		case ' ', '\t', '\r':
			s.read--
			return
		case '{':
			s.most = s.maxString + s.truncation.slack()
		default:
			s.junk = true
		}
	}
	if s.junk {
		if len(s.sample) < 200 {
			s.sample = append(s.sample, b)
		}
		return
	}
	if keep := s.structure(b); keep {
		s.emit(b)
	}
}

// structure follows the message and tells whether b is kept.
func (s *messageScanner) structure(b byte) bool {
	if s.inString {
		return s.text(b)
	}
	if s.inID && (b == ',' || b == '}') && s.depth == 1 {
		s.inID = false
	}
	switch b {
	case '"':
		s.inString, s.length = true, 0
		if s.depth == 1 && s.expectKey {
			s.inKey, s.expectKey, s.key = true, false, s.key[:0]
		}
	case '{', '[':
		s.depth++
		s.expectKey = b == '{' && s.depth == 1
	case '}', ']':
		s.depth--
	case ',':
		s.expectKey = s.depth == 1
	case ':':
		if s.depth == 1 && string(s.key) == "id" {
			s.inID, s.id = true, s.id[:0]
			return true
		}
		s.method = s.method || s.depth == 1 && string(s.key) == "method"
		s.result = s.result || s.depth == 1 && string(s.key) == "result"
	}
	s.noteID(b)
	return true
}

// text follows a string and leaves out what is too long, never parting an
// escape sequence.
func (s *messageScanner) text(b byte) bool {
	keep := s.length < s.maxString
	size := 0
	switch {
	case s.escape == escapeOpen && b == 'u':
		s.escape, s.rune = 4, 0
	case s.escape == escapeOpen:
		s.escape, size = 0, 1
	case s.escape > 0:
		s.escape--
		s.rune = s.rune<<4 | hexValue(b)
		if s.escape == 0 {
			size = max(1, utf8.RuneLen(s.rune))
		}
	case b == '\\':
		s.escape = escapeOpen
	case b == '"':
		s.inString, s.inKey = false, false
		s.noteID(b)
		return true
	default:
		size = 1
	}
	s.length += size
	if !keep {
		s.dropped += size
		return false
	}
	if s.inKey && len(s.key) < 16 {
		s.key = append(s.key, b)
	}
	s.noteID(b)
	return true
}

// escapeOpen means that a backslash was read: the next byte says which escape it is.
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

func (s *messageScanner) noteID(b byte) {
	if s.inID && len(s.id) < 64 {
		s.id = append(s.id, b)
	}
}

func (s *messageScanner) emit(b byte) {
	if s.over {
		return
	}
	if len(s.out) >= s.most {
		s.over, s.out = true, nil
		return
	}
	s.grow(1)
	s.out = append(s.out, b)
}

// grow makes room for n bytes, in few steps once a message is large: the
// buffers that each step leaves behind are not used again.
func (s *messageScanner) grow(n int) {
	if c := cap(s.out); c >= reusable && len(s.out)+n > c {
		s.out = append(make([]byte, 0, max(len(s.out)+n, min(8*c, s.most))), s.out...)
	}
}

// truncation tracks the answers that a connection expects: how much was left out of
// each, and the large answers themselves, which the library would copy several
// times. It is safe for concurrent use.
type truncation struct {
	mu        sync.Mutex
	by        map[string]*truncated // by the id of the request
	openLists int                   // that are waited for
}

// truncated is what truncation knows of one answer.
type truncated struct {
	dropped int    // decoded bytes that were left out
	whole   []byte // the message; nil when the library has it
}

// expectList notes that a list is expected, until done.
func (c *truncation) expectList() (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.openLists++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.openLists--
	}
}

// slack is what a message may have beyond its longest string.
func (c *truncation) slack() int {
	if c == nil {
		return lineSlack
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.openLists > 0 {
		return listSlack
	}
	return lineSlack
}

// expect notes that the answer with this id is expected.
func (c *truncation) expect(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[string]*truncated{}
	}
	c.by[id] = &truncated{}
}

// take returns what is known of the answer, and forgets it.
func (c *truncation) take(id string) truncated {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.by[id]
	delete(c.by, id)
	if a == nil {
		return truncated{}
	}
	return *a
}

// replace notes how much of a message is missing, keeps a large one, and returns
// the message for the library.
func (c *truncation) replace(m scanned) []byte {
	if m.method || m.dropped == 0 && len(m.raw) <= reusable {
		return m.raw
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.by[m.id]
	if a == nil {
		return m.raw
	}
	a.dropped += m.dropped
	if len(m.raw) <= reusable || !m.result || a.whole != nil || !json.Valid(m.raw) {
		return m.raw // the library knows what to do with an odd one
	}
	a.whole = m.raw // so long a buffer is not used again
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.id)
}
