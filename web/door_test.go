package web_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/tasks/contexts"
	"legwork/web"
)

// key is a token of a role, and the text that shows it.
func key(name string, role contexts.Role) (web.Token, string) {
	text := "lw_" + name + strings.Repeat("x", 20)
	return web.Token{Hash: sha256.Sum256([]byte(text)), Principal: contexts.Principal{Name: name, Role: role, Chats: []string{"*"}}}, text
}

func access(tokens ...web.Token) web.Access { return web.Access{Tokens: tokens, Rate: 10_000} }

// whoAmI answers with who called, and reads the body.
var whoAmI = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	p := contexts.Caller(r.Context())
	b, err := io.ReadAll(r.Body)
	_, _ = fmt.Fprintf(w, "%s %s %s %d %v", p.Key(), p.Role, p.Addr, len(b), err)
})

// ask sends a request with some headers, given as NAME: VALUE.
func ask(t *testing.T, method, url, body string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
		} else {
			req.Header.Add(name, value)
		}
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

// code is that of a problem document.
func (a answer) code() string {
	var p struct {
		Status       int
		Code, Detail string
	}
	if a.kind != "application/problem+json" || json.Unmarshal([]byte(a.body), &p) != nil || p.Status != a.status || p.Detail == "" {
		return "no problem document: " + a.body
	}
	return p.Code
}

func TestWhoCalls(t *testing.T) {
	ops, opsText := key("ops", contexts.RoleAdmin)
	scout, scoutText := key("scout", contexts.RoleAgent)
	at, _, _ := serve(t, web.Config{
		Listen: "127.0.0.1:0", Access: access(ops, scout), API: whoAmI, MCP: whoAmI, Metrics: whoAmI, Docs: whoAmI,
	})
	for _, c := range []struct {
		name, path, header string
		status             int
		want               string // of the body, or the code of a problem
	}{
		{"an admin", "/v1/tasks", "Authorization: Bearer " + opsText, 200, "api:ops admin 127.0.0.1 4 <nil>"},
		{"an agent", "/mcp", "Authorization: Bearer " + scoutText, 200, "agent:scout agent 127.0.0.1 4 <nil>"},
		{"another spelling", "/v1/tasks", "Authorization: bearer  " + opsText, 200, "api:ops admin 127.0.0.1 4 <nil>"},
		{"nobody", "/v1/tasks", "X: y", 401, "unauthorized"},
		{"a wrong token", "/v1/tasks", "Authorization: Bearer " + opsText + "x", 401, "unauthorized"},
		{"the hash", "/v1/tasks", fmt.Sprintf("Authorization: Bearer %x", ops.Hash), 401, "unauthorized"},
		{"an empty token", "/mcp", "Authorization: Bearer ", 401, "unauthorized"},
		{"a long token", "/mcp", "Authorization: Bearer " + strings.Repeat("x", 5000), 401, "unauthorized"},
		{"another scheme", "/v1/tasks", "Authorization: Basic " + opsText, 401, "unauthorized"},
		{"in the address", "/v1/tasks?token=" + opsText + "&access_token=" + opsText, "X: y", 401, "unauthorized"},
		{"in a cookie", "/v1/tasks", "Cookie: token=" + opsText, 401, "unauthorized"},
	} {
		got := ask(t, "POST", "http://"+at+c.path, "body", c.header)
		body := got.body
		if c.status != 200 {
			body = got.code()
			if !strings.HasPrefix(got.header.Get("WWW-Authenticate"), `Bearer realm="legwork"`) {
				t.Errorf("%s: got the challenge %q", c.name, got.header.Get("WWW-Authenticate"))
			}
			if strings.Contains(got.body, opsText) {
				t.Errorf("%s: the token is in the reply: %s", c.name, got.body)
			}
		}
		if got.status != c.status || body != c.want {
			t.Errorf("%s: got %d %q, want %d %q", c.name, got.status, body, c.status, c.want)
		}
	}
	if got := ask(t, "GET", "http://"+at+"/v1/tasks", "", "Authorization: Bearer "+opsText, "Authorization: Bearer "+opsText); got.status != 401 {
		t.Errorf("two tokens: got %d, want 401", got.status)
	}
}

