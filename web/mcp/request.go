package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"

	"legwork/tasks/contexts"
)

// request is what must be known of one before the library reads it.
type request struct {
	call
	method    string
	arguments json.RawMessage // of a tool, as they were sent: the library hands them on as values in which large numbers have lost digits
	cancelled call            // what notifications/cancelled gives up
}

type requestKey struct{}

// requestOf reads a request.
func requestOf(r *http.Request, body []byte) request {
	var sent struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Arguments json.RawMessage `json:"arguments"`
			Request   json.RawMessage `json:"requestId"`
		} `json:"params"`
	}
	_ = json.Unmarshal(body, &sent) // the library says what is wrong with it
	client := call{caller: contexts.Caller(r.Context()).Key(), session: r.Header.Get(sessionHeader)}
	return request{client.number(sent.ID), sent.Method, sent.Params.Arguments, client.number(sent.Params.Request)}
}

// maxAround is how many bytes a request may have besides the arguments of a tool,
// which are bounded by its schema.
const maxAround = 16 << 10

// lean is a request without the space around its parts: all of it is kept for as
// long as the call waits, which may be minutes. What is no JSON stays as it is.
func lean(body []byte) []byte {
	var out bytes.Buffer
	if json.Compact(&out, body) != nil {
		return body
	}
	return bytes.Clone(out.Bytes())
}
