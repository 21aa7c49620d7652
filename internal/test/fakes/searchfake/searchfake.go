// Package searchfake answers searches over a real socket as Brave, Tavily, Exa and
// Serper document it. It is strict: a wrong method, path, key, parameter or field is
// refused with the provider's own error.
package searchfake

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Key is what the fake takes as an API key.
const Key = "search-key-0123456789"

// Result is one page that is found.
type Result struct{ Title, Address, Snippet, Published string }

// Search is one that was answered with results.
type Search struct {
	Words  string
	Fields map[string]any // parameters or body, as they came
}

// Server is one provider.
type Server struct {
	URL string // the base of its API

	provider string
	results  []Result

	mu       sync.Mutex
	fail     func(w http.ResponseWriter) // nil: searches work
	searches []Search
}

// New starts the fake of a provider: brave, tavily, exa or serper.
func New(t testing.TB, provider string, results ...Result) *Server {
	t.Helper()
	s := &Server{provider: provider, results: results}
	if _, known := s.rules(); !known {
		t.Fatalf("searchfake has no provider %q", provider)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Searches lists what was searched for.
func (s *Server) Searches() []Search {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.searches)
}

// Limited makes the next searches fail with a rate limit, or all when times is 0.
func (s *Server) Limited(after time.Duration, times int) {
	left := times
	s.failWith(func(w http.ResponseWriter) {
		header, value := "Retry-After", strconv.Itoa(int(after/time.Second))
		if s.provider == "brave" { // for a second, and for a month
			header, value = "X-RateLimit-Reset", value+", 1419704"
		}
		w.Header().Set(header, value)
		if left--; left == 0 {
			s.failWith(nil)
		}
		s.problem(w, http.StatusTooManyRequests, "RATE_LIMITED", "Request rate limit exceeded for plan.")
	})
}

// Spent makes all searches fail because the plan is used up.
func (s *Server) Spent() {
	s.failWith(func(w http.ResponseWriter) {
		switch s.provider {
		case "brave":
			s.problem(w, http.StatusTooManyRequests, "QUOTA_LIMITED", "Monthly quota exceeded for plan.")
		case "tavily":
			s.problem(w, 432, "", "This request exceeds your plan's set usage limit.")
		case "exa":
			s.problem(w, http.StatusPaymentRequired, "NO_MORE_CREDITS", "You have exceeded your credits limit.")
		default:
			s.problem(w, http.StatusBadRequest, "", "Not enough credits")
		}
	})
}

// Broken makes all searches fail with a status from now on.
func (s *Server) Broken(status int) {
	s.failWith(func(w http.ResponseWriter) { s.problem(w, status, "INTERNAL", "Internal error") })
}

func (s *Server) failWith(fail func(http.ResponseWriter)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = fail
}

// rules are what a provider's documentation says of a request.
type rules struct {
	method, path, header, prefix string
	badKey, badField             int             // status
	words                        string          // field with the words to search for
	fields                       map[string]rule // all that there are
}

// rule says whether a value fits.
type rule func(value any) bool

func text(value any) bool { s, ok := value.(string); return ok && s != "" }

func oneOf(allowed ...string) rule {
	return func(value any) bool { s, ok := value.(string); return ok && slices.Contains(allowed, s) }
}

func number(least, most int) rule {
	return func(value any) bool {
		n, ok := value.(float64)
		if s, isText := value.(string); isText { // a parameter
			i, err := strconv.Atoi(s)
			n, ok = float64(i), err == nil
		}
		return ok && n == float64(int(n)) && int(n) >= least && int(n) <= most
	}
}

func moment(value any) bool {
	s, _ := value.(string)
	_, err := time.Parse(time.RFC3339, s)
	return err == nil
}

func contents(value any) bool {
	fields, ok := value.(map[string]any)
	for name := range fields {
		ok = ok && slices.Contains([]string{"text", "highlights", "summary"}, name)
	}
	return ok
}

func (s *Server) rules() (rules, bool) {
	r, ok := map[string]rules{
		"brave": {
			method: http.MethodGet, path: "/res/v1/web/search", header: "X-Subscription-Token", badKey: 422, badField: 422, words: "q",
			fields: map[string]rule{
				"q": text, "count": number(1, 20), "offset": number(0, 9), "safesearch": oneOf("off", "moderate", "strict"),
				"freshness": oneOf("pd", "pw", "pm", "py"), "text_decorations": oneOf("true", "false"), "result_filter": oneOf("web"),
				"search_lang": oneOf("en", "en-gb", "de", "fr", "ru", "zh-hans", "zh-hant", "jp", "pt-br", "pt-pt"), "country": text,
			},
		},
		"tavily": {
			method: http.MethodPost, path: "/search", header: "Authorization", prefix: "Bearer ", badKey: 401, badField: 400, words: "query",
			fields: map[string]rule{
				"query": text, "max_results": number(0, 20), "time_range": oneOf("day", "week", "month", "year"),
				"search_depth": oneOf("basic", "advanced"), "topic": oneOf("general", "news", "finance"),
			},
		},
		"exa": {
			method: http.MethodPost, path: "/search", header: "X-Api-Key", badKey: 401, badField: 400, words: "query",
			fields: map[string]rule{
				"query": text, "numResults": number(1, 100), "type": oneOf("auto", "fast", "deep"), "contents": contents,
				"startPublishedDate": moment, "endPublishedDate": moment,
			},
		},
		"serper": {
			method: http.MethodPost, path: "/search", header: "X-Api-Key", badKey: 403, badField: 400, words: "q",
			fields: map[string]rule{
				"q": text, "num": number(1, 100), "page": number(1, 100), "gl": text, "hl": text,
				"tbs": oneOf("qdr:h", "qdr:d", "qdr:w", "qdr:m", "qdr:y"),
			},
		},
	}[s.provider]
	return r, ok
}

// ServeHTTP answers one search.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rules, _ := s.rules()
	switch {
	case r.URL.Path != rules.path:
		s.problem(w, http.StatusNotFound, "NOT_FOUND", "Not found")
		return
	case r.Method != rules.method:
		s.problem(w, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "Method not allowed")
		return
	case r.Header.Get(rules.header) != rules.prefix+Key:
		code := map[string]string{"brave": "SUBSCRIPTION_TOKEN_INVALID", "exa": "INVALID_API_KEY"}[s.provider]
		s.problem(w, rules.badKey, code, "Unauthorized: missing or invalid API key.")
		return
	}
	s.mu.Lock()
	fail := s.fail
	s.mu.Unlock()
	if fail != nil {
		fail(w)
		return
	}
	fields, err := read(r)
	for name, value := range fields {
		if rule := rules.fields[name]; err == nil && (rule == nil || !rule(value)) {
			err = fmt.Errorf("%s is unknown or has a wrong value: %v", name, value)
		}
	}
	words, _ := fields[rules.words].(string)
	if err == nil && words == "" {
		err = fmt.Errorf("%s is missing", rules.words)
	}
	if err != nil {
		s.problem(w, rules.badField, "VALIDATION", err.Error())
		return
	}
	s.mu.Lock()
	s.searches = append(s.searches, Search{words, fields})
	s.mu.Unlock()
	s.write(w, http.StatusOK, s.found())
}