func TestMetricsAndDocs(t *testing.T) {
	eye, eyeText := key("eye", contexts.RoleViewer)
	scout, scoutText := key("scout", contexts.RoleAgent)
	at, hooks, _ := serve(t, web.Config{
		Listen: "127.0.0.1:0", WebhookListen: "127.0.0.1:0", Access: access(eye, scout), API: whoAmI, MCP: whoAmI, Metrics: whoAmI, Docs: whoAmI,
	})
	for _, c := range []struct {
		method, at, path, token string
		status                  int
	}{
		{"GET", at, "/metrics", eyeText, 200},
		{"HEAD", at, "/metrics", eyeText, 200},
		{"POST", at, "/metrics", eyeText, 405},
		{"GET", at, "/metrics", scoutText, 403},
		{"GET", at, "/metrics", "", 401},
		{"GET", at, "/metrics/", eyeText, 404},
		{"GET", at, "/mcp/", eyeText, 404},
		{"OPTIONS", at, "/v1/tasks", "", 401},
		{"GET", at, "/docs", "", 200},
		{"GET", at, "/openapi.json", "", 200},
		{"POST", at, "/docs", "", 405},
		{"OPTIONS", at, "/docs", "", 204},
		{"OPTIONS", at, "/metrics", eyeText, 204},
		{"GET", at, "/docs/../v1/tasks", "", 404},
		{"GET", hooks, "/docs", eyeText, 404},
		{"GET", hooks, "/v1/tasks", eyeText, 404},
		{"GET", hooks, "/mcp", eyeText, 404},
		{"GET", hooks, "/metrics", eyeText, 404},
	} {
		var headers []string
		if c.token != "" {
			headers = []string{"Authorization: Bearer " + c.token}
		}
		if got := ask(t, c.method, "http://"+c.at+c.path, "", headers...); got.status != c.status {
			t.Errorf("%s %s with %q: got %d %s, want %d", c.method, c.path, c.token, got.status, got.body, c.status)
		}
	}
}

// TestNothingConfigured: without tokens and handlers, what is missing is told.
func TestNothingConfigured(t *testing.T) {
	at, _, _ := serve(t, web.Config{Listen: "127.0.0.1:0", API: whoAmI})
	if got := ask(t, "GET", "http://"+at+"/v1/tasks", ""); got.status != 401 || !strings.Contains(got.body, "No token is configured") || !strings.Contains(got.body, "legwork token new") {
		t.Errorf("without tokens: got %+v", got)
	}
	if got := ask(t, "GET", "http://"+at+"/mcp", ""); got.status != 404 {
		t.Errorf("without an MCP server: got %d, want 404", got.status)
	}
}

// TestOtherOrigins: a page of another origin changes nothing, whatever its
// browser sends along, and reads nothing.
func TestOtherOrigins(t *testing.T) {
	ops, text := key("ops", contexts.RoleAdmin)
	at, _, _ := serve(t, web.Config{Listen: "127.0.0.1:0", PublicURL: "https://bot.example.com", Access: access(ops), API: whoAmI})
	token := "Authorization: Bearer " + text
	for _, c := range []struct {
		method  string
		headers []string
		status  int
	}{
		{"POST", []string{token}, 200},
		{"POST", []string{token, "Origin: http://" + at}, 200},
		{"POST", []string{token, "Origin: https://bot.example.com"}, 200},
		{"POST", []string{token, "Origin: https://bot.example.com", "Sec-Fetch-Site: same-origin"}, 200},
		{"POST", []string{token, "Origin: https://evil.example.com"}, 403},
		{"POST", []string{token, "Origin: null"}, 403},
		{"PATCH", []string{token, "Sec-Fetch-Site: cross-site"}, 403},
		{"DELETE", []string{token, "Sec-Fetch-Site: same-site"}, 403},
		{"GET", []string{token, "Sec-Fetch-Site: cross-site", "Origin: https://evil.example.com"}, 200},
	} {
		got := ask(t, c.method, "http://"+at+"/v1/tasks", "", c.headers...)
		if got.status != c.status || c.status == 403 && got.code() != "cross_origin" {
			t.Errorf("%s with %q: got %d %s, want %d", c.method, c.headers[1:], got.status, got.body, c.status)
		}
		if allow := got.header.Get("Access-Control-Allow-Origin"); allow != "" {
			t.Errorf("%s with %q: other origins may read it: %q", c.method, c.headers[1:], allow)
		}
	}
}

