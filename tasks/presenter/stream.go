package presenter

import (
	"strings"
	"sync"

	"legwork/llm"
	"legwork/planner"
)

// streamBuffer is the text of one model call while it streams.
type streamBuffer struct {
	p      *Presenter
	action planner.ActionID

	mu       sync.Mutex
	received strings.Builder
	closed   bool
}

// Stream shows the text of the call that does an action while it grows, as soon as
// it is known to be an answer and not a plan. Call end when the outcome of the call
// is stored.
func (p *Presenter) Stream(a planner.Action) (write func(llm.Delta), end func()) {
	s := &streamBuffer{p: p, action: a.ID}
	p.mu.Lock()
	p.stream = s
	p.mu.Unlock()
	return s.write, s.close
}

// write takes the next piece.
func (s *streamBuffer) write(d llm.Delta) {
	s.mu.Lock()
	if d.Reset {
		s.received.Reset()
	}
	s.received.WriteString(d.Text)
	s.mu.Unlock()
	s.p.nudge()
}

// close ends it.
func (s *streamBuffer) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.p.nudge()
}

// text is what can be shown now, the action it belongs to, and whether more
// may come. A closed buffer has nothing to show: the journal has.
func (s *streamBuffer) text() (text string, action planner.ActionID, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", s.action, false
	}
	return planner.StreamablePrefix(s.received.String()), s.action, true
}
