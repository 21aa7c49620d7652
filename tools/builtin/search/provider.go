package search

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"legwork/internal/nearest"
)

// SearXNG is the provider of an own endpoint. All others need an API key.
const SearXNG = "searxng"

// Providers lists the names of the providers, sorted.
func Providers() []string { return slices.Sorted(maps.Keys(providers())) }

// A provider answers searches by its own API.
type provider struct {
	name    string
	label   string // in sentences
	json    string // whose JSON it speaks, in sentences
	lookAt  string // what an admin looks at when the answer is strange
	keysAt  string // page of the provider with API keys
	base    string // address of the API; empty: the admin names it
	path    string // of searches, below base
	options []string

	keyHeader, keyPrefix string // of the API key; empty: there is none

	most     int // results of one call
	pages    int // most pages that can be asked for; 1: only the first
	maxQuery int // characters

	request func(e *engine, q query) request
	read    func(body []byte) (response, error)

	// refused and out tell an error of the key from one of its plan.
	refused, out func(status int, body string) bool
}

// providers holds the facts of each provider's documentation.
func providers() map[string]provider {
	const baseURL = "check base_url of the search options"
	list := []provider{
		{ // docs.searxng.org/dev/search_api
			name: SearXNG, label: "the search engine", json: "SearXNG", lookAt: "check the search url",
			options: []string{"url", "language", "categories", "engines", "safe_search"},
			most:    50, pages: mostPages, maxQuery: 500,
			request: askSearXNG, read: readSearXNG,
		},
		{ // api-dashboard.search.brave.com/app/documentation/web-search
			name: "brave", label: "Brave Search", json: "Brave Search", lookAt: baseURL,
			keysAt: "api-dashboard.search.brave.com", base: "https://api.search.brave.com", path: "/res/v1/web/search",
			options: []string{"api_key", "base_url", "language", "safe_search"}, keyHeader: "X-Subscription-Token",
			most: 20, pages: 10, maxQuery: 400,
			request: askBrave, read: readBrave,
			// Brave answers 422 for an unknown key, and 429 for a spent quota.
			refused: func(status int, body string) bool {
				return refusedKey(status, body) || strings.Contains(body, "SUBSCRIPTION_TOKEN_INVALID")
			},
			out: func(status int, body string) bool {
				return status == http.StatusPaymentRequired || strings.Contains(body, "QUOTA_LIMITED") || strings.Contains(body, "USAGE_LIMIT_EXCEEDED")
			},
		},
		{ // docs.tavily.com/documentation/api-reference/endpoint/search
			name: "tavily", label: "Tavily", json: "Tavily", lookAt: baseURL,
			keysAt: "app.tavily.com", base: "https://api.tavily.com", path: "/search",
			options: []string{"api_key", "base_url"}, keyHeader: "Authorization", keyPrefix: "Bearer ",
			most: 20, pages: 1, maxQuery: 400,
			request: askTavily, read: fields{"url", "content", "published_date"}.read,
			refused: refusedKey,
			// 432: the limit of the plan; 433: that of paying as one goes.
			out: func(status int, _ string) bool { return status == 432 || status == 433 },
		},
		{ // docs.exa.ai/reference/search, docs.exa.ai/reference/error-codes
			name: "exa", label: "Exa", json: "Exa", lookAt: baseURL,
			keysAt: "dashboard.exa.ai", base: "https://api.exa.ai", path: "/search",
			options: []string{"api_key", "base_url"}, keyHeader: "X-Api-Key",
			most: 50, pages: 1, maxQuery: 500,
			request: askExa, read: fields{"url", "highlights", "publishedDate"}.read,
			refused: refusedKey,
			out:     func(status int, _ string) bool { return status == http.StatusPaymentRequired },
		},
		{ // serper.dev/playground
			name: "serper", label: "Serper", json: "Serper", lookAt: baseURL,
			keysAt: "serper.dev/api-keys", base: "https://google.serper.dev", path: "/search",
			options: []string{"api_key", "base_url", "language"}, keyHeader: "X-Api-Key",
			most: 50, pages: mostPages, maxQuery: 500,
			request: askSerper, read: readSerper,
			refused: refusedKey,
			out: func(status int, body string) bool {
				return status == http.StatusBadRequest && strings.Contains(body, "Not enough credits")
			},
		},
	}
	all := map[string]provider{}
	for _, p := range list {
		all[p.name] = p
	}
	return all
}

