package watch_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/internal/test/watch"
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

func TestWork(t *testing.T) {
	if took := watch.Work(func() { <-time.After(200 * time.Millisecond) }); took > 150*time.Millisecond {
		t.Errorf("waiting for 200ms took %v of the processor, want next to nothing", took)
	}
	began, n := time.Now(), 0
	took := watch.Work(func() {
		for n < 50_000_000 {
			n++
		}
	})
	if all := time.Since(began); took <= 0 || took > all*time.Duration(runtime.NumCPU())+50*time.Millisecond {
		t.Errorf("counting took %v of the processor, want some, and no more than there was in %v", took, all)
	}
}

func TestGrowth(t *testing.T) {
	count := func(n int) func() {
		return func() {
			for range n {
				runtime.Gosched()
			}
		}
	}
	if got := watch.Growth(40, count(20_000), count(200_000)); got > 40 {
		t.Errorf("ten times as many steps took %.1f times as long, want about 10", got)
	}
	if got := watch.Growth(40, count(2000), count(200_000)); got <= 40 {
		t.Errorf("a hundred times as many steps took %.1f times as long, want about 100", got)
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
