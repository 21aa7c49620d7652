package llm

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"legwork/llm/lenient"
)

// textMessages writes a request for a model without tool calling: the tools
// stand at the end of the system message, calls and results of the history
// are JSON in texts, and no two messages of one role follow each other, as
// such models' templates refuse that.
func textMessages(r Request) []openai.ChatCompletionMessage {
	w := &textWriter{names: map[string]string{}, images: map[int][]Image{}}
	rest := r.Messages
	for len(rest) > 0 && rest[0].Role == System {
		w.add(System, rest[0].Content)
		rest = rest[1:]
	}
	if len(r.Tools) > 0 {
		w.add(System, r.TextTools)
		w.add(System, describe(r.Tools))
	}
	for _, m := range rest {
		w.message(m)
	}
	for i, images := range w.images {
		w.out[i] = withImages(w.out[i], images)
	}
	return w.out
}

type textWriter struct {
	out    []openai.ChatCompletionMessage
	images map[int][]Image   // by index in out
	names  map[string]string // of the last calls, by id
}

// add appends a text to the last message of the same role or begins one.
func (w *textWriter) add(role, text string) {
	if text == "" {
		return
	}
	if n := len(w.out) - 1; n >= 0 && w.out[n].Role == role {
		w.out[n].Content += "\n\n" + text
		return
	}
	w.out = append(w.out, openai.ChatCompletionMessage{Role: role, Content: text})
}

func (w *textWriter) message(m Message) {
	switch m.Role {
	case Assistant:
		w.add(Assistant, m.Content)
		if len(m.ToolCalls) > 0 {
			clear(w.names)
			w.add(Assistant, w.calls(m.ToolCalls))
		}
	case ToolRole:
		w.add(User, toJSON(struct {
			Tool   string `json:"tool"`
			Result string `json:"result"`
		}{w.names[m.ToolCallID], m.Content}))
	default:
		w.add(m.Role, m.Content)
		if last := len(w.out) - 1; len(m.Images) > 0 {
			w.images[last] = append(w.images[last], m.Images...)
		}
	}
}

func (w *textWriter) calls(calls []ToolCall) string {
	type call struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	var list []call
	for _, c := range calls {
		w.names[c.ID] = c.Name
		list = append(list, call{c.Name, json.RawMessage(repairArguments(c.Arguments))})
	}
	return toJSON(map[string]any{"tool_calls": list})
}

// describe lists the tools, one JSON object per line.
func describe(tools []Tool) string {
	lines := make([]string, 0, len(tools))
	for _, t := range tools {
		lines = append(lines, toJSON(struct {
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			Parameters  json.RawMessage `json:"parameters"`
		}{t.Name, t.Description, schemaOf(t)}))
	}
	return strings.Join(lines, "\n")
}

// toJSON writes a value that always encodes, for a model to read.
func toJSON(v any) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) //nolint:errchkjson // strings and JSON that was checked
	return strings.TrimSuffix(out.String(), "\n")
}

// readTextCalls takes the tool calls out of a text. rest is the text without them. A
// text with a call that is not complete stays whole: its reader tells the model.
func readTextCalls(text string, tools []Tool) (calls []ToolCall, rest string) {
	found := lenient.FindCalls(text, func(name string) bool {
		return slices.ContainsFunc(tools, func(t Tool) bool { return t.Name == name })
	})
	if len(found.List) == 0 || found.Cut {
		return nil, text
	}
	for _, c := range found.List[:min(len(found.List), maxCalls)] {
		calls = append(calls, ToolCall{Name: c.Name, Arguments: string(c.Arguments)})
	}
	return withIDs(calls), found.Rest
}
