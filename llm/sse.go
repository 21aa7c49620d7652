package llm

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Bounds of replies, so that no endpoint can fill the memory.
const (
	maxEvent     = 4 << 20
	maxReply     = 8 << 20 // and bytesOfToken for each token that it may have
	bytesOfToken = 1 << 10 // that an event with a single one takes, at most
)

var (
	errEventTooLong = errors.New("an event of the stream is longer than 4 MiB")
	errReplyTooLong = errors.New("the stream is longer than a reply of max_output_tokens can be")
)

// utf8BOM may come before the first byte of a stream.
const utf8BOM = "\xef\xbb\xbf"

// doneMark is the data of the event that ends a stream.
const doneMark = "[DONE]"

// events reads server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html)
// as endpoints really send them: lines may end
// in LF, CRLF or CR, comments keep the line alive, the blank line after an
// event or the newline after the last one may be missing, an error may stand
// there as bare JSON, and a server that does not stream sends one JSON document.
type events struct {
	in      *bufio.Reader
	most    int     // bytes to take from in
	read    int     // bytes taken
	line    []byte  // the line being read
	data    []byte  // the data of the event being read
	json    nesting // of data
	skipLF  bool    // the last line ended in CR: a LF belongs to it
	started bool    // a line was read
	unknown []byte  // the first bytes that are not of the protocol, for errors
}

// newEvents reads a reply that may have so many tokens.
func newEvents(r io.Reader, tokens int) *events {
	return &events{in: bufio.NewReaderSize(r, 4096), most: maxReply + bytesOfToken*tokens}
}

// next returns the data of the next event, valid until the next call. At the
// end of the stream it is io.EOF, whether or not the stream was complete.
func (e *events) next() ([]byte, error) {
	e.data, e.json = e.data[:0], nesting{}
	for {
		line, err := e.readLine()
		if errors.Is(err, io.EOF) && len(e.data) > 0 {
			return e.data, nil
		}
		if err != nil {
			return nil, err
		}
		if len(line) > 0 {
			e.take(line)
		}
		if len(e.data) > maxEvent {
			return nil, errEventTooLong
		}
		if len(e.data) > 0 && (len(line) == 0 || e.complete()) {
			return e.data, nil
		}
	}
}

// take adds a line that is not blank to the event.
func (e *events) take(line []byte) {
	field, value, _ := bytes.Cut(line, []byte(":"))
	switch {
	case len(field) == 0: // a comment
	case string(field) == "data":
		e.append(bytes.TrimLeft(value, " \t"))
	case string(field) == "event", string(field) == "id", string(field) == "retry":
	case line[0] == '{', len(e.data) > 0 && e.data[0] == '{':
		e.append(line)
	default:
		e.remember(line)
	}
}

func (e *events) append(line []byte) {
	if len(e.data) > 0 {
		e.data = append(e.data, '\n')
	}
	e.data = append(e.data, line...)
	e.json.scan(line)
}

// remember keeps the beginning of lines that are not of the protocol.
func (e *events) remember(line []byte) {
	if room := 512 - len(e.unknown); room > 0 {
		e.unknown = append(append(e.unknown, line[:min(room, len(line))]...), '\n')
	}
}

// complete reports whether the data needs no further line: it is the mark of
// the end, or a JSON object whose braces are closed.
func (e *events) complete() bool {
	return e.data[0] == '{' && e.json.depth <= 0 || string(e.data) == doneMark
}

// readLine returns a line without its end. The last line needs no end.
func (e *events) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		c, err := e.in.ReadByte()
		if errors.Is(err, io.EOF) && len(e.line) > 0 {
			return e.first(), nil
		}
		if err != nil {
			return nil, err
		}
		if e.read++; e.read > e.most {
			return nil, errReplyTooLong
		}
		skip := e.skipLF
		e.skipLF = false
		switch {
		case c == '\n' && skip:
		case c == '\n' || c == '\r':
			e.skipLF = c == '\r'
			return e.first(), nil
		default:
			e.line = append(e.line, c)
			if len(e.line) > maxEvent {
				return nil, errEventTooLong
			}
		}
	}
}

// first is the line that was read; the first one without a byte-order mark.
func (e *events) first() []byte {
	if e.started {
		return e.line
	}
	e.started = true
	return bytes.TrimPrefix(e.line, []byte(utf8BOM))
}

// nesting follows how deep in braces and brackets a JSON text is, line by line.
type nesting struct {
	depth    int
	inString bool
	escaped  bool
}

func (n *nesting) scan(line []byte) {
	for _, c := range line {
		switch {
		case n.escaped:
			n.escaped = false
		case n.inString:
			n.escaped = c == '\\'
			n.inString = c != '"'
		case c == '"':
			n.inString = true
		case c == '{', c == '[':
			n.depth++
		case c == '}', c == ']':
			n.depth--
		}
	}
}
