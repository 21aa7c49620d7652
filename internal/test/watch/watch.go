// Package watch looks on while tests and measurements run: until something has
// come about, at what is logged, and at the memory and processor time of work.
package watch

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"testing"
	"time"
)

// Patience bounds how long a test waits for an event that usually takes a moment.
// Only a test that hangs reaches it: it is far more than a slow and busy machine
// needs.
const Patience = 3 * time.Minute

// Until waits for what another process or goroutine brings about, and ends the
// test when it does not come.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(Patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("not within %v: %s", Patience, what)
		}
	}
}

// Log collects what is written. It is safe for concurrent use, and its zero
// value is empty.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns what was written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Work returns the processor time that this process took while do ran, its other
// goroutines included: what the machine does for others does not count.
func Work(do func()) time.Duration {
	before := Used()
	do()
	return Used() - before
}

// Growth returns how many times as much processor time large takes as small, by the
// quickest try of each. It tries again while the answer is more than limit, since other
// work on the machine slows some tries down. Work that grows with the length of its
// input has the ratio of the two lengths, and quadratic work has the square of that.
// The garbage collector rests during a try: a small one usually ends before it
// starts, and its idle workers use every free core beside a large one.
func Growth(limit float64, small, large func()) float64 {
	growth, least, most := 0.0, time.Hour, time.Hour
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for range 20 {
		runtime.GC()
		for range 3 {
			least = max(min(least, Work(small)), time.Microsecond)
		}
		most = min(most, Work(large))
		if growth = float64(most) / float64(least); growth <= limit {
			break
		}
	}
	return growth
}

// Memory returns by how many bytes objects and stacks grew at most while do ran.
func Memory(do func()) int64 {
	runtime.GC()
	before := inUse()
	most, done, stopped := before, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(200 * time.Microsecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				most = max(most, inUse())
			case <-done:
				return
			}
		}
	}()
	do()
	close(done)
	<-stopped
	return most - before
}

func inUse() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64() + sample[1].Value.Uint64())
}
