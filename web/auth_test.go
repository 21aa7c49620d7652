package web_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"legwork/tasks/api"
	"legwork/tasks/policy"
	"legwork/web"
)

// newToken returns a token of a role, and its text.
func newToken(name string, role policy.Role) (web.Token, string) {
	text := "lw_" + name + strings.Repeat("x", 20)
	return web.Token{Hash: sha256.Sum256([]byte(text)), Principal: api.Principal{Name: name, Role: role, Chats: []string{"*"}}}, text
}

func access(tokens ...web.Token) web.Access { return web.Access{Tokens: tokens, Rate: 10_000} }

// whoAmI reads the body and answers with the caller.
var whoAmI = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	p := api.Caller(r.Context())
	b, err := io.ReadAll(r.Body)
	_, _ = fmt.Fprintf(w, "%s %s %s %d %v", p.Key(), p.Role, p.Addr, len(b), err)
})

// ask sends a request with headers given as NAME: VALUE.
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

// code is the code of a problem document.
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

func TestAuthorization(t *testing.T) {
	t.Parallel()
	ops, opsText := newToken("ops", policy.RoleAdmin)
	scout, scoutText := newToken("scout", policy.RoleAgent)
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
		{"unknown", "/v1/tasks", "X: y", 401, "unauthorized"},
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
	t.Parallel()
	eye, eyeText := newToken("eye", policy.RoleViewer)
	scout, scoutText := newToken("scout", policy.RoleAgent)
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
	for address, leads := range map[string]bool{at: true, hooks: false} {
		if got := ask(t, "GET", "http://"+address+"/", ""); got.status != 404 || strings.Contains(got.body, "/docs lists all calls") != leads {
			t.Errorf("GET / of %s: got %+v, want a hint at /docs: %t", address, got, leads)
		}
	}
}

// TestNothingConfigured: the replies say that tokens or handlers are missing.
func TestNothingConfigured(t *testing.T) {
	t.Parallel()
	at, _, _ := serve(t, web.Config{Listen: "127.0.0.1:0", API: whoAmI})
	if got := ask(t, "GET", "http://"+at+"/v1/tasks", ""); got.status != 401 || !strings.Contains(got.body, "No token is configured") || !strings.Contains(got.body, "legwork token new") {
		t.Errorf("without tokens: got %+v", got)
	}
	if got := ask(t, "GET", "http://"+at+"/mcp", ""); got.status != 404 {
		t.Errorf("without an MCP server: got %d, want 404", got.status)
	}
}

// TestRequestIDsAndLog: each request has an id that the client can choose, and the
// log holds no token and no query.
func TestRequestIDsAndLog(t *testing.T) {
	t.Parallel()
	ops, text := newToken("ops", policy.RoleAdmin)
	logged := &log{}
	at, _, _ := serve(t, web.Config{
		Listen: "127.0.0.1:0", Access: access(ops), API: whoAmI,
		Log: slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
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
		if !strings.Contains(logged.String(), "request="+id) {
			t.Errorf("the log misses the request %s: %s", id, logged)
		}
	}
	for _, want := range []string{"method=GET", "route=\"GET /v1/\"", "status=200", "token=ops"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log misses %s: %s", want, logged)
		}
	}
	for _, not := range []string{text, "private"} {
		if strings.Contains(logged.String(), not) {
			t.Errorf("the log holds %q: %s", not, logged)
		}
	}
}

// FuzzRequest: whatever the headers say, no handler runs without the token, and the
// server keeps working.
func FuzzRequest(f *testing.F) {
	ops, text := newToken("ops", policy.RoleAdmin)
	s, err := web.New(web.Config{
		Listen: "127.0.0.1:0", PublicURL: "https://bot.example.com", API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+text {
				panic("served with " + r.Header.Get("Authorization"))
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
