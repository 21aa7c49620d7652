package llm

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"legwork/internal/clip"
	"legwork/llm/lenient"
)

// noOutput is the text of a tool result without text: endpoints refuse empty ones.
const noOutput = "(no output)"

// emptySchema describes a tool without arguments.
const emptySchema = `{"type":"object","properties":{}}`

// wire turns a request that passed Check into the protocol's form.
func (e *endpoint) wire(r Request) openai.ChatCompletionRequest {
	out := openai.ChatCompletionRequest{
		Model:           e.config.Model,
		Stream:          true,
		StreamOptions:   &openai.StreamOptions{IncludeUsage: true},
		ReasoningEffort: e.config.ReasoningEffort,
	}
	if e.config.ToolCalls == ToolCallsText {
		out.Messages = textMessages(r)
	} else {
		out.Messages = nativeMessages(r.Messages)
		out.Tools = e.nativeTools(r.Tools)
	}
	e.limit(&out, r.MaxOutput)
	if e.replaced("stream_options") || e.quirks.noStreamOptions.Load() {
		out.StreamOptions = nil
	}
	if e.replaced("reasoning_effort") {
		out.ReasoningEffort = ""
	}
	return out
}

// limit sets how long the reply may be, in the field that the endpoint knows,
// or nowhere when extra_body sets it or the endpoint knows neither.
func (e *endpoint) limit(out *openai.ChatCompletionRequest, most int) {
	switch {
	case e.replaced("max_tokens"), e.replaced("max_completion_tokens"), e.quirks.noLimit.Load():
	case e.wantsCompletionTokens():
		out.MaxCompletionTokens = e.output(most)
	default:
		out.MaxTokens = e.output(most) //nolint:staticcheck // the field of endpoints other than OpenAI's
	}
}

// sentMaxTokens reports whether a request has its limit in max_tokens.
func sentMaxTokens(out openai.ChatCompletionRequest) bool {
	return out.MaxTokens > 0 //nolint:staticcheck // the field of endpoints other than OpenAI's
}

// wantsCompletionTokens tells the models whose limit is max_completion_tokens
// by name, as go-openai does, and those that have asked for it.
func (e *endpoint) wantsCompletionTokens() bool {
	return e.quirks.completionTokens.Load() || slices.ContainsFunc([]string{"o1", "o3", "o4", "gpt-5", "gpt-6"}, func(prefix string) bool {
		return strings.HasPrefix(e.config.Model, prefix)
	})
}

// replaced reports whether extra_body has a field, be it null.
func (e *endpoint) replaced(field string) bool {
	_, ok := e.config.ExtraBody[field]
	return ok
}

// briefDescription is how long a tool's description may be where that is bounded,
// in bytes, and so in characters.
const briefDescription = 1000

func (e *endpoint) nativeTools(tools []Tool) []openai.Tool {
	var out []openai.Tool
	for _, t := range tools {
		if e.quirks.briefTools.Load() {
			t.Description = clip.Marked(t.Description, briefDescription)
		}
		out = append(out, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: schemaOf(t),
		}})
	}
	return out
}

// schemaOf is a tool's schema with the fields that endpoints insist on: a type, and
// properties even where there are none.
func schemaOf(t Tool) json.RawMessage {
	if len(t.Schema) == 0 {
		return json.RawMessage(emptySchema)
	}
	var known map[string]json.RawMessage
	if json.Unmarshal(t.Schema, &known) != nil || len(known) == 0 {
		return json.RawMessage(emptySchema)
	}
	schema := bytes.TrimSpace(t.Schema)
	for _, needed := range []struct{ field, value string }{{"properties", `{}`}, {"type", `"object"`}} {
		if known[needed.field] == nil {
			schema = slices.Concat([]byte(`{"`+needed.field+`":`+needed.value+`,`), schema[1:])
		}
	}
	return schema
}

