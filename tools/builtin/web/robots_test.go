package web_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/internal/test/watch"
	"legwork/tools/builtin/web"
)

func TestRobotsRules(t *testing.T) {
	for _, c := range []struct {
		robots, path string
		want         bool
	}{
		{"", "/", true},
		{"User-agent: *\nDisallow: /", "/x", false},
		{"User-agent: *\nDisallow:", "/x", true},
		{"user-AGENT:*\r\ndisALLOW : /private # not for you\r\n", "/private/x", false},
		{"User-agent: *\nDisallow: /private", "/public/private", true},
		{"User-agent: legwork\nDisallow: /a\nUser-agent: *\nDisallow: /b", "/b", true},
		{"User-agent: legwork\nDisallow: /a\nUser-agent: *\nDisallow: /b", "/a", false},
		{"User-agent: LegWork\nDisallow: /a", "/a", false},
		{"User-agent: leg\nDisallow: /", "/a", true},
		{"User-agent: legworker\nDisallow: /", "/a", true},
		{"User-agent: other\nUser-agent: legwork\nDisallow: /a", "/a", false},
		{"User-agent: legwork\nDisallow: /a\nUser-agent: other\nDisallow: /c\nUser-agent: legwork\nDisallow: /b", "/b", false},
		{"User-agent: legwork\nDisallow: /a\nUser-agent: other\nDisallow: /c\nUser-agent: legwork\nDisallow: /b", "/c", true},
		{"User-agent: legwork\n\nDisallow: /a", "/a", false},
		{"User-agent: legwork\nCrawl-delay: soon\nSitemap: x\nDisallow: /a", "/a", false},
		{"Disallow: /\nUser-agent: *\nAllow: /", "/x", true},
		{"User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", true},
		{"User-agent: *\nAllow: /a/b\nDisallow: /a", "/a/c", false},
		{"User-agent: *\nDisallow: /a\nAllow: /a", "/a", true},
		{"User-agent: *\nDisallow: /*.gif$", "/x/y.gif", false},
		{"User-agent: *\nDisallow: /*.gif$", "/x/y.gif?z", true},
		{"User-agent: *\nDisallow: /a*c", "/abbc", false},
		{"User-agent: *\nDisallow: /a*c", "/x/abbc", true},
		{"User-agent: *\nDisallow: /a$", "/ab", true},
		{"User-agent: *\nDisallow: /*?", "/a?b", false},
		{"User-agent: *\nDisallow: /*a*b*c$", "/xaxbxcx", true},
		{"User-agent: *\nDisallow: /*a*b*c$", "/xaxbxcxc", false},
		{"User-agent: *\nDisallow: /%7Ejoe/", "/~joe/x", false},
		{"User-agent: *\nDisallow: /a%3cd", "/a%3Cd", false},
		{"User-agent: *\nDisallow: /ä", "/%C3%A4/x", false},
		{"User-agent: *\nDisallow: /a%2fb", "/a/b", true},
		{"\ufeffUser-agent: *\nDisallow: /a", "/a", false},
		{"User-agent: *\rDisallow: /a", "/a", false},
		{"<html><body>not found</body></html>", "/a", true},
		{"User-agent: *\nDisallow: /" + strings.Repeat("*a", 2000) + "$", "/" + strings.Repeat("a", 1000), true},
	} {
		if got := web.Permits(c.robots, "legwork", "http://example.com"+c.path); got != c.want {
			t.Errorf("%.100q permits %.50s: got %v, want %v", c.robots, c.path, got, c.want)
		}
	}
}

// robotsSite has a robots.txt that can change, and counts how often it and the
// pages are fetched.
type robotsSite struct {
	*httptest.Server
	mu           sync.Mutex
	status       int
	body, moved  string
	asked, pages int
}

func newRobotsSite(t *testing.T) *robotsSite {
	s := &robotsSite{status: 200}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case r.URL.Path == "/robots.txt" && s.moved != "":
			s.asked++
			http.Redirect(w, r, s.moved, http.StatusFound)
		case r.URL.Path == "/robots.txt" || r.URL.Path == "/moved.txt":
			s.asked++
			w.WriteHeader(s.status)
			fmt.Fprint(w, s.body)
		case r.URL.Path == "/to-private":
			s.pages++
			http.Redirect(w, r, "/private/x", http.StatusFound)
		default:
			s.pages++
			fmt.Fprint(w, "page")
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *robotsSite) set(status int, body, moved string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.body, s.moved = status, body, moved
}

