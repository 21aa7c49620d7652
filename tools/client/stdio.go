package client

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds on what a server may write. A line is one JSON-RPC message.
const (
	maxMessage = 128 << 20 // of one message: the server is stopped
	maxNoise   = 64 << 20  // of text that is no JSON-RPC between two messages: the server is stopped
)

// stdoutReader reads a server's output for the library, which would read lines of
// any length into memory. It shortens them by a messageScanner and leaves out lines
// that are no messages. Requests of the server go to onRequest in place of the
// library. A line is one message
// (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio).
type stdoutReader struct {
	src        io.Reader
	scan       messageScanner
	truncation *truncation
	onNoise    func(sample string) // called once, at the first line that is no message
	onRequest  func(raw []byte)    // called with a request of the server; nil: the library is given them
	onEnd      func(cause string)  // called once, before Read returns io.EOF

	in, out       []byte
	cause         string // why the server must be stopped; set before Read returns io.EOF
	noiseBytes    int    // bytes of noise since the last message
	noiseReported bool

	partialSince atomic.Int64 // when the message began that is not complete, in Unix nanoseconds; 0: there is none
	partialSize  atomic.Int64 // bytes of it
}

// A message that is this small after that long keeps all others from coming.
const (
	stuckAfter = 250 * time.Millisecond
	stuckBelow = 64 << 10
)

// errPartialMessage means that the server stopped within a message: its next message
// would count as the rest of that one.
var errPartialMessage = errors.New("it stopped in the middle of a message")

// stuck reports whether the server stopped within a message.
func (t *stdoutReader) stuck() bool {
	began := t.partialSince.Load()
	return began != 0 && time.Since(time.Unix(0, began)) > stuckAfter && t.partialSize.Load() < stuckBelow
}

// trackPartial updates what stuck reads.
func (t *stdoutReader) trackPartial() {
	t.partialSize.Store(int64(t.scan.read))
	switch {
	case t.scan.read == 0:
		t.partialSince.Store(0)
	case t.partialSince.Load() == 0:
		t.partialSince.Store(time.Now().UnixNano())
	}
}

// Read gives the library clean lines. Its only error is io.EOF.
func (t *stdoutReader) Read(p []byte) (int, error) {
	if t.in == nil {
		t.in = make([]byte, 32<<10)
	}
	for len(t.out) == 0 {
		if t.cause != "" {
			return 0, io.EOF
		}
		t.out = nil
		n, err := t.src.Read(t.in)
		t.lines(t.in[:n])
		t.trackPartial()
		wasted := t.noiseBytes
		if t.scan.junk {
			wasted += t.scan.read
		}
		if flooded := t.scan.read > maxMessage || wasted > maxNoise; err != nil || flooded {
			t.cause = "the process ended"
			if flooded {
				t.cause = "it flooded its output"
			}
			t.onEnd(t.cause)
		}
	}
	n := copy(p, t.out)
	t.out = t.out[n:]
	return n, nil
}

func (t *stdoutReader) lines(p []byte) {
	for len(p) > 0 {
		n := bytes.IndexByte(p, '\n')
		if n < 0 {
			t.scan.write(p)
			return
		}
		t.scan.write(p[:n])
		t.endLine()
		p = p[n+1:]
	}
}

func (t *stdoutReader) endLine() {
	m := t.scan.end()
	switch {
	case m.junk:
		t.noiseBytes += m.read
		if !t.noiseReported {
			t.noiseReported = true
			t.onNoise(m.sample)
		}
	case m.raw == nil: // blank, or a notification that is too long
	case m.request() && t.onRequest != nil:
		t.noiseBytes = 0
		t.onRequest(bytes.Clone(m.raw))
	default:
		t.noiseBytes = 0
		raw := t.truncation.replace(m)
		if len(t.out) == 0 && cap(raw) > reusable {
			t.out = append(raw, '\n') // the scanner does not reuse so long a buffer
			return
		}
		t.out = append(append(t.out, raw...), '\n')
	}
}

// maxQueued is how much may wait for a server that does not read its input.
const maxQueued = 4 << 20

// errNotReading means that maxQueued bytes wait, or that a write is stuck.
var errNotReading = errors.New("the server does not read its input")

// stdinWriter is a server's input that never blocks the writer: bytes wait in
// memory, up to maxQueued, until run writes them.
type stdinWriter struct {
	dst  io.WriteCloser
	wake chan struct{} // holds one token when there is something to do

	mu      sync.Mutex
	waiting []byte
	busy    bool  // run is inside a Write of dst
	writes  int64 // writes that dst took
	closed  bool
}

func newOutbox(dst io.WriteCloser) *stdinWriter {
	return &stdinWriter{dst: dst, wake: make(chan struct{}, 1)}
}

// Write queues p. It returns errNotReading when too much is queued already.
func (o *stdinWriter) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
		return 0, io.ErrClosedPipe
	case len(o.waiting) > 0 && len(o.waiting)+len(p) > maxQueued:
		return 0, errNotReading
	}
	o.waiting = append(o.waiting, p...)
	o.signal()
	return len(p), nil
}

func (o *stdinWriter) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// run writes what is queued until the writer is closed or dst fails.
func (o *stdinWriter) run() {
	for range o.wake {
		o.mu.Lock()
		p := o.waiting
		o.waiting, o.busy = nil, len(p) > 0
		closed := o.closed
		o.mu.Unlock()
		if closed {
			return
		}
		if len(p) == 0 {
			continue
		}
		_, err := o.dst.Write(p)
		o.mu.Lock()
		o.busy = false
		o.writes++
		o.mu.Unlock()
		if err != nil {
			_ = o.Close()
			return
		}
	}
}

// stuckSince reports whether a write is under way and none has ended since the mark.
func (o *stdinWriter) stuckSince(passed int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.busy && o.writes == passed
}

// writeCount is the mark for stuckSince.
func (o *stdinWriter) writeCount() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.writes
}

// Close drops what is queued, closes the server's input and ends run. It can
// be called more than once.
func (o *stdinWriter) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	o.closed = true
	o.signal()
	return o.dst.Close()
}
