package slack

import (
	"sync"
	"time"
)

// maxStreams is how many native streams run at once: the whole workspace shares
// the rate limits of starts and appends.
const maxStreams = 10

// activeFor is how long a message counts as active after a change.
const activeFor = 5 * time.Minute

// activeMessages are the messages that change: native streams and edited messages.
type activeMessages struct {
	mu      sync.Mutex
	starts  int                  // streams that are being started
	streams map[string]*stream   // by channel and ts
	edits   map[string]time.Time // messages with frames by edits: when the last one was
}

func newActiveMessages() *activeMessages {
	return &activeMessages{streams: map[string]*stream{}, edits: map[string]time.Time{}}
}

func messageKey(channel, ts string) string { return channel + "/" + ts }

func (l *activeMessages) stream(channel, ts string) *stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.streams[messageKey(channel, ts)]
}

// reserve counts a stream that is being started; false when there are too many.
// add or release must follow.
func (l *activeMessages) reserve() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.streams)+l.starts >= maxStreams {
		return false
	}
	l.starts++
	return true
}

func (l *activeMessages) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starts--
}

func (l *activeMessages) add(st *stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starts--
	l.streams[messageKey(st.to.ID, st.id)] = st
}

// forget removes streams that have ended.
func (l *activeMessages) forget(channel string, ts ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range ts {
		delete(l.streams, messageKey(channel, one))
	}
}

// startedBefore returns the streams that were started before a time.
func (l *activeMessages) startedBefore(before time.Time) []*stream {
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

// frameGap is the least time between two frames of one stream.
func (l *activeMessages) frameGap(least time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(least, time.Duration(len(l.streams))*least*3/5)
}

// untilNextFrame is how long the next frame of an edited message has to wait.
func (l *activeMessages) untilNextFrame(channel, ts string, now time.Time, least time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, last := range l.edits {
		if now.Sub(last) > activeFor {
			delete(l.edits, key)
		}
	}
	last, known := l.edits[messageKey(channel, ts)]
	if !known {
		return 0
	}
	gap := max(least, time.Duration(len(l.edits))*least*4/5)
	return max(0, gap-now.Sub(last))
}

// edited notes a frame of an edited message.
func (l *activeMessages) edited(channel, ts string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.edits[messageKey(channel, ts)] = now
}

func (l *activeMessages) finished(channel, ts string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.edits, messageKey(channel, ts))
}
