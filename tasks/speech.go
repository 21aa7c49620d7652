package tasks

import (
	"strings"
	"sync"

	"legwork/llm"
	"legwork/planner"
)

// Speech is the text of one model call while it streams.
type Speech struct {
	p      *Presenter
	action planner.ActionID

	mu     sync.Mutex
	heard  strings.Builder
	closed bool
}

// Speech starts listening to the call that does a; its text is shown as soon
// as it is known to be an answer and not a plan. Close it when the outcome of
// the call is stored.
func (p *Presenter) Speech(a planner.Action) *Speech {
	s := &Speech{p: p, action: a.ID}
	p.mu.Lock()
	p.speech = s
	p.mu.Unlock()
	return s
}

// Hear takes the next piece.
func (s *Speech) Hear(d llm.Delta) {
	s.mu.Lock()
	if d.Reset {
		s.heard.Reset()
	}
	s.heard.WriteString(d.Text)
	s.mu.Unlock()
	s.p.nudge()
}

// Close ends it.
func (s *Speech) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.p.nudge()
}

// text is what can be shown now, the action it belongs to, and whether more
// may come. A closed speech has nothing to show: the journal has.
func (s *Speech) text() (text string, action planner.ActionID, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", s.action, false
	}
	return planner.Utterance(s.heard.String()), s.action, true
}
