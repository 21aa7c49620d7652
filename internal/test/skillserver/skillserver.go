// Package skillserver is an MCP server for tests that offers skills, of revision
// 2026-07-28 by HTTP. A test can change its files while it runs, and what it lists.
package skillserver

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Server is a running server.
type Server struct {
	URL string

	mu      sync.Mutex
	files   map[string]string // by URI
	entries []map[string]any
	read    []string // URIs that were read
}

// Start starts a server, which ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{files: map[string]string{}}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	s.URL = h.URL
	return s
}

// Offer offers a skill at skill://PATH: a SKILL.md with a description and a text, and
// other files by their paths in its folder. It takes the place of a skill at that path.
func (s *Server) Offer(path, description, text string, others map[string]string) {
	name := path[strings.LastIndexByte(path, '/')+1:]
	folder := "skill://" + path + "/"
	files := map[string]string{folder + "SKILL.md": "---\nname: " + name + "\ndescription: " + description + "\n---\n\n" + text}
	for other, content := range others {
		files[folder+other] = content
	}
	var resources []map[string]any
	for uri, content := range files {
		sum := sha256.Sum256([]byte(content))
		resources = append(resources, map[string]any{"uri": uri, "digest": "sha256:" + hex.EncodeToString(sum[:]), "size": len(content)})
	}
	for uri, content := range files {
		s.Put(uri, content)
	}
	s.List(map[string]any{"uri": folder + "SKILL.md", "frontmatter": map[string]any{"name": name, "description": description}, "resources": resources})
}

// List lists an entry, whatever the files are. It takes the place of that of its URI.
func (s *Server) List(entry map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = slices.DeleteFunc(s.entries, func(e map[string]any) bool { return e["uri"] == entry["uri"] })
	s.entries = append(s.entries, entry)
}

// Put changes a file and leaves what is listed.
func (s *Server) Put(uri, content string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[uri] = content
}

// Read are the URIs that clients have read, in their order.
func (s *Server) Read() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.read)
}

// ServeHTTP answers a request of MCP. Lists have one entry on each page.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			URI    string `json:"uri"`
			Cursor string `json:"cursor"`
		} `json:"params"`
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil || r.Header.Get("Mcp-Method") != m.Method {
		http.Error(w, "not a message, or the header Mcp-Method is not its method", http.StatusBadRequest)
		return
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": m.ID}
	if result := s.answer(m.Method, m.Params.URI, m.Params.Cursor); result != nil {
		answer["result"] = result
	} else {
		answer["error"] = map[string]any{"code": -32602, "message": "there is no such thing here"}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// answer is the result of a request; nil for an error.
func (s *Server) answer(method, uri, cursor string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch method {
	case "server/discover":
		return map[string]any{"supportedVersions": []string{"2026-07-28"}, "capabilities": map[string]any{
			"tools": struct{}{}, "resources": struct{}{}, "extensions": map[string]any{"io.modelcontextprotocol/skills": struct{}{}},
		}}
	case "tools/list":
		return map[string]any{"tools": []any{map[string]any{"name": "do", "description": "Does it.", "inputSchema": map[string]any{"type": "object"}}}}
	case "skills/list":
		at := len(cursor) // "x" for each entry before it
		if at >= len(s.entries) {
			return map[string]any{"skills": []any{}}
		}
		return map[string]any{"skills": s.entries[at : at+1], "nextCursor": cursor + "x"}
	case "resources/read":
		s.read = append(s.read, uri)
		if content, ok := s.files[uri]; ok {
			return map[string]any{"contents": []any{map[string]any{"uri": uri, "mimeType": "text/markdown", "text": content}}}
		}
	}
	return nil
}
