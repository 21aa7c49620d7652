package bot

import (
	"context"
	"time"
)

// Linger is a context that ends that much later than ctx, for a request whose
// effect stays once it is out: its answer tells the id of what was sent. The
// function must be called in the end.
func Linger(ctx context.Context, more time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		last := time.NewTimer(more)
		defer last.Stop()
		select {
		case <-last.C:
			cancel()
		case <-longer.Done():
		}
	})
	return longer, func() {
		stop()
		cancel()
	}
}
