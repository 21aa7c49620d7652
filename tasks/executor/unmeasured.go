package executor

import (
	"context"
	"sync"

	"legwork/llm"
)

// unmeasuredCalls is how many calls of a model may run at once before its first
// reply. Until then the cost of a call is a guess, and an endpoint may count several
// times as many tokens.
const unmeasuredCalls = 2

// unmeasured holds back the calls of models that have not replied in this process
// yet. The zero value is ready.
type unmeasured struct {
	mu      sync.Mutex
	running map[string]int // by the configured name of the model
	changed chan struct{}  // closed when a call ends; nil while no call waits
}

// enter waits until a call may begin. The caller calls leave when the call has ended.
func (u *unmeasured) enter(ctx context.Context, price Pricer, r llm.Request) (leave func(), err error) {
	model := price.Chosen(r)
	for {
		u.mu.Lock()
		if price.Measured(r) || u.running[model] < unmeasuredCalls {
			break
		}
		if u.changed == nil {
			u.changed = make(chan struct{})
		}
		changed := u.changed
		u.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer u.mu.Unlock()
	if u.running == nil {
		u.running = map[string]int{}
	}
	u.running[model]++
	return func() { u.end(model) }, nil
}

func (u *unmeasured) end(model string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.running[model]--
	if u.changed != nil {
		close(u.changed)
		u.changed = nil
	}
}
