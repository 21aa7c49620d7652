package api

import (
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"legwork/web/problem"
)

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
