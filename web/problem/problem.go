// Package problem holds the error replies of the HTTP API: problem documents (RFC 9457).
package problem

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// Error is a problem document.
type Error struct {
	Type    string    `json:"type" doc:"'urn:legwork:problem:' and the code."`
	Title   string    `json:"title" doc:"The title of the code."`
	Status  int       `json:"status" doc:"The status of the reply."`
	Code    Code      `json:"code" doc:"The code, for programs."`
	Detail  string    `json:"detail,omitempty" doc:"A sentence for people: what to do."`
	Errors  []Mistake `json:"errors,omitempty" doc:"The mistakes in the request, and what is allowed."`
	Version *int      `json:"version,omitempty" doc:"The current version of the shared state, when a precondition failed."`

	header http.Header
}

// Mistake is one mistake in a request.
type Mistake struct {
	Location string `json:"location" doc:"'body.goal', 'query.limit', 'header.If-Match', 'path.seq'."`
	Message  string `json:"message" doc:"What is expected."`

	Line   int    `json:"line,omitzero" doc:"The line in the config file, from 1."`
	Column int    `json:"column,omitzero" doc:"The column there, in characters, from 1."`
	Key    string `json:"key,omitempty" doc:"The key in the config file."`
}

// urn is the prefix of the types of problems.
const urn = "urn:legwork:problem:"

// CodeHeader is a header of replies that ask for a code: such a reply has the status of a
// refusal, and refuses nothing to the role of the caller.
const CodeHeader = "Legwork-Code"

// New makes a problem of a code; detail is a sentence for people.
func New(c Code, detail string) *Error {
	k := kinds()[c]
	p := &Error{Type: urn + string(c), Title: k.title, Status: k.status, Code: c, Detail: detail, header: http.Header{}}
	if k.retry > 0 {
		p.header.Set("Retry-After", strconv.Itoa(k.retry))
	}
	if c == CodeNeeded {
		p.header.Set(CodeHeader, "needed")
	}
	return p
}

// Error implements error.
func (p *Error) Error() string { return p.Title + ": " + p.Detail }

// GetStatus implements huma.StatusError.
func (p *Error) GetStatus() int { return p.Status }

// GetHeaders implements huma.HeadersError. Callers may add headers.
func (p *Error) GetHeaders() http.Header { return p.header }

// ContentType implements huma.ContentTypeFilter.
func (p *Error) ContentType(string) string { return "application/problem+json" }

// Write answers with the problem.
func (p *Error) Write(w http.ResponseWriter) {
	for name, values := range p.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(p); err == nil {
		_, _ = w.Write(body.Bytes()) // the client may be gone
	}
}

// WriteMethod answers a request with a method that an address does not allow: with a
// problem, or for OPTIONS with the header Allow alone.
func WriteMethod(w http.ResponseWriter, r *http.Request, allow string) {
	w.Header().Set("Allow", allow)
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	New(Method, "This address takes "+allow+".").Write(w)
}

// Code names a kind of problem, for programs.
type Code string

// The codes.
const (
	Malformed    Code = "malformed"
	Unauthorized Code = "unauthorized"
	Forbidden    Code = "forbidden"
	CodeNeeded   Code = "code_needed"
	Origin       Code = "cross_origin"
	NotFound     Code = "not_found"
	Method       Code = "method_not_allowed"
	Slow         Code = "request_timeout"
	Conflict     Code = "conflict"
	Precondition Code = "precondition_failed"
	Large        Code = "too_large"
	Media        Code = "unsupported_media_type"
	Host         Code = "wrong_host"
	Invalid      Code = "invalid"
	KeyReused    Code = "idempotency_key_reused"
	Many         Code = "too_many_requests"
	Internal     Code = "internal"
	Damaged      Code = "damaged"
	Stopping     Code = "unavailable"
	Full         Code = "disk_full"
	Room         Code = "no_room"
	ReadOnly     Code = "read_only"
)

// kind holds what all problems of a code have in common.
type kind struct {
	status int
	title  string
	retry  int // seconds after which to try again; 0: unknown
}

func kinds() map[Code]kind {
	return map[Code]kind{
		Malformed:    {400, "The request cannot be read", 0},
		Unauthorized: {401, "A token is needed", 0},
		Forbidden:    {403, "The token may not do this", 0},
		CodeNeeded:   {403, "A code is needed", 0},
		Origin:       {403, "Pages of other origins may not do this", 0},
		NotFound:     {404, "There is nothing here", 0},
		Method:       {405, "Another method is needed", 0},
		Slow:         {408, "The request took too long", 0},
		Conflict:     {409, "Its state does not allow this now", 0},
		Precondition: {412, "It has changed meanwhile", 0},
		Large:        {413, "The body is too large", 0},
		Media:        {415, "Another content type is needed", 0},
		Host:         {421, "legwork serves nothing under this path", 0},
		Invalid:      {422, "The request is not as documented", 0},
		KeyReused:    {422, "The idempotency key was used for another request", 0},
		Many:         {429, "Too much at once", 5},
		Internal:     {500, "Something went wrong inside", 0},
		Damaged:      {500, "A stored record is damaged", 0},
		Stopping:     {503, "Legwork is not available now", 5},
		Full:         {507, "The disk is full", 60},
		Room:         {507, "No room is left for files", 0},
		ReadOnly:     {409, "The config file cannot be changed here", 0},
	}
}

// Codes lists all codes, by their names.
func Codes() []Code { return slices.Sorted(maps.Keys(kinds())) }

// Status is the status of replies with a code.
func (c Code) Status() int { return kinds()[c].status }
