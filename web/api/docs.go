package api

import (
	"embed"
	"net/http"
	"strconv"

	"legwork/web/problem"
)

// page tells the document to people. It is made of the document by the tests of
// this package (go test ./web/api -update), so that serving it costs nothing.
//
//go:embed docs.html
var pages embed.FS

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
		body, kind, err := a.page(r.URL.Path)
		if err != nil {
			a.calls.Log.ErrorContext(r.Context(), "the document of the API cannot be written", "cause", err)
			problem.New(problem.Internal, "The log says more.").Write(w)
			return
		}
		h.Set("Content-Type", kind)
		h.Set("Content-Length", strconv.Itoa(len(body)))
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		_, _ = w.Write(body) // who asked may be gone
	})
}

// policy lets the page use its own style and nothing else, scripts least of all.
const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (a *API) page(path string) (body []byte, kind string, err error) {
	if path == "/docs" {
		body, err = pages.ReadFile("docs.html")
		return body, "text/html; charset=utf-8", err
	}
	body, err = a.OpenAPI()
	return body, "application/json", err
}
