package llm_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"legwork/llm"
)

// TestGateStopsRetries: while the gate is closed, one call makes no further attempts
// either, and no other model takes its place. The model is called as before when
// the gate is open again.
func TestGateStopsRetries(t *testing.T) {
	t.Parallel()
	var shut atomic.Bool
	f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		shut.Store(true)
		status(500, "")(w, r)
	}, sse(whole()))
	cfg := f.config()
	main := cfg.Models["main"]
	main.Fallback = []string{"other"}
	cfg.Models["main"], cfg.Models["other"] = main, f.model()
	cfg.Roles = map[string]string{"plan": "main", "review": "main", "work": "main", "answer": "main"}
	m, err := llm.New(cfg, llm.Options{
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Gate: func() error {
			if shut.Load() {
				return errors.New("shut")
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	_, err = m.Call(t.Context(), ask(), nil)
	var failed *llm.Error
	if n := len(f.requests()); !errors.As(err, &failed) || failed.Problem != llm.Held || n != 1 {
		t.Fatalf("%d requests, error %v; want one and the problem %q", n, err, llm.Held)
	}
	shut.Store(false)
	if reply, err := m.Call(t.Context(), ask(), nil); err != nil || reply.Text != "Hello there" {
		t.Errorf("with an open gate: %q, %v; want Hello there", reply.Text, err)
	}
}
