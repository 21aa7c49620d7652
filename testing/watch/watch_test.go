package watch_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/testing/watch"
)

func TestMemory(t *testing.T) {
	const size = 64 << 20
	var kept []byte
	grown := watch.Memory(func() {
		kept = make([]byte, size)
		for i := range kept { // takes longer than a look at the memory
			kept[i] = byte(i)
		}
	})
	if grown < size || grown > size+(8<<20) || kept[1] != 1 {
		t.Errorf("making %d bytes: memory grew by %d, want that and little more", size, grown)
	}
}

func TestLog(t *testing.T) {
	var l watch.Log
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() { _, _ = fmt.Fprintf(&l, "line %d\n", i) })
	}
	all.Wait()
	if got := l.String(); strings.Count(got, "line ") != 10 {
		t.Errorf("got %q, want ten lines", got)
	}
}

// witness is a test whose clean-up runs when it is told to.
type witness struct {
	testing.TB
	ends   []func()
	failed string
}

func (w *witness) Helper() {}

func (w *witness) Cleanup(f func()) { w.ends = append(w.ends, f) }

func (w *witness) Error(a ...any) { w.failed = fmt.Sprint(a...) }

func TestLeaksWaits(t *testing.T) {
	w := &witness{TB: t}
	watch.Leaks(w)
	late := make(chan struct{})
	go func() { <-late }()
	time.AfterFunc(50*time.Millisecond, func() { close(late) })
	w.ends[0]()
	if w.failed != "" {
		t.Errorf("a goroutine that ends in time: got %q, want no failure", w.failed)
	}
}