func TestRobotsAreRespected(t *testing.T) {
	s := newRobotsSite(t)
	s.set(200, "User-agent: legwork\nDisallow: /private", "")
	fetch := fetcher(t, loopback())
	if got, failed := fetch(s.URL + "/open"); failed || !strings.Contains(got, "page") {
		t.Errorf("fetch of an open page: failed %v, got %q", failed, got)
	}
	for _, path := range []string{"/private/x", "/to-private", "/%70rivate"} {
		if got, failed := fetch(s.URL + path); !failed || !strings.Contains(got, "asks programs not to fetch this page") {
			t.Errorf("fetch of %s: failed %v, got %q", path, failed, got)
		}
	}
	if got, failed := fetch(s.URL + "/robots.txt"); failed || !strings.Contains(got, "Disallow") {
		t.Errorf("fetch of robots.txt itself: failed %v, got %q", failed, got)
	}
	if s.pages != 2 || s.asked != 2 {
		t.Errorf("got %d pages and %d times robots.txt, want 2 and 2", s.pages, s.asked)
	}
	no := false
	o := loopback()
	o.Robots = &no
	if got, failed := fetcher(t, o)(s.URL + "/private/x"); failed || s.asked != 2 {
		t.Errorf("fetch without robots.txt: failed %v, got %q", failed, got)
	}
	o = loopback()
	o.UserAgent = "Other/1"
	if got, failed := fetcher(t, o)(s.URL + "/private/x"); failed {
		t.Errorf("fetch by another program: got %q", got)
	}
}

func TestRobotsAreRemembered(t *testing.T) {
	s := newRobotsSite(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	fetch := fetcher(t, loopback().With(nil, func() time.Time { return now }))
	for _, step := range []struct {
		after  time.Duration
		status int
		body   string
		moved  string
		open   bool
		asked  int
	}{
		{0, 503, "", "", false, 1},
		{30 * time.Second, 404, "", "", false, 1}, // the failure is remembered
		{time.Minute, 404, "", "", true, 2},
		{23 * time.Hour, 200, "User-agent: *\nDisallow: /", "", true, 2},
		{2 * time.Hour, 200, "User-agent: *\nDisallow: /", "", false, 3},
		{25 * time.Hour, 403, "", "", true, 4},
		{25 * time.Hour, 200, "User-agent: *\nDisallow: /", "/moved.txt", false, 6},
		{25 * time.Hour, 200, "", "/robots.txt", false, 12},
		{25 * time.Hour, 200, "", "http://10.0.0.1/robots.txt", true, 13}, // that host is not asked
		{25 * time.Hour, 200, strings.Repeat("User-agent: *\nDisallow: /x\n", 5000), "", true, 14},
		{time.Second, 200, "User-agent: *\nDisallow: /", "", false, 15}, // that one was too large to be remembered
	} {
		now = now.Add(step.after)
		s.set(step.status, step.body, step.moved)
		got, failed := fetch(s.URL + "/a")
		if failed == step.open || s.asked != step.asked {
			t.Errorf("with robots.txt %d %.50q %q: failed %v, asked %d times, got %q; want failed %v, asked %d times", step.status, step.body, step.moved, failed, s.asked, got, !step.open, step.asked)
		}
	}
}

func TestRobotsOfASiteThatHangsUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if got, failed := fetcher(t, loopback())("http://" + l.Addr().String()); !failed || !strings.Contains(got, "connection refused") || !strings.Contains(got, "try another address") {
		t.Errorf("fetch from a closed port: failed %v, got %q", failed, got)
	}
}

func FuzzRobots(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /a*b$", "/aab")
	f.Add("User-agent: legwork\nAllow: /\nDisallow: *", "/%zz")
	f.Fuzz(func(t *testing.T, robots, path string) {
		began := watch.Used()
		if web.Permits("", "legwork", "http://example.com/"+path) != web.Permits(robots+"\nUser-agent: legwork\nAllow: *"+strings.Repeat("*", len(robots)), "legwork", "http://example.com/"+path) && !strings.ContainsAny(robots, "\r\n:") {
			t.Errorf("robots.txt %q forbids %q although the longest rule allows it", robots, path)
		}
		if took := watch.Used() - began; took > 4*time.Second {
			t.Errorf("robots.txt %q and %q took %v of the processor", robots, path, took)
		}
	})
}
