package llmfake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Request is a request that passed every check.
type Request struct {
	Seq      int             `json:"-"` // counts from 1 in order of arrival
	At       time.Time       `json:"-"`
	Header   http.Header     `json:"-"`
	Key      string          `json:"key"` // the bearer token: tells several clients apart
	Raw      json.RawMessage `json:"-"`   // the body as it came
	Model    string          `json:"model"`
	Messages []Message       `json:"messages"`
	Tools    []Tool          `json:"tools,omitempty"`
	Stream   bool            `json:"stream,omitempty"`
	Usage    bool            `json:"usage,omitempty"` // a usage chunk was asked for

	// Of a call that is no chat:
	Call   string            `json:"call,omitempty"`   // CallTranscribe, CallSpeech or CallImage; empty: chat
	Fields map[string]string `json:"fields,omitempty"` // its fields, model included
	File   string            `json:"file,omitempty"`   // name of the recording
	Audio  []byte            `json:"-"`                // the recording
}

// Message is one message of a prompt. Content holds the joined text parts.
type Message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	Images     []Image    `json:"images,omitempty"` // in the order of their parts
}

// Image is a picture that a user's message holds.
type Image struct {
	Type string `json:"type"`
	Data []byte `json:"data"`
}

// ToolCall is a call that a model made. An empty ID in a Response gets one that
// is unique in the fake's life.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Tool is one offered function.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}

// Tool returns the offered tool of that name.
func (r Request) Tool(name string) (Tool, bool) {
	for _, t := range r.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

// System is the text of the first message if it is the system's.
func (r Request) System() string {
	if len(r.Messages) > 0 && (r.Messages[0].Role == "system" || r.Messages[0].Role == "developer") {
		return r.Messages[0].Content
	}
	return ""
}

// Tagged is what stands in the last <tag> of the user messages, without
// surrounding space; false when there is none.
func (r Request) Tagged(tag string) (string, bool) {
	all := r.AllTagged(tag)
	if len(all) == 0 {
		return "", false
	}
	return all[len(all)-1], true
}

// AllTagged is what stands in each <tag> of the user messages, in order.
func (r Request) AllTagged(tag string) []string {
	var all []string
	for _, m := range r.Messages {
		if m.Role != "user" {
			continue
		}
		for rest := m.Content; ; {
			_, after, opened := strings.Cut(rest, "<"+tag+">")
			text, next, closed := strings.Cut(after, "</"+tag+">")
			if !opened || !closed {
				break
			}
			all = append(all, strings.TrimSpace(text))
			rest = next
		}
	}
	return all
}

// body is a request as it is on the wire.
type body struct {
	Model         string          `json:"model"`
	Messages      []message       `json:"messages"`
	Tools         []tool          `json:"tools"`
	Stream        bool            `json:"stream"`
	StreamOptions json.RawMessage `json:"stream_options"`
	MaxTokens     *int            `json:"max_tokens"`
	MaxCompletion *int            `json:"max_completion_tokens"`
	Temperature   *float64        `json:"temperature"`
	TopP          *float64        `json:"top_p"`
	N             *int            `json:"n"`
	Effort        *string         `json:"reasoning_effort"`
	ToolChoice    json.RawMessage `json:"tool_choice"`
	Parallel      *bool           `json:"parallel_tool_calls"`

	fields map[string]json.RawMessage
	usage  bool
}

type message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Name       *string         `json:"name"`
	ToolCalls  *[]toolCall     `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`

	strange []string // members that no message has
	text    string
	images  []Image
}

// UnmarshalJSON remembers the members that are not known.
func (m *message) UnmarshalJSON(raw []byte) error {
	type plain message
	if err := json.Unmarshal(raw, (*plain)(m)); err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains([]string{"role", "content", "name", "tool_calls", "tool_call_id", "refusal"}, name) {
			m.strange = append(m.strange, name)
		}
	}
	return nil
}

type toolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string  `json:"name"`
		Arguments *string `json:"arguments"`
	} `json:"function"`
}

type tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

const (
	maxBody    = 32 << 20
	statusGone = 499 // the client went away in the middle of its request
)

func (s *Server) read(r *http.Request) (Request, *refusal) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		return Request{}, &refusal{Status: statusGone, Message: "reading the body: " + err.Error()}
	case len(raw) > maxBody:
		return Request{}, bad("", "the body has more than %d bytes", maxBody)
	case !utf8.Valid(raw):
		return Request{Raw: raw}, bad("", "We could not parse the JSON body of your request: it is no UTF-8.")
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		return Request{Raw: raw}, bad("", "Content-Type is %q, want application/json", r.Header.Get("Content-Type"))
	}
	var b body
	if err := json.Unmarshal(raw, &b.fields); err != nil {
		return Request{Raw: raw}, bad("", "We could not parse the JSON body of your request: %v", err)
	}
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&b); err != nil {
		return Request{Raw: raw}, bad("", "a field has the wrong type: %v", err)
	}
	request := Request{Raw: raw}
	if refusal := s.check(&b); refusal != nil {
		return request, refusal
	}
	request.Model, request.Stream, request.Usage = b.Model, b.Stream, b.usage
	for i := range b.Messages {
		request.Messages = append(request.Messages, b.Messages[i].read())
	}
	for _, t := range b.Tools {
		request.Tools = append(request.Tools, Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters})
	}
	if refusal := s.checkLengths(&b, len(raw)); refusal != nil {
		return request, refusal
	}
	return request, nil
}

func (m *message) read() Message {
	out := Message{Role: m.Role, Content: m.text, ToolCallID: m.ToolCallID, Images: m.images}
	if m.ToolCalls != nil {
		for _, c := range *m.ToolCalls {
			out.ToolCalls = append(out.ToolCalls, ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: *c.Function.Arguments})
		}
	}
	return out
}

// refusal is an error in OpenAI's shape.
type refusal struct {
	Status  int    `json:"-"`
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   string `json:"-"`
	Code    string `json:"-"`
	lawful  bool   // the client could not know
}

func bad(param, format string, a ...any) *refusal {
	return &refusal{Status: http.StatusBadRequest, Type: "invalid_request_error", Param: param, Message: fmt.Sprintf(format, a...)}
}

func (r *refusal) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.Status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"message": r.Message, "type": r.Type, "param": orNull(r.Param), "code": orNull(r.Code),
	}})
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
