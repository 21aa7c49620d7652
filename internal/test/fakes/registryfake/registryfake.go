// Package registryfake is an MCP registry on a real socket, with the API that
// modelcontextprotocol/registry documents in docs/reference/api/openapi.yaml (v0.1). It is
// strict: it refuses unknown paths, methods and parameters.
package registryfake

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Server is a registry.
type Server struct {
	URL string

	mu       sync.Mutex
	entries  []Entry
	page     int // the most entries of one page
	fault    func(w http.ResponseWriter, r *http.Request)
	requests []string
}

// Entry is a version of a server.
type Entry struct {
	Document string // server.json
	Status   string // active, deprecated or deleted; empty: the answer has no metadata
	Message  string // about the status
}

// New starts a registry that knows some servers, each in its newest version.
func New(t testing.TB, entries ...Entry) *Server {
	t.Helper()
	s := &Server{entries: entries, page: 30}
	for _, e := range entries {
		var document map[string]any
		if err := json.Unmarshal([]byte(e.Document), &document); err != nil {
			t.Fatalf("the document is not JSON: %v\n%s", err, e.Document)
		}
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Paged sets how many entries a page has at most.
func (s *Server) Paged(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.page = n
}

// Fail lets a fault answer all requests.
func (s *Server) Fail(fault func(w http.ResponseWriter, r *http.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// Requests are the paths and queries that were asked for.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

var escapedName = regexp.MustCompile(`^/v0\.1/servers/([A-Za-z0-9.-]+%2F[A-Za-z0-9._-]+)/versions/([^/]+)$`)

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.URL.RequestURI())
	fault := s.fault
	s.mu.Unlock()
	path := r.URL.EscapedPath()
	switch {
	case fault != nil:
		fault(w, r)
	case r.Method != http.MethodGet:
		problem(w, http.StatusMethodNotAllowed, "Method not allowed")
	case !strings.Contains(r.Header.Get("Accept"), "application/json"):
		problem(w, http.StatusNotAcceptable, "Not acceptable")
	case path == "/v0.1/servers":
		s.list(w, r.URL.Query())
	case escapedName.MatchString(path):
		parts := escapedName.FindStringSubmatch(path)
		s.one(w, parts[1], parts[2], r.URL.RawQuery)
	default:
		problem(w, http.StatusNotFound, "Not found")
	}
}

func (s *Server) list(w http.ResponseWriter, query url.Values) {
	for key, values := range query {
		if !slices.Contains([]string{"cursor", "limit", "search", "updated_since", "version", "include_deleted"}, key) || len(values) != 1 || values[0] == "" {
			problem(w, http.StatusUnprocessableEntity, "unexpected query parameter "+key)
			return
		}
	}
	limit, from := 30, 0
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 100 {
			problem(w, http.StatusUnprocessableEntity, "expected number from 1 to 100 in limit")
			return
		}
		limit = n
	}
	if text := query.Get("cursor"); text != "" {
		n, err := strconv.Atoi(strings.TrimPrefix(text, "after:/"))
		if err != nil || !strings.HasPrefix(text, "after:/") {
			problem(w, http.StatusBadRequest, "Invalid cursor")
			return
		}
		from = n
	}
	if version := query.Get("version"); version != "latest" {
		problem(w, http.StatusBadRequest, "this fake has newest versions alone")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	page := []any{}
	next := ""
	for i := from; i < len(s.entries); i++ {
		e := s.entries[i]
		if !strings.Contains(strings.ToLower(e.field("name")), strings.ToLower(query.Get("search"))) {
			continue
		}
		if len(page) == min(limit, s.page) {
			next = fmt.Sprintf("after:/%d", i)
			break
		}
		page = append(page, e.response())
	}
	metadata := map[string]any{"count": len(page)}
	if next != "" {
		metadata["nextCursor"] = next
	}
	answer(w, http.StatusOK, map[string]any{"servers": page, "metadata": metadata})
}

func (s *Server) one(w http.ResponseWriter, escaped, version, query string) {
	name, err := url.PathUnescape(escaped)
	if err != nil || query != "" {
		problem(w, http.StatusBadRequest, "Invalid request")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		if e.field("name") == name && (version == "latest" || version == e.field("version")) {
			answer(w, http.StatusOK, e.response())
			return
		}
	}
	problem(w, http.StatusNotFound, "Server not found")
}

func (e Entry) field(key string) string {
	var document map[string]any
	_ = json.Unmarshal([]byte(e.Document), &document) // New has checked it
	text, _ := document[key].(string)
	return text
}

func (e Entry) response() any {
	r := map[string]any{"server": json.RawMessage(e.Document), "_meta": map[string]any{}}
	if e.Status != "" {
		official := map[string]any{
			"status": e.Status, "publishedAt": "2025-12-01T10:30:00Z", "updatedAt": "2025-12-01T11:00:00Z", "statusChangedAt": "2025-12-01T10:30:00Z", "isLatest": true,
		}
		if e.Message != "" {
			official["statusMessage"] = e.Message
		}
		r["_meta"] = map[string]any{"io.modelcontextprotocol.registry/official": official}
	}
	return r
}

// problem is an error as the public registry writes it.
func problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"title": http.StatusText(status), "status": status, "detail": detail})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// Page answers with a web page, as a proxy or a wrong address does.
func Page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, "<!doctype html><title>Sign in</title>")
}
