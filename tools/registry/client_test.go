package registry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"legwork/internal/test/fakes/registryfake"
	"legwork/tools/registry"
)

// entry is a small document.
func entry(name, description, status string) registryfake.Entry {
	return registryfake.Entry{Document: fmt.Sprintf(`{"name": %q, "description": %q, "version": "1.2.0"}`, name, description), Status: status}
}

func client(t *testing.T, address string) *registry.Client {
	t.Helper()
	c, err := registry.New(address)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSearch: all words count, in any field, over pages. Deleted servers are left out.
func TestSearch(t *testing.T) {
	fake := registryfake.New(t,
		entry("io.github.a/weather", "Forecasts for Europe", registry.Active), entry("io.github.b/weather-old", "Forecasts", registry.Deprecated),
		entry("io.github.c/weather-bad", "Forecasts", registry.Deleted), entry("com.example/weather", "Climate of the past", ""),
		entry("com.example/stocks", "Forecasts", registry.Active), registryfake.Entry{Document: `{"name": "weather", "version": 7}`})
	fake.Paged(1)
	c := client(t, fake.URL+"/")
	names := func(most int, words ...string) (list []string, found registry.Found) {
		found, err := c.Search(t.Context(), words, most)
		if err != nil {
			t.Fatalf("searching for %q: %v", words, err)
		}
		for _, s := range found.Servers {
			list = append(list, s.Name+" "+s.Status)
		}
		return list, found
	}
	got, found := names(10, "WEATHER", "fore")
	if diff := cmp.Diff([]string{"io.github.a/weather active", "io.github.b/weather-old deprecated"}, got); diff != "" || found.More || found.Unreadable != 1 {
		t.Errorf("got %+v, want two: %s", found, diff)
	}
	if got, found := names(1, "weather"); len(got) != 1 || !found.More {
		t.Errorf("got %q, want one of more", got)
	}
	if got, _ := names(10, "nothing"); got != nil {
		t.Errorf("got %q, want none", got)
	}
	if r := fake.Requests()[0]; r != "/v0.1/servers?limit=100&search=weather&version=latest" {
		t.Errorf("it was asked for %s", r)
	}
}

// TestServer: a server is returned by its exact name alone.
func TestServer(t *testing.T) {
	fake := registryfake.New(t, entry("io.github.a/weather", "Forecasts", registry.Deprecated))
	c := client(t, fake.URL)
	s, err := c.Server(t.Context(), "io.github.a/weather", "latest")
	if err != nil || s.Version != "1.2.0" || s.Status != registry.Deprecated || s.Publisher() != "github.com/a" || s.Published.IsZero() {
		t.Errorf("got %+v, %v", s, err)
	}
	for _, version := range []string{"2.0.0", "1/../2"} {
		if _, err := c.Server(t.Context(), "io.github.a/weather", version); !errors.Is(err, registry.ErrNotFound) {
			t.Errorf("the version %s: got %v, want ErrNotFound", version, err)
		}
	}
	fake.Fail(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"server": {"name": "io.github.evil/weather", "description": "x", "version": "1.2.0"}}`)
	})
	if _, err := c.Server(t.Context(), "io.github.a/weather", "latest"); err == nil || !strings.Contains(err.Error(), "which was not asked for") {
		t.Errorf("another server: got %v", err)
	}
}

// TestBadRegistries: a wrong address, or a broken registry, is an error with the reason.
func TestBadRegistries(t *testing.T) {
	elsewhere := registryfake.New(t, entry("io.github.a/weather", "Forecasts", registry.Active))
	body := func(text string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, text)
		}
	}
	for name, c := range map[string]struct {
		fault func(http.ResponseWriter, *http.Request)
		want  string
	}{
		"a web page": {registryfake.Page, `it answers with "text/html" and not with JSON`},
		"not JSON":   {body(`{"servers": [`), "its answer is not JSON"},
		"other JSON": {body(`{"items": []}`), "its answer has no list of servers"},
		"a list":     {body(`[]`), "its answer has no list of servers"},
		"too large":  {body(`{"servers": [], "x": "` + strings.Repeat("x", 5<<20) + `"}`), "its answer is larger than 4 MiB"},
		"no such API": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
		}, "it has no list of servers at /v0.1/servers"},
		"down": {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, "it answers with the status 503"},
		"a rate limit": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "90")
			w.WriteHeader(http.StatusTooManyRequests)
		}, "it limits the rate of requests; try again in 1m30s"},
		"another host": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+r.URL.RequestURI(), http.StatusFound)
		}, "it redirects to " + elsewhere.URL + ", and legwork follows no redirect"},
		"a loop": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.RequestURI(), http.StatusFound)
		}, "it redirects again and again"},
		"a cut answer": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		}, "reading its answer"},
	} {
		t.Run(name, func(t *testing.T) {
			fake := registryfake.New(t)
			fake.Fail(c.fault)
			found, err := client(t, fake.URL).Search(t.Context(), []string{"weather"}, 10)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), strings.TrimPrefix(fake.URL, "http://")) {
				t.Errorf("got %+v, %v; want %q and the host", found, err, c.want)
			}
		})
	}
	if _, err := client(t, "http://127.0.0.1:1").Search(t.Context(), []string{"x"}, 1); err == nil || !strings.Contains(err.Error(), "it cannot be reached") {
		t.Errorf("nobody listens: got %v", err)
	}
	if n := len(elsewhere.Requests()); n > 0 {
		t.Errorf("the other host was asked %d times", n)
	}
	fake := registryfake.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	fake.Fail(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if _, err := client(t, fake.URL).Search(ctx, []string{"x"}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: got %v", err)
	}
}

// TestEndlessPages: a registry that always has another page is asked ten times.
func TestEndlessPages(t *testing.T) {
	fake := registryfake.New(t)
	n := 0
	fake.Fail(func(w http.ResponseWriter, _ *http.Request) {
		n++
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"servers": [], "metadata": {"nextCursor": "c%d"}}`, n)
	})
	if found, err := client(t, fake.URL).Search(t.Context(), []string{"x"}, 10); err != nil || !found.More || len(fake.Requests()) != 10 {
		t.Errorf("got %+v, %v after %d requests", found, err, len(fake.Requests()))
	}
}

func TestAddressProblem(t *testing.T) {
	for address, bad := range map[string]bool{
		"https://registry.example.com": false, "http://127.0.0.1:8080/mcp/": false, "registry.example.com": true, "ftp://x": true,
		"https://me:pass@registry.example.com": true, "https://registry.example.com?x=1": true, "https://": true, "file:///etc/passwd": true,
	} {
		if got := registry.AddressProblem(address); (got != "") != bad {
			t.Errorf("%s: got %q", address, got)
		}
	}
}
