package retry

import (
	"context"
	"time"
)

// WithGrace returns a context that ends that much later than ctx. It is for a
// request that cannot be taken back once it is sent, and whose answer still counts.
// The caller must call the function.
func WithGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		_ = Sleep(longer, grace) // it ends early when cancel was called
		cancel()
	})
	return longer, func() {
		stop()
		cancel()
	}
}
