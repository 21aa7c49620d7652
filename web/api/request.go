package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"legwork/internal/clip"
	"legwork/internal/plainjson"
	"legwork/web/problem"
)

// Limits of a request.
const (
	maxValues   = 100      // of one query parameter
	maxAny      = 64 << 10 // bytes of a field of any type
	maxMistakes = 20       // in one reply
	maxDecoding = 8        // bodies decoded at once: the values of a body can take many times its length in memory
)

// serve checks a request and runs its operation. Handlers see only requests that
// every program understands in the same way.
func (a *API) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	mux := a.routes().mux
	h, pattern := mux.Handler(r)
	if pattern == "" || !isClean(r.URL.Path) {
		writeUnrouted(w, r, h)
		return
	}
	r.Pattern = pattern // the caller of this handler reads it
	for _, check := range []func(*http.Request) *problem.Error{a.calls.checkRole, a.calls.checkQuery, checkHeaders} {
		if p := check(r); p != nil {
			p.Write(w)
			return
		}
	}
	if IsUpload(r) {
		mux.ServeHTTP(w, withUpload(r))
		return
	}
	w, r, release := a.calls.acquireDecoder(w, r)
	if release == nil {
		ended().Write(w)
		return
	}
	defer release()
	if p := checkBody(w, r); p != nil {
		p.Write(w)
		return
	}
	mux.ServeHTTP(w, r)
}

// isClean reports whether a path is as documented. The mux would redirect others.
func isClean(p string) bool { return path.Clean(p) == p }

// writeUnrouted answers a request that leads to no operation. The reply of the mux
// says whether another method would lead to one.
func writeUnrouted(w http.ResponseWriter, r *http.Request, mux http.Handler) {
	probe := headerWriter{}
	if isClean(r.URL.Path) {
		mux.ServeHTTP(probe, r)
	}
	allow := http.Header(probe).Get("Allow")
	if allow == "" {
		problem.New(problem.NotFound, "There is no call at this address; /docs lists all of them.").Write(w)
		return
	}
	problem.WriteMethod(w, r, allow)
}

// headerWriter keeps the headers of a reply and nothing else.
type headerWriter http.Header

// Header implements http.ResponseWriter.
func (h headerWriter) Header() http.Header { return http.Header(h) }

// Write implements http.ResponseWriter.
func (h headerWriter) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements http.ResponseWriter.
func (h headerWriter) WriteHeader(int) {}

// checkQuery refuses a query that programs could understand in different ways, and
// one with more mistakes than anybody reads. It joins the values of a list that
// the client repeats as parameters.
func (c *calls) checkQuery(r *http.Request) *problem.Error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return problem.New(problem.Invalid, "The query of the address cannot be read: write it as name=value&name=value with percent encoding.")
	}
	if len(query) > maxMistakes {
		return invalid("query", fmt.Sprintf("has %d parameters; no call takes more than %d", len(query), maxMistakes))
	}
	repeated := false
	for name, values := range query {
		if len(values) > 1 && !c.lists[name] {
			return invalid("query."+name, "given more than once")
		}
		value := strings.Join(values, ",")
		if n := strings.Count(value, ",") + 1; n > maxValues {
			return invalid("query."+name, fmt.Sprintf("has %d values; at most %d are allowed", n, maxValues))
		}
		if !isStorable(name) || !isStorable(value) {
			return invalid("query", "has a NUL, or is not UTF-8")
		}
		if len(values) > 1 {
			repeated = true
			query.Set(name, value)
		}
	}
	if repeated {
		joined := *r.URL
		joined.RawQuery = query.Encode()
		r.URL = &joined
	}
	return nil
}

// isStorable reports whether journals can hold a text.
func isStorable(text string) bool {
	return strings.ToValidUTF8(text, "") == text && !strings.ContainsRune(text, 0)
}

