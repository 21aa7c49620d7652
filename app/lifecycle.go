package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
)

// lifecycle runs parts in the background and stops them in the opposite order of
// their start. The zero value is ready.
type lifecycle struct {
	parts []part
	// failed gets the first part that ended by itself with an error.
	failed chan failure
	quiet  string // the part whose error the caller returns, so that stop does not log it
}

type failure struct {
	part string
	err  error
}

type part struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{}
	err    *error
}

// start runs a part in the background until stop is called.
func (l *lifecycle) start(name string, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	p := part{name: name, cancel: cancel, done: make(chan struct{}), err: new(error)}
	l.parts = append(l.parts, p)
	if l.failed == nil {
		l.failed = make(chan failure, 1)
	}
	go func() {
		defer close(p.done)
		if *p.err = recovered(ctx, name, run); *p.err != nil && ctx.Err() == nil {
			select {
			case l.failed <- failure{name, *p.err}:
			default:
			}
		}
	}()
}

// returned is the error of a part, which the caller returns: people read it there, and
// not in the log of stop.
func (l *lifecycle) returned(f failure) error {
	l.quiet = f.part
	return f.err
}

// recovered runs a part and returns a panic as an error. It is then logged like
// other errors, without secrets, after the other parts have stopped in order.
func recovered(ctx context.Context, name string, run func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s panicked: %v\n%s", name, p, debug.Stack())
		}
	}()
	return run(ctx)
}

// stop stops the parts, the last one first. When one does not stop in time, it
// logs which, cancels the others and does not wait for them.
func (l *lifecycle) stop(log *slog.Logger) {
	deadline := time.After(StopTime)
	for i := len(l.parts) - 1; i >= 0; i-- {
		p := l.parts[i]
		p.cancel()
		select {
		case <-p.done:
			if err := *p.err; err != nil && p.name != l.quiet && !errors.Is(err, context.Canceled) {
				log.Error("part stopped with an error", "part", p.name, "cause", err)
			}
		case <-deadline:
			log.Error("part did not stop in time", "part", p.name)
			for _, p := range l.parts[:i] {
				p.cancel()
			}
			return
		}
	}
}
