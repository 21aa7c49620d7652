package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"legwork/internal/clip"
	"legwork/internal/plainjson"
	"legwork/web/problem"
)

const mergePatch = "application/merge-patch+json"

// checkBody looks at the body of a request, so that the calls get only JSON that
// every program reads alike.
func checkBody(w http.ResponseWriter, r *http.Request) *problem.Error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return problem.New(problem.Malformed, "The body did not arrive whole.")
	}
	if len(raw) == 0 {
		r.Body = http.NoBody
		return nil
	}
	if p := checkMedia(w, r); p != nil {
		return p
	}
	if err := checkJSON(raw); err != nil {
		p := problem.New(problem.Malformed, "The body is no JSON that every program reads alike.")
		p.Errors = []problem.Wrong{{Location: "body", Message: err.Error()}}
		return p
	}
	r.Body, r.ContentLength = readOnce(raw), int64(len(raw))
	return nil
}

// readOnce is a body that is let go of when it was read: many requests wait for
// long after that.
func readOnce(raw []byte) io.ReadCloser {
	return io.NopCloser(io.MultiReader(bytes.NewReader(raw))) // which forgets readers that are at their end
}

// checkMedia refuses bodies that do not say that they are JSON; none at all is
// taken for it.
func checkMedia(w http.ResponseWriter, r *http.Request) *problem.Error {
	allowed := []string{"application/json"}
	if r.Method == http.MethodPatch {
		allowed = append(allowed, mergePatch)
	}
	unsupported := func(detail string) *problem.Error {
		w.Header().Set("Accept", strings.Join(allowed, ", "))
		return problem.New(problem.Media, detail)
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return unsupported("Bodies are taken without Content-Encoding.")
	}
	given := r.Header.Get("Content-Type")
	if given == "" {
		return nil
	}
	kind, params, err := mime.ParseMediaType(given)
	charset, named := params["charset"]
	if err != nil || !slices.Contains(allowed, kind) || named && !strings.EqualFold(charset, "utf-8") {
		return unsupported("Send the body with the header Content-Type: " + strings.Join(allowed, " or ") + ".")
	}
	r.Header.Set("Content-Type", kind)
	return nil
}

// atOnce is how many bodies are made into values at once: short values take many
// times as much memory as they are long.
const atOnce = 8

type turnKey struct{}

// turn waits until a body can be made into values. That ends when read is called or
// the reply begins, since whoever does not take a reply must hold up nobody. end is
// nil for a request that was ended meanwhile.
func (c *calls) turn(w http.ResponseWriter, r *http.Request) (_ http.ResponseWriter, _ *http.Request, end func()) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return w, r, func() {}
	}
	select {
	case c.turns <- struct{}{}:
	case <-r.Context().Done():
		return w, r, nil
	}
	end = sync.OnceFunc(func() { <-c.turns })
	return &turning{w, end}, r.WithContext(context.WithValue(r.Context(), turnKey{}, end)), end
}

// turning is a reply whose beginning ends a turn.
type turning struct {
	http.ResponseWriter
	end func()
}

// WriteHeader implements http.ResponseWriter.
func (t *turning) WriteHeader(status int) {
	t.end()
	t.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (t *turning) Write(b []byte) (int, error) {
	t.end()
	return t.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach what is below.
func (t *turning) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// read says that the body of a request was made into values.
func read(ctx context.Context) {
	if end, ok := ctx.Value(turnKey{}).(func()); ok {
		end()
	}
}

// checkJSON refuses what is no JSON, and what of JSON programs read differently.
func checkJSON(raw []byte) error {
	if !utf8.Valid(raw) {
		return errors.New("it is not UTF-8")
	}
	if err := json.Unmarshal(raw, new(json.RawMessage)); err != nil {
		return fmt.Errorf("it is no JSON: %s", clip.Line(err.Error(), 200))
	}
	if odd := plainjson.Oddity(raw); odd != "" {
		return errors.New(odd)
	}
	return nil
}
