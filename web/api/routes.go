package api

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"legwork/web/problem"
)

// clean reports whether a path is as it is documented; the mux would redirect
// others.
func clean(p string) bool { return path.Clean(p) == p }

// unrouted answers requests that lead to no call. What the mux would answer tells
// whether another method would have led to one.
func (a *API) unrouted(w http.ResponseWriter, r *http.Request, mux http.Handler) {
	probe := &headers{header: http.Header{}}
	if clean(r.URL.Path) {
		mux.ServeHTTP(probe, r)
	}
	allow := probe.header.Get("Allow")
	if allow == "" {
		problem.New(problem.NotFound, "There is no call at this address; /docs lists all of them.").Write(w)
		return
	}
	problem.WriteMethod(w, r, allow)
}

// headers keeps the headers of a reply and nothing else.
type headers struct{ header http.Header }

// Header implements http.ResponseWriter.
func (h *headers) Header() http.Header { return h.header }

// Write implements http.ResponseWriter.
func (h *headers) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements http.ResponseWriter.
func (h *headers) WriteHeader(int) {}

// maxValues is how many values a parameter may have.
const maxValues = 100

// checkQuery refuses what would be read one way by some and another by others, and
// what has more mistakes than anybody reads. Of a list that is given value by value,
// as many clients write it, it makes one parameter.
func (c *calls) checkQuery(r *http.Request) *problem.Error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return problem.New(problem.Invalid, "The query of the address cannot be read: write it as name=value&name=value with percent encoding.")
	}
	if len(query) > maxWrong {
		return invalid("query", fmt.Sprintf("has %d parameters; no call takes more than %d", len(query), maxWrong))
	}
	apart := false
	for name, values := range query {
		if len(values) > 1 && !c.lists[name] {
			return invalid("query."+name, "given more than once")
		}
		value := strings.Join(values, ",")
		if n := strings.Count(value, ",") + 1; n > maxValues {
			return invalid("query."+name, fmt.Sprintf("has %d values; at most %d are allowed", n, maxValues))
		}
		if !readable(name) || !readable(value) {
			return invalid("query", "has a NUL, or is not UTF-8")
		}
		if len(values) > 1 {
			apart = true
			query.Set(name, value)
		}
	}
	if apart {
		joined := *r.URL
		joined.RawQuery = query.Encode()
		r.URL = &joined
	}
	return nil
}

// readable reports whether a text is one that journals can hold.
func readable(text string) bool {
	return strings.ToValidUTF8(text, "") == text && !strings.ContainsRune(text, 0)
}
