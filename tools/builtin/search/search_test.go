package search_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"legwork/internal/test/servers"
	"legwork/tools/builtin/search"
)

// searcher makes a server and returns a function that calls its tool.
func searcher(t testing.TB, o search.Options) func(args map[string]any) (string, bool) {
	t.Helper()
	s, err := search.New(o)
	if err != nil {
		t.Fatal(err)
	}
	c := servers.Connect(t, s)
	return func(args map[string]any) (string, bool) {
		res, err := servers.Call(context.Background(), c, "search", args, nil)
		if err != nil {
			return err.Error(), true
		}
		return servers.Text(res), res.IsError
	}
}

// engine answers every search in the same way and keeps the last request.
type engine struct {
	*httptest.Server
	status      int
	contentType string
	body        string
	header      map[string]string
	last        *http.Request
}

func newEngine(t testing.TB, body string) *engine {
	e := &engine{status: http.StatusOK, contentType: "application/json", body: body}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.last = r
		w.Header().Set("Content-Type", e.contentType)
		for key, value := range e.header {
			w.Header().Set(key, value)
		}
		w.WriteHeader(e.status)
		_, _ = w.Write([]byte(e.body))
	}))
	t.Cleanup(e.Close)
	return e
}

const twoResults = `{"query": "go", "number_of_results": 2, "results": [
	{"url": "https://go.dev/doc/go1.26", "title": "Go 1.26 <b>Release</b> Notes", "content": "Go&nbsp;1.26 is   the <em>latest</em> release.\n\nMore &lt;here&gt;.", "publishedDate": "2026-02-10T00:00:00", "engine": "x", "score": 3.0},
	{"url": "https://go.dev/doc/go1.26", "title": "twice", "content": ""},
	{"url": "https://example.com/a b", "title": "", "content": null, "publishedDate": null},
	{"url": "javascript:alert(1)", "title": "bad"}, {"url": 7, "title": []}, "text", null, [],
	{"url": "https://example.org/\u202e", "title": "Ignore\u0007 all\nlines", "content": "` + "\U000e0041" + `hidden"}],
	"answers": [{"answer": "42", "url": null}, "plain answer"], "suggestions": ["go releases"], "corrections": [], "unresponsive_engines": [["bing", "timeout"]]}`

func TestSearch(t *testing.T) {
	e := newEngine(t, twoResults)
	one := 1
	run := searcher(t, search.Options{
		URL: e.URL + "/search?theme=simple", Headers: map[string]string{"Authorization": "Bearer k"},
		Language: "en", Categories: []string{"general", "it"}, Engines: []string{"wikipedia"}, SafeSearch: &one,
	})
	got, failed := run(map[string]any{"query": " go  release & date ", "time_range": "year", "page": 2, "language": "zh-CN"})
	want := `Direct answer: plain answer

Direct answer: 42

1. Go 1.26 Release Notes
https://go.dev/doc/go1.26
Published: 2026-02-10
Go 1.26 is the latest release. More <here>.

2. example.com
https://example.com/a%20b

3. Ignore all lines
https://example.org/%E2%80%AE
hidden

Other searches: go releases`
	if failed || got != want {
		t.Errorf("search: failed %v, got\n%s\nwant\n%s", failed, got, want)
	}
	q := e.last.URL.Query()
	wantQuery := url.Values{
		"q": {"go release & date"}, "format": {"json"}, "time_range": {"year"}, "pageno": {"2"}, "language": {"zh-CN"}, "theme": {"simple"},
		"categories": {"general,it"}, "engines": {"wikipedia"}, "safesearch": {"1"},
	}
	if q.Encode() != wantQuery.Encode() || e.last.URL.Path != "/search" || e.last.Header.Get("Authorization") != "Bearer k" {
		t.Errorf("request: got %s with %v, want %s", e.last.URL, e.last.Header, wantQuery.Encode())
	}
	if run(map[string]any{"query": "x"}); e.last.URL.Query().Get("language") != "en" || e.last.URL.Query().Has("pageno") || e.last.URL.Query().Has("time_range") {
		t.Errorf("request without arguments: got %s", e.last.URL)
	}
}

func TestLimit(t *testing.T) {
	var list []string
	for i := range 100 {
		list = append(list, fmt.Sprintf(`{"url": "https://example.com/%d", "title": "page %d", "content": %q}`, i, i, strings.Repeat("word ", 1000)))
	}
	e := newEngine(t, `{"results": [`+strings.Join(list, ",")+`]}`)
	run := searcher(t, search.Options{URL: e.URL, MaxResults: 20})
	for _, c := range []struct {
		args map[string]any
		want int
	}{{map[string]any{"query": "x"}, 20}, {map[string]any{"query": "x", "limit": 3}, 3}} {
		got, failed := run(c.args)
		if n := strings.Count(got, "https://"); failed || n != c.want || len(got) > 700*c.want {
			t.Errorf("search(%v): got %d results in %d bytes, failed %v; want %d", c.args, n, len(got), failed, c.want)
		}
	}
	if got, failed := run(map[string]any{"query": "x", "limit": 21}); !failed {
		t.Errorf("search with a limit above max_results: got %q, want an error", got)
	}
}

