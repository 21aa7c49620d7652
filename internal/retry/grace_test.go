package retry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"legwork/internal/retry"
)

// TestWithGrace: the longer context ends later by what was asked for, and at once
// when it is given up.
func TestWithGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		longer, done := retry.WithGrace(ctx, time.Second)
		from := time.Now()
		cancel()
		synctest.Wait()
		if longer.Err() != nil {
			t.Error("it ended with the context that it outlives")
		}
		<-longer.Done()
		if took := time.Since(from); took != time.Second {
			t.Errorf("it ended after %v, want 1s", took)
		}
		done()

		ctx, cancel = context.WithCancel(t.Context())
		longer, done = retry.WithGrace(ctx, time.Hour)
		cancel()
		done()
		if longer.Err() == nil {
			t.Error("it goes on after it was given up")
		}
	})
}
