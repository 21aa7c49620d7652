package client

import (
	"errors"
	"io"
	"sync"
)

// outboxLimit is how much may wait for a server that does not read its input.
const outboxLimit = 4 << 20

var errNotReading = errors.New("the server does not read its input")

// outbox is a server's input that never blocks the writer: what is written
// waits in memory, up to outboxLimit, for run to pass it on.
type outbox struct {
	dst  io.WriteCloser
	wake chan struct{} // holds one token when there is something to do

	mu      sync.Mutex
	waiting []byte
	busy    bool  // run is inside a Write of dst
	passed  int64 // writes that dst took
	closed  bool
}

func newOutbox(dst io.WriteCloser) *outbox { return &outbox{dst: dst, wake: make(chan struct{}, 1)} }

// Write queues p. It returns errNotReading when too much is queued already.
func (o *outbox) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
		return 0, io.ErrClosedPipe
	case len(o.waiting) > 0 && len(o.waiting)+len(p) > outboxLimit:
		return 0, errNotReading
	}
	o.waiting = append(o.waiting, p...)
	o.signal()
	return len(p), nil
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// run passes on what is queued until the outbox is closed or dst fails.
func (o *outbox) run() {
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
		o.passed++
		o.mu.Unlock()
		if err != nil {
			_ = o.Close()
			return
		}
	}
}

// stuckSince tells whether something waits and nothing was taken since passed.
func (o *outbox) stuckSince(passed int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.busy && o.passed == passed
}

// progress is a mark for stuckSince.
func (o *outbox) progress() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.passed
}

// Close drops what is queued, closes the server's input and ends run. It can
// be called more than once.
func (o *outbox) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	o.closed = true
	o.signal()
	return o.dst.Close()
}
