package api

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"time"

	"legwork/web/problem"
)

// docsPage tells the document to people. It is made of the document by the tests of
// this package (go test ./web/api -update), so that serving it costs nothing.
//
//go:embed docs.html
var docsPage []byte

// policy lets the page use its own style and nothing else, scripts least of all.
const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// file is what stays the same as long as the process runs.
type file struct {
	kind, tag string
	body      []byte
}

func newFile(kind string, body []byte) file {
	hash := sha256.Sum256(body)
	return file{kind, `"` + hex.EncodeToString(hash[:12]) + `"`, body}
}

// Docs serves /openapi.json and /docs, to everybody.
func (a *API) Docs() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-cache")
		if r.URL.Path != "/openapi.json" && r.URL.Path != "/docs" {
			problem.New(problem.NotFound, "There is no page at this address; /docs is one.").Write(w)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			problem.WriteMethod(w, r, "GET, HEAD")
			return
		}
		p, err := a.docs(), error(nil)
		if r.URL.Path == "/openapi.json" {
			p, err = a.openAPI()
		}
		if err != nil {
			a.calls.Log.ErrorContext(r.Context(), "the document of the API cannot be written", "cause", err)
			problem.New(problem.Internal, "The log says more.").Write(w)
			return
		}
		h.Set("Content-Type", p.kind)
		h.Set("ETag", p.tag)
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(p.body))
	})
}