// nativeMessages writes the history so that strict endpoints take it: ids that
// differ in the whole request, names of the allowed letters, arguments that
// are JSON objects, no empty result and no empty system message.
func nativeMessages(messages []Message) []openai.ChatCompletionMessage {
	out := make([]openai.ChatCompletionMessage, 0, len(messages))
	used := map[string]bool{}      // ids on the wire
	current := map[string]string{} // of the last assistant message: its id to that on the wire
	for _, m := range messages {
		w := openai.ChatCompletionMessage{Role: m.Role, Content: m.Content}
		switch m.Role {
		case System:
			if m.Content == "" {
				continue
			}
		case Assistant:
			clear(current)
			for _, c := range m.ToolCalls {
				current[c.ID] = unusedID(c.ID, used)
				w.ToolCalls = append(w.ToolCalls, openai.ToolCall{
					ID: current[c.ID], Type: openai.ToolTypeFunction,
					Function: openai.FunctionCall{Name: sanitizeName(c.Name), Arguments: repairArguments(c.Arguments)},
				})
			}
		case ToolRole:
			w.ToolCallID = current[m.ToolCallID]
			if m.Content == "" {
				w.Content = noOutput
			}
		}
		out = append(out, withImages(w, m.Images))
	}
	return out
}

// withImages is a message whose text is followed by images.
func withImages(m openai.ChatCompletionMessage, images []Image) openai.ChatCompletionMessage {
	if len(images) == 0 {
		return m
	}
	m.MultiContent = []openai.ChatMessagePart{{Type: openai.ChatMessagePartTypeText, Text: m.Content}}
	m.Content = ""
	for _, i := range images {
		m.MultiContent = append(m.MultiContent, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{
			URL: "data:" + i.Type + ";base64," + base64.StdEncoding.EncodeToString(i.Data), Detail: openai.ImageURLDetailAuto,
		}})
	}
	return m
}

// ImageTokens is how many tokens an image in a prompt counts before the call. Models
// scale large images down, most to 1,600 tokens and fewer.
const ImageTokens = 1600

// imageBytes is the size of an image among the bytes of a prompt.
const imageBytes = ImageTokens * bytesPerToken

// unusedID returns id, or id with a number when an earlier message used it.
func unusedID(id string, used map[string]bool) string {
	free := id
	for n := 2; used[free]; n++ {
		free = id + "_" + strconv.Itoa(n)
	}
	used[free] = true
	return free
}

// sanitizeName makes a name that a model invented fit for the protocol.
func sanitizeName(name string) string {
	if validName(name) {
		return name
	}
	name = strings.Map(func(r rune) rune {
		if invalidInName(r) {
			return '_'
		}
		return r
	}, name)
	return name[:min(len(name), maxName)]
}

// meantArguments returns arguments as valid JSON where they are a whole object with
// mistakes that models make, such as trailing commas, and others as they are.
func meantArguments(args string) string {
	if isObject([]byte(args)) {
		return args
	}
	if raw := lenient.Whole(args); isObject(raw) {
		return string(raw)
	}
	return args
}

// repairArguments returns arguments that are one JSON object: as they are, as
// they were meant, or empty.
func repairArguments(args string) string {
	if isObject([]byte(args)) {
		return args
	}
	for _, o := range lenient.Objects(args) {
		if len(o.Raw) > 0 {
			return string(o.Raw)
		}
	}
	return "{}"
}

// promptSize is the size of a request. The gauge of tokens knows the bytes of its text.
type promptSize struct{ bytes, images int }

func sizeOf(out openai.ChatCompletionRequest) (size promptSize) {
	for _, m := range out.Messages {
		size.bytes += len(m.Content)
		for _, part := range m.MultiContent {
			size.bytes += len(part.Text)
			if part.ImageURL != nil {
				size.images++
			}
		}
		for _, c := range m.ToolCalls {
			size.bytes += len(c.Function.Name) + len(c.Function.Arguments)
		}
	}
	for _, t := range out.Tools {
		schema, _ := t.Function.Parameters.(json.RawMessage)
		size.bytes += len(t.Function.Name) + len(t.Function.Description) + len(schema)
	}
	return size
}
