package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
)

// message is what the fake reads of a JSON-RPC message.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`

	params params
	wrong  string // what keeps it from being a message of the protocol
}

type params struct {
	Name            string                     `json:"name"`
	URI             string                     `json:"uri"`
	Arguments       json.RawMessage            `json:"arguments"`
	RequestID       json.RawMessage            `json:"requestId"`
	ProtocolVersion string                     `json:"protocolVersion"`
	Capabilities    json.RawMessage            `json:"capabilities"`
	ClientInfo      mcp.Implementation         `json:"clientInfo"`
	Meta            map[string]json.RawMessage `json:"_meta"`
}

// readMessage reads a message; its mistakes are in the result, since the fake
// has to answer it all the same.
func readMessage(b []byte) message {
	var m message
	if err := json.Unmarshal(b, &m); err != nil {
		m.wrong = "not a JSON-RPC message: " + err.Error()
		return m
	}
	request, answer := m.Method != "", m.Result != nil || m.Error != nil
	switch {
	case m.JSONRPC != "2.0":
		m.wrong = fmt.Sprintf("jsonrpc is %q, want \"2.0\"", m.JSONRPC)
	case request == answer:
		m.wrong = "neither a request nor an answer, or both"
	case m.Result != nil && m.Error != nil:
		m.wrong = "an answer with a result and an error"
	case answer && m.ID == nil:
		m.wrong = "an answer without an id"
	case m.ID != nil && !isID(m.ID):
		m.wrong = "the id is neither a string nor an integer: " + string(m.ID)
	case m.Params != nil && kind(m.Params) != '{':
		m.wrong = "params is not an object"
	case m.Params != nil:
		m.wrong = m.readParams()
	}
	return m
}

func (m *message) readParams() string {
	if err := json.Unmarshal(m.Params, &m.params); err != nil {
		return "params: " + err.Error()
	}
	switch {
	case m.Method == "tools/call" && m.params.Arguments != nil && kind(m.params.Arguments) != '{':
		return "arguments is not an object: " + string(m.params.Arguments)
	case (m.Method == "tools/call" || m.Method == "prompts/get") && m.params.Name == "":
		return "a call without a name"
	case m.Method == "resources/read" && m.params.URI == "":
		return "a read without a URI"
	}
	return ""
}

// isRequest reports whether the message wants an answer.
func (m *message) isRequest() bool { return m.Method != "" && m.ID != nil }

// version is the revision that a message of the modern era declares, or "".
func (m *message) version() string {
	var v string
	_ = json.Unmarshal(m.params.Meta[mcp.MetaKeyProtocolVersion], &v)
	return v
}

// kind is the first byte of a JSON value.
func kind(b json.RawMessage) byte {
	if b = bytes.TrimSpace(b); len(b) > 0 {
		return b[0]
	}
	return 0
}

func isID(b json.RawMessage) bool {
	var s string
	var n int64
	return json.Unmarshal(b, &s) == nil && kind(b) == '"' || json.Unmarshal(b, &n) == nil && kind(b) != 'n'
}

// refusal is the answer to a message that the server does not take.
type refusal struct {
	code   int
	status int // of HTTP
	text   string
	data   any

	final bool // no fault comes before it: a violation, or a session that is over
}

// message is the refusal as an answer to a request.
func (r *refusal) message(id json.RawMessage) string {
	if id == nil {
		id = json.RawMessage("null")
	}
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": r.code, "message": r.text, "data": r.data}})
	if err != nil {
		return `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}}`
	}
	return string(b)
}
