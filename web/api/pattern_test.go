package api_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"legwork/internal/test/callers"
	"legwork/tasks/api"
)

// TestPattern: the server around the handler reads the route of each request in
// Request.Pattern, also of a refused one, for traces, metrics and the audit log.
func TestPattern(t *testing.T) {
	e := newEnv(t)
	for _, c := range []struct{ role, method, path, body, want string }{
		{"admin", "POST", "/v1/tasks", `{"goal":"x","run":false}`, "POST /v1/tasks"},
		{"admin", "POST", "/v1/tasks", `{"goal":`, "POST /v1/tasks"},
		{"viewer", "POST", "/v1/tasks", `{"goal":"x"}`, "POST /v1/tasks"},
		{"viewer", "GET", "/v1/tasks/01KAHE0A1B2C3D4E5F6G7H8J9K/state?x=1", "", "GET /v1/tasks/{id}/state"},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		r = r.WithContext(api.With(r.Context(), callers.Principal(c.role)))
		e.api.Handler().ServeHTTP(httptest.NewRecorder(), r)
		if r.Pattern != c.want {
			t.Errorf("%s %s as %s: the request took the route %q, want %q", c.method, c.path, c.role, r.Pattern, c.want)
		}
	}
}
