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

// checkHeaders makes one line of each header that is a list, and refuses others
// that are there more than once, and those of which an empty one would pass for
// none: a program whose variable is empty means to be protected.
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

// unused refuses what a change does not look at, though who sent it may rely on it:
// conditions, and a body.
func unused(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	if wrong := unusedBy(ctx.Operation(), r); wrong != nil {
		wrong.Write(w)
		return
	}
	next(ctx)
}

func unusedBy(op *huma.Operation, r *http.Request) *problem.Error {
	if op.Method == http.MethodGet {
		return nil
	}
	for _, name := range []string{"If-Match", "If-None-Match"} {
		if r.Header.Get(name) != "" && !takes(op, name) {
			return invalid("header."+name, "this call is not done under this condition; leave it out")
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

func takes(op *huma.Operation, header string) bool {
	return slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.In == "header" && p.Name == header })
}

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

// exact refuses fields whose names differ from those of the document in case
// alone, and a null for what is no null. The library takes the ones for the same,
// and of two would take one, and the other for a field that is left out.
func exact(d *huma.OpenAPI) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(ctx)
		raw, err := io.ReadAll(r.Body) // which checkBody has read already
		r.Body = readOnce(raw)
		media := ctx.Operation().RequestBody.Content["application/json"]
		if err == nil {
			if wrong := inexact(d.Components.Schemas, media.Schema, raw, "body"); len(wrong) > 0 {
				p := invalid("", "")
				p.Errors = wrong
				p.Write(w)
				return
			}
		}
		next(ctx)
	}
}

// Bounds of what the library looks at. It lists every mistake that there is, and of
// what is of no use it makes values first.
const (
	maxWrong = 20       // mistakes that are told
	maxAny   = 64 << 10 // bytes of a field of any kind
)

// inexact lists the fields of an object and of those in it that are not of its
// schema, and what is longer than it may be; at most so many as are told.
func inexact(all huma.Registry, s *huma.Schema, raw []byte, at string) []problem.Wrong {
	s = resolved(all, s)
	fields, ok := object(raw)
	switch {
	case s.MaxItems != nil && longer(raw, *s.MaxItems):
		return []problem.Wrong{{Location: at, Message: fmt.Sprintf("expected at most %d values", *s.MaxItems)}}
	case s.MaxProperties != nil && len(fields) > *s.MaxProperties:
		return []problem.Wrong{{Location: at, Message: fmt.Sprintf("expected object with at most %d properties", *s.MaxProperties)}}
	case !ok || s.AdditionalProperties != false:
		return nil
	}
	var wrong []problem.Wrong
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if len(wrong) >= maxWrong {
			break
		}
		field, known := s.Properties[name]
		value, at := fields[name], at+"."+clip.Line(name, 100)
		switch {
		case !known:
			wrong = append(wrong, problem.Wrong{Location: at, Message: "unexpected property; " + allowed(slices.Sorted(maps.Keys(s.Properties)))})
		case string(value) == "null" && resolved(all, field).Type != "" && !field.Nullable:
			wrong = append(wrong, problem.Wrong{Location: at, Message: "expected " + resolved(all, field).Type + ", not null; leave it out"})
		case resolved(all, field).Type == "" && len(value) > maxAny:
			wrong = append(wrong, problem.Wrong{Location: at, Message: fmt.Sprintf("has %d bytes; at most %d are allowed", len(value), maxAny)})
		default:
			wrong = append(wrong, inexact(all, field, value, at)...)
		}
	}
	return wrong
}

// longer reports whether raw is a list of more than so many values.
func longer(raw []byte, most int) bool {
	list := json.NewDecoder(bytes.NewReader(raw))
	if t, err := list.Token(); err != nil || t != json.Delim('[') {
		return false
	}
	n := 0
	for n <= most && list.More() && list.Decode(new(json.RawMessage)) == nil {
		n++
	}
	return n > most
}

// resolved is the schema that one refers to, or itself.
func resolved(all huma.Registry, s *huma.Schema) *huma.Schema {
	if s.Ref != "" {
		return all.SchemaFromRef(s.Ref)
	}
	return s
}
