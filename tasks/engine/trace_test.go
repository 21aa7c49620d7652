package engine_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"legwork/internal/telemetry"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/engine"
	"legwork/tasks/enginetest"
)

// TestTaskIsTracedOnce: the span of a task is exported when the task ends, and not
// again when somebody wakes the task later.
func TestTaskIsTracedOnce(t *testing.T) {
	var told atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		told.Add(int64(strings.Count(string(body), `"name":"task"`)))
	}))
	t.Cleanup(receiver.Close)
	tracer, err := telemetry.NewTracer(telemetry.TraceConfig{Endpoint: receiver.URL, Sample: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tracer.Close(context.Background()) })
	env := enginetest.NewEnv(t, memory.New(nil))
	env.Executor.Tracer = tracer
	env.Start(build)
	t.Cleanup(env.Stop)
	rest := func() {
		t.Helper()
		over := time.After(30 * time.Second)
		for env.Engine.(*engine.Engine).Load() > 0 {
			select {
			case <-over:
				t.Fatal("the engine does not come to rest")
			case <-time.After(time.Millisecond):
			}
		}
	}
	env.Ask(t, enginetest.Message("1", "hi", time.Now()))
	if err := tasks.Idle(t.Context(), env.Store, enginetest.Chat.Key()); err != nil {
		t.Fatal(err)
	}
	rest()
	turns, err := env.Store.History(t.Context(), enginetest.Chat.Key(), "", 1<<20)
	if err != nil || len(turns) != 1 {
		t.Fatalf("history %+v, %v", turns, err)
	}
	for range 3 {
		if err := env.Engine.Wake(t.Context(), turns[0].Task); err != nil {
			t.Fatal(err)
		}
		rest()
	}
	if err := tracer.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := told.Load(); n != 1 {
		t.Errorf("the span of the task was told %d times, want once", n)
	}
}
