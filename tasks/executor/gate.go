package executor

import (
	"context"
	"errors"
	"fmt"

	"legwork/llm"
	"legwork/tasks"
)

// gated is a model that is not called while everything is paused.
type gated struct {
	llm.Model
	pause *tasks.Pause
}

// Call implements llm.Model.
func (g gated) Call(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
	if err := g.pause.Gate(); err != nil {
		return llm.Reply{}, err
	}
	reply, err := g.Model.Call(ctx, r, stream)
	var failed *llm.Error
	if errors.As(err, &failed) && failed.Problem == llm.Held {
		return reply, fmt.Errorf("%w: %w", tasks.ErrPaused, err)
	}
	return reply, err
}
