package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/web/problem"
)

// invalid is a problem with one value of a request.
func invalid(location, message string) *problem.Error {
	p := problem.New(problem.Invalid, "See errors for what is wrong and what is allowed.")
	p.Errors = []problem.Wrong{{Location: location, Message: message}}
	return p
}

// lost says that the shared state has another version than was expected.
func lost(version int) *problem.Error {
	p := problem.New(problem.Precondition, "Read the state again, and decide anew: it has another version now.")
	p.Version = &version
	p.GetHeaders().Set("ETag", etag(version))
	return p
}

// ended says that nobody waits for the reply any more, or that legwork stops.
func ended() *problem.Error { return problem.New(problem.Stopping, "The request was ended.") }

// asProblem makes a problem of what huma itself has to say. What was sent is not sent
// back: it may be secret, and it may be large.
func (c *calls) asProblem(ctx huma.Context, status string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	of := problem.Internal
	for _, candidate := range []problem.Code{problem.Malformed, problem.Media, problem.Invalid} {
		if strconv.Itoa(candidate.Status()) == status {
			of = candidate
		}
	}
	detail := "See errors for what is wrong and what is allowed."
	if len(m.Errors) == 0 {
		detail = m.Detail
	}
	if of == problem.Malformed && len(m.Errors) == 0 {
		detail = "Send a body: JSON, as /docs describes it."
	}
	p := problem.New(of, detail)
	for _, e := range m.Errors[:min(len(m.Errors), maxWrong)] {
		if e.Message == "unknown query parameter" {
			e.Message += "; " + allowed(queries(ctx.Operation()))
		}
		p.Errors = append(p.Errors, problem.Wrong{Location: e.Location, Message: e.Message})
	}
	return p, nil
}

// failed turns an error of the service into a problem: the only place that does.
// Fields that it names are of the body, or of the query where there is no body.
func (c *calls) failed(ctx context.Context, method string, err error) error {
	var wrong *api.InvalidError
	var outdated *api.PreconditionError
	var done *problem.Error
	switch {
	case errors.As(err, &done):
		return done
	case errors.As(err, &wrong):
		return invalid(location(method, wrong.Field), wrong.Detail)
	case errors.Is(err, tasks.ErrNoTask):
		return problem.New(problem.NotFound, api.Sentence(api.ErrNotFound))
	case errors.Is(err, api.ErrNotFound):
		return problem.New(problem.NotFound, api.Sentence(err))
	case errors.Is(err, api.ErrForbidden):
		return problem.New(problem.Forbidden, api.Sentence(err))
	case errors.Is(err, api.ErrKeyReused):
		return problem.New(problem.KeyReused, api.Sentence(err)+" Send another key, or the request that it was used for.")
	case errors.As(err, &outdated):
		return lost(outdated.Version)
	case errors.Is(err, api.ErrConflict), errors.Is(err, tasks.ErrRefused), errors.Is(err, tasks.ErrConflict):
		return problem.New(problem.Conflict, api.Sentence(err))
	case errors.Is(err, api.ErrBusy):
		return problem.New(problem.Many, api.Sentence(err))
	case errors.Is(err, tasks.ErrFull):
		return problem.New(problem.Full, "Nothing can be stored until there is room on the disk again.")
	case ctx.Err() != nil:
		return ended()
	}
	c.Log.ErrorContext(ctx, "a call of the API failed", "cause", err)
	if errors.Is(err, tasks.ErrDamaged) {
		return problem.New(problem.Damaged, "`legwork data verify` says more.")
	}
	return problem.New(problem.Internal, "The log says more.")
}

// allowed lists the names that are.
func allowed(names []string) string {
	if len(names) == 0 {
		return "none are allowed"
	}
	return "allowed are " + strings.Join(names, ", ")
}

// location is where in a request a field is that the service names.
func location(method, field string) string {
	switch {
	case field == "":
		return "body"
	case method == http.MethodGet:
		return "query." + field
	}
	return "body." + field
}
