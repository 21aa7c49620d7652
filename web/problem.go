package web

import "net/http"

// code names a kind of problem, for programs. Package api has the same for the
// same.
type code string

const (
	codeMalformed    code = "malformed"
	codeUnauthorized code = "unauthorized"
	codeForbidden    code = "forbidden"
	codeOrigin       code = "cross_origin"
	codeNotFound     code = "not_found"
	codeMethod       code = "method_not_allowed"
	codeSlow         code = "request_timeout"
	codeLarge        code = "too_large"
	codeHost         code = "wrong_host"
	codeMany         code = "too_many_requests"
	codeInternal     code = "internal"
	codeStopping     code = "unavailable"
)

// kind is what all problems of a code have in common.
type kind struct {
	status int
	title  string
}

func kinds() map[code]kind {
	return map[code]kind{
		codeMalformed:    {http.StatusBadRequest, "The request cannot be read"},
		codeUnauthorized: {http.StatusUnauthorized, "A token is needed"},
		codeForbidden:    {http.StatusForbidden, "The token may not do this"},
		codeOrigin:       {http.StatusForbidden, "Pages of other origins may not do this"},
		codeNotFound:     {http.StatusNotFound, "There is nothing here"},
		codeMethod:       {http.StatusMethodNotAllowed, "Another method is needed"},
		codeSlow:         {http.StatusRequestTimeout, "The request took too long"},
		codeLarge:        {http.StatusRequestEntityTooLarge, "The body is too large"},
		codeHost:         {http.StatusMisdirectedRequest, "Nothing is served under this name"},
		codeMany:         {http.StatusTooManyRequests, "Too much at once"},
		codeInternal:     {http.StatusInternalServerError, "Something went wrong inside"},
		codeStopping:     {http.StatusServiceUnavailable, "Legwork is stopping"},
	}
}

// problem is an error as RFC 9457 has it.
func problem(w http.ResponseWriter, c code, detail string) {
	k := kinds()[c]
	replyJSON(w, k.status, "application/problem+json", struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Code   code   `json:"code"`
		Detail string `json:"detail,omitempty"`
	}{"urn:legwork:problem:" + string(c), k.title, k.status, c, detail})
}
