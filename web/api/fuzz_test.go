package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"legwork/tasks/contexts"
)

// fuzz sends bodies to a call through the real handler: whatever comes, the reply
// keeps the contract, and nothing goes wrong inside.
func fuzz(f *testing.F, method, path, kind string, seeds ...string) {
	f.Helper()
	h := newHouse(f)
	id := string(h.share("agent").ID)
	path = strings.ReplaceAll(path, "{id}", id)
	path = strings.ReplaceAll(path, "{review}", h.review(id))
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	handler := h.api.Handler()
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequestWithContext(contexts.With(t.Context(), principal("admin")), method, path, strings.NewReader(string(body)))
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		got := answer{w.Code, w.Header(), w.Body.Bytes()}
		h.contract.check(t, method, path, got)
		if got.status >= http.StatusInternalServerError {
			t.Errorf("%s %s with %q: got %d %s", method, path, body, got.status, got.body)
		}
		if got.status < 300 && !json.Valid(body) {
			t.Errorf("%s %s with %q, which is no JSON: got %d", method, path, body, got.status)
		}
	})
}

const aJSON = "application/json"

func FuzzNewTask(f *testing.F) {
	fuzz(f, "POST", "/v1/tasks", aJSON, `{"goal":"x","run":false}`, `{"goal":"x","groups":[],"language":"ru","notify":{"webhook":"ops"}}`,
		`{"goal":"\ud800","idempotency_key":"k"}`, `{"goal":"x","notify":{"chat":"slack:C1","webhook":"ops"}}`, `[]`, `{"goal":1e999}`, ``)
}

func FuzzNewMessage(f *testing.F) {
	fuzz(f, "POST", "/v1/tasks/{id}/messages", aJSON, `{"type":"thought","content":null}`, `{"type":"human_input","content":{"text":"x"}}`,
		`{"type":"plan","content":[[[[1]]]]}`, `{"type":"error","content":"x","idempotency_key":"k"}`, `{"content":1}`)
}

func FuzzState(f *testing.F) {
	fuzz(f, "PUT", "/v1/tasks/{id}/state", aJSON, `{"a":1}`, `{"a":null}`, `{"":1}`, `{"status":"NEEDS_HUMAN_REVIEW"}`, `{"status":1}`, `{"a":{"a":{}}}`)
}

func FuzzMergePatch(f *testing.F) {
	fuzz(f, "PATCH", "/v1/tasks/{id}/state", "application/merge-patch+json", `{"a":{"b":null}}`, `{"a":{"b":{"c":1}},"d":[]}`, `{"a":null}`, `null`)
}

func FuzzAnswer(f *testing.F) {
	fuzz(f, "POST", "/v1/tasks/{id}/answer", aJSON, `{"text":"x"}`, `{"text":" "}`, `{"text":""}`, `{"Text":"x"}`)
}

func FuzzDecision(f *testing.F) {
	fuzz(f, "POST", "/v1/approvals/{review}", aJSON, `{"decision":"approve"}`, `{"decision":"deny","comment":"x","scope":"chat"}`, `{"decision":"approve","value":{"a":1}}`)
}

func FuzzRetry(f *testing.F) {
	fuzz(f, "POST", "/v1/tasks/{id}/retry", aJSON, ``, `{}`, `{"idempotency_key":"k"}`)
}
