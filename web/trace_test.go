package web_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"legwork/internal/telemetry"
	"legwork/tasks/policy"
	"legwork/web"
)

// TestOnlyAuthorizedRequestsAreTraced: a request without a valid token starts no
// span, not even in a trace that it names.
func TestOnlyAuthorizedRequestsAreTraced(t *testing.T) {
	t.Parallel()
	var exported atomic.Int32
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { exported.Add(1) }))
	t.Cleanup(receiver.Close)
	tracer, err := telemetry.NewTracer(telemetry.TraceConfig{Endpoint: receiver.URL, Sample: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tracer.Close(context.Background()) })
	ops, text := newToken("ops", policy.RoleAdmin)
	const parent = "Traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for i, token := range []string{"lw_wrong", text} {
		at, _, stop := serve(t, web.Config{Listen: "127.0.0.1:0", Access: access(ops), API: http.NotFoundHandler(), Tracer: tracer})
		ask(t, http.MethodGet, "http://"+at+"/v1/tasks", "", "Authorization: Bearer "+token, parent)
		if err := errors.Join(stop(), tracer.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
		if got := exported.Load(); got != int32(i) {
			t.Errorf("after %s: spans were exported %d times, want %d", token, got, i)
		}
	}
}
