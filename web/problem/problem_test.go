package problem_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"testing"

	"legwork/web/problem"
)

// TestDocumented: docs/api.md has a row for every code, under its status.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range problem.Codes() {
		if row := fmt.Sprintf("(?m)^\\| %d \\|.*`%s`", c.Status(), c); !regexp.MustCompile(row).Match(page) {
			t.Errorf("docs/api.md has no row for %d %s", c.Status(), c)
		}
	}
}

func TestWrite(t *testing.T) {
	p := problem.New(problem.Precondition, "Read it again.")
	p.Version = new(3)
	p.GetHeaders().Set("ETag", `"3"`)
	for _, c := range []struct {
		write  func(http.ResponseWriter)
		status int
		header http.Header
		body   string
	}{
		{
			p.Write, 412,
			http.Header{"Etag": {`"3"`}},
			`{"type":"urn:legwork:problem:precondition_failed","title":"It has changed meanwhile","status":412,"code":"precondition_failed","detail":"Read it again.","version":3}` + "\n",
		},
		{
			problem.New(problem.Many, "a=1&b=<2>").Write, 429,
			http.Header{"Retry-After": {"5"}},
			`{"type":"urn:legwork:problem:too_many_requests","title":"Too much at once","status":429,"code":"too_many_requests","detail":"a=1&b=<2>"}` + "\n",
		},
	} {
		w := httptest.NewRecorder()
		c.write(w)
		if w.Code != c.status || w.Body.String() != c.body || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("got %d %v %s, want %d %s", w.Code, w.Header(), w.Body, c.status, c.body)
		}
		for name := range c.header {
			if got, want := w.Header().Get(name), c.header.Get(name); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
	}
}

func TestWriteMethod(t *testing.T) {
	for method, status := range map[string]int{http.MethodDelete: 405, http.MethodOptions: 204} {
		w := httptest.NewRecorder()
		problem.WriteMethod(w, httptest.NewRequestWithContext(t.Context(), method, "/x", nil), "GET, HEAD")
		if w.Code != status || w.Header().Get("Allow") != "GET, HEAD" || (w.Body.Len() == 0) != (status == 204) {
			t.Errorf("%s: got %d %v %s, want %d", method, w.Code, w.Header(), w.Body, status)
		}
	}
}
