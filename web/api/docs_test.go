package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"legwork/tasks/contexts"
	"legwork/web/api"
)

var update = flag.Bool("update", false, "write docs.html and docs/openapi.json anew")

// TestDocsAreUpToDate: the page and the copy of the document in the repository are
// those of the code.
func TestDocsAreUpToDate(t *testing.T) {
	a := api.New(api.Config{Service: contexts.New(contexts.Config{})})
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

func TestDocs(t *testing.T) {
	a := api.New(api.Config{Service: contexts.New(contexts.Config{}), Version: "1.2.3", Public: "https://bot.example.com/"})
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
}
