// Package problem tells programs over HTTP what is wrong, as RFC 9457 has it.
package problem

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// Error is what is wrong with a request, or with what should have answered it.
type Error struct {
	Type    string  `json:"type" doc:"'urn:legwork:problem:' and the code."`
	Title   string  `json:"title" doc:"The same for all problems of a code."`
	Status  int     `json:"status" doc:"Status of the reply."`
	Code    Code    `json:"code" doc:"For programs."`
	Detail  string  `json:"detail,omitempty" doc:"What to do, for people."`
	Errors  []Wrong `json:"errors,omitempty" doc:"What is wrong with which values, and what is allowed."`
	Version *int    `json:"version,omitempty" doc:"The version that the shared state has now, when a precondition failed."`

	header http.Header
}

// Wrong is one thing that is wrong with a request.
type Wrong struct {
	Location string `json:"location" doc:"'body.goal', 'query.limit', 'header.If-Match', 'path.seq'."`
	Message  string `json:"message" doc:"What is expected."`
}

// urn is what the types of problems begin with.
const urn = "urn:legwork:problem:"

// New makes one of a code; detail is a sentence for people.
func New(c Code, detail string) *Error {
	k := kinds()[c]
	p := &Error{Type: urn + string(c), Title: k.title, Status: k.status, Code: c, Detail: detail, header: http.Header{}}
	if k.retry > 0 {
		p.header.Set("Retry-After", strconv.Itoa(k.retry))
	}
	return p
}

// Error implements error.
func (p *Error) Error() string { return p.Title + ": " + p.Detail }

// GetStatus is the status of the reply, by the name that package huma calls.
func (p *Error) GetStatus() int { return p.Status }

// GetHeaders are headers of the reply, to which others may be added; by the name
// that package huma calls.
func (p *Error) GetHeaders() http.Header { return p.header }

// ContentType is that of the reply, by the name that package huma calls.
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
		_, _ = w.Write(body.Bytes()) // who asked may be gone
	}
}

// WriteMethod answers a request whose method an address does not take, with those
// that it takes as Allow has them: a problem, or to OPTIONS nothing more.
func WriteMethod(w http.ResponseWriter, r *http.Request, allow string) {
	w.Header().Set("Allow", allow)
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	New(Method, "This address takes "+allow+".").Write(w)
}
