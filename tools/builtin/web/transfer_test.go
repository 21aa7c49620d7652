package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/internal/test/watch"
	"legwork/tools/builtin/web"
)

func TestStatus(t *testing.T) {
	for status, want := range map[int]string{
		404: "answered 404 Not Found: there is no such page; check the address or search for the page. It says: sorry, no", 410: "no such page", 401: "not for everybody", 403: "use another source",
		429: "wants fewer requests; use another source or come back later (Retry-After: 30)", 503: "come back later", 500: "the server has a problem", 418: "check the address", 304: "check the address", 204: "is empty", 302: "check the address",
	} {
		s := site(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "30")
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(status)
			_, _ = w.Write([]byte("sorry,\nno"))
		})
		if got, failed := fetcher(t, loopback())(s.URL + "/x"); !failed || !strings.Contains(got, want) || !strings.Contains(got, s.URL) {
			t.Errorf("fetch of a page with status %d: failed %v, got %q, want %q", status, failed, got, want)
		}
	}
}

func TestRedirects(t *testing.T) {
	s := site(t, func(w http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err == nil && n > 0 {
			http.Redirect(w, r, fmt.Sprintf("/%d", n-1), http.StatusFound)
			return
		} else if err != nil {
			http.Redirect(w, r, "/forever", http.StatusFound)
			return
		}
		fmt.Fprint(w, "arrived")
	})
	fetch := fetcher(t, loopback())
	if got, failed := fetch(s.URL + "/5"); failed || !strings.HasSuffix(got, "arrived") {
		t.Errorf("five redirects: failed %v, got %q", failed, got)
	}
	for _, path := range []string{"/6", "/forever"} {
		if got, failed := fetch(s.URL + path); !failed || !strings.Contains(got, "redirects more than 5 times") {
			t.Errorf("fetch of %s: failed %v, got %q", path, failed, got)
		}
	}
}

// TestRedirectsToAnotherHost: the call that follows one has the new address, so that
// it is judged. The other host is not contacted, also not for a PDF or robots.txt.
func TestRedirectsToAnotherHost(t *testing.T) {
	_, resolver := newNames(t, map[string][]string{"site.test": {"127.0.0.1"}, "www.site.test": {"127.0.0.1"}})
	to := ""
	var hosts []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hosts = append(hosts, r.Host)
		if r.URL.Path == "/arrived" {
			fmt.Fprint(w, "arrived")
			return
		}
		http.Redirect(w, r, to, http.StatusFound)
	}))
	defer s.Close()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	fetch := fetcher(t, loopback().With(resolver, nil))
	for _, c := range []struct{ from, to, want string }{
		{"site.test", "http://www.site.test:PORT/arrived", "arrived"},
		{"www.site.test", "http://site.test:PORT/arrived", "arrived"},
		{"site.test", "http://a.site.test:PORT/arrived", ""},
		{"site.test", "http://site.test.evil.test:PORT/arrived", ""},
		{"site.test", "//evil.test/paper.pdf?q=what+you+know", ""},
		{"site.test", "http://site.test/arrived", ""}, // at another port
		{"site.test", "http://evil.test#a@site.test:PORT", ""},
	} {
		hosts, to = nil, strings.ReplaceAll(c.to, "PORT", port)
		got, failed := fetch("http://" + c.from + ":" + port + "/paper.pdf")
		if c.want == "" {
			address := strings.TrimPrefix(strings.TrimPrefix(to, "http:"), "//")
			address, _, _ = strings.Cut(address, "#")
			c.want = "The page redirects to http://" + address + ". Call fetch with that address to follow it."
		}
		if failed || !strings.HasSuffix(got, c.want) {
			t.Errorf("from %s to %s: failed %v, got %q, want %q", c.from, to, failed, got, c.want)
		}
		for _, host := range hosts {
			if !strings.HasSuffix(host, "site.test:"+port) || strings.HasPrefix(host, "a.") {
				t.Errorf("from %s to %s: %s was asked", c.from, to, host)
			}
		}
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"http://a.example/x", "https://a.example/y", true},
		{"http://a.example:80", "https://www.a.example:443", true},
		{"https://a.example", "https://b.example", false},
		{"https://a.example", "https://a.example:8443", false},
		{"http://a.example:8080", "https://a.example:8080", true},
	} {
		if got := web.SameHost(c.a, c.b); got != c.same {
			t.Errorf("%s and %s: same host %v, want %v", c.a, c.b, got, c.same)
		}
	}
}