// TestOtherNames: a name that somebody else made lead to this machine is not
// answered under.
func TestOtherNames(t *testing.T) {
	ops, text := key("ops", contexts.RoleAdmin)
	config := web.Config{
		Listen: "127.0.0.1:0", PublicURL: "https://bot.example.com/legwork", Access: access(ops), API: whoAmI, Docs: whoAmI,
		Webhooks: map[string]http.Handler{"/hook": whoAmI},
	}
	here, _, _ := serve(t, config)
	config.Listen = "0.0.0.0:0"
	everywhere, _, _ := serve(t, config)
	_, port, _ := net.SplitHostPort(everywhere)
	for _, c := range []struct {
		method, path, host string
		status             int
	}{
		{"GET", "/v1/tasks", "localhost:8080", 200},
		{"GET", "/v1/tasks", "LOCALHOST.", 200},
		{"GET", "/v1/tasks", "console.localhost", 200},
		{"GET", "/v1/tasks", "127.0.0.1", 200},
		{"GET", "/v1/tasks", "[::1]:8080", 200},
		{"GET", "/v1/tasks", "bot.example.com", 200},
		{"GET", "/v1/tasks", "bot.example.com:443", 200},
		{"GET", "/v1/tasks", "evil.example.com", 421},
		{"GET", "/v1/tasks", "localhost.evil.example.com:8080", 421},
		{"GET", "/v1/tasks", "192.168.0.1", 421},
		{"GET", "/docs", "evil.example.com", 421},
		{"GET", "/readyz", "evil.example.com", 421},
		{"GET", "/healthz", "evil.example.com", 200},
		{"POST", "/hook", "evil.example.com", 200},
	} {
		got := ask(t, c.method, "http://"+here+c.path, "", "Host: "+c.host, "Authorization: Bearer "+text)
		if got.status != c.status || c.status == 421 && got.code() != "wrong_host" {
			t.Errorf("%s under %s: got %d %s, want %d", c.path, c.host, got.status, got.body, c.status)
		}
		if got := ask(t, c.method, "http://127.0.0.1:"+port+c.path, "", "Host: "+c.host, "Authorization: Bearer "+text); got.status != 200 {
			t.Errorf("%s under %s, open to other machines: got %d, want 200", c.path, c.host, got.status)
		}
	}
}

// TestStrangersWait: after many attempts an address waits, and those who have a
// token do not.
func TestStrangersWait(t *testing.T) {
	ops, text := key("ops", contexts.RoleAdmin)
	heard := &log{}
	at, _, _ := serve(t, web.Config{Listen: "127.0.0.1:0", Access: access(ops), API: whoAmI, Log: slog.New(slog.NewTextHandler(heard, nil))})
	var last answer
	tries := 0
	for ; tries < 100 && last.status != 429; tries++ {
		last = ask(t, "GET", "http://"+at+"/v1/tasks", "", "Authorization: Bearer guess-"+strconv.Itoa(tries))
	}
	wait, err := strconv.Atoi(last.header.Get("Retry-After"))
	if last.status != 429 || last.code() != "too_many_requests" || err != nil || wait < 1 || wait > 10 {
		t.Fatalf("after %d attempts: got %+v", tries, last)
	}
	if tries < 10 {
		t.Errorf("already the attempt %d was turned away", tries)
	}
	if got := ask(t, "GET", "http://"+at+"/v1/tasks", "", "Authorization: Bearer "+text); got.status != 200 {
		t.Errorf("with a token from the same address: got %d, want 200", got.status)
	}
	if n := strings.Count(heard.String(), "wrong token"); n != tries-1 {
		t.Errorf("the log tells of %d wrong tokens, want %d: %s", n, tries-1, heard)
	}
	if strings.Contains(heard.String(), "guess-") {
		t.Errorf("the log tells what was tried: %s", heard)
	}
}

func TestRate(t *testing.T) {
	ops, text := key("ops", contexts.RoleAdmin)
	other, otherText := key("other", contexts.RoleViewer)
	at, _, _ := serve(t, web.Config{Listen: "127.0.0.1:0", Access: web.Access{Tokens: []web.Token{ops, other}, Rate: 1}, API: whoAmI})
	var statuses []int
	var last answer
	for range 4 {
		last = ask(t, "GET", "http://"+at+"/v1/tasks", "", "Authorization: Bearer "+text)
		statuses = append(statuses, last.status)
	}
	if !slices.Equal(statuses, []int{200, 200, 429, 429}) || last.code() != "too_many_requests" || last.header.Get("Retry-After") != "1" {
		t.Errorf("four requests at one per second: got %v, %+v", statuses, last)
	}
	if got := ask(t, "GET", "http://"+at+"/v1/tasks", "", "Authorization: Bearer "+otherText); got.status != 200 {
		t.Errorf("with another token: got %d, want 200", got.status)
	}
}

