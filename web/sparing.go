package web

import (
	"context"
	"maps"
	"sync"
	"time"

	"legwork/tasks/api"
)

// Sparing tells of what a token was refused only what was not told of it within the
// last minute: programs try again and again.
func Sparing(tell func(ctx context.Context, p api.Principal, what string), now func() time.Time) func(context.Context, api.Principal, string) {
	type refusal struct{ token, what string }
	var mu sync.Mutex
	told := map[refusal]time.Time{}
	due := func(one refusal) bool {
		mu.Lock()
		defer mu.Unlock()
		at := now()
		maps.DeleteFunc(told, func(_ refusal, last time.Time) bool { return at.Sub(last) >= time.Minute })
		if _, known := told[one]; known {
			return false
		}
		told[one] = at
		return true
	}
	return func(ctx context.Context, p api.Principal, what string) {
		if due(refusal{p.Name, what}) {
			tell(ctx, p, what)
		}
	}
}
