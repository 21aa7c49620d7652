package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"legwork/internal/test/callers"
	"legwork/internal/test/watch"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/engine"
	"legwork/tasks/enginetest"
	webapi "legwork/web/api"
)

// env is a running API. Its tokens are named after their roles; "other" is a second
// agent, "narrow" an operator that sees only its own tasks.
type env struct {
	*enginetest.Env
	t      testing.TB
	url    string
	api    *webapi.API
	stop   chan struct{} // closed when it stops
	limits *atomic.Pointer[api.FileLimits]

	contract *contract     // that every reply must keep
	streams  *atomic.Int64 // running requests for streams
}

// in is the env for a subtest.
func (e *env) in(t testing.TB) *env {
	other := *e
	other.t = t
	return &other
}

func newEnv(t testing.TB) *env {
	t.Helper()
	kit := enginetest.NewEnv(t, memory.New(time.Now))
	kit.Start(func(s enginetest.Setup) tasks.Engine {
		return engine.New(engine.Config{Store: s.Store, Executor: s.Executor, Presenters: s.Presenters, Log: s.Log, Now: s.Now, Concurrent: s.Concurrent})
	})
	e := &env{Env: kit, t: t, stop: make(chan struct{}), limits: &atomic.Pointer[api.FileLimits]{}}
	e.limits.Store(&api.FileLimits{})
	service := api.New(api.Config{Store: kit.Store, Inbox: kit.Inbox, Webhooks: func() []string { return []string{"ops"} }, Now: kit.Now, Files: func() api.FileLimits { return *e.limits.Load() }})
	e.streams = &atomic.Int64{}
	e.api = webapi.New(webapi.Config{WriteTimeout: time.Second, Service: service, Operations: newOperations(kit.Inbox), Version: "1.2.3", Stop: e.stop, Heartbeat: time.Second})
	e.contract = readContract(t, e.api)
	handler := e.api.Handler()
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/events") {
			e.streams.Add(1)
			defer e.streams.Add(-1)
		}
		handler.ServeHTTP(w, r.WithContext(api.With(r.Context(), callers.Principal(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))))
	}))
	web.Listener = smallBuffers{web.Listener}
	web.Start()
	e.url = web.URL
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		http.DefaultClient.CloseIdleConnections()
		kit.Stop()
	})
	return e
}

// smallBuffers accepts connections with small write buffers.
type smallBuffers struct{ net.Listener }

func (n smallBuffers) Accept() (net.Conn, error) {
	conn, err := n.Listener.Accept()
	if err == nil {
		err = conn.(*net.TCPConn).SetWriteBuffer(16 << 10)
	}
	return conn, err
}

// answer is a reply.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// request is a request to the API. The default token is "admin"; body is encoded as
// JSON unless it is []byte.
type request struct {
	method, path string
	token        string
	header       map[string]string
	body         any
}

func (e *env) do(r request) answer {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), watch.Patience)
	defer cancel()
	resp := e.open(ctx, r)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		e.t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	got := answer{resp.StatusCode, resp.Header, body}
	e.contract.check(e.t, r.method, r.path, got)
	return got
}

// open sends a request; the caller reads the body of the reply.
func (e *env) open(ctx context.Context, r request) *http.Response {
	e.t.Helper()
	resp, err := e.try(ctx, r)
	if err != nil {
		e.t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	return resp
}

func (e *env) try(ctx context.Context, r request) (*http.Response, error) {
	var body io.Reader
	if raw, ok := r.body.([]byte); ok {
		body = bytes.NewReader(raw)
	} else if r.body != nil {
		raw, err := json.Marshal(r.body)
		if err != nil {
			e.t.Fatal(err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, e.url+r.path, body)
	if err != nil {
		return nil, err
	}
	token := r.token
	if token == "" {
		token = "admin"
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range r.header {
		req.Header.Del(name)
		for line := range strings.SplitSeq(value, "\n") {
			req.Header.Add(name, line)
		}
	}
	return http.DefaultClient.Do(req)
}

// want sends a request whose reply must have a status, and decodes the reply.
func want[T any](e *env, status int, r request) (T, answer) {
	e.t.Helper()
	var v T
	got := e.do(r)
	if got.status != status {
		e.t.Fatalf("%s %s as %q with %s: got %d %s, want %d", r.method, r.path, r.token, r.body, got.status, got.body, status)
	}
	if err := json.Unmarshal(got.body, &v); err != nil {
		e.t.Fatalf("%s %s: reading %q: %v", r.method, r.path, got.body, err)
	}
	return v, got
}

// problem is an error reply.
type problem struct {
	Type, Title, Code, Detail string
	Status                    int
	Version                   *int
	Errors                    []struct{ Location, Message string }
}

// share starts a shared context.
func (e *env) share(token string) api.Task {
	e.t.Helper()
	t, _ := want[api.Task](e, http.StatusCreated, request{
		method: "POST", path: "/v1/tasks", token: token, body: map[string]any{"goal": "Review the literature.", "run": false},
	})
	return t
}