// follow opens a stream and returns what reads its lines.
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

// stream sends a line, and then what it still can when its context has ended.
var stream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, "begun\n")
	w.(http.Flusher).Flush()
	<-r.Context().Done()
	_, _ = io.WriteString(w, "secret\n")
})

// TestTooManyAtOnce: streams of a token are bounded, and one that ends makes room.
func TestTooManyAtOnce(t *testing.T) {
	ops, text := key("ops", contexts.RoleAdmin)
	other, otherText := key("other", contexts.RoleAdmin)
	at, _, _ := serve(t, web.Config{Listen: "127.0.0.1:0", Access: access(ops, other), API: stream})
	var open []*http.Response
	for range 256 {
		resp, lines := follow(t, at, text)
		if line, err := lines.ReadString('\n'); err != nil || line != "begun\n" {
			t.Fatalf("stream %d: got %q, %v", len(open), line, err)
		}
		open = append(open, resp)
	}
	if got := ask(t, "GET", "http://"+at+"/v1/events", "", "Authorization: Bearer "+text); got.status != 429 || got.header.Get("Retry-After") == "" {
		t.Errorf("one stream more: got %+v, want 429", got)
	}
	if resp, _ := follow(t, at, otherText); resp.StatusCode != http.StatusOK {
		t.Errorf("a stream of another token: got %d", resp.StatusCode)
	}
	_ = open[0].Body.Close()
	for { // until the server has seen that
		resp, _ := follow(t, at, text)
		if resp.StatusCode == http.StatusOK {
			break
		}
		if resp.StatusCode != http.StatusTooManyRequests {
			t.Fatalf("after one stream ended: got %d", resp.StatusCode)
		}
	}
}

// TestTakenBack: with the token go the requests under way, and nothing more is
// said to them.
func TestTakenBack(t *testing.T) {
	ops, opsText := key("ops", contexts.RoleAdmin)
	stays, staysText := key("stays", contexts.RoleAdmin)
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
	lesser.Role = contexts.RoleViewer
	s.Use(access(lesser, stays)) // the same text, but it may do less
	if rest, err := io.ReadAll(lines); err == nil || strings.Contains(string(rest), "secret") {
		t.Errorf("the stream of a token that was taken back ended with %q, %v; want it cut off", rest, err)
	}
	if got := <-waited; got.status != 401 || got.code() != "unauthorized" {
		t.Errorf("what waited with a token that was taken back: got %+v, want 401", got)
	}
	s.Use(access(stays))
	if got := ask(t, "GET", "http://"+at+"/v1/waits", "", "Authorization: Bearer "+opsText); got.status != 401 {
		t.Errorf("with a token that was taken back: got %d, want 401", got.status)
	}
	cancel() // the other stream is there until the end, which it holds up for no time
	if rest, err := io.ReadAll(kept); err != nil || string(rest) != "secret\n" {
		t.Errorf("the stream that stayed ended with %q, %v", rest, err)
	}
}

// TestStopEndsWaiting: what only waits is told at the end, and answers.
func TestStopEndsWaiting(t *testing.T) {
	ops, text := key("ops", contexts.RoleAdmin)
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
	start := time.Now()
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("requests that wait held up the end for %v", took)
	}
	for range 2 {
		if got := <-replies; got.status != 200 || got.body != "as it stands" {
			t.Errorf("a request that waited: got %+v", got)
		}
	}
}