func TestSlowPages(t *testing.T) {
	stop := make(chan struct{})
	s := site(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/silent" {
			<-stop
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		for tick := time.NewTicker(50 * time.Millisecond); ; {
			select {
			case <-tick.C:
				_, _ = w.Write([]byte("x"))
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				tick.Stop()
				return
			}
		}
	})
	defer close(stop)
	o := loopback()
	o.Timeout = "1s"
	fetch := fetcher(t, o)
	for _, path := range []string{"/drip", "/silent"} {
		began := time.Now()
		got, failed := fetch(s.URL + path)
		if !failed || !strings.Contains(got, "did not answer completely within 1s") {
			t.Errorf("fetch of %s: failed %v, got %q", path, failed, got)
		}
		if took := time.Since(began); took > watch.Patience {
			t.Errorf("fetch of %s took %v", path, took)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	call := caller(t, loopback())
	go func() {
		defer close(ended)
		_, _ = call(ctx, map[string]any{"url": s.URL + "/drip"})
	}()
	cancel()
	select {
	case <-ended:
	case <-time.After(watch.Patience):
		t.Error("a cancelled fetch goes on")
	}
}

// 4 MiB of gzip that unpack to 4 GiB.
func TestGzipBomb(t *testing.T) {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	zeros := make([]byte, 1<<20)
	for range 256 {
		_, _ = z.Write(zeros)
	}
	_ = z.Close()
	member := b.Bytes()
	s := site(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		if r.URL.Path == "/br" {
			w.Header().Set("Content-Encoding", "br")
		}
		for range 16 {
			_, _ = w.Write(member)
		}
	})
	o := loopback()
	o.Timeout = "2m" // a busy machine takes its time for 4 GiB
	fetch := fetcher(t, o)
	before := allocated()
	got, failed := fetch(s.URL)
	if !failed || !strings.Contains(got, "has no text") { // zeros are left out
		t.Errorf("fetch of a bomb: failed %v, got %d bytes", failed, len(got))
	}
	if used := allocated() - before; used > 200<<20 {
		t.Errorf("fetch of a bomb allocated %d MiB", used>>20)
	}
	if got, failed := fetch(s.URL + "/br"); !failed || !strings.Contains(got, "in the encoding br, which was not asked for") {
		t.Errorf("fetch of an encoding that was not asked for: failed %v, got %q", failed, got)
	}
}

func TestLargePages(t *testing.T) {
	s := serve(t, "text/plain", strings.Repeat("0123456789abcdef", 1<<20))
	o := loopback()
	o.MaxBytes = 100_000
	got, failed := fetcher(t, o)(s.URL, "max_chars", 500_000)
	if failed || !strings.Contains(got, "Note: only the first 100000 bytes of the page were read") || len(got) > 101_000 {
		t.Errorf("fetch of a large page: failed %v, got %d bytes: %.300q", failed, len(got), got)
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func TestManyAtOnce(t *testing.T) {
	s := serve(t, "text/html", "<title>T</title><p>hello")
	call := caller(t, loopback())
	var all sync.WaitGroup
	for range 60 {
		all.Go(func() {
			res, err := call(t.Context(), map[string]any{"url": s.URL})
			if err != nil || res.IsError {
				t.Errorf("fetch beside others: got %v, %v", res, err)
			}
		})
	}
	all.Wait()
}

func TestNothingIsLeftBehind(t *testing.T) {
	var open sync.Map
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			open.Delete(c)
		} else {
			open.Store(c, state)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	fetch := fetcher(t, loopback())
	for range 5 {
		if got, failed := fetch(s.URL); failed {
			t.Fatal(got)
		}
	}
	deadline := time.After(watch.Patience)
	for {
		left := 0
		open.Range(func(any, any) bool { left++; return true })
		if left == 0 {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%d connections are still open", left)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestRequest(t *testing.T) {
	var last *http.Request
	s := site(t, func(w http.ResponseWriter, r *http.Request) {
		last = r
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		fmt.Fprint(w, "x")
	})
	o := loopback()
	o.UserAgent = "Example/2"
	fetch := fetcher(t, o)
	fetch(s.URL)
	fetch(s.URL + "/a b")
	if fetch(s.URL + "/ä?q=ö%20#x"); last.UserAgent() != "Example/2" || last.Header.Get("Cookie") != "" || last.Header.Get("Referer") != "" || last.URL.RequestURI() != "/%C3%A4?q=ö%20" && last.URL.RequestURI() != "/%C3%A4?q=%C3%B6%20" {
		t.Errorf("request: got %s with %v", last.URL.RequestURI(), last.Header)
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	if got, failed := fetcher(t, loopback())(s.URL); !failed || !strings.Contains(got, "certificate") {
		t.Errorf("fetch from a server with an unknown certificate: failed %v, got %q", failed, got)
	}
}
