package telegramfake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The most that a request holds, and how much more its parameters take when
// there is a file in it.
const maxBody = 1 << 20

// params are the parameters of a call as text, in whatever form they came: a
// nested object is its JSON.
type params map[string]string

// readParams takes the four forms that the service takes: the query string, a
// form, a multipart form and a JSON object. Only a multipart form has files, of
// maxFile bytes at most.
func readParams(r *http.Request, maxFile int64) (params, map[string]File, *refusal) {
	most := int64(maxBody)
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		most += maxFile
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, most+1))
	if err != nil {
		return nil, nil, bad("can't read the request")
	}
	if int64(len(body)) > most {
		return nil, nil, tooLarge()
	}
	p := params{}
	p.add(r.URL.Query())
	if why := p.addBody(r, body); why != nil {
		return nil, nil, why
	}
	for _, text := range p {
		if !utf8.ValidString(text) {
			return nil, nil, notUTF8()
		}
	}
	files, why := readFiles(r.MultipartForm, maxFile)
	return p, files, why
}

func tooLarge() *refusal {
	return &refusal{Code: http.StatusRequestEntityTooLarge, Text: "Request Entity Too Large"}
}

func notUTF8() *refusal { return bad("strings must be encoded in UTF-8") }

func (p params) addBody(r *http.Request, body []byte) *refusal {
	kind, options, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case len(body) == 0:
	case kind == "application/json":
		return p.addJSON(body)
	case kind == "application/x-www-form-urlencoded":
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return bad("can't parse form parameters")
		}
		p.add(values)
	case kind == "multipart/form-data" && options["boundary"] != "":
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err := r.ParseMultipartForm(int64(len(body)) + 1); err != nil {
			return bad("can't parse multipart form data")
		}
		p.add(r.MultipartForm.Value)
	}
	return nil
}

func (p params) add(values url.Values) {
	for name, list := range values {
		p[name] = list[0]
	}
}

func (p params) addJSON(body []byte) *refusal {
	if !utf8.Valid(body) {
		return notUTF8() // the decoder would repair it
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(body, &values); err != nil {
		return bad("can't parse request JSON object")
	}
	for name, raw := range values {
		var text string
		switch {
		case string(raw) == "null":
			continue
		case json.Unmarshal(raw, &text) == nil:
			p[name] = text
		default:
			p[name] = string(raw)
		}
	}
	return nil
}

func (p params) bool(name string) bool {
	v := strings.ToLower(p[name])
	return v == "true" || v == "1" || v == "yes"
}

// int is 0 when the parameter is missing.
func (p params) int(name string) (int64, *refusal) {
	if p[name] == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(p[name], 10, 64)
	if err != nil {
		return 0, bad("parameter \"%s\" must be an integer", name)
	}
	return n, nil
}

// object decodes a parameter that is JSON; it reports whether there was one.
func (p params) object(name string, into any) (bool, *refusal) {
	if p[name] == "" {
		return false, nil
	}
	if err := json.Unmarshal([]byte(p[name]), into); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return false, bad("can't parse %s: field \"%s\" must be of type %s", name, kind.Field, kind.Type)
		}
		return false, bad("can't parse %s: %v", strings.ReplaceAll(name, "_", " ")+" JSON object", err)
	}
	return true, nil
}

// refusal is an answer that is not ok.
type refusal struct {
	Code       int
	Text       string
	RetryAfter int   // seconds, of 429
	MigrateTo  int64 // where the group went
}

func bad(format string, a ...any) *refusal {
	return &refusal{Code: http.StatusBadRequest, Text: "Bad Request: " + fmt.Sprintf(format, a...)}
}

func forbidden(text string) *refusal {
	return &refusal{Code: http.StatusForbidden, Text: "Forbidden: " + text}
}

func busy(after int) *refusal {
	return &refusal{Code: http.StatusTooManyRequests, Text: fmt.Sprintf("Too Many Requests: retry after %d", after), RetryAfter: after}
}

// answer is the body of every reply.
type answer struct {
	OK          bool              `json:"ok"`
	Result      any               `json:"result,omitempty"`
	Code        int               `json:"error_code,omitempty"`
	Description string            `json:"description,omitempty"`
	Parameters  *answerParameters `json:"parameters,omitempty"`
}

type answerParameters struct {
	RetryAfter int   `json:"retry_after,omitempty"`
	MigrateTo  int64 `json:"migrate_to_chat_id,omitempty"`
}

// encode returns the status and the body of a reply.
func encode(result any, why *refusal) (int, []byte) {
	status, a := http.StatusOK, answer{OK: true, Result: result}
	if why != nil {
		status, a = why.Code, answer{Code: why.Code, Description: why.Text}
		if why.RetryAfter != 0 || why.MigrateTo != 0 {
			a.Parameters = &answerParameters{why.RetryAfter, why.MigrateTo}
		}
	}
	body, err := json.Marshal(a)
	if err != nil {
		panic(err) // of our own values only
	}
	return status, body
}