// checkHeaders joins the lines of headers that are lists and refuses other headers
// that are repeated. It also refuses an empty Idempotency-Key or If-Match: a program
// whose variable is empty wants the protection of the header.
func checkHeaders(r *http.Request) *problem.Error {
	for _, name := range []string{"If-Match", "If-None-Match", "Prefer"} {
		if lines := r.Header.Values(name); len(lines) > 1 {
			r.Header.Set(name, strings.Join(lines, ", "))
		}
	}
	for _, name := range []string{"Content-Encoding", "Content-Type", "Idempotency-Key", "Last-Event-ID"} {
		if len(r.Header.Values(name)) > 1 {
			return invalid("header."+name, "given more than once")
		}
	}
	for _, name := range []string{"Idempotency-Key", "If-Match"} {
		if lines := r.Header.Values(name); len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
			return invalid("header."+name, "is empty; leave it out if it is not meant")
		}
	}
	return nil
}

type decoderKey struct{}

// acquireDecoder waits until the body of a request may be decoded. The place
// is released by decoded or by the first byte of the reply, since a client
// that does not read its reply must not delay others. release is nil when the
// request was canceled meanwhile.
func (c *calls) acquireDecoder(w http.ResponseWriter, r *http.Request) (_ http.ResponseWriter, _ *http.Request, release func()) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return w, r, func() {}
	}
	select {
	case c.decoders <- struct{}{}:
	case <-r.Context().Done():
		return w, r, nil
	}
	release = sync.OnceFunc(func() { <-c.decoders })
	return &releasingWriter{w, release}, r.WithContext(context.WithValue(r.Context(), decoderKey{}, release)), release
}

// decoded releases the decoder of a request whose body was decoded.
func decoded(ctx context.Context) {
	if release, ok := ctx.Value(decoderKey{}).(func()); ok {
		release()
	}
}

// releasingWriter releases the decoder of a request when the reply begins.
type releasingWriter struct {
	http.ResponseWriter
	release func()
}

// WriteHeader implements http.ResponseWriter.
func (w *releasingWriter) WriteHeader(status int) {
	w.release()
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *releasingWriter) Write(b []byte) (int, error) {
	w.release()
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *releasingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

const mergePatch = "application/merge-patch+json"

// checkBody refuses a body that is not JSON, and JSON that programs decode
// differently.
func checkBody(w http.ResponseWriter, r *http.Request) *problem.Error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return problem.New(problem.Malformed, "The body did not arrive completely.")
	}
	if len(raw) == 0 {
		r.Body = http.NoBody
		return nil
	}
	if p := checkMediaType(w, r); p != nil {
		return p
	}
	if err := checkJSON(raw); err != nil {
		p := problem.New(problem.Malformed, "The body must be JSON that every program decodes in the same way.")
		p.Errors = []problem.Mistake{{Location: "body", Message: err.Error()}}
		return p
	}
	r.Body, r.ContentLength = readOnce(raw), int64(len(raw))
	return nil
}

// readOnce is a body that gives up its memory when it was read: many requests wait
// for long after that.
func readOnce(raw []byte) io.ReadCloser {
	return io.NopCloser(io.MultiReader(bytes.NewReader(raw))) // MultiReader drops a reader that is at its end
}

// checkMediaType refuses a body of another type than JSON. A request without
// Content-Type passes.
func checkMediaType(w http.ResponseWriter, r *http.Request) *problem.Error {
	types := []string{"application/json"}
	if r.Method == http.MethodPatch {
		types = append(types, mergePatch)
	}
	unsupported := func(detail string) *problem.Error {
		w.Header().Set("Accept", strings.Join(types, ", "))
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
	if err != nil || !slices.Contains(types, kind) || named && !strings.EqualFold(charset, "utf-8") {
		return unsupported("Send the body with the header Content-Type: " + strings.Join(types, " or ") + ".")
	}
	r.Header.Set("Content-Type", kind)
	return nil
}

func checkJSON(raw []byte) error {
	if !utf8.Valid(raw) {
		return errors.New("it is not UTF-8")
	}
	if err := json.Unmarshal(raw, new(json.RawMessage)); err != nil {
		return fmt.Errorf("it is not JSON: %s", clip.Line(err.Error(), 200))
	}
	if odd := plainjson.Oddity(raw); odd != "" {
		return errors.New(odd)
	}
	return nil
}

// refuseUnused is a middleware of huma that refuses conditions and bodies that an
// operation ignores: the client may rely on them.
func refuseUnused(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	if p := unused(ctx.Operation(), r); p != nil {
		p.Write(w)
		return
	}
	next(ctx)
}

func unused(op *huma.Operation, r *http.Request) *problem.Error {
	if op.Method == http.MethodGet {
		return nil
	}
	for _, name := range []string{"If-Match", "If-None-Match"} {
		taken := slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.In == "header" && p.Name == name })
		if r.Header.Get(name) != "" && !taken {
			return invalid("header."+name, "this call does not take this condition; leave it out")
		}
	}
	if op.RequestBody != nil {
		return nil
	}
	raw, err := io.ReadAll(r.Body)
	if text := strings.TrimSpace(string(raw)); err != nil || text != "" && text != "{}" {
		return invalid("body", "this call takes none; leave it out")
	}
	return nil
}

