package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"legwork/tasks/api"
	webapi "legwork/web/api"
)

var update = flag.Bool("update", false, "write docs.html and docs/openapi.json")

// TestDocsAreUpToDate: the page and the document in the repository are those that the
// code makes.
func TestDocsAreUpToDate(t *testing.T) {
	a := webapi.New(webapi.Config{Service: api.New(api.Config{})})
	raw, err := a.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, raw, "", "  "); err != nil {
		t.Fatal(err)
	}
	for path, now := range map[string][]byte{"docs.html": render(t, raw), "../../docs/openapi.json": append(pretty.Bytes(), '\n')} {
		if *update {
			if err := os.WriteFile(path, now, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if stored, err := os.ReadFile(path); err != nil || !bytes.Equal(stored, now) {
			t.Errorf("%s is not what the code makes (%v); run go test ./web/api -update", path, err)
		}
	}
}

// TestEnums: requests may name exactly the values that the service knows.
func TestEnums(t *testing.T) {
	raw, err := webapi.New(webapi.Config{Service: api.New(api.Config{})}).OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	type schema struct {
		Enum  []string
		Items *schema
	}
	var d struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name, In string
				Schema   schema
			}
		}
		Components struct {
			Schemas map[string]struct{ Properties map[string]json.RawMessage }
		}
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	known := map[string][]string{"type": api.Types(), "state": api.States(), "by": api.UsageKeys()}
	met := map[string]int{}
	for path, methods := range d.Paths {
		for method, call := range methods {
			for _, p := range call.Parameters {
				if p.In != "query" || known[p.Name] == nil {
					continue
				}
				met[p.Name]++
				if p.Schema.Items == nil || !slices.Equal(p.Schema.Items.Enum, known[p.Name]) {
					t.Errorf("%s %s: %s is one of %+v, want %v", method, path, p.Name, p.Schema, known[p.Name])
				}
			}
		}
	}
	if met["type"] != 3 || met["state"] != 1 || met["by"] != 1 {
		t.Errorf("met %v", met)
	}
	var added schema
	if err := json.Unmarshal(d.Components.Schemas["NewMessage"].Properties["type"], &added); err != nil || !slices.Equal(added.Enum, api.Addable()) {
		t.Errorf("messages of the types %v can be added (%v), want %v", added.Enum, err, api.Addable())
	}
}

func TestDocs(t *testing.T) {
	a := webapi.New(webapi.Config{Service: api.New(api.Config{}), Version: "1.2.3", Public: "https://bot.example.com/"})
	get := func(method, path string) (*httptest.ResponseRecorder, string) {
		w := httptest.NewRecorder()
		a.Docs().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody))
		return w, w.Body.String()
	}
	page, text := get("GET", "/docs")
	if page.Code != 200 || page.Header().Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(page.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("got %d %v", page.Code, page.Header())
	}
	if found := regexp.MustCompile(`(?i)<script|\son\w+=|(src|href)="?(https?:)?//`).FindString(text); found != "" {
		t.Errorf("the page has %q: it must need nothing from elsewhere", found)
	}
	var d struct {
		OpenAPI string
		Info    struct{ Version string }
		Servers []struct{ URL string }
		Paths   map[string]map[string]struct{ OperationID string }
	}
	document, raw := get("GET", "/openapi.json")
	if err := json.Unmarshal([]byte(raw), &d); err != nil || document.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("reading the document (%s): %v", document.Header().Get("Content-Type"), err)
	}
	if d.OpenAPI != "3.1.0" || d.Info.Version != "1.2.3" || len(d.Servers) != 1 || d.Servers[0].URL != "https://bot.example.com" {
		t.Errorf("got %+v", d)
	}
	for path, methods := range d.Paths {
		for method, call := range methods {
			if !strings.Contains(text, `id="`+call.OperationID+`"`) {
				t.Errorf("%s %s is not on the page", method, path)
			}
		}
	}
	for _, c := range []struct {
		method, path string
		status       int
	}{{"HEAD", "/docs", 200}, {"POST", "/docs", 405}, {"GET", "/docs/", 404}, {"GET", "/docs/app.js", 404}} {
		if got, _ := get(c.method, c.path); got.Code != c.status {
			t.Errorf("%s %s: got %d, want %d", c.method, c.path, got.Code, c.status)
		}
	}
	for _, first := range []*httptest.ResponseRecorder{page, document} {
		tag := first.Header().Get("ETag")
		for known, status := range map[string]int{tag: 304, "W/" + tag: 304, `"another"`: 200} {
			path := map[bool]string{true: "/docs", false: "/openapi.json"}[first == page]
			again := httptest.NewRequestWithContext(t.Context(), "GET", path, http.NoBody)
			again.Header.Set("If-None-Match", known)
			w := httptest.NewRecorder()
			a.Docs().ServeHTTP(w, again)
			if w.Code != status || (w.Body.Len() == 0) != (status == 304) || w.Header().Get("ETag") != tag {
				t.Errorf("%s when %s is known: got %d %v, want %d", path, known, w.Code, w.Header(), status)
			}
		}
	}
}

// TestCallsAreDescribed: docs/api.md names every call.
func TestCallsAreDescribed(t *testing.T) {
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := webapi.New(webapi.Config{Service: api.New(api.Config{})}).OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var d struct{ Paths map[string]any }
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	value := regexp.MustCompile(`\\\{\w+\\\}`)
	for path := range d.Paths {
		if !regexp.MustCompile(value.ReplaceAllString(regexp.QuoteMeta(path), `\$?[A-Z]+`)).Match(page) {
			t.Errorf("%s is not in docs/api.md", path)
		}
	}
}

// TestDocumentIsEncodedOnce: anybody may fetch the document as often as they like.
func TestDocumentIsEncodedOnce(t *testing.T) {
	a := webapi.New(webapi.Config{Service: api.New(api.Config{})})
	ask := func() {
		a.Docs().ServeHTTP(&discard{http.Header{}}, httptest.NewRequestWithContext(t.Context(), "GET", "/openapi.json", http.NoBody))
	}
	ask()
	if allocated := testing.AllocsPerRun(10, ask); allocated > 100 {
		t.Errorf("the document takes %.0f allocations each time it is read", allocated)
	}
}

// discard is a writer that discards the reply.
type discard struct{ header http.Header }

func (n *discard) Header() http.Header         { return n.header }
func (n *discard) Write(b []byte) (int, error) { return len(b), nil }
func (n *discard) WriteHeader(int)             {}
