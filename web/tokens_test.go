package web_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/tasks/api"
	"legwork/tasks/policy"
	"legwork/web"
	"legwork/web/problem"
)

// follow opens a stream and returns a reader of its lines.
func follow(t *testing.T, at, token string) (*http.Response, *bufio.Reader) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp, bufio.NewReader(resp.Body)
}

// stream sends a line, and another one when its context has ended.
var stream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, "begun\n")
	w.(http.Flusher).Flush()
	<-r.Context().Done()
	_, _ = io.WriteString(w, "secret\n")
})

// TestRevokedToken: requests of a revoked token are cut off and send nothing more.
func TestRevokedToken(t *testing.T) {
	t.Parallel()
	ops, opsText := newToken("ops", policy.RoleAdmin)
	stays, staysText := newToken("stays", policy.RoleAdmin)
	waiting := make(chan struct{}, 1)
	mux := http.NewServeMux()
	mux.Handle("GET /v1/events", stream)
	mux.HandleFunc("GET /v1/waits", func(w http.ResponseWriter, r *http.Request) {
		waiting <- struct{}{}
		<-r.Context().Done()
		_, _ = io.WriteString(w, "secret")
	})
	s, err := web.New(web.Config{Listen: "127.0.0.1:0", Access: access(ops, stays), API: mux})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = s.Run(ctx) })
	defer func() { cancel(); running.Wait(); http.DefaultClient.CloseIdleConnections() }()
	at := s.Address("http.listen")

	_, lines := follow(t, at, opsText)
	_, kept := follow(t, at, staysText)
	for _, l := range []*bufio.Reader{lines, kept} {
		if line, err := l.ReadString('\n'); err != nil || line != "begun\n" {
			t.Fatalf("a stream begins with %q, %v", line, err)
		}
	}
	waited := make(chan answer, 1)
	go func() { waited <- ask(t, "GET", "http://"+at+"/v1/waits", "", "Authorization: Bearer "+opsText) }()
	<-waiting
	lesser := ops
	lesser.Role = policy.RoleViewer
	s.Use(access(lesser, stays)) // the same text, but it may do less
	if rest, err := io.ReadAll(lines); err == nil || strings.Contains(string(rest), "secret") {
		t.Errorf("the stream of a revoked token ended with %q, %v; want it cut off", rest, err)
	}
	if got := <-waited; got.status != 401 || got.code() != "unauthorized" {
		t.Errorf("the long poll of a revoked token: got %+v, want 401", got)
	}
	s.Use(access(stays))
	if got := ask(t, "GET", "http://"+at+"/v1/waits", "", "Authorization: Bearer "+opsText); got.status != 401 {
		t.Errorf("with a revoked token: got %d, want 401", got.status)
	}
	cancel() // the other stream is there until the end, which it holds up for no time
	if rest, err := io.ReadAll(kept); err != nil || string(rest) != "secret\n" {
		t.Errorf("the stream that stayed ended with %q, %v", rest, err)
	}
}

// TestStopCancelsLongPolls: waiting requests are canceled at the end and answer.
func TestStopCancelsLongPolls(t *testing.T) {
	t.Parallel()
	ops, text := newToken("ops", policy.RoleAdmin)
	begun := make(chan struct{}, 1)
	at, _, stop := serve(t, web.Config{Listen: "127.0.0.1:0", Access: access(ops), API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-r.Context().Done()
		_, _ = io.WriteString(w, "as it stands")
	})})
	replies := make(chan answer, 2)
	for _, method := range []string{"GET", "POST"} {
		go func() { replies <- ask(t, method, "http://"+at+"/v1/tasks", "", "Authorization: Bearer "+text) }()
		<-begun
	}
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	for range 2 {
		if got := <-replies; got.status != 200 || got.body != "as it stands" {
			t.Errorf("a waiting request: got %+v", got)
		}
	}
}

// TestRefused: Refused gets the caller and the route of each 403, except of those that
// ask for a code.
func TestRefused(t *testing.T) {
	t.Parallel()
	ops, text := newToken("ops", policy.RoleViewer)
	mux := http.NewServeMux()
	forbid := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }
	mux.HandleFunc("POST /v1/tasks/{id}/cancel", forbid)
	mux.HandleFunc("POST /v1/tasks", forbid)
	mux.HandleFunc("PUT /v1/config", func(w http.ResponseWriter, _ *http.Request) { problem.New(problem.CodeNeeded, "").Write(w) })
	mux.HandleFunc("GET /v1/tasks", func(http.ResponseWriter, *http.Request) {})
	reported := make(chan string, 10)
	seen := make(chan string, 10)
	at, _, _ := serve(t, web.Config{
		Listen: "127.0.0.1:0", Access: access(ops), API: mux,
		Refused: func(_ context.Context, p api.Principal, route string) {
			reported <- p.Name + " " + p.Addr + " " + route
		},
		Served: func(route, method string, status int, took time.Duration) {
			seen <- fmt.Sprintf("%s %s %d %t", route, method, status, took > 0)
		},
	})
	for _, c := range [][2]string{{"POST", "/v1/tasks/1/cancel"}, {"POST", "/v1/tasks/2/cancel"}, {"PUT", "/v1/config"}, {"GET", "/v1/tasks"}, {"POST", "/v1/tasks"}, {"GET", "/nothing"}} {
		ask(t, c[0], "http://"+at+c[1], "", "Authorization: Bearer "+text)
	}
	for _, want := range []string{"POST /v1/tasks/{id}/cancel POST 403 true", "POST /v1/tasks/{id}/cancel POST 403 true", "PUT /v1/config PUT 403 true", "GET /v1/tasks GET 200 true", "POST /v1/tasks POST 403 true", " GET 404 true"} {
		if got := <-seen; got != want {
			t.Errorf("served: got %q, want %q", got, want)
		}
	}
	for _, want := range []string{"ops 127.0.0.1 POST /v1/tasks/{id}/cancel", "ops 127.0.0.1 POST /v1/tasks/{id}/cancel", "ops 127.0.0.1 POST /v1/tasks"} {
		if got := <-reported; got != want {
			t.Errorf("refused: got %q, want %q", got, want)
		}
	}
	if len(reported) > 0 {
		t.Errorf("refused: got %q, too", <-reported)
	}
}

// TestOncePerMinute: the same refusal of the same token is reported once a minute.
func TestOncePerMinute(t *testing.T) {
	t.Parallel()
	var reported []string
	now := time.Date(2026, time.November, 21, 9, 30, 0, 0, time.UTC)
	report := web.OncePerMinute(func(_ context.Context, p api.Principal, action string) {
		reported = append(reported, p.Name+" "+action)
	}, func() time.Time { return now })
	for range 3 {
		for _, name := range []string{"ops", "scout"} {
			for _, what := range []string{"GET /metrics", "/mcp cancel_task"} {
				report(t.Context(), api.Principal{Name: name}, what)
			}
		}
		now = now.Add(30 * time.Second)
	}
	once := []string{"ops GET /metrics", "ops /mcp cancel_task", "scout GET /metrics", "scout /mcp cancel_task"}
	if want := slices.Concat(once, once); !slices.Equal(reported, want) { // at the beginning, and a minute later
		t.Errorf("got %q, want %q", reported, want)
	}
}
