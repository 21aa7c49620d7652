// Package retry waits between tries.
package retry

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Pauses are the pauses between tries. Each is twice as long as the one before.
// A zero Pauses is not ready for use, and one is for one goroutine only.
type Pauses struct{ policy backoff.ExponentialBackOff }

// New returns pauses from first to longest. Each is spread by chance, by this
// share of its length to either side, so that many clients do not try at once.
func New(first, longest time.Duration, spread float64) *Pauses {
	return &Pauses{backoff.ExponentialBackOff{InitialInterval: first, MaxInterval: longest, Multiplier: 2, RandomizationFactor: spread}}
}

// Next returns the length of the next pause.
func (p *Pauses) Next() time.Duration { return p.policy.NextBackOff() }

// Reset makes the next pause the first one again.
func (p *Pauses) Reset() { p.policy.Reset() }

// Sleep waits for the next pause, see Sleep.
func (p *Pauses) Sleep(ctx context.Context) error { return Sleep(ctx, p.Next()) }

// Sleep waits. It returns the error of ctx when that ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