// TestRefused: what a role may not is told once a minute, with who and what.
func TestRefused(t *testing.T) {
	ops, text := key("ops", contexts.RoleViewer)
	mux := http.NewServeMux()
	forbid := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }
	mux.HandleFunc("POST /v1/tasks/{id}/cancel", forbid)
	mux.HandleFunc("POST /v1/tasks", forbid)
	mux.HandleFunc("GET /v1/tasks", func(http.ResponseWriter, *http.Request) {})
	told := make(chan string, 10)
	seen := make(chan string, 10)
	at, _, _ := serve(t, web.Config{
		Listen: "127.0.0.1:0", Access: access(ops), API: mux,
		Refused: func(_ context.Context, p contexts.Principal, route string) {
			told <- p.Name + " " + p.Addr + " " + route
		},
		Served: func(route, method string, status int, took time.Duration) {
			seen <- fmt.Sprintf("%s %s %d %t", route, method, status, took > 0)
		},
	})
	for _, c := range [][2]string{{"POST", "/v1/tasks/1/cancel"}, {"POST", "/v1/tasks/2/cancel"}, {"GET", "/v1/tasks"}, {"POST", "/v1/tasks"}, {"GET", "/nothing"}} {
		ask(t, c[0], "http://"+at+c[1], "", "Authorization: Bearer "+text)
	}
	for _, want := range []string{"POST /v1/tasks/{id}/cancel POST 403 true", "POST /v1/tasks/{id}/cancel POST 403 true", "GET /v1/tasks GET 200 true", "POST /v1/tasks POST 403 true", " GET 404 true"} {
		if got := <-seen; got != want {
			t.Errorf("served: got %q, want %q", got, want)
		}
	}
	for _, want := range []string{"ops 127.0.0.1 POST /v1/tasks/{id}/cancel", "ops 127.0.0.1 POST /v1/tasks"} {
		if got := <-told; got != want {
			t.Errorf("refused: got %q, want %q", got, want)
		}
	}
	if len(told) > 0 {
		t.Errorf("refused: got %q, too", <-told)
	}
}

