package mcp

import "context"

// atOnce is how many requests are read at once, or their arguments made into values:
// short values take many times as much memory as they are long.
const atOnce = 8

// turns has a place for each that is.
type turns chan struct{}

// begin waits for a turn, and then end must be called; an error is that of ctx.
func (t turns) begin(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turns) end() { <-t }
