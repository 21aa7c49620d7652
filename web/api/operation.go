package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"legwork/tasks/api"
	"legwork/web/problem"
)

// operation is what the document says of a call.
type operation struct {
	method, path string
	id           string
	summary      string
	text         string // more about it
	does         api.Op // decides which roles may; empty: all
	tag          string
	status       int // of success; 0: 200
	also         []reply
	problems     []problem.Code // beside those that follow from its method and path
	body         any            // an example
	answer       any            // an example
	waits        bool           // with the header Prefer
}

// reply is one that is no problem and no usual success.
type reply struct {
	status int
	text   string
	bodied bool // as the usual one
}

// register leads requests to a handler, and its errors to one place.
func register[I, O any](c *calls, h huma.API, o operation, handle func(context.Context, *I) (*O, error)) {
	op := o.huma(c, h.OpenAPI().Components)
	c.does[o.method+" "+o.path] = o.does
	op.Middlewares = append(op.Middlewares, unused)
	if o.body != nil {
		op.Middlewares = append(op.Middlewares, exact(h.OpenAPI()))
	}
	huma.Register(h, op, func(ctx context.Context, in *I) (*O, error) {
		read(ctx)
		out, err := handle(ctx, in)
		if err != nil {
			return nil, c.failed(ctx, o.method, err)
		}
		return out, nil
	})
	o.describe(h.OpenAPI())
	for _, p := range registered(h.OpenAPI(), o.method, o.path).Parameters {
		if p.In == "query" && p.Schema.Type == huma.TypeArray {
			c.lists[p.Name] = true
		}
	}
}

// huma is the operation as the library has it. The body was read already, by
// checkBody, so no limit is set on reading: one of time would end a request that
// waits for something.
func (o operation) huma(c *calls, shared *huma.Components) huma.Operation {
	if o.status == 0 {
		o.status = http.StatusOK
	}
	op := huma.Operation{
		OperationID: o.id, Method: o.method, Path: o.path, Summary: o.summary, Tags: []string{o.tag},
		Description:   o.text + "\n\nRoles: " + roles(o.does) + ".",
		DefaultStatus: o.status, MaxBodyBytes: -1, BodyReadTimeout: -1,
		Security:  []map[string][]string{{"token": {}}},
		Responses: map[string]*huma.Response{},
	}
	for status, problems := range o.statuses() {
		op.Responses[strconv.Itoa(status)] = problemResponse(shared, problems)
	}
	if o.waits {
		op.Middlewares = append(op.Middlewares, c.patient)
	}
	return op
}

// roles tells which roles may do something.
func roles(op api.Op) string {
	var may []string
	for _, role := range api.Roles() {
		switch {
		case op == "" || role.May(op) == api.Always:
			may = append(may, string(role))
		case role.May(op) == api.Own:
			may = append(may, string(role)+" (only what it started itself)")
		}
	}
	return strings.Join(may, ", ")
}

// statuses are all problems that the call can answer with, by status.
func (o operation) statuses() map[int][]problem.Code {
	all := append([]problem.Code{problem.Unauthorized, problem.Forbidden, problem.Host, problem.Invalid, problem.Many, problem.Internal, problem.Stopping}, o.problems...)
	if len(o.path) > len("/v1/") && hasParameter(o.path) {
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

// permitted looks at the role before anything else of a request: what a token may
// never do need not be sent as documented, and is not read.
func (c *calls) permitted(r *http.Request, pattern string) *problem.Error {
	does := c.does[pattern]
	if err := api.Caller(r.Context()).Allowed(does); does != "" && err != nil {
		return problem.New(problem.Forbidden, api.Sentence(err))
	}
	return nil
}

// queries are the names of the parameters that a call takes in the query.
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

// patient lifts the server's limits from requests that may have to wait; the
// reply still has to go out in time.
func (c *calls) patient(ctx huma.Context, next func(huma.Context)) {
	wait := waiting(ctx.Header("Prefer"))
	if wait > 0 {
		_, w := humago.Unwrap(ctx)
		rc := http.NewResponseController(w)
		_ = rc.SetReadDeadline(time.Time{}) // a server without deadlines needs none lifted
		_ = rc.SetWriteDeadline(soon(wait + c.Patience))
	}
	next(ctx)
}

// soon is when a span of time is over, by the clock that connections go by.
func soon(span time.Duration) time.Time {
	return time.Now().Add(span)
}

// maxWait bounds how long a request waits.
const maxWait = 300 * time.Second

// forever is longer than any connection lasts.
const forever = 10 * 365 * 24 * time.Hour

// waiting is how long a Prefer header wants to wait, as RFC 7240 has it: what is
// not understood counts as not there, and more than maxWait as maxWait.
func waiting(prefer string) time.Duration {
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

// until returns a context that ends after a while (0: never), with the request, or
// when the process begins to stop. The function must be called in the end.
func (c *calls) until(ctx context.Context, wait time.Duration) (context.Context, func()) {
	if wait == 0 {
		wait = forever
	}
	return api.Patience(ctx, wait, c.Stop)
}
