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
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/engine"
	"legwork/tasks/enginetest"
	webapi "legwork/web/api"
)

// house is a legwork whose tokens are named after their roles; "other" is a
// second agent, "narrow" an operator that sees nothing but what it started.
type house struct {
	*enginetest.Kit
	t    testing.TB
	url  string
	api  *webapi.API
	stop chan struct{} // closed when it stops

	contract *contract     // that every reply has to keep
	streams  *atomic.Int64 // requests for streams that are under way
}

// in is the house in a part of a test.
func (h *house) in(t testing.TB) *house {
	other := *h
	other.t = t
	return &other
}

func newHouse(t testing.TB) *house {
	t.Helper()
	kit := enginetest.NewKit(t, memory.New(time.Now))
	kit.Start(func(s enginetest.Setup) tasks.Engine {
		return engine.New(engine.Config{Store: s.Store, Executor: s.Executor, Log: s.Log, Now: s.Now, Concurrent: s.Concurrent})
	})
	h := &house{Kit: kit, t: t, stop: make(chan struct{})}
	service := api.New(api.Config{Store: kit.Store, Inbox: kit.Inbox, Webhooks: func() []string { return []string{"ops"} }, Now: kit.Now})
	h.streams = &atomic.Int64{}
	h.api = webapi.New(webapi.Config{Patience: time.Second, Service: service, Version: "1.2.3", Stop: h.stop, Heartbeat: time.Second})
	h.contract = readContract(t, h.api)
	handler := h.api.Handler()
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/events") {
			h.streams.Add(1)
			defer h.streams.Add(-1)
		}
		handler.ServeHTTP(w, r.WithContext(api.With(r.Context(), callers.Principal(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))))
	}))
	web.Listener = narrow{web.Listener}
	web.Start()
	h.url = web.URL
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		http.DefaultClient.CloseIdleConnections()
		kit.Stop()
	})
	return h
}

// narrow gives connections that hold little of what was not taken yet.
type narrow struct{ net.Listener }

func (n narrow) Accept() (net.Conn, error) {
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

// request is one to the API; Token "admin" unless said otherwise, Body any value
// that becomes JSON, or []byte as it is.
type request struct {
	method, path string
	token        string
	header       map[string]string
	body         any
}

func (h *house) do(r request) answer {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	resp := h.open(ctx, r)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	got := answer{resp.StatusCode, resp.Header, body}
	h.contract.check(h.t, r.method, r.path, got)
	return got
}

// open sends a request and leaves the body of the reply to be read.
func (h *house) open(ctx context.Context, r request) *http.Response {
	h.t.Helper()
	resp, err := h.try(ctx, r)
	if err != nil {
		h.t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	return resp
}

func (h *house) try(ctx context.Context, r request) (*http.Response, error) {
	var body io.Reader
	if raw, ok := r.body.([]byte); ok {
		body = bytes.NewReader(raw)
	} else if r.body != nil {
		raw, err := json.Marshal(r.body)
		if err != nil {
			h.t.Fatal(err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, h.url+r.path, body)
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

// want does a request whose reply must have a status, and reads it.
func want[T any](h *house, status int, r request) (T, answer) {
	h.t.Helper()
	var v T
	got := h.do(r)
	if got.status != status {
		h.t.Fatalf("%s %s as %q with %s: got %d %s, want %d", r.method, r.path, r.token, r.body, got.status, got.body, status)
	}
	if err := json.Unmarshal(got.body, &v); err != nil {
		h.t.Fatalf("%s %s: reading %q: %v", r.method, r.path, got.body, err)
	}
	return v, got
}

// problem is an error as programs read it.
type problem struct {
	Type, Title, Code, Detail string
	Status                    int
	Version                   *int
	Errors                    []struct{ Location, Message string }
}

// share makes a shared context.
func (h *house) share(token string) api.Task {
	h.t.Helper()
	t, _ := want[api.Task](h, http.StatusCreated, request{
		method: "POST", path: "/v1/tasks", token: token, body: map[string]any{"goal": "Review the literature.", "run": false},
	})
	return t
}
