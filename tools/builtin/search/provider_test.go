package search_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/internal/test/fakes/searchfake"
	"legwork/internal/test/servers"
	"legwork/tools/builtin/search"
)

// keyed are the providers that need an API key, with what each is asked.
func keyed() map[string]struct{ plain, full map[string]any } {
	return map[string]struct{ plain, full map[string]any }{
		"brave": {
			plain: map[string]any{"q": "go release", "count": "10", "text_decorations": "false", "result_filter": "web"},
			full:  map[string]any{"q": "go release", "count": "3", "text_decorations": "false", "result_filter": "web", "freshness": "pm", "search_lang": "zh-hans", "offset": "1"},
		},
		"tavily": {
			plain: map[string]any{"query": "go release", "max_results": 10.0},
			full:  map[string]any{"query": "go release", "max_results": 3.0, "time_range": "month"},
		},
		"exa": {
			plain: map[string]any{"query": "go release", "numResults": 10.0, "contents": map[string]any{"highlights": true}},
			full:  map[string]any{"query": "go release", "numResults": 3.0, "contents": map[string]any{"highlights": true}, "startPublishedDate": "2026-10-20T12:00:00Z"},
		},
		"serper": {
			plain: map[string]any{"q": "go release", "num": 10.0},
			full:  map[string]any{"q": "go release", "num": 3.0, "tbs": "qdr:m", "hl": "zh-cn", "page": 2.0},
		},
	}
}

func pages() []searchfake.Result {
	return []searchfake.Result{
		{Title: "Go 1.26 <strong>Release</strong>", Address: "https://go.dev/doc/go1.26", Snippet: "Go&nbsp;1.26 is out.", Published: "2026-02-10T00:00:00"},
		{Title: "twice", Address: "https://go.dev/doc/go1.26"},
		{Title: "bad", Address: "javascript:alert(1)"},
		{Title: "", Address: "https://example.com/a"},
	}
}

