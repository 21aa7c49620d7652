package api

import (
	"context"
	"sync"
	"time"

	"legwork/tasks"
)

type callerKey struct{}

// With returns a context that says who calls, for handlers of requests.
func With(ctx context.Context, p Principal) context.Context {
	ctx = tasks.WithOrigin(ctx, tasks.Origin{Role: string(p.Role), Addr: p.Addr})
	return context.WithValue(ctx, callerKey{}, p)
}

// Caller is who calls, as With has it. Without, it is nobody, who sees nothing.
func Caller(ctx context.Context) Principal {
	p, _ := ctx.Value(callerKey{}).(Principal)
	return p
}

// Patience is a context in which a caller waits for something: it ends with the
// request, after a while, or when stop is closed, so that who waits is told how
// things stand. end must be called.
func Patience(ctx context.Context, wait time.Duration, stop <-chan struct{}) (waiting context.Context, end func()) {
	waiting, cancel := context.WithTimeout(ctx, wait)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-stop:
			cancel()
		case <-waiting.Done():
		}
	})
	return waiting, func() { cancel(); watching.Wait() }
}
