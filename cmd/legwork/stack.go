package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
)

// stack holds what runs in the background, in the order of its start. The zero
// value is ready.
type stack struct {
	parts []part
	// failed gets the error of a part that ended by itself, the first one only.
	failed chan error
}

type part struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{}
	err    *error
}

// start runs a part in the background until stop.
func (s *stack) start(name string, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	p := part{name: name, cancel: cancel, done: make(chan struct{}), err: new(error)}
	s.parts = append(s.parts, p)
	if s.failed == nil {
		s.failed = make(chan error, 1)
	}
	go func() {
		defer close(p.done)
		if *p.err = whole(ctx, name, run); *p.err != nil && ctx.Err() == nil {
			select {
			case s.failed <- *p.err:
			default:
			}
		}
	}()
}

// whole runs a part. A panic is an error of it, so that it is told where all
// errors are, without secrets, after the other parts have ended in order.
func whole(ctx context.Context, name string, run func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s panicked: %v\n%s", name, p, debug.Stack())
		}
	}()
	return run(ctx)
}

// stop ends the parts, the last one first, and says which did not end in time:
// then the rest is told to end and not waited for.
func (s *stack) stop(log *slog.Logger) {
	deadline := time.After(stopTime)
	for i := len(s.parts) - 1; i >= 0; i-- {
		p := s.parts[i]
		p.cancel()
		select {
		case <-p.done:
			if err := *p.err; err != nil && !errors.Is(err, context.Canceled) {
				log.Error("a part stopped with an error", "part", p.name, "cause", err)
			}
		case <-deadline:
			log.Error("a part did not stop in time", "part", p.name)
			for _, p := range s.parts[:i] {
				p.cancel()
			}
			return
		}
	}
}