// TestProxies: only those that the config names are believed.
func TestProxies(t *testing.T) {
	ops, text := key("ops", contexts.RoleAdmin)
	for _, c := range []struct {
		proxies, forwarded []string
		want               string
	}{
		{nil, []string{"203.0.113.7"}, "127.0.0.1"},
		{[]string{"127.0.0.1/32"}, []string{"203.0.113.7"}, "203.0.113.7"},
		{[]string{"127.0.0.1/32"}, []string{"192.0.2.1, 203.0.113.7"}, "203.0.113.7"},
		{[]string{"127.0.0.1/32", "10.0.0.0/8"}, []string{"192.0.2.1", "203.0.113.7, 10.1.2.3"}, "203.0.113.7"},
		{[]string{"127.0.0.1/32"}, []string{"2001:db8::1"}, "2001:db8::1"},
		{[]string{"127.0.0.1/32"}, []string{"nobody"}, "127.0.0.1"},
		{[]string{"127.0.0.1/32"}, nil, "127.0.0.1"},
		{[]string{"10.0.0.0/8"}, []string{"203.0.113.7"}, "127.0.0.1"},
	} {
		a := access(ops)
		for _, p := range c.proxies {
			a.Proxies = append(a.Proxies, netip.MustParsePrefix(p))
		}
		at, _, stop := serve(t, web.Config{Listen: "127.0.0.1:0", Access: a, API: whoAmI})
		headers := []string{"Authorization: Bearer " + text}
		for _, f := range c.forwarded {
			headers = append(headers, "X-Forwarded-For: "+f)
		}
		if got := ask(t, "GET", "http://"+at+"/v1/tasks", "", headers...); got.body != "api:ops admin "+c.want+" 0 <nil>" {
			t.Errorf("behind %q, forwarded for %q: got %q, want %s", c.proxies, c.forwarded, got.body, c.want)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestRequestsAreNoted: each has a number that the client can choose, and the
// log holds no token and no query.
func TestRequestsAreNoted(t *testing.T) {
	ops, text := key("ops", contexts.RoleAdmin)
	heard := &log{}
	at, _, _ := serve(t, web.Config{
		Listen: "127.0.0.1:0", Access: access(ops), API: whoAmI,
		Log: slog.New(slog.NewTextHandler(heard, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	for given, kept := range map[string]bool{"my-Request_1.2": true, "": false, "with space": false, strings.Repeat("x", 65): false} {
		headers := []string{"Authorization: Bearer " + text}
		if given != "" {
			headers = append(headers, "X-Request-Id: "+given)
		}
		got := ask(t, "GET", "http://"+at+"/v1/tasks?q=private", "", headers...)
		id := got.header.Get("X-Request-Id")
		if id == "" || (id == given) != kept {
			t.Errorf("X-Request-Id %q: got %q back", given, id)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"} {
			if got := got.header.Get(name); got != want {
				t.Errorf("the header %s is %q, want %q", name, got, want)
			}
		}
		if !strings.Contains(heard.String(), "request="+id) {
			t.Errorf("the log misses the request %s: %s", id, heard)
		}
	}
	for _, want := range []string{"method=GET", "route=\"GET /v1/\"", "status=200", "token=ops"} {
		if !strings.Contains(heard.String(), want) {
			t.Errorf("the log misses %s: %s", want, heard)
		}
	}
	for _, not := range []string{text, "private"} {
		if strings.Contains(heard.String(), not) {
			t.Errorf("the log holds %q: %s", not, heard)
		}
	}
}

// TestBodies: they are read before anybody waits, and bounded.
func TestBodies(t *testing.T) {
	ops, text := key("ops", contexts.RoleAdmin)
	at, _, _ := serve(t, web.Config{Listen: "127.0.0.1:0", Access: access(ops), API: whoAmI})
	for size, want := range map[int]int{1 << 20: 200, 1<<20 + 1: 413} {
		got := ask(t, "POST", "http://"+at+"/v1/tasks", strings.Repeat("x", size), "Authorization: Bearer "+text)
		if got.status != want || want == 413 && got.code() != "too_large" {
			t.Errorf("a body of %d bytes: got %d, want %d", size, got.status, want)
		}
	}
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := fmt.Fprintf(c, "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\nhalf", text); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, "400") {
		t.Errorf("half a body: got %q, %v, want 400", line, err)
	}
}

// TestHead: the head of a stream is all that there is of it.
func TestHead(t *testing.T) {
	ops, text := key("ops", contexts.RoleAdmin)
	at, _, _ := serve(t, web.Config{Listen: "127.0.0.1:0", Access: access(ops), API: stream})
	if got := ask(t, "HEAD", "http://"+at+"/v1/events", "", "Authorization: Bearer "+text); got.status != 200 || got.body != "" {
		t.Errorf("HEAD of a stream: got %+v", got)
	}
}

// TestLongPoll: what is answered after the time that a request has otherwise is
// answered, and its context has not ended; a body that comes too slowly is not
// waited for.
func TestLongPoll(t *testing.T) {
	ops, text := key("ops", contexts.RoleAdmin)
	const hurry = 300 * time.Millisecond
	at, _, _ := serve(t, web.Hurry(web.Config{Listen: "127.0.0.1:0", Access: access(ops), API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(3 * hurry):
		}
		_, _ = fmt.Fprint(w, "ended: ", r.Context().Err())
	})}, hurry))
	for _, c := range [][2]string{{http.MethodGet, ""}, {http.MethodPost, "{}"}} {
		if got := ask(t, c[0], "http://"+at+"/v1/tasks", c[1], "Authorization: Bearer "+text); got.status != 200 || got.body != "ended: <nil>" {
			t.Errorf("%s: got %+v", c[0], got)
		}
	}
	slow, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Close() }()
	if _, err := fmt.Fprintf(slow, "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\nhalf", text); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(slow).ReadString('\n'); err != nil || !strings.Contains(line, "408") {
		t.Errorf("a body that does not come: got %q, %v, want 408", line, err)
	}
}

// FuzzRequest: whatever the headers say, without the token nothing is served,
// and the server goes on.
func FuzzRequest(f *testing.F) {
	ops, text := key("ops", contexts.RoleAdmin)
	s, err := web.New(web.Config{
		Listen: "127.0.0.1:0", PublicURL: "https://bot.example.com", API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+text {
				panic("let in with " + r.Header.Get("Authorization"))
			}
		}),
		Access: web.Access{Tokens: []web.Token{ops}, Rate: 100_000, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	})
	if err != nil {
		f.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = s.Run(ctx) })
	f.Cleanup(func() { cancel(); running.Wait(); http.DefaultClient.CloseIdleConnections() })
	f.Add("Bearer x", "localhost", "203.0.113.7, 10.0.0.1", "https://evil.example.com")
	f.Add("Bearer "+text, "[::1", ",,,", "null")
	f.Add("bearer\t"+text, "%zz", "::ffff:1.2.3.4%eth0", "")
	f.Fuzz(func(t *testing.T, authorization, host, forwarded, origin string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.Address("http.listen")+"/v1/tasks", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		for name, value := range map[string]string{"Authorization": authorization, "X-Forwarded-For": forwarded, "Origin": origin, "X-Request-Id": host} {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return // not a header
		}
		_ = resp.Body.Close()
		if resp.StatusCode >= 500 {
			t.Errorf("Authorization %q, Host %q, X-Forwarded-For %q, Origin %q: got %d", authorization, host, forwarded, origin, resp.StatusCode)
		}
	})
}
