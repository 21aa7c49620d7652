package console_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"legwork/internal/test/need"
	"legwork/web/console"
)

// TestBundleFitsSources holds that make console would change nothing.
func TestBundleFitsSources(t *testing.T) {
	need.Check(t)
	out := filepath.Join(t.TempDir(), "dist")
	build := exec.CommandContext(t.Context(), "go", "run", ".", "-out", out)
	build.Dir = "build"
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("bundling: %v\n%s", err, text)
	}
	want, got := tree(t, out), tree(t, "dist")
	for name, content := range want {
		if got[name] != content {
			t.Errorf("dist/%s does not fit the sources: run make console", name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("dist/%s is not made from the sources: run make console", name)
		}
	}
}

func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	files, err := filepath.Glob(filepath.Join(dir, "*.*"))
	if err != nil {
		t.Fatal(err)
	}
	assets, err := filepath.Glob(filepath.Join(dir, "assets", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range slices.Concat(files, assets) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.ToSlash(name)] = string(content)
	}
	return all
}

func TestHandler(t *testing.T) {
	t.Parallel()
	assets, err := filepath.Glob("dist/assets/main-*.js")
	if err != nil || len(assets) != 1 {
		t.Fatalf("finding the script: got %q and %v, want one file", assets, err)
	}
	script := strings.TrimPrefix(filepath.ToSlash(assets[0]), "dist/")
	for _, c := range []struct {
		method, path string
		status       int
		kind, cache  string
		holds        string
	}{
		{"GET", "/console/", 200, "text/html; charset=utf-8", "no-cache", `src="./` + script},
		{"GET", "/console/chat/01", 200, "text/html; charset=utf-8", "no-cache", `src="../` + script},
		{"GET", "/console/tasks/1/steps/2", 200, "text/html; charset=utf-8", "no-cache", `src="../../../` + script},
		{"GET", "/console/tasks/1/subtasks/1%2Fa", 200, "text/html; charset=utf-8", "no-cache", `src="../../../` + script},
		{"GET", "/console/../../etc/passwd", 200, "text/html; charset=utf-8", "no-cache", "<noscript>"},
		{"GET", "/console/index.html", 200, "text/html; charset=utf-8", "no-cache", "<noscript>"},
		{"HEAD", "/console/", 200, "text/html; charset=utf-8", "no-cache", ""},
		{"GET", "/console/" + script, 200, "text/javascript; charset=utf-8", "public, max-age=31536000, immutable", ""},
		{"GET", "/console/icon.svg", 200, "image/svg+xml", "no-cache", "<svg"},
		{"GET", "/console/assets/main-OLD.js", 404, "text/plain; charset=utf-8", "", ""},
		{"POST", "/console/", 405, "", "", ""},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), c.method, "/", http.NoBody)
		r.URL.Path = c.path
		console.Handler().ServeHTTP(w, r)
		header := w.Header()
		if w.Code != c.status || header.Get("Content-Type") != c.kind || header.Get("Cache-Control") != c.cache || !strings.Contains(w.Body.String(), c.holds) {
			t.Errorf("%s %s: got %d %v with %.80q, want %d, %s, %s, %q", c.method, c.path, w.Code, header, w.Body, c.status, c.kind, c.cache, c.holds)
		}
		if csp := header.Get("Content-Security-Policy"); c.status < 400 && (!strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe")) {
			t.Errorf("%s %s: the policy is %q", c.method, c.path, csp)
		}
	}
}

// TestTypes checks the types of the sources. The bundler drops them unread.
func TestTypes(t *testing.T) {
	check := exec.CommandContext(t.Context(), need.NPM(t, "tsc"), "--project", "src")
	if text, err := check.CombinedOutput(); err != nil {
		t.Errorf("checking types: %v\n%s", err, text)
	}
}
