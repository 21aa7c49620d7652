package telegram

import (
	"context"
	"errors"
	"sync"
	"time"
)

var errConnecting = errors.New("connecting to Telegram")

// state is how the connection stands. It is safe for concurrent use.
type state struct {
	known chan struct{} // closed when me is set

	mu       sync.Mutex
	me       user
	identity error // why me is not set
	receipt  error // why no messages arrive
}

func newState() *state {
	return &state{known: make(chan struct{}), identity: errConnecting, receipt: errConnecting}
}

func (s *state) ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.identity != nil {
		return s.identity
	}
	return s.receipt
}

// receiving notes whether messages arrive, and reports whether that is news.
func (s *state) receiving(problem error) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	news = (problem == nil) != (s.receipt == nil) || problem != nil && problem.Error() != s.receipt.Error()
	s.receipt = problem
	return news
}

// unknown notes why the bot's name is not known.
func (s *state) unknown(problem error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.identity = problem
}

// is notes who the bot is. It is called once.
func (s *state) is(me user) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.me, s.identity = me, nil
	close(s.known)
}

// self waits until the bot knows who it is.
func (s *state) self(ctx context.Context) (user, error) {
	select {
	case <-s.known:
	case <-ctx.Done():
		return user{}, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.me, nil
}

// sleep waits for d; it returns false when ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
