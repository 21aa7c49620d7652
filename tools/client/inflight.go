package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"legwork/internal/clip"
	"legwork/internal/form"
)

// flight is a call that is under way.
type flight struct {
	call    Call
	clock   *clock
	ctx     context.Context //nolint:containedctx // of the call: questions of the server that come by another way end with it
	token   string          // by which the server reports progress; empty: it is not asked to
	reports *reports        // nil: nobody wants them
	free    func()          // gives its place among the calls to another; more than once is fine
	asking  sync.Mutex      // a person is asked one question after the other
	asked   atomic.Bool     // a person is being asked
}

// errAsking is the end of a call whose question could not be asked.
var errAsking = errors.New("its question could not be asked")

// ask brings a question to a person. While it waits, the call's time stands
// still and another call may take its place. The question is withdrawn when ctx
// ends: the server does not want to know any more.
func (f *flight) ask(ctx context.Context, q form.Question) (form.Answer, error) {
	f.clock.pause()
	defer f.clock.resume()
	f.free()
	f.asking.Lock()
	defer f.asking.Unlock()
	f.asked.Store(true)
	defer f.asked.Store(false)
	both, cancel := context.WithCancel(f.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	a, err := f.call.Ask(both, q)
	if err != nil && both.Err() == nil {
		f.clock.end(fmt.Errorf("%w: %w", errAsking, err))
	}
	return a, err
}

// flights are the calls that are under way on one connection, oldest first.
type flights struct {
	mu  sync.Mutex
	all []*flight
}

func (l *flights) add(f *flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, f)
}

func (l *flights) remove(f *flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.DeleteFunc(l.all, func(x *flight) bool { return x == f })
}

// named finds the call of a progress token; nil: there is none.
func (l *flights) named(token string) *flight {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.all {
		if token != "" && f.token == token {
			return f
		}
	}
	return nil
}

// likely finds the call that a request of the server is part of when it came by
// a way that many share: the oldest that can do what is asked and does not wait
// for a person already. nil: there is none, or several that would ask different
// people.
func (l *flights) likely(can func(*flight) bool) *flight {
	l.mu.Lock()
	defer l.mu.Unlock()
	var oldest *flight
	for _, f := range l.all {
		switch {
		case !can(f) || f.asked.Load():
		case oldest == nil:
			oldest = f
		case oldest.call.Whom != f.call.Whom:
			return nil
		}
	}
	return oldest
}

// progressed passes on a report of progress.
func (l *flights) progressed(fields map[string]any) {
	token, _ := fields["progressToken"].(string)
	if token == "" {
		return
	}
	var p Progress
	p.Done, _ = fields["progress"].(float64)
	p.Total, _ = fields["total"].(float64)
	text, _ := fields["message"].(string)
	p.Message = clip.Bytes(clean(text), maxReport)
	if f := l.named(token); f != nil && f.reports != nil {
		f.reports.put(p)
	}
}

// tokens numbers the calls that are reported on.
type tokens struct{ last atomic.Int64 }

func (t *tokens) next() string { return "call-" + strconv.FormatInt(t.last.Add(1), 10) }

// Reports of progress are for a person to look at.
const (
	reportEvery = 200 * time.Millisecond
	maxReport   = 300 // bytes of text
)

// reports tells of the progress of one call, one report at a time and not more
// often than people can follow: the newest counts, and the last one is always
// told.
type reports struct {
	tell func(Progress)
	next chan Progress // holds the newest that was not told
	stop chan struct{}
	done chan struct{}
}

// newReports starts telling; close ends it.
func newReports(tell func(Progress)) *reports {
	r := &reports{tell: tell, next: make(chan Progress, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go r.run()
	return r
}

// put notes a report; it never waits. One goroutine at a time may call it.
func (r *reports) put(p Progress) {
	select {
	case <-r.next:
	default:
	}
	select {
	case r.next <- p:
	default:
	}
}

func (r *reports) run() {
	defer close(r.done)
	defer r.last()
	for {
		select {
		case p := <-r.next:
			r.tell(p)
		case <-r.stop:
			return
		}
		rest := time.NewTimer(reportEvery)
		select {
		case <-rest.C:
		case <-r.stop:
			rest.Stop()
			return
		}
	}
}

func (r *reports) last() {
	select {
	case p := <-r.next:
		r.tell(p)
	default:
	}
}

// close tells the last report and waits until it was told.
func (r *reports) close() {
	if r != nil {
		close(r.stop)
		<-r.done
	}
}
