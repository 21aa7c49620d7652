package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"legwork/tasks/api"
)

// request is what must be known of one before the library reads it.
type request struct {
	call
	method    string
	arguments json.RawMessage // of a tool, as they were sent; the library does not see them
	hops      float64         // how often the work was handed on, as another legwork says
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
			Meta      struct {
				Hops float64 `json:"legwork/hops"`
			} `json:"_meta"`
		} `json:"params"`
	}
	_ = json.Unmarshal(body, &sent) // the library says what is wrong with it
	client := call{caller: api.Caller(r.Context()).Key(), session: r.Header.Get(sessionHeader)}
	return request{client.number(sent.ID), sent.Method, sent.Params.Arguments, sent.Params.Meta.Hops, client.number(sent.Params.Request)}
}

// hops is how often the work of a request was handed on.
func hops(ctx context.Context) int {
	sent, _ := ctx.Value(requestKey{}).(request)
	return int(max(0, min(sent.hops, 1<<20)))
}

// maxAround is how many bytes a request may have besides the arguments of a tool.
const maxAround = 16 << 10

// bare is a request without the arguments of a tool: the library would make values
// of them, in which large numbers lose digits, and before anybody knows how much
// memory these take.
func bare(body []byte) []byte {
	var whole, params map[string]json.RawMessage
	if json.Unmarshal(body, &whole) != nil || json.Unmarshal(whole["params"], &params) != nil || params["arguments"] == nil {
		return body
	}
	params["arguments"] = json.RawMessage("{}")
	text, err := json.Marshal(params)
	if err == nil {
		whole["params"] = text
		text, err = json.Marshal(whole)
	}
	if err != nil {
		return body
	}
	return text
}

// lean is a request without the space around its parts: what there is of it is kept
// for as long as the call waits, which may be minutes. What is no JSON stays as it is.
func lean(body []byte) []byte {
	var out bytes.Buffer
	if json.Compact(&out, body) != nil {
		return body
	}
	return bytes.Clone(out.Bytes())
}