func TestProblemsOfTheEndpoint(t *testing.T) {
	e := newEngine(t, "")
	run := searcher(t, search.Options{URL: e.URL, Timeout: "1m"})
	for _, c := range []struct {
		name, contentType, body string
		status                  int
		header                  map[string]string
		want                    string
	}{
		{name: "no JSON", status: 403, contentType: "text/html", body: "<!doctype html><h1>403 Forbidden</h1>", want: "add json to search.formats in the settings.yml"},
		{name: "HTML", status: 200, contentType: "text/html; charset=utf-8", body: "<html><p>results", want: "add json to search.formats"},
		{name: "HTML as JSON", status: 200, contentType: "application/json", body: "\n <html>", want: "add json to search.formats"},
		{name: "too many", status: 429, contentType: "text/plain", header: map[string]string{"Retry-After": "60"}, want: "wants fewer requests (Retry-After: 60)"},
		{name: "key", status: 401, want: "under headers of the search options"},
		{name: "not found", status: 404, want: "usually ends in /search"},
		{name: "bad request", status: 400, want: "simpler words"},
		{name: "down", status: 502, want: "502 Bad Gateway; try once more"},
		{name: "moved", status: 302, header: map[string]string{"Location": "https://elsewhere.example/search"}, want: "has moved"},
		{name: "broken", status: 200, contentType: "application/json", body: `{"results": [`, want: "no JSON of SearXNG"},
		{name: "other JSON", status: 200, contentType: "application/json", body: `{"results": "none"}`, want: "no JSON of SearXNG"},
		{name: "list", status: 200, contentType: "application/json", body: `[]`, want: "no JSON of SearXNG"},
		{name: "empty", status: 200, contentType: "application/json", body: `{}`, want: `nothing was found for "cats"; try other or fewer words`},
		{name: "nothing", status: 200, contentType: "application/json", body: `{"results": [], "corrections": ["bats"], "unresponsive_engines": [["a", "b"]]}`, want: `1 of its sources did not answer, so there may be results later); perhaps it is spelt bats`},
		{name: "large", status: 200, contentType: "application/json", body: strings.Repeat(" ", 5<<20), want: "answered more than 4194304 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e.status, e.contentType, e.body, e.header = c.status, c.contentType, c.body, c.header
			got, failed := run(map[string]any{"query": "cats"})
			if !failed || !strings.Contains(got, c.want) || strings.Contains(got, e.URL) {
				t.Errorf("search: got %q, failed %v; want an error with %q and without the address", got, failed, c.want)
			}
		})
	}
	e.status, e.header, e.body, e.contentType = 200, nil, "{}", "application/json"
	if got, _ := run(map[string]any{"query": "cats", "page": 3}); !strings.Contains(got, "nothing more on page 3") {
		t.Errorf("search on a page without results: got %q", got)
	}
}

func TestEndpointThatIsAway(t *testing.T) {
	e := newEngine(t, "")
	e.Close()
	if got, failed := searcher(t, search.Options{URL: e.URL})(map[string]any{"query": "x"}); !failed || !strings.Contains(got, "cannot be reached") {
		t.Errorf("search: got %q, failed %v", got, failed)
	}
	hang := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	defer s.Close()
	defer close(hang)
	if got, failed := searcher(t, search.Options{URL: s.URL, Timeout: "1s"})(map[string]any{"query": "x"}); !failed || !strings.Contains(got, "did not answer within 1s") {
		t.Errorf("search: got %q, failed %v", got, failed)
	}
}

func TestArguments(t *testing.T) {
	e := newEngine(t, twoResults)
	run := searcher(t, search.Options{URL: e.URL})
	for _, args := range []map[string]any{{}, {"query": ""}, {"query": "  "}, {"query": 7}, {"query": strings.Repeat("x", 501)}, {"query": "x", "time_range": "century"}, {"query": "x", "page": 0}, {"query": "x", "language": "en&format=html"}, {"query": "x", "url": "y"}} {
		e.last = nil
		if got, failed := run(args); !failed || e.last != nil {
			t.Errorf("search(%v): got %q, failed %v, asked %v; want an error and no request", args, got, failed, e.last)
		}
	}
}

func TestOptions(t *testing.T) {
	five := 5
	for want, o := range map[string]search.Options{
		"url is missing":     {},
		"url is":             {URL: "searx.example.com/search"},
		"no address":         {URL: "ftp://searx.example.com"},
		"timeout is":         {URL: "http://x", Timeout: "soon"},
		"1s to 2m0s":         {URL: "http://x", Timeout: "1h"},
		"max_results is -1":  {URL: "http://x", MaxResults: -1},
		"1 to 50":            {URL: "http://x", MaxResults: 51},
		"language is":        {URL: "http://x", Language: "in English"},
		"safe_search is 5":   {URL: "http://x", SafeSearch: &five},
		`headers has "a\nb"`: {URL: "http://x", Headers: map[string]string{"a\nb": "c"}},
	} {
		if _, err := search.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%+v): got %v, want %q", o, err, want)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(twoResults)
	f.Add(`{"results": [{"url": "https://a", "title": "<b", "content": "&#0;<!--"}], "answers": [[1]], "suggestions": {}}`)
	e := newEngine(f, "")
	run := searcher(f, search.Options{URL: e.URL})
	f.Fuzz(func(t *testing.T, body string) {
		e.body = body
		got, _ := run(map[string]any{"query": "x"})
		if got == "" || len(got) > 50_000 {
			t.Errorf("search with the answer %q: got %d bytes", body, len(got))
		}
		if strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }) {
			t.Errorf("search with the answer %q: got %q", body, got)
		}
	})
}
