package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"legwork/tasks/api"
	"legwork/tasks/policy"
	"legwork/web/problem"
)

// operation describes one call of the API.
type operation struct {
	method, path string
	id           string
	summary      string
	text         string    // the rest of the description
	op           policy.Op // decides which roles may call; empty: all
	tag          string
	status       int // of success; 0: 200
	also         []reply
	problems     []problem.Code // beside those of its method and path
	body         any            // an example; nil: there is none
	answer       any            // an example
	upload       bool           // the body is a file
	binary       bool           // the answer is the content of a file
	waits        bool           // understands the header Prefer
	long         bool           // may take as long as maxWait
}

// reply is a second kind of success.
type reply struct {
	status   int
	text     string
	withBody bool // the same as the usual one
}

// register adds an operation with its handler. Errors of the handler become problems.
func register[I, O any](c *calls, h huma.API, o operation, handle func(context.Context, *I) (*O, error)) {
	op := o.huma(c, h.OpenAPI().Components)
	c.ops[o.method+" "+o.path] = o.op
	if !o.upload {
		op.Middlewares = append(op.Middlewares, refuseUnused)
	}
	if o.body != nil {
		op.Middlewares = append(op.Middlewares, strictFields(h.OpenAPI()))
	}
	huma.Register(h, op, func(ctx context.Context, in *I) (*O, error) {
		decoded(ctx)
		out, err := handle(ctx, in)
		if err != nil {
			return nil, c.toProblem(ctx, o.method, err)
		}
		return out, nil
	})
	item := h.OpenAPI().Paths[o.path]
	documented := map[string]*huma.Operation{http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodPatch: item.Patch, http.MethodDelete: item.Delete}[o.method]
	o.describe(documented)
	for _, p := range documented.Parameters {
		if p.In == "query" && p.Schema.Type == huma.TypeArray {
			c.lists[p.Name] = true
		}
	}
}

// huma is the operation for the library. checkBody has read the body before, so that
// huma sets no limits on reading: a limit of time would end long polls.
func (o operation) huma(c *calls, shared *huma.Components) huma.Operation {
	o.status = cmp.Or(o.status, http.StatusOK)
	op := huma.Operation{
		OperationID: o.id, Method: o.method, Path: o.path, Summary: o.summary, Tags: []string{o.tag},
		Description:   o.text + "\n\nRoles: " + roles(o.op) + ".",
		DefaultStatus: o.status, MaxBodyBytes: -1, BodyReadTimeout: -1,
		Security:  []map[string][]string{{"token": {}}},
		Responses: map[string]*huma.Response{},
	}
	for status, problems := range o.allProblems() {
		op.Responses[strconv.Itoa(status)] = problemResponse(shared, problems)
	}
	if o.waits {
		op.Middlewares = append(op.Middlewares, func(ctx huma.Context, next func(huma.Context)) {
			c.extendDeadlines(ctx, preferredWait(ctx.Header("Prefer")))
			next(ctx)
		})
	}
	if o.long {
		op.Middlewares = append(op.Middlewares, func(ctx huma.Context, next func(huma.Context)) {
			c.extendDeadlines(ctx, maxWait)
			next(ctx)
		})
	}
	return op
}

// roles lists the roles that may call an operation.
func roles(op policy.Op) string {
	var may []string
	for _, role := range policy.Roles() {
		switch {
		case op == "" || role.May(op) == policy.Always:
			may = append(may, string(role))
		case role.May(op) == policy.Own:
			may = append(may, string(role)+" (only what it started itself)")
		}
	}
	return strings.Join(may, ", ")
}

// allProblems are the problems that an operation can answer with, by status.
func (o operation) allProblems() map[int][]problem.Code {
	all := append([]problem.Code{problem.Unauthorized, problem.Forbidden, problem.Host, problem.Invalid, problem.Many, problem.Internal, problem.Stopping}, o.problems...)
	if strings.Contains(o.path, "{") {
		all = append(all, problem.NotFound, problem.Damaged)
	}
	if o.method != http.MethodGet {
		all = append(all, problem.Origin, problem.Malformed, problem.Slow, problem.Large, problem.Media, problem.Full)
	}
	by := map[int][]problem.Code{}
	for _, one := range all {
		status := one.Status()
		by[status] = append(by[status], one)
	}
	return by
}

// checkRole refuses an operation that the role of the token may never call. It is the
// first check, so that the rest of such a request is not even read.
func (c *calls) checkRole(r *http.Request) *problem.Error {
	op := c.ops[r.Pattern]
	if err := api.Caller(r.Context()).Allowed(op); op != "" && err != nil {
		return problem.New(problem.Forbidden, api.Sentence(err))
	}
	return nil
}

// queries are the names of the query parameters of an operation.
func queries(o *huma.Operation) []string {
	var names []string
	for _, p := range o.Parameters {
		if p.In == "query" {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}

// extendDeadlines extends the deadlines of the server for a request that may take a
// while. Writing the reply still has a limit.
func (c *calls) extendDeadlines(ctx huma.Context, wait time.Duration) {
	if wait > 0 {
		_, w := humago.Unwrap(ctx)
		rc := http.NewResponseController(w)
		_ = rc.SetReadDeadline(time.Time{}) // a server without deadlines returns an error
		_ = rc.SetWriteDeadline(time.Now().Add(wait + c.WriteTimeout))
	}
}

// maxWait is the longest time that a request can wait.
const maxWait = 300 * time.Second

// forever is longer than any connection lasts.
const forever = 10 * 365 * 24 * time.Hour

// preferredWait is the time that a Prefer header asks for (RFC 7240), at most
// maxWait. An unknown preference is ignored.
func preferredWait(prefer string) time.Duration {
	for preference := range strings.SplitSeq(prefer, ",") {
		preference, _, _ = strings.Cut(preference, ";")
		name, value, _ := strings.Cut(preference, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "wait") {
			continue
		}
		seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 31)
		if err != nil {
			return 0
		}
		return min(time.Duration(seconds)*time.Second, maxWait)
	}
	return 0
}

// applied is the Preference-Applied header of a wait; empty for none.
func applied(wait time.Duration) string {
	if wait == 0 {
		return ""
	}
	return "wait=" + strconv.Itoa(int(wait/time.Second))
}

// waitContext returns a context that ends after a while (0: never), with the request,
// or when the process begins to stop. The function must be called in the end.
func (c *calls) waitContext(ctx context.Context, wait time.Duration) (context.Context, func()) {
	wait = cmp.Or(wait, forever)
	return api.WaitContext(ctx, wait, c.Stop)
}
