package web_test

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"

	"legwork/tasks/policy"
	"legwork/web"
)

// TestOtherOrigins: a page of another origin can neither change nor read anything,
// whatever its browser sends.
func TestOtherOrigins(t *testing.T) {
	t.Parallel()
	ops, text := newToken("ops", policy.RoleAdmin)
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

// TestHostCheck: on a loopback address only known host names are served.
func TestHostCheck(t *testing.T) {
	t.Parallel()
	ops, text := newToken("ops", policy.RoleAdmin)
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

// TestProxies: only proxies of the config are believed.
func TestProxies(t *testing.T) {
	t.Parallel()
	ops, text := newToken("ops", policy.RoleAdmin)
	for _, c := range []struct {
		proxies, forwarded []string
		want               string
	}{
		{nil, []string{"203.0.113.7"}, "127.0.0.1"},
		{[]string{"127.0.0.1/32"}, []string{"203.0.113.7"}, "203.0.113.7"},
		{[]string{"127.0.0.1/32"}, []string{"192.0.2.1, 203.0.113.7"}, "203.0.113.7"},
		{[]string{"127.0.0.1/32", "10.0.0.0/8"}, []string{"192.0.2.1", "203.0.113.7, 10.1.2.3"}, "203.0.113.7"},
		{[]string{"127.0.0.1/32"}, []string{"2001:db8::1"}, "2001:db8::1"},
		{[]string{"127.0.0.1/32"}, []string{"192.0.2.1:1, 203.0.113.7:49152"}, "203.0.113.7"},
		{[]string{"127.0.0.1/32"}, []string{"[2001:db8::1]:5"}, "2001:db8::1"},
		{[]string{"127.0.0.1/32"}, []string{"unknown"}, "127.0.0.1"},
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

// TestRoot holds that a browser is sent to the page about the API, and that programs
// read the same as at any address with nothing.
func TestRoot(t *testing.T) {
	t.Parallel()
	docs := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<h1>All calls</h1>") })
	at, _, _ := serve(t, web.Config{Listen: "127.0.0.1:0", Docs: docs})
	page := "text/html,application/xhtml+xml,*/*;q=0.8"
	if got := ask(t, "GET", "http://"+at+"/", "", "Accept: "+page); got.status != http.StatusOK || got.body != "<h1>All calls</h1>" {
		t.Errorf("a browser gets %d %s, want the page about the API", got.status, got.body)
	}
	for _, headers := range [][]string{nil, {"Accept: application/json"}, {"Accept: */*"}} {
		if got := ask(t, "GET", "http://"+at+"/", "", headers...); got.status != http.StatusNotFound || got.code() != "not_found" {
			t.Errorf("a program with %q gets %d %s", headers, got.status, got.body)
		}
	}
	if got := ask(t, "POST", "http://"+at+"/", "", "Accept: "+page); got.status != http.StatusNotFound {
		t.Errorf("POST gets %d %s", got.status, got.body)
	}
	console := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "page "+r.URL.Path) })
	both, _, _ := serve(t, web.Config{Listen: "127.0.0.1:0", Docs: docs, Console: console})
	for _, path := range []string{"/", "/console", "/console/"} {
		if got := ask(t, "GET", "http://"+both+path, "", "Accept: "+page); got.status != http.StatusOK || got.body != "page /console/" {
			t.Errorf("with the page in the browser, a browser at %s gets %d %s", path, got.status, got.body)
		}
	}
	if got := ask(t, "GET", "http://"+both+"/console/chat/1", "", "Host: evil.example.com"); got.status == http.StatusOK {
		t.Errorf("the page under another host: got %d", got.status)
	}
	if got := ask(t, "GET", "http://"+at+"/docs", "", "Accept: "+page, "Host: evil.example.com"); got.status == http.StatusOK {
		t.Errorf("another host gets %d", got.status)
	}
}
