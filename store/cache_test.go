package store

import (
	"fmt"
	"testing"

	"legwork/tasks"
)

// TestWatchBounded: watching ever more tasks that never change lets go of some,
// and tells their watchers, instead of growing.
func TestWatchBounded(t *testing.T) {
	const watched = 1<<16 + 1000
	var w watch
	channels := make([]<-chan struct{}, watched)
	for i := range channels {
		channels[i] = w.Changed(tasks.ID(fmt.Sprint(i)))
	}
	told, left := 0, 0
	for i, c := range channels {
		select {
		case <-c:
			told++
		default:
			left++
			if again := w.Changed(tasks.ID(fmt.Sprint(i))); again != c {
				t.Fatalf("task %d is watched, but by another channel", i)
			}
		}
	}
	if told != 1000 || left != 1<<16 {
		t.Fatalf("of %d watched tasks %d were let go and %d kept, want 1000 and %d", watched, told, left, 1<<16)
	}
}
