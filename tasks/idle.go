package tasks

import (
	"context"
	"slices"
	"sync/atomic"
)

// Idle waits until no task of a conversation is live; an empty name means all
// conversations. Its error is the store's or the context's.
func Idle(ctx context.Context, store Store, conversation string) error {
	var awaited atomic.Value
	awaited.Store(ID(""))
	changed := make(chan struct{}, 1)
	defer store.Follow(func(id ID) {
		if id != awaited.Load() {
			return
		}
		select {
		case changed <- struct{}{}:
		default:
		}
	})()
	for {
		live, err := store.Live(ctx, conversation)
		if err != nil || len(live) == 0 {
			return err
		}
		for _, l := range live {
			awaited.Store(l.Task)
			if err := waitOver(ctx, store, l, changed); err != nil {
				return err
			}
		}
	}
}

// waitOver waits until a task is no longer live in its chat.
func waitOver(ctx context.Context, store Store, l Live, changed <-chan struct{}) error {
	for {
		here, err := store.Live(ctx, l.Chat.Key())
		if err != nil || !slices.ContainsFunc(here, func(other Live) bool { return other.Task == l.Task }) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}
