// Package console is the page in the browser: its bundled files and their headers.
// The files come from src; "make console" bundles them.
package console

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed dist
var embedded embed.FS

// policy allows a page only files and calls of legwork itself, and no script or style
// inside the page. Pictures of messages are shown from memory (blob:).
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; connect-src 'self'; " +
	"worker-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Handler serves the page below /console/. Every path that is no file has the page
// itself, which shows what the path names.
func Handler() http.Handler {
	files, err := fs.Sub(embedded, "dist")
	if err != nil {
		panic(err) // the name is constant
	}
	return handler{files}
}

type handler struct{ files fs.FS }

// ServeHTTP implements http.Handler.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	below := strings.TrimPrefix(r.URL.Path, "/console/")
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	if content, err := fs.ReadFile(h.files, below); err == nil && below != index {
		if strings.HasPrefix(below, "assets/") {
			header.Set("Cache-Control", "public, max-age=31536000, immutable") // the name changes with the content
		} else {
			header.Set("Cache-Control", "no-cache")
		}
		write(w, r, mediaType(below), content)
		return
	}
	if strings.HasPrefix(below, "assets/") { // of another version
		http.NotFound(w, r)
		return
	}
	content, err := fs.ReadFile(h.files, index)
	if err != nil {
		http.Error(w, "the page is missing in this build; make console bundles it", http.StatusInternalServerError)
		return
	}
	header.Set("Cache-Control", "no-cache")
	write(w, r, "text/html; charset=utf-8", bytes.ReplaceAll(content, []byte("ROOT/"), []byte(root(r.URL.EscapedPath()))))
}

const index = "index.html"

// root leads from a path of the page back to /console/. Links are relative because a
// proxy may serve legwork below a path. The path is the one that browsers see: "1%2Fa" is
// one step in it.
func root(escaped string) string {
	if up := strings.Count(strings.TrimPrefix(escaped, "/console/"), "/"); up > 0 {
		return strings.Repeat("../", up)
	}
	return "./"
}

func mediaType(name string) string {
	switch path.Ext(name) { // as the standard says, whatever the machine's table has
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// write sends a file, compressed where the browser takes that and it is a gain.
func write(w http.ResponseWriter, r *http.Request, kind string, content []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Vary", "Accept-Encoding")
	if len(content) > 1000 && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		var small bytes.Buffer
		z := gzip.NewWriter(&small)
		_, _ = z.Write(content) // a buffer takes everything
		_ = z.Close()
		content = small.Bytes()
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodGet {
		_, _ = w.Write(content) // the client may be gone
	}
}
