package bot

import (
	"context"
	"time"
)

// WithGrace returns a context that ends that much later than ctx. It is for a
// request that cannot be taken back once it is sent: its answer still brings the
// id of the new message. The caller must call the function.
func WithGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(grace):
			cancel()
		case <-longer.Done():
		}
	})
	return longer, func() {
		stop()
		cancel()
	}
}