func refusedKey(status int, _ string) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// choose finds a provider by its name.
func choose(name string) (provider, error) {
	if name == "" {
		name = SearXNG
	}
	p, ok := providers()[name]
	if !ok {
		return p, fmt.Errorf("provider is %q%s; allowed: %s", name, nearest.Hint(name, Providers()), strings.Join(Providers(), ", "))
	}
	return p, nil
}

// takes reports whether the provider knows an option.
func (p provider) takes(option string) bool { return slices.Contains(p.options, option) }

// place is the address of the provider's searches. The error is an option that is
// missing, or one that the provider does not take.
func (p provider) place(o Options) (*url.URL, error) {
	for _, option := range []struct {
		name string
		set  bool
	}{
		{"base_url", o.BaseURL != ""},
		{"language", o.Language != ""},
		{"safe_search", o.SafeSearch != nil},
		{"categories", len(o.Categories) > 0},
		{"engines", len(o.Engines) > 0},
	} {
		if option.set && !p.takes(option.name) {
			return nil, fmt.Errorf("%s is not an option of the provider %s; remove it; allowed: %s", option.name, p.name, strings.Join(slices.Concat([]string{"provider"}, p.options, []string{"headers", "max_results", "timeout"}), ", "))
		}
	}
	switch {
	case p.name == SearXNG && o.APIKey != "":
		return nil, errors.New("api_key is not an option of the provider searxng; name the provider of the key, or put it under headers")
	case p.name != SearXNG && o.URL != "":
		return nil, fmt.Errorf("url is not an option of the provider %s, which has one address; remove it; base_url is for a proxy in front of %s", p.name, p.label)
	case p.name != SearXNG && strings.TrimSpace(o.APIKey) == "":
		return nil, fmt.Errorf("api_key is missing; give a key of %s, for example ${%s_API_KEY}; keys are at %s", p.label, strings.ToUpper(p.name), p.keysAt)
	case strings.ContainsFunc(o.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("api_key contains a space, a line break or a letter that no key has; copy the key again")
	}
	if p.name == SearXNG {
		u := address(o.URL)
		switch {
		case o.URL == "":
			var keyed []string
			for _, s := range Sites() {
				keyed = append(keyed, s.Name)
			}
			return nil, fmt.Errorf("url is missing; give that of a SearXNG search, such as https://searx.example.com/search; or choose a provider by its name and your api_key: %s", strings.Join(keyed, ", "))
		case u == nil:
			return nil, errors.New("url is missing or no address; give that of a SearXNG search, such as https://searx.example.com/search")
		}
		return u, nil
	}
	base := p.base
	if o.BaseURL != "" {
		base = o.BaseURL
	}
	u := address(base)
	if u == nil {
		return nil, fmt.Errorf("base_url is no address; give that of a proxy in front of %s, or remove it for %s", p.label, p.base)
	}
	return u.JoinPath(p.path), nil
}

// address reads the address of a web server; nil when it is none.
func address(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil
	}
	return u
}

// Site is a provider that needs an API key, for people.
type Site struct {
	Name   string // in the config
	Label  string // as the provider writes it
	KeysAt string // page with its keys
}

// Sites lists the providers that need an API key.
func Sites() []Site {
	var sites []Site
	for _, name := range Providers() {
		if p := providers()[name]; p.keyHeader != "" {
			sites = append(sites, Site{name, p.label, p.keysAt})
		}
	}
	return sites
}
