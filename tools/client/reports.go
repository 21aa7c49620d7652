package client

import "time"

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
