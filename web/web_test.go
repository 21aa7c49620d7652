package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"legwork/internal/test/need"
	"legwork/web"
)

func TestMain(m *testing.M) {
	need.Parallel(8)
	goleak.VerifyTestMain(m)
}

// log keeps the lines of a logger.
type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// serve runs a server. It returns its two addresses and the function that stops it.
func serve(t *testing.T, c web.Config) (listen, webhook string, stop func() error) {
	t.Helper()
	s, err := web.New(c)
	if err != nil {
		t.Fatalf("New(%+v): %v", c, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	var once sync.Once
	stop = func() (err error) {
		once.Do(func() { cancel(); err = <-done })
		return err
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return s.Address("http.listen"), s.Address("http.webhook_listen"), stop
}

type answer struct {
	status int
	kind   string
	body   string
	header http.Header
}

func call(t *testing.T, method, url string, body io.Reader) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return answer{resp.StatusCode, resp.Header.Get("Content-Type"), string(b), resp.Header}
}

func echo(t *testing.T) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		if _, err := fmt.Fprintf(w, "%s got %d bytes", r.URL.Path, len(b)); err != nil {
			t.Error(err)
		}
	})
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	hooks := map[string]http.Handler{"/telegram/webhook": echo(t), "/slack/events": echo(t)}
	apart, exposed, _ := serve(t, web.Config{Listen: "127.0.0.1:0", WebhookListen: "127.0.0.1:0", Webhooks: hooks})
	both, none, _ := serve(t, web.Config{Listen: "127.0.0.1:0", Webhooks: hooks})
	if none != "" {
		t.Errorf("address of no webhook_listen: got %q", none)
	}
	missing := `{"type":"urn:legwork:problem:not_found","title":"There is nothing here","status":404,"code":"not_found"}` + "\n"
	refused := func(allow string) string {
		return `{"type":"urn:legwork:problem:method_not_allowed","title":"Another method is needed","status":405,"code":"method_not_allowed","detail":"This address takes ` + allow + `."}` + "\n"
	}
	for _, c := range []struct {
		method, at, path string
		status           int
		body             string
	}{
		{"GET", apart, "/healthz", 200, "ok"},
		{"HEAD", apart, "/healthz", 200, ""},
		{"POST", apart, "/healthz", 405, refused("GET, HEAD")},
		{"GET", apart, "/readyz", 200, `{"status":"ready","parts":{}}` + "\n"},
		{"POST", apart, "/telegram/webhook", 404, missing},
		{"GET", apart, "/", 404, missing},
		{"GET", apart, "/healthz/", 404, missing},
		{"GET", apart, "//healthz", 404, missing},
		{"GET", exposed, "/healthz", 404, missing},
		{"GET", exposed, "/readyz", 404, missing},
		{"GET", exposed, "/", 404, missing},
		{"POST", exposed, "/telegram/webhook", 200, "/telegram/webhook got 5 bytes"},
		{"POST", exposed, "/slack/events", 200, "/slack/events got 5 bytes"},
		{"POST", exposed, "/slack/commands", 404, missing},
		{"POST", exposed, "/telegram/webhook/x", 404, missing},
		{"GET", exposed, "/telegram/webhook", 405, refused("POST")},
		{"HEAD", exposed, "/telegram/webhook", 405, ""},
		{"DELETE", exposed, "/telegram/webhook", 405, refused("POST")},
		{"POST", both, "/telegram/webhook", 200, "/telegram/webhook got 5 bytes"},
		{"GET", both, "/healthz", 200, "ok"},
	} {
		var body io.Reader
		if c.method == "POST" {
			body = strings.NewReader("hello")
		}
		got := call(t, c.method, "http://"+c.at+c.path, body)
		if got.status != c.status || got.body != c.body {
			t.Errorf("%s %s: got %d %q, want %d %q", c.method, c.path, got.status, got.body, c.status, c.body)
		}
		if c.status >= 400 && got.kind != "application/problem+json" {
			t.Errorf("%s %s: got an error of type %q", c.method, c.path, got.kind)
		}
		if c.status == 405 && got.header.Get("Allow") == "" {
			t.Errorf("%s %s: got no Allow", c.method, c.path)
		}
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	var broken, short atomic.Bool
	at, _, _ := serve(t, web.Config{Listen: "127.0.0.1:0", Health: func() map[string]error {
		parts := map[string]error{"store": nil, "telegram": nil}
		if broken.Load() {
			parts["telegram"] = errors.New(`the token was revoked; ask @BotFather for another`)
		}
		if short.Load() {
			parts["disk"] = web.Degraded(errors.New("nearly full"))
		}
		return parts
	}})
	for _, c := range []struct {
		broken, short bool
		status        int
		body          string
	}{
		{false, false, 200, `{"status":"ready","parts":{"store":"ok","telegram":"ok"}}`},
		{true, false, 503, `{"status":"not ready","parts":{"store":"ok","telegram":"the token was revoked; ask @BotFather for another"}}`},
		{false, true, 200, `{"status":"degraded","parts":{"disk":"degraded: nearly full","store":"ok","telegram":"ok"}}`},
		{true, true, 503, `{"status":"not ready","parts":{"disk":"degraded: nearly full","store":"ok","telegram":"the token was revoked; ask @BotFather for another"}}`},
		{false, false, 200, `{"status":"ready","parts":{"store":"ok","telegram":"ok"}}`},
	} {
		broken.Store(c.broken)
		short.Store(c.short)
		got := call(t, "GET", "http://"+at+"/readyz", nil)
		if got.status != c.status || strings.TrimSpace(got.body) != c.body || got.kind != "application/json" || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("broken %t: got %+v, want %d %s", c.broken, got, c.status, c.body)
		}
		if alive := call(t, "GET", "http://"+at+"/healthz", nil); alive.status != 200 {
			t.Errorf("/healthz while broken is %t: got %d", c.broken, alive.status)
		}
	}
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	_, at, _ := serve(t, web.Config{WebhookListen: "127.0.0.1:0", Webhooks: map[string]http.Handler{"/hook": echo(t)}})
	for size, want := range map[int]int{1 << 20: 200, 1<<20 + 1: 413} {
		if got := call(t, "POST", "http://"+at+"/hook", bytes.NewReader(make([]byte, size))); got.status != want {
			t.Errorf("a body of %d bytes: got %d %s, want %d", size, got.status, got.body, want)
		}
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	logged := &log{}
	at, _, _ := serve(t, web.Config{Listen: "127.0.0.1:0", Log: slog.New(slog.NewTextHandler(logged, nil)), Webhooks: map[string]http.Handler{
		"/at-once": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("no luck") }),
		"/half": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
			panic(errors.New("in the middle"))
		}),
	}})
	got := call(t, "POST", "http://"+at+"/at-once", nil)
	var p struct{ Status int }
	if err := json.Unmarshal([]byte(got.body), &p); err != nil || got.status != 500 || p.Status != 500 || strings.Contains(got.body, "luck") {
		t.Errorf("a panic: got %+v, want a problem of status 500 without details", got)
	}
	resp, err := http.Post("http://"+at+"/half", "text/plain", nil)
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	if err == nil {
		t.Error("a panic in the middle of a reply: the reply looks whole")
	}
	for _, want := range []string{"no luck", "in the middle", "/at-once", "web_test.go"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log misses %q: %s", want, logged)
		}
	}
	if got := call(t, "GET", "http://"+at+"/healthz", nil); got.status != 200 {
		t.Errorf("/healthz after panics: got %d", got.status)
	}
}