// TestProviders holds that each provider is asked as it documents it, and that its
// results look like those of every other.
func TestProviders(t *testing.T) {
	tested := slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(keyed())), search.SearXNG)))
	if diff := cmp.Diff(tested, search.Providers()); diff != "" {
		t.Fatalf("providers (-tested +known):\n%s", diff)
	}
	for name, want := range keyed() {
		t.Run(name, func(t *testing.T) {
			f := searchfake.New(t, name, pages()...)
			now := func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }
			s, err := search.New(search.Options{Provider: name, APIKey: searchfake.Key, BaseURL: f.URL + "/", Now: now})
			if err != nil {
				t.Fatal(err)
			}
			c := servers.Connect(t, s)
			arguments := map[string]any{"query": " go  release ", "time_range": "month", "limit": 3}
			offered := s.ListTools()["search"].Tool.InputSchema.Properties
			for key, value := range map[string]any{"language": "zh-CN", "page": 2} {
				if _, ok := offered[key]; ok {
					arguments[key] = value
				}
			}
			for _, args := range []map[string]any{{"query": "go release"}, arguments} {
				res, err := servers.Call(t.Context(), c, "search", args, nil)
				if err != nil {
					t.Fatal(err)
				}
				text := "1. Go 1.26 Release\nhttps://go.dev/doc/go1.26\nPublished: 2026-02-10\nGo 1.26 is out.\n\n2. example.com\nhttps://example.com/a"
				if name == "tavily" { // has dates for news alone
					text = strings.Replace(text, "Published: 2026-02-10\n", "", 1)
				}
				if name == "serper" {
					text += "\n\nOther searches: another search"
				}
				if diff := cmp.Diff(text, servers.Text(res)); diff != "" || res.IsError {
					t.Errorf("search(%v) (-want +got):\n%s", args, diff)
				}
			}
			got := f.Searches()
			if len(got) != 2 {
				t.Fatalf("the provider was asked %v", got)
			}
			for i, fields := range []map[string]any{want.plain, want.full} {
				if diff := cmp.Diff(fields, got[i].Fields); diff != "" {
					t.Errorf("request %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

// TestProviderProblems holds that each error says what to do, and never shows the
// key.
func TestProviderProblems(t *testing.T) {
	for name := range keyed() {
		t.Run(name, func(t *testing.T) {
			f := searchfake.New(t, name, pages()...)
			run := searcher(t, search.Options{Provider: name, APIKey: searchfake.Key, BaseURL: f.URL})
			stranger := searcher(t, search.Options{Provider: name, APIKey: "wrong-key", BaseURL: f.URL})
			elsewhere := searcher(t, search.Options{Provider: name, APIKey: searchfake.Key, BaseURL: f.URL + "/other"})
			check := func(run func(map[string]any) (string, bool), want ...string) {
				t.Helper()
				got, failed := run(map[string]any{"query": "cats"})
				for _, words := range want {
					if !failed || !strings.Contains(got, words) || strings.Contains(got, "key-0") || strings.Contains(got, "wrong-key") {
						t.Errorf("search: got %q, failed %v; want %q", got, failed, words)
					}
				}
			}
			check(stranger, "refused the API key", "an admin has to check api_key of the search options; keys are at ")
			check(elsewhere, "is not at the configured address", "check base_url")
			f.Limited(0, 3)
			if got, failed := run(map[string]any{"query": "cats"}); failed || !strings.Contains(got, "Go 1.26") {
				t.Errorf("search after three refusals without a pause: got %q, failed %v; want results", got, failed)
			}
			f.Limited(0, 0)
			check(run, "wants fewer requests (Retry-After: 0)")
			f.Limited(7*time.Second, 0)
			check(run, "wants fewer requests (Retry-After: 7); go on with what is found")
			f.Spent()
			check(run, "are used up", "look at the plan of the key at ")
			f.Broken(500)
			check(run, "answered 500 Internal Server Error; try once more")
			f.Broken(400)
			check(run, "did not understand the search")
			nothing := searchfake.New(t, name)
			check(searcher(t, search.Options{Provider: name, APIKey: searchfake.Key, BaseURL: nothing.URL}), `nothing was found for "cats"`)
		})
	}
}

// TestProviderAnswersNoJSON holds that an answer of something else is a sentence.
func TestProviderAnswersNoJSON(t *testing.T) {
	for name := range keyed() {
		e := newEngine(t, "<html>a page of a proxy</html>")
		got, failed := searcher(t, search.Options{Provider: name, APIKey: "k", BaseURL: e.URL})(map[string]any{"query": "x"})
		if !failed || !strings.Contains(got, "no JSON of") || !strings.Contains(got, "check base_url") {
			t.Errorf("%s: got %q, failed %v", name, got, failed)
		}
	}
}

func TestProviderOptions(t *testing.T) {
	one := 1
	for want, o := range map[string]search.Options{
		`provider is "brvae", the nearest known one is brave; allowed: brave, exa, searxng, serper, tavily`: {Provider: "brvae", APIKey: "k"},
		"api_key is missing; give a key of Brave Search, for example ${BRAVE_API_KEY}":                      {Provider: "brave"},
		"api_key contains a space":                                           {Provider: "exa", APIKey: "a b"},
		"api_key is not an option of the provider searxng; name":             {APIKey: "k", URL: "https://searx.example.com/search"},
		"url is not an option of the provider tavily":                        {Provider: "tavily", APIKey: "k", URL: "https://searx.example.com/search"},
		"base_url is not an option of the provider searxng":                  {URL: "https://x/search", BaseURL: "https://x"},
		"base_url is no address; give that of a proxy in front of Serper":    {Provider: "serper", APIKey: "k", BaseURL: "proxy"},
		"language is not an option of the provider exa; remove it; allowed:": {Provider: "exa", APIKey: "k", Language: "de"},
		"safe_search is not an option of the provider tavily":                {Provider: "tavily", APIKey: "k", SafeSearch: &one},
		"engines is not an option of the provider brave":                     {Provider: "brave", APIKey: "k", Engines: []string{"bing"}},
		"categories is not an option of the provider brave":                  {Provider: "brave", APIKey: "k", Categories: []string{"news"}},
		"max_results is 21; allowed are 1 to 20":                             {Provider: "brave", APIKey: "k", MaxResults: 21},
	} {
		if _, err := search.New(o); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("New(%+v): got %v, want %q", o, err, want)
		}
	}
}
