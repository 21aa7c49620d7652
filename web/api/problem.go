package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"legwork/files"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/web/problem"
)

// invalid is a problem with one value of a request.
func invalid(location, message string) *problem.Error {
	p := problem.New(problem.Invalid, "See errors for what is wrong and what is allowed.")
	p.Errors = []problem.Mistake{{Location: location, Message: message}}
	return p
}

// outdated says that the shared state has another version than the request expects.
func outdated(version int) *problem.Error {
	p := problem.New(problem.Precondition, "The state has another version now. Read it again before you change it.")
	p.Version = &version
	p.GetHeaders().Set("ETag", etag(version))
	return p
}

// ended is the reply to a request that was canceled, by the client or because legwork
// stops.
func ended() *problem.Error { return problem.New(problem.Stopping, "The request was ended.") }

// transformError turns an error of huma into a problem. It leaves out the values of
// the request, which may be secret or large.
func (c *calls) transformError(ctx huma.Context, status string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	code := problem.Internal
	for _, candidate := range []problem.Code{problem.Malformed, problem.Media, problem.Invalid} {
		if strconv.Itoa(candidate.Status()) == status {
			code = candidate
		}
	}
	detail := "See errors for what is wrong and what is allowed."
	if len(m.Errors) == 0 {
		detail = m.Detail
	}
	if code == problem.Malformed && len(m.Errors) == 0 {
		detail = "Send a body: JSON, as described in /docs."
	}
	p := problem.New(code, detail)
	for _, e := range m.Errors[:min(len(m.Errors), maxMistakes)] {
		if e.Message == "unknown query parameter" {
			e.Message += "; " + allowed(queries(ctx.Operation()))
		}
		p.Errors = append(p.Errors, problem.Mistake{Location: e.Location, Message: e.Message})
	}
	return p, nil
}

// toProblem is the only place that turns errors of the service into problems.
func (c *calls) toProblem(ctx context.Context, method string, err error) error {
	var wrong *api.InvalidError
	var changed *api.PreconditionError
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
	case errors.Is(err, api.ErrCodeNeeded):
		return problem.New(problem.CodeNeeded, api.Sentence(err))
	case errors.Is(err, api.ErrForbidden):
		return problem.New(problem.Forbidden, api.Sentence(err))
	case errors.Is(err, api.ErrKeyReused):
		return problem.New(problem.KeyReused, api.Sentence(err)+" Send another key, or the request that it was used for.")
	case errors.As(err, &changed):
		return outdated(changed.Version)
	case errors.Is(err, api.ErrConflict), errors.Is(err, tasks.ErrRefused), errors.Is(err, tasks.ErrConflict):
		return problem.New(problem.Conflict, api.Sentence(err))
	case errors.Is(err, api.ErrBusy):
		return problem.New(problem.Many, api.Sentence(err))
	case errors.Is(err, files.ErrRoom):
		_, why, _ := strings.Cut(err.Error(), files.ErrRoom.Error()+": ")
		return problem.New(problem.Room, "No room is left for the file: "+why+". Files go with their tasks; the config has the limits: files.chat_bytes, files.total_bytes.")
	case errors.Is(err, tasks.ErrFull):
		return problem.New(problem.Full, "The store accepts nothing until the disk has free space again.")
	case ctx.Err() != nil, errors.Is(err, tasks.ErrFenced): // another process takes over
		return ended()
	}
	c.Log.ErrorContext(ctx, "API call failed", "cause", err)
	if errors.Is(err, tasks.ErrDamaged) {
		return problem.New(problem.Damaged, "`legwork data verify` has the details.")
	}
	return problem.New(problem.Internal, "The log has the details.")
}

// allowed is a clause with the allowed names.
func allowed(names []string) string {
	if len(names) == 0 {
		return "none are allowed"
	}
	return "allowed are " + strings.Join(names, ", ")
}

// location is the place of a field of the service in a request: in the body, or in the
// query of a GET request.
func location(method, field string) string {
	switch {
	case field == "":
		return "body"
	case method == http.MethodGet:
		return "query." + field
	}
	return "body." + field
}
