package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/callers"
	"legwork/tasks/api"
)

// fuzz sends bodies to a call through the real handler: every reply keeps the
// contract, and none is an internal error.
func fuzz(f *testing.F, method, path, kind string, seeds ...string) {
	f.Helper()
	e := newEnv(f)
	id := string(e.share("agent").ID)
	path = strings.ReplaceAll(path, "{id}", id)
	path = strings.ReplaceAll(path, "{review}", e.review(id))
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	handler := e.api.Handler()
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequestWithContext(api.With(t.Context(), callers.Principal("admin")), method, path, strings.NewReader(string(body)))
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		got := answer{w.Code, w.Header(), w.Body.Bytes()}
		e.contract.check(t, method, path, got)
		if got.status >= http.StatusInternalServerError {
			t.Errorf("%s %s with %q: got %d %s", method, path, body, got.status, got.body)
		}
		if got.status < 300 && !json.Valid(body) {
			t.Errorf("%s %s with %q, which is not JSON: got %d", method, path, body, got.status)
		}
	})
}

// FuzzHeaders sends everything but bodies: addresses, queries, versions, preferences,
// positions in streams.
func FuzzHeaders(f *testing.F) {
	e := newEnv(f)
	id := string(e.share("agent").ID)
	handler := e.api.Handler()
	for _, seed := range [][]string{
		{"/v1/tasks/" + id + "/state", "keys=a,b&after=0", `"0", W/"1"`, "wait=0"},
		{"/v1/tasks", "cursor=dGFza3M6eA&limit=3", "*", "respond-async, wait=\"1\""},
		{"/v1/tasks/" + id + "/events", "after=99999", "7", "wait=-1"},
		{"/v1/audit", "cursor=YXVkaXQ6MQ", `"`, ""},
		{"/v1/usage", "by=user,day&from=2026-02-30", `W/`, "wait=1;x=2"},
		{"/v1/tasks/" + id + "/context/1", "offset=3&limit=4", "", ""},
		{"/v1/tasks/%00", "%zz", "x", "wait"},
		{"/v1/approvals/" + id + ".2.0", "", "", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, path, query, tags, prefer string) {
		if !strings.HasPrefix(path, "/v1/") || strings.Contains(prefer, "wait") && len(prefer) > 6 {
			t.Skip("waits for long")
		}
		address, err := url.ParseRequestURI(path)
		if err != nil {
			t.Skip("no address")
		}
		address.RawQuery = query
		ctx, cancel := context.WithTimeout(api.With(t.Context(), callers.Principal("admin")), 20*time.Millisecond)
		defer cancel()
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodOptions} {
			r := httptest.NewRequestWithContext(ctx, method, "/", strings.NewReader(`{"a":1}`))
			r.URL = address
			for name, value := range map[string]string{"If-Match": tags, "If-None-Match": tags, "Last-Event-ID": tags, "Idempotency-Key": tags, "Prefer": prefer, "Content-Type": aJSON} {
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			got := answer{w.Code, w.Header(), w.Body.Bytes()}
			e.contract.check(t, method, address.EscapedPath(), got)
			if got.status >= http.StatusInternalServerError && ctx.Err() == nil {
				t.Errorf("%s %s?%s %q %q: got %d %s", method, path, query, tags, prefer, got.status, got.body)
			}
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
	fuzz(f, "POST", "/v1/approvals/{review}", aJSON, `{"decision":"approve"}`, `{"decision":"deny","comment":"x","scope":"chat"}`, `{"decision":"approve","value":{"a":1}}`, `{"decision":"approve","version":7}`)
}

func FuzzRetry(f *testing.F) {
	fuzz(f, "POST", "/v1/tasks/{id}/retry", aJSON, ``, `{}`, `{"idempotency_key":"k"}`)
}
