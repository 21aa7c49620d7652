package client

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxField is what is kept of a line of an event stream that is no message: the
// id of an event, or the address that HTTP+SSE begins with.
const maxField = 4 << 10

// errFlood ends a response whose message is too long.
const errFlood = badAnswerError("it sent a message that is too long")

// responseBody reads a response of a remote server for the library, which would
// read messages of any length into memory. It shortens them by a messageScanner.
// Requests of the server do not reach the library, nor anything after the one
// answer that a request has.
type responseBody struct {
	src        io.ReadCloser
	scan       messageScanner
	truncation *truncation
	want       string           // id of the request that is answered; empty: this stream answers many
	onRequest  func(raw []byte) // called with a request of the server

	in, out      []byte
	err          error // met after out
	done         bool  // the answer has come
	sinceMessage int   // bytes since the last message
	finish       func() error
	take         func(p []byte)

	// of an event stream
	events     bool
	line       []byte // the line, as long as it is not part of a message
	inMessage  bool   // this line is part of a message
	hasMessage bool   // the event has a message
	fields     []byte // the other lines of the event
}

// jsonBody reads one message, which may be written over many lines.
func jsonBody(src io.ReadCloser, maxString int, c *truncation, want string) *responseBody {
	b := &responseBody{src: src, scan: messageScanner{maxString: maxString, truncation: c}, truncation: c, want: want}
	b.take = func(p []byte) {
		for i, x := range p {
			if x == '\n' || x == '\r' {
				p[i] = ' '
			}
		}
		b.scan.write(p)
	}
	b.finish = func() error { return b.message(b.scan.end()) }
	return b
}

// eventBody reads a stream of events (text/event-stream).
func eventBody(src io.ReadCloser, maxString int, c *truncation, want string, asked func([]byte)) *responseBody {
	b := &responseBody{src: src, scan: messageScanner{maxString: maxString, truncation: c}, truncation: c, want: want, onRequest: asked, events: true}
	b.take, b.finish = b.lines, func() error {
		b.endLine()
		b.endEvent()
		return io.EOF
	}
	return b
}

// Read gives the library what is left. At the end of the response, and after
// the answer, it returns io.EOF.
func (b *responseBody) Read(p []byte) (int, error) {
	if b.in == nil {
		b.in = make([]byte, 16<<10)
	}
	for len(b.out) == 0 {
		if b.err != nil || b.done {
			b.out = nil
			return 0, cmp.Or(b.err, io.EOF)
		}
		b.out = nil
		n, err := b.src.Read(b.in)
		b.sinceMessage += n
		b.take(b.in[:n])
		if errors.Is(err, io.EOF) {
			err = b.finish()
		} else if err == nil && b.sinceMessage > maxMessage {
			err = errFlood
		}
		b.err = err
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}

// Close closes the response.
func (b *responseBody) Close() error { return b.src.Close() }

// message passes on what came of a message. It returns io.EOF when that was all
// of a response.
func (b *responseBody) message(m scanned) error {
	switch {
	case m.junk:
		return badAnswerError(fmt.Sprintf("it answered with something that is not JSON-RPC: %q", clean(m.sample)))
	case m.raw == nil && !b.events && b.want != "":
		return badAnswerError("it answered with nothing")
	case m.raw == nil || b.done:
		return io.EOF
	case m.request() && b.onRequest != nil:
		b.onRequest(bytes.Clone(m.raw))
		return io.EOF
	case !m.method && b.want != "" && m.id != "null" && m.id != "" && m.id != b.want:
		return badAnswerError(fmt.Sprintf("it answered the request %.40s in place of %s", m.id, b.want))
	case !m.method && m.id == "" && b.want != "":
		return badAnswerError("its answer names no request")
	}
	b.sinceMessage = 0
	raw := b.truncation.replace(m)
	b.done = !m.method && b.want != ""
	if b.events {
		b.out = slices.Concat(b.out, b.fields, []byte("data: "), raw, []byte("\n\n"))
	} else {
		b.out = raw // the only message
	}
	return io.EOF
}

func (b *responseBody) lines(p []byte) {
	for len(p) > 0 {
		n := bytes.IndexByte(p, '\n')
		if n < 0 {
			b.piece(p)
			return
		}
		b.piece(p[:n])
		b.endLine()
		p = p[n+1:]
	}
}

// piece takes a part of a line.
func (b *responseBody) piece(p []byte) {
	if !b.inMessage {
		keep := min(len(p), maxField-len(b.line))
		b.line = append(b.line, p[:keep]...)
		text, isData := bytes.CutPrefix(b.line, []byte("data:"))
		text = bytes.TrimLeft(text, " \t")
		if !isData || len(text) == 0 || text[0] != '{' && !b.hasMessage {
			return
		}
		b.inMessage, b.hasMessage = true, true
		b.scan.write(text)
		b.line, p = b.line[:0], p[keep:]
	}
	b.scan.write(p)
}

func (b *responseBody) endLine() {
	if b.inMessage {
		b.inMessage = false
		b.scan.write([]byte{' '}) // the lines of a message are joined
		return
	}
	line := bytes.TrimRight(b.line, "\r")
	switch {
	case len(line) == 0:
		b.endEvent()
	case line[0] == ':': // a comment, which keeps the connection awake
		b.sinceMessage = 0
	case len(b.fields)+len(line) < 2*maxField:
		b.fields = append(append(b.fields, line...), '\n')
	}
	b.line = b.line[:0]
}

func (b *responseBody) endEvent() {
	switch {
	case b.hasMessage:
		_ = b.message(b.scan.end()) // a stream goes on after other text
	case len(b.fields) > 0 && !b.done:
		b.sinceMessage = 0
		b.out = append(append(b.out, b.fields...), '\n')
	}
	b.fields, b.hasMessage, b.inMessage = b.fields[:0], false, false
}