func TestAddressInUse(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	address := taken.Addr().String()
	for key, c := range map[string]web.Config{
		"http.listen":         {Listen: address},
		"http.webhook_listen": {Listen: "127.0.0.1:0", WebhookListen: address},
	} {
		_, err := web.New(c)
		if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), address) || !strings.Contains(err.Error(), key) {
			t.Errorf("New on a taken %s: got %v, want an error that names it and %s", key, err, address)
		}
	}
	if _, err := web.New(web.Config{Listen: "nonsense"}); err == nil || !strings.Contains(err.Error(), "http.listen") {
		t.Errorf("New on no address: got %v", err)
	}
	s, err := web.New(web.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// TestStop: a running request is answered after the end, and new connections are
// refused.
func TestStop(t *testing.T) {
	t.Parallel()
	begun, end := make(chan struct{}), make(chan struct{})
	at, _, stop := serve(t, web.Config{Listen: "127.0.0.1:0", Webhooks: map[string]http.Handler{
		"/slow": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(begun)
			<-end
			_, _ = fmt.Fprint(w, "stored: ", r.Context().Err())
		}),
	}})
	replies := make(chan answer, 1)
	go func() { replies <- call(t, "POST", "http://"+at+"/slow", nil) }()
	<-begun
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	for { // until the listener is closed
		c, err := net.Dial("tcp", at)
		if err != nil {
			break
		}
		_ = c.Close()
	}
	close(end)
	if got := <-replies; got.status != 200 || got.body != "stored: <nil>" {
		t.Errorf("the request under way: got %+v", got)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Run: %v", err)
	}
}

// TestStopInTime: a handler that does not return and a silent client delay the end
// by 5 s at most.
func TestStopInTime(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	at, _, stop := serve(t, web.Config{Listen: "127.0.0.1:0", Webhooks: map[string]http.Handler{
		"/hangs": http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(begun)
			<-r.Context().Done()
		}),
	}})
	mute, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = mute.Close() }()
	hangs, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hangs.Close() }()
	if _, err := io.WriteString(hangs, "POST /hangs HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-begun
	start := time.Now()
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if got := time.Since(start); got < 4*time.Second {
		t.Errorf("stopping took %v, want the 5 s that requests are given", got)
	}
	if _, err := bufio.NewReader(hangs).ReadString('\n'); err == nil {
		t.Error("the handler that was cut off sent a reply")
	}
}
