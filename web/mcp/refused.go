package mcp

import (
	"context"
	"sync"
	"time"

	"legwork/tasks/contexts"
)

// refusals tells what tokens tried that their roles may not: of a token and a tool
// once a minute.
type refusals struct {
	tell func(ctx context.Context, p contexts.Principal, tool string)
	now  func() time.Time

	mu   sync.Mutex
	told map[refusal]time.Time
}

type refusal struct{ token, tool string }

func (r *refusals) note(ctx context.Context, p contexts.Principal, tool string) {
	if r.tell != nil && r.due(refusal{p.Name, tool}) {
		r.tell(ctx, p, tool)
	}
}

func (r *refusals) due(one refusal) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if last, known := r.told[one]; known && now.Sub(last) < time.Minute {
		return false
	}
	if r.told == nil {
		r.told = map[refusal]time.Time{}
	}
	r.told[one] = now // there are few tokens and tools
	return true
}
