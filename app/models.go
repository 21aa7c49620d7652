package app

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"legwork/internal/telemetry"
	"legwork/llm"
	"legwork/llm/offline"
	"legwork/tasks"
	"legwork/tasks/executor"
)

// models are the configured language models. A reload replaces them; a call that
// is running keeps the models that it began with.
type models struct {
	log     *slog.Logger
	pace    offline.Options                       // of the stand-in
	tell    func(key string, data map[string]any) // tells the admins
	metrics *telemetry.Metrics                    // may be nil
	current atomic.Pointer[llm.Models]
	pause   atomic.Pointer[tasks.Pause] // nil until core.connect

	mu       sync.Mutex
	stranded map[string]bool // models about whose failure the admins were told
}

func newModels(config llm.Config, pace offline.Options, log *slog.Logger, tell func(key string, data map[string]any), metrics *telemetry.Metrics) (*models, error) {
	m := &models{log: log, pace: pace, tell: tell, metrics: metrics, stranded: map[string]bool{}}
	fresh, err := m.prepare(config)
	if err != nil {
		return nil, err
	}
	m.current.Store(fresh)
	return m, nil
}

// prepare builds the models of a config. The caller hands them to use.
func (m *models) prepare(config llm.Config) (*llm.Models, error) {
	fresh, err := llm.New(config, llm.Options{Offline: offline.StandIn(config, m.pace), Log: m.log, Gate: func() error { return m.pause.Load().Gate() }, OnHealth: m.changed, Metrics: m.metrics})
	if err != nil {
		return nil, fmt.Errorf("preparing models: %w", err)
	}
	return fresh, nil
}

// use replaces the models from the next call on.
func (m *models) use(fresh *llm.Models) {
	m.current.Swap(fresh).Close() // closes idle connections only
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.stranded)
}

// changed tells the admins when a model without a fallback fails, and when it
// answers again.
func (m *models) changed(model string, h llm.Health) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case h.RoleDown:
		m.stranded[model] = true
		m.tell("admin.model_down", map[string]any{"Model": model, "Problem": h.Cause, "Reason": h.Hint})
	case m.stranded[model] && !h.Down:
		delete(m.stranded, model)
		m.tell("admin.model_up", map[string]any{"Model": model})
	}
}

// Health returns the health of each model by its name in the config.
func (m *models) Health() map[string]llm.Health { return m.current.Load().Health() }

// Call implements llm.Model.
func (m *models) Call(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
	return m.current.Load().Call(ctx, r, stream)
}

// Transcribe writes down what is said in a recording.
func (m *models) Transcribe(ctx context.Context, r llm.Transcription) (llm.Transcript, error) {
	return m.current.Load().Transcribe(ctx, r)
}

// Speak speaks a text.
func (m *models) Speak(ctx context.Context, r llm.Speech) (llm.Media, error) {
	return m.current.Load().Speak(ctx, r)
}

// Paint makes a picture.
func (m *models) Paint(ctx context.Context, r llm.Painting) (llm.Media, error) {
	return m.current.Load().Paint(ctx, r)
}

// QuoteUsage returns the most that a use of a role, or of a configured model, costs.
func (m *models) QuoteUsage(roleOrName string, u llm.Usage) llm.Usage {
	return m.current.Load().QuoteUsage(roleOrName, u)
}

// PromptBytes is the longest prompt for a role, in bytes.
func (m *models) PromptBytes(role string) int { return m.current.Load().PromptBytes(role) }

func (m *models) close() { m.current.Load().Close() }

var _ executor.Pricer = (*models)(nil)

// Quote implements tasks.Pricer.
func (m *models) Quote(r llm.Request) llm.Usage { return m.current.Load().Quote(r) }

// QuoteTokens implements tasks.Pricer.
func (m *models) QuoteTokens(roleOrName string, input, output int) llm.Usage {
	return m.current.Load().QuoteTokens(roleOrName, input, output)
}

// Measured implements tasks.Pricer.
func (m *models) Measured(r llm.Request) bool { return m.current.Load().Measured(r) }

// Chosen implements tasks.Pricer.
func (m *models) Chosen(r llm.Request) string { return m.current.Load().Chosen(r) }

// Bytes implements tasks.Pricer.
func (m *models) Bytes(roleOrName string, tokens int) int {
	return m.current.Load().Bytes(roleOrName, tokens)
}
