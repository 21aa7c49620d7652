package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"legwork/internal/clip"
	"legwork/internal/form"
)

// inFlightCall is a call that was started and has not returned.
type inFlightCall struct {
	call       Call
	clock      *workClock
	ctx        context.Context  //nolint:containedctx // of the call: it also ends questions that the server sends on another stream
	token      string           // of progress reports; empty: none are requested
	reports    *progressReports // nil: none are requested
	freeSlot   func()           // lets another call start; can be called more than once
	askMu      sync.Mutex       // serializes the questions to a person
	beingAsked atomic.Bool      // a person is being asked now
}

// errAsk ends a call whose question could not be asked.
var errAsk = errors.New("its question could not be asked")

// ask brings a question to a person. Meanwhile the call's time stands still and
// another call may use its slot. The question is withdrawn when ctx ends, because
// the server cancelled its request.
func (f *inFlightCall) ask(ctx context.Context, q form.Question) (form.Answer, error) {
	f.clock.pause()
	defer f.clock.resume()
	f.freeSlot()
	f.askMu.Lock()
	defer f.askMu.Unlock()
	f.beingAsked.Store(true)
	defer f.beingAsked.Store(false)
	both, cancel := context.WithCancel(f.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	a, err := f.call.Ask(both, q)
	if err != nil && both.Err() == nil {
		f.clock.end(fmt.Errorf("%w: %w", errAsk, err))
	}
	return a, err
}

// inFlightCalls are the calls in flight on one connection, oldest first.
type inFlightCalls struct {
	mu  sync.Mutex
	all []*inFlightCall
}

func (l *inFlightCalls) add(f *inFlightCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, f)
}

func (l *inFlightCalls) remove(f *inFlightCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.DeleteFunc(l.all, func(x *inFlightCall) bool { return x == f })
}

// byToken finds the call of a progress token; nil: there is none.
func (l *inFlightCalls) byToken(token string) *inFlightCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.all {
		if token != "" && f.token == token {
			return f
		}
	}
	return nil
}

// bestMatch finds the call that a request of the server most likely belongs to,
// when the request came on a stream that calls share: the oldest call that can
// answer it and is not asking a person already. nil: there is none, or there are
// several that would ask different people.
func (l *inFlightCalls) bestMatch(can func(*inFlightCall) bool) *inFlightCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	var oldest *inFlightCall
	for _, f := range l.all {
		switch {
		case !can(f) || f.beingAsked.Load():
		case oldest == nil:
			oldest = f
		case oldest.call.AskTarget != f.call.AskTarget:
			return nil
		}
	}
	return oldest
}

// reportProgress passes on a report of progress.
func (l *inFlightCalls) reportProgress(fields map[string]any) {
	token, _ := fields["progressToken"].(string)
	if token == "" {
		return
	}
	var p Progress
	p.Done, _ = fields["progress"].(float64)
	p.Total, _ = fields["total"].(float64)
	text, _ := fields["message"].(string)
	p.Message = clip.Bytes(clean(text), maxReport)
	if f := l.byToken(token); f != nil && f.reports != nil {
		f.reports.put(p)
	}
}

// Reports of progress are for a person to look at.
const (
	reportEvery = 200 * time.Millisecond
	maxReport   = 300 // bytes of text
)

// progressReports passes on the progress of one call, one report at a time and not
// more often than people can follow. It skips reports that a newer one replaced,
// but never the last one.
type progressReports struct {
	report func(Progress)
	next   chan Progress // holds the newest report
	stop   chan struct{}
	done   chan struct{}
}

// newProgressReports starts the reports; close ends them.
func newProgressReports(report func(Progress)) *progressReports {
	r := &progressReports{report: report, next: make(chan Progress, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go r.run()
	return r
}

// put queues a report; it never waits. One goroutine at a time may call it.
func (r *progressReports) put(p Progress) {
	select {
	case <-r.next:
	default:
	}
	select {
	case r.next <- p:
	default:
	}
}

func (r *progressReports) run() {
	defer close(r.done)
	for {
		select {
		case p := <-r.next:
			r.report(p)
		case <-r.stop:
			select {
			case p := <-r.next:
				r.report(p)
			default:
			}
			return
		}
		select {
		case <-time.After(reportEvery):
		case <-r.stop:
		}
	}
}

// close reports the last progress and waits until that is done.
func (r *progressReports) close() {
	close(r.stop)
	<-r.done
}
