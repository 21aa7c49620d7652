package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"legwork/tasks"
	"legwork/tasks/contexts"
)

// ProblemError is an error as RFC 9457 has it.
type ProblemError struct {
	Type   string  `json:"type"`
	Title  string  `json:"title"`
	Status int     `json:"status"`
	Code   code    `json:"code"`
	Detail string  `json:"detail,omitempty"`
	Errors []Wrong `json:"errors,omitempty"`
	// Version of the shared state, of a precondition that failed.
	Version *int `json:"version,omitempty"`

	header http.Header
}

// Wrong is one thing that is wrong with a request.
type Wrong struct {
	Location string `json:"location"`
	Message  string `json:"message"`
}

// code names a kind of problem, for programs.
type code string

// The codes. Those that a proxy or package web answers with are here, too, since
// the document lists them.
const (
	codeMalformed    code = "malformed"
	codeUnauthorized code = "unauthorized"
	codeForbidden    code = "forbidden"
	codeOrigin       code = "cross_origin"
	codeNotFound     code = "not_found"
	codeMethod       code = "method_not_allowed"
	codeSlow         code = "request_timeout"
	codeConflict     code = "conflict"
	codePrecondition code = "precondition_failed"
	codeLarge        code = "too_large"
	codeMedia        code = "unsupported_media_type"
	codeHost         code = "wrong_host"
	codeInvalid      code = "invalid"
	codeKeyReused    code = "idempotency_key_reused"
	codeMany         code = "too_many_requests"
	codeInternal     code = "internal"
	codeDamaged      code = "damaged"
	codeStopping     code = "unavailable"
	codeFull         code = "disk_full"
)

// kind is what all problems of a code have in common.
type kind struct {
	status int
	title  string
	retry  int // seconds after which it may be otherwise; 0: nobody knows
}

func kinds() map[code]kind {
	return map[code]kind{
		codeMalformed:    {400, "The request cannot be read", 0},
		codeUnauthorized: {401, "A token is needed", 0},
		codeForbidden:    {403, "The token may not do this", 0},
		codeOrigin:       {403, "Pages of other origins may not do this", 0},
		codeNotFound:     {404, "There is nothing here", 0},
		codeMethod:       {405, "Another method is needed", 0},
		codeSlow:         {408, "The request took too long", 0},
		codeConflict:     {409, "The task no longer takes this", 0},
		codePrecondition: {412, "The shared state has changed", 0},
		codeLarge:        {413, "The body is too large", 0},
		codeMedia:        {415, "Another content type is needed", 0},
		codeHost:         {421, "Nothing is served under this name", 0},
		codeInvalid:      {422, "The request is not as documented", 0},
		codeKeyReused:    {422, "The idempotency key was used for another request", 0},
		codeMany:         {429, "Too much at once", 5},
		codeInternal:     {500, "Something went wrong inside", 0},
		codeDamaged:      {500, "A stored record is damaged", 0},
		codeStopping:     {503, "Legwork is stopping", 5},
		codeFull:         {507, "The disk is full", 60},
	}
}

// urn is what the types of problems begin with.
const urn = "urn:legwork:problem:"

// problem makes one of a code; detail is a sentence for people.
func problem(c code, detail string) *ProblemError {
	k := kinds()[c]
	p := &ProblemError{Type: urn + string(c), Title: k.title, Status: k.status, Code: c, Detail: detail, header: http.Header{}}
	if k.retry > 0 {
		p.header.Set("Retry-After", strconv.Itoa(k.retry))
	}
	return p
}

// invalid is a problem with one value of a request.
func invalid(location, message string) *ProblemError {
	p := problem(codeInvalid, "See errors for what is wrong and what is allowed.")
	p.Errors = []Wrong{{Location: location, Message: message}}
	return p
}

// Error implements error.
func (p *ProblemError) Error() string { return p.Title + ": " + p.Detail }

// GetStatus implements huma.StatusError.
func (p *ProblemError) GetStatus() int { return p.Status }

// GetHeaders implements huma.HeadersError.
func (p *ProblemError) GetHeaders() http.Header { return p.header }

// ContentType implements huma.ContentTypeFilter.
func (p *ProblemError) ContentType(string) string { return "application/problem+json" }

// Write answers with the problem.
func (p *ProblemError) Write(w http.ResponseWriter) {
	for name, values := range p.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	if body, err := json.Marshal(p); err == nil {
		_, _ = w.Write(append(body, '\n')) // who asked may be gone
	}
}

// asProblem makes a ProblemError of what huma itself has to say. What was sent is not
// sent back: it may be secret, and it may be large.
func (c *calls) asProblem(ctx huma.Context, status string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	of := codeInternal
	for candidate, k := range kinds() {
		if strconv.Itoa(k.status) == status && !slices.Contains([]code{codeOrigin, codeKeyReused, codeDamaged}, candidate) {
			of = candidate
		}
	}
	detail := "See errors for what is wrong and what is allowed."
	if len(m.Errors) == 0 {
		detail = m.Detail
	}
	if of == codeMalformed && len(m.Errors) == 0 {
		detail = "Send a body: JSON, as /docs describes it."
	}
	p := problem(of, detail)
	for _, e := range m.Errors {
		if e.Message == "unknown query parameter" {
			e.Message += "; " + allowed(queries(ctx.Operation()))
		}
		p.Errors = append(p.Errors, Wrong{Location: e.Location, Message: e.Message})
	}
	return p, nil
}

// failed turns an error of the service into a problem: the only place that does.
// Fields that it names are of the body, or of the query where there is no body.
func (c *calls) failed(ctx context.Context, method string, err error) error {
	var wrong *contexts.InvalidError
	var done *ProblemError
	switch {
	case errors.As(err, &done):
		return done
	case errors.As(err, &wrong):
		return invalid(location(method, wrong.Field), wrong.Detail)
	case errors.Is(err, tasks.ErrNoTask):
		return problem(codeNotFound, contexts.Sentence(contexts.ErrNotFound))
	case errors.Is(err, contexts.ErrNotFound):
		return problem(codeNotFound, contexts.Sentence(err))
	case errors.Is(err, contexts.ErrForbidden):
		return problem(codeForbidden, contexts.Sentence(err))
	case errors.Is(err, contexts.ErrKeyReused):
		return problem(codeKeyReused, "Send another key, or the request that it was used for.")
	case errors.Is(err, contexts.ErrPrecondition):
		return problem(codePrecondition, "Read it again, and decide anew.")
	case errors.Is(err, contexts.ErrConflict), errors.Is(err, tasks.ErrRefused), errors.Is(err, tasks.ErrConflict):
		return problem(codeConflict, contexts.Sentence(err))
	case errors.Is(err, contexts.ErrBusy):
		return problem(codeMany, contexts.Sentence(err))
	case errors.Is(err, tasks.ErrFull):
		return problem(codeFull, "Nothing can be stored until there is room on the disk again.")
	case ctx.Err() != nil:
		return problem(codeStopping, "The request was ended.")
	}
	c.Log.ErrorContext(ctx, "a call of the API failed", "cause", err)
	if errors.Is(err, tasks.ErrDamaged) {
		return problem(codeDamaged, "`legwork data verify` says more.")
	}
	return problem(codeInternal, "The log says more.")
}
