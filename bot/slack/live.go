package slack

import (
	"sync"
	"time"
)

// maxStreams is how many native streams run at once: each costs starts and
// appends of a budget that the whole workspace shares.
const maxStreams = 10

// recent is for how long a message that was changed counts among those that
// are being changed.
const recent = 5 * time.Minute

// live knows what changes at the moment: native streams and edited messages.
type live struct {
	mu      sync.Mutex
	starts  int                  // streams that are being started
	streams map[string]*stream   // by channel and ts
	edits   map[string]time.Time // messages with frames by edits: when the last one was
}

func newLive() *live { return &live{streams: map[string]*stream{}, edits: map[string]time.Time{}} }

func place(channel, ts string) string { return channel + "/" + ts }

func (l *live) stream(channel, ts string) *stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.streams[place(channel, ts)]
}

// reserve takes one of the places for streams; false when all are taken. add
// or release gives it back.
func (l *live) reserve() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.streams)+l.starts >= maxStreams {
		return false
	}
	l.starts++
	return true
}

func (l *live) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starts--
}

func (l *live) add(st *stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starts--
	l.streams[place(st.to.ID, st.id)] = st
}

// forget ends the account of a stream.
func (l *live) forget(st *stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.streams, place(st.to.ID, st.id))
}

// halt forgets streams that Slack has ended.
func (l *live) halt(channel string, ts []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range ts {
		delete(l.streams, place(channel, one))
	}
}

// old returns the streams that were started before a time.
func (l *live) old(before time.Time) []*stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*stream
	for _, st := range l.streams {
		if st.started.Before(before) {
			all = append(all, st)
		}
	}
	return all
}

// gap is the least time between two frames of one stream.
func (l *live) gap(least time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(least, time.Duration(len(l.streams))*least*3/5)
}

// turn is how long the next frame of an edited message has to wait.
func (l *live) turn(channel, ts string, now time.Time, least time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, last := range l.edits {
		if now.Sub(last) > recent {
			delete(l.edits, key)
		}
	}
	last, known := l.edits[place(channel, ts)]
	if !known {
		return 0
	}
	gap := max(least, time.Duration(len(l.edits))*least*4/5)
	return max(0, gap-now.Sub(last))
}

// edited notes a frame of an edited message; settled, that there will be none.
func (l *live) edited(channel, ts string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.edits[place(channel, ts)] = now
}

func (l *live) settled(channel, ts string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.edits, place(channel, ts))
}
