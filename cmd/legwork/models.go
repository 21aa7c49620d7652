package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"legwork/internal/telemetry"
	"legwork/llm"
	"legwork/llm/offline"
	"legwork/tasks"
)

// models are the configured language models, which a reload can change. Calls
// end with the models that they began with.
type models struct {
	log     *slog.Logger
	tell    func(key string, data map[string]any) // tells the admins
	metrics *telemetry.Metrics                    // may be nil
	current atomic.Pointer[llm.Models]
	pause   atomic.Pointer[tasks.Pause] // the switch for everything, once it is known

	mu       sync.Mutex
	stranded map[string]bool // models whose failing the admins were told of
}

func newModels(config llm.Config, log *slog.Logger, tell func(key string, data map[string]any), metrics *telemetry.Metrics) (*models, error) {
	m := &models{log: log, tell: tell, metrics: metrics, stranded: map[string]bool{}}
	fresh, err := m.prepare(config)
	if err != nil {
		return nil, err
	}
	m.current.Store(fresh)
	return m, nil
}

// prepare makes the models of a config, for use.
func (m *models) prepare(config llm.Config) (*llm.Models, error) {
	fresh, err := llm.New(config, llm.Options{Offline: standIn(config), Log: m.log, Gate: func() error { return m.pause.Load().Gate() }, OnHealth: m.changed, Metrics: m.metrics})
	if err != nil {
		return nil, fmt.Errorf("preparing models: %w", err)
	}
	return fresh, nil
}

// standIn answers for the models of a config that are offline; nil when none is.
func standIn(config llm.Config) http.RoundTripper {
	for _, m := range config.Models {
		if m.Offline {
			return offline.New(offline.Options{}).Transport()
		}
	}
	return nil
}

// use changes the models, from the next call on.
func (m *models) use(fresh *llm.Models) {
	m.current.Swap(fresh).Close() // closes idle connections only
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.stranded)
}

// changed tells the admins that a model fails for which there is no other, and
// that it answers again.
func (m *models) changed(model string, h llm.Health) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case h.Stranded:
		m.stranded[model] = true
		m.tell("admin.model_down", map[string]any{"Model": model, "Problem": h.Cause, "Reason": h.Hint})
	case m.stranded[model] && !h.Down:
		delete(m.stranded, model)
		m.tell("admin.model_up", map[string]any{"Model": model})
	}
}

// Health tells how each model stands, by its name in the config.
func (m *models) Health() map[string]llm.Health { return m.current.Load().Health() }

// Call implements llm.Model.
func (m *models) Call(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
	return m.current.Load().Call(ctx, r, stream)
}

// PromptBytes bounds prompts by the context of the models that get them.
func (m *models) PromptBytes(role string) int { return m.current.Load().PromptBytes(role) }

func (m *models) close() { m.current.Load().Close() }
