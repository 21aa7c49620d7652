// Package watch looks on while tests and measurements run: until something has
// come about, at goroutines that stay behind, at what is logged, and at the
// memory and the processor time that work takes.
package watch

import (
	"bytes"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
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

// watched holds the names of the tests that look for leaks.
var watched sync.Map

// Leaks fails the test when goroutines that began after this call still run at
// its end, after all clean-ups that are registered later. Only the first call
// in a test and its subtests counts: goroutines that are started between two
// calls may still start goroutines of their own after the second one, and end
// after its check.
func Leaks(t testing.TB) {
	t.Helper()
	name := t.Name()
	for outer, sub := name, true; sub; {
		if _, there := watched.Load(outer); there {
			return
		}
		end := strings.LastIndex(outer, "/")
		if sub = end >= 0; sub {
			outer = outer[:end]
		}
	}
	watched.Store(name, true)
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		defer watched.Delete(name)
		err := goleak.Find(before)
		for late := time.Now().Add(Patience); err != nil && time.Now().Before(late); {
			err = goleak.Find(before) // it waits itself, but not long enough for a busy machine
		}
		if err != nil {
			t.Error(err)
		}
	})
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
