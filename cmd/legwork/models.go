package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"legwork/llm"
)

// models are the configured language models, which a reload can change. Calls
// end with the models that they began with.
type models struct {
	log     *slog.Logger
	current atomic.Pointer[llm.Models]
}

func newModels(config llm.Config, log *slog.Logger) (*models, error) {
	m := &models{log: log}
	return m, m.use(config)
}

// use changes the models, from the next call on.
func (m *models) use(config llm.Config) error {
	fresh, err := llm.New(config, llm.Options{Log: m.log})
	if err != nil {
		return fmt.Errorf("preparing models: %w", err)
	}
	if old := m.current.Swap(fresh); old != nil {
		old.Close() // closes idle connections only
	}
	return nil
}

// Call implements llm.Model.
func (m *models) Call(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
	return m.current.Load().Call(ctx, r, stream)
}

// PromptBytes bounds prompts by the context of the models that get them.
func (m *models) PromptBytes(role string) int { return m.current.Load().PromptBytes(role) }

func (m *models) close() { m.current.Load().Close() }
