package tasks

import "context"

// Idle returns when no task of a conversation is live; its error is the
// store's or the context's.
func Idle(ctx context.Context, store Store, conversation string) error {
	for {
		live, err := store.Live(ctx, conversation)
		if err != nil || len(live) == 0 {
			return err
		}
		changed := store.Changed(live[0].Task)
		s, err := store.State(ctx, live[0].Task)
		if err != nil {
			return err
		}
		if s.Finished() {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}
