package memory_test

import (
	"testing"
	"testing/synctest"
	"time"

	"legwork/store/memory"
	"legwork/store/storetest"
)

func TestStore(t *testing.T) { storetest.Run(t, storetest.Memory) }

// A waiter must count as blocked for good, so that the time of a simulation
// moves on while it waits.
func TestWaitingInSimulation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(nil)
		changed, start := s.Changed("t"), time.Now()
		select {
		case <-changed:
			t.Fatal("the channel of a task without events is closed")
		case <-time.After(time.Hour):
		}
		if got := time.Since(start); got != time.Hour {
			t.Fatalf("simulated time: got %v, want 1h", got)
		}
	})
}
