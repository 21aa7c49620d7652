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

// inFlightCall is a call that is under way.
type inFlightCall struct {
	call       Call
	clock      *workClock
	ctx        context.Context  //nolint:containedctx // of the call: questions of the server that come by another way end with it
	token      string           // by which the server reports progress; empty: it is not asked to
	reports    *progressReports // nil: not wanted
	freeSlot   func()           // gives its place among the calls to another; more than once is fine
	askMu      sync.Mutex       // a person is asked one question after the other
	beingAsked atomic.Bool      // a person is being asked
}

// errAsk is the end of a call whose question could not be asked.
var errAsk = errors.New("its question could not be asked")

// ask brings a question to a person. While it waits, the call's time stands
// still and another call may take its place. The question is withdrawn when ctx
// ends: the server does not want to know any more.
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

// inFlightCalls are the calls that are under way on one connection, oldest first.
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

// bestMatch finds the call that a request of the server is part of when it came by
// a way that many share: the oldest that can do what is asked and does not wait
// for a person already. nil: there is none, or several that would ask different
// people.
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
