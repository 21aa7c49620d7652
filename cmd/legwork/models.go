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
	fresh, err := m.prepare(config)
	if err != nil {
		return nil, err
	}
	m.current.Store(fresh)
	return m, nil
}

// prepare makes the models of a config, for use.
func (m *models) prepare(config llm.Config) (*llm.Models, error) {
	fresh, err := llm.New(config, llm.Options{Log: m.log})
	if err != nil {
		return nil, fmt.Errorf("preparing models: %w", err)
	}
	return fresh, nil
}

// use changes the models, from the next call on.
func (m *models) use(fresh *llm.Models) {
	m.current.Swap(fresh).Close() // closes idle connections only
}

// Call implements llm.Model.
func (m *models) Call(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
	return m.current.Load().Call(ctx, r, stream)
}

// PromptBytes bounds prompts by the context of the models that get them.
func (m *models) PromptBytes(role string) int { return m.current.Load().PromptBytes(role) }

func (m *models) close() { m.current.Load().Close() }