// strictFields returns a middleware of huma that refuses three mistakes before
// huma decodes the body. encoding/json ignores the case of field names and takes a
// null for a field that is left out; and huma lists every mistake that there is,
// after it has decoded everything.
func strictFields(d *huma.OpenAPI) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(ctx)
		raw, err := io.ReadAll(r.Body) // from memory: checkBody has read it
		r.Body = readOnce(raw)
		media := ctx.Operation().RequestBody.Content["application/json"]
		if err == nil {
			if wrong := fieldMistakes(d.Components.Schemas, media.Schema, raw, "body"); len(wrong) > 0 {
				p := invalid("", "")
				p.Errors = wrong
				p.Write(w)
				return
			}
		}
		next(ctx)
	}
}

// fieldMistakes lists the fields at any depth that a schema does not have, or that
// are longer than it allows, up to maxMistakes.
func fieldMistakes(all huma.Registry, s *huma.Schema, raw []byte, at string) []problem.Mistake {
	s = resolve(all, s)
	fields, ok := object(raw)
	switch {
	case s.MaxItems != nil && longerThan(raw, *s.MaxItems):
		return []problem.Mistake{{Location: at, Message: fmt.Sprintf("expected at most %d values", *s.MaxItems)}}
	case s.MaxProperties != nil && len(fields) > *s.MaxProperties:
		return []problem.Mistake{{Location: at, Message: fmt.Sprintf("expected object with at most %d properties", *s.MaxProperties)}}
	case !ok || s.AdditionalProperties != false:
		return nil
	}
	var wrong []problem.Mistake
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if len(wrong) >= maxMistakes {
			break
		}
		field, known := s.Properties[name]
		value, at := fields[name], at+"."+clip.Line(name, 100)
		switch {
		case !known:
			wrong = append(wrong, problem.Mistake{Location: at, Message: "unexpected property; " + allowed(slices.Sorted(maps.Keys(s.Properties)))})
		case string(value) == "null" && resolve(all, field).Type != "" && !field.Nullable:
			wrong = append(wrong, problem.Mistake{Location: at, Message: "expected " + resolve(all, field).Type + ", not null; leave it out"})
		case resolve(all, field).Type == "" && len(value) > maxAny:
			wrong = append(wrong, problem.Mistake{Location: at, Message: fmt.Sprintf("has %d bytes; at most %d are allowed", len(value), maxAny)})
		default:
			wrong = append(wrong, fieldMistakes(all, field, value, at)...)
		}
	}
	return wrong
}

// longerThan reports whether raw is a list of more than n values, without decoding
// the values.
func longerThan(raw []byte, n int) bool {
	list := json.NewDecoder(bytes.NewReader(raw))
	if t, err := list.Token(); err != nil || t != json.Delim('[') {
		return false
	}
	for i := 0; list.More(); i++ {
		if i == n {
			return true
		}
		if list.Decode(new(json.RawMessage)) != nil {
			return false
		}
	}
	return false
}

// resolve returns the schema that s refers to, or s itself.
func resolve(all huma.Registry, s *huma.Schema) *huma.Schema {
	if s.Ref != "" {
		return all.SchemaFromRef(s.Ref)
	}
	return s
}