// read returns the parameters of a GET or the fields of a POST.
func read(r *http.Request) (map[string]any, error) {
	fields := map[string]any{}
	for name, values := range r.URL.Query() {
		if len(values) != 1 || r.Method != http.MethodGet {
			return nil, fmt.Errorf("the parameter %s is set %d times", name, len(values))
		}
		fields[name] = values[0]
	}
	if r.Method == http.MethodGet {
		return fields, nil
	}
	if media := r.Header.Get("Content-Type"); !strings.HasPrefix(media, "application/json") {
		return nil, fmt.Errorf("Content-Type is %q", media)
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &fields)
	}
	return fields, err
}

// found is the answer in the provider's own form.
func (s *Server) found() any {
	list := make([]map[string]any, len(s.results))
	for i, r := range s.results {
		switch s.provider {
		case "brave":
			list[i] = map[string]any{"type": "search_result", "title": r.Title, "url": r.Address, "description": r.Snippet, "page_age": r.Published, "language": "en"}
		case "tavily":
			list[i] = map[string]any{"title": r.Title, "url": r.Address, "content": r.Snippet, "score": 0.9, "raw_content": nil}
		case "exa":
			list[i] = map[string]any{"id": r.Address, "title": r.Title, "url": r.Address, "publishedDate": r.Published, "author": nil, "highlights": []string{r.Snippet}, "highlightScores": []float64{0.5}}
		default:
			list[i] = map[string]any{"title": r.Title, "link": r.Address, "snippet": r.Snippet, "date": r.Published, "position": i + 1}
		}
	}
	switch s.provider {
	case "brave":
		return map[string]any{"type": "search", "query": map[string]any{"original": "x", "more_results_available": false}, "web": map[string]any{"type": "search", "results": list}}
	case "tavily":
		return map[string]any{"query": "x", "answer": nil, "images": []any{}, "results": list, "response_time": 0.5}
	case "exa":
		return map[string]any{"requestId": "r1", "resolvedSearchType": "neural", "results": list, "costDollars": map[string]any{"total": 0.005}}
	}
	return map[string]any{"searchParameters": map[string]any{"q": "x", "type": "search"}, "organic": list, "relatedSearches": []map[string]any{{"query": "another search"}}, "credits": 1}
}

// problem is an error in the provider's own form.
func (s *Server) problem(w http.ResponseWriter, status int, code, detail string) {
	var body any
	switch s.provider {
	case "brave":
		body = map[string]any{"type": "ErrorResponse", "error": map[string]any{"id": "e1", "status": status, "code": code, "detail": detail}, "time": 1}
	case "tavily":
		body = map[string]any{"detail": map[string]any{"error": detail}}
	case "exa":
		body = map[string]any{"requestId": "r1", "error": detail, "tag": code}
	default:
		body = map[string]any{"message": detail, "statusCode": status}
	}
	s.write(w, status, body)
}

func (*Server) write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
