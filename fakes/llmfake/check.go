package llmfake

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// The top-level fields of OpenAI's chat completions.
const known = `model messages tools tool_choice parallel_tool_calls functions function_call
 stream stream_options max_tokens max_completion_tokens temperature top_p n stop seed user
 presence_penalty frequency_penalty logit_bias logprobs top_logprobs response_format
 reasoning_effort verbosity metadata store service_tier modalities audio prediction
 web_search_options prompt_cache_key prompt_cache_retention safety_identifier`

const maxTools = 128

var goodName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (s *Server) authorise(r *http.Request) *refusal {
	key, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !bearer || key == "":
		return &refusal{
			Status: http.StatusUnauthorized, Type: "invalid_request_error",
			Message: "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth.",
		}
	case s.o.Key != "" && key != s.o.Key:
		return &refusal{
			Status: http.StatusUnauthorized, Type: "invalid_request_error", Code: "invalid_api_key",
			Message: "Incorrect API key provided.",
		}
	}
	return nil
}

func (s *Server) checkModel(r Request) *refusal {
	if len(s.o.Models) == 0 || slices.Contains(s.o.Models, r.Model) {
		return nil
	}
	return &refusal{
		Status: http.StatusNotFound, Type: "invalid_request_error", Code: "model_not_found",
		Message: fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", r.Model),
	}
}

// check looks at everything but the model's name, and fills what was derived.
func (s *Server) check(b *body) *refusal {
	for _, name := range slices.Sorted(maps.Keys(b.fields)) {
		if !slices.Contains(strings.Fields(known), name) && !slices.Contains(s.o.Extra, name) {
			return bad(name, "Unrecognized request argument supplied: %s", name)
		}
	}
	for _, part := range []func(*body) *refusal{checkParameters, checkStream, checkTools, checkMessages} {
		if refusal := part(b); refusal != nil {
			return refusal
		}
	}
	return nil
}

// reasons tells the models that refuse max_tokens and a temperature.
func reasons(model string) bool {
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5"} {
		if strings.HasPrefix(model, prefix) {
			return true
		}
	}
	return false
}

func checkParameters(b *body) *refusal {
	switch {
	case b.Model == "":
		return bad("model", "you must provide a model parameter")
	case b.MaxTokens != nil && b.MaxCompletion != nil:
		return bad("max_tokens", "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	case b.MaxTokens != nil && reasons(b.Model):
		return unsupported("max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	case b.MaxCompletion != nil && !reasons(b.Model):
		// OpenAI itself takes it, the servers that speak its protocol often do not.
		return unsupported("max_completion_tokens", "Unsupported parameter: 'max_completion_tokens' is not supported with this model. Use 'max_tokens' instead.")
	case b.MaxTokens != nil && *b.MaxTokens < 1:
		return bad("max_tokens", "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got %d instead.", *b.MaxTokens)
	case b.MaxCompletion != nil && *b.MaxCompletion < 1:
		return bad("max_completion_tokens", "Invalid 'max_completion_tokens': integer below minimum value. Expected a value >= 1, but got %d instead.", *b.MaxCompletion)
	case b.Temperature != nil && (*b.Temperature < 0 || *b.Temperature > 2):
		return bad("temperature", "Invalid 'temperature': %v is not from 0 to 2.", *b.Temperature)
	case b.Temperature != nil && *b.Temperature != 1 && reasons(b.Model):
		return unsupported("temperature", "Unsupported value: 'temperature' does not support %v with this model. Only the default (1) value is supported.", *b.Temperature)
	case b.TopP != nil && (*b.TopP < 0 || *b.TopP > 1):
		return bad("top_p", "Invalid 'top_p': %v is not from 0 to 1.", *b.TopP)
	case b.N != nil && *b.N != 1:
		return bad("n", "this fake gives one choice, not %d", *b.N)
	case b.Effort != nil && !slices.Contains([]string{"none", "minimal", "low", "medium", "high", "xhigh"}, *b.Effort):
		return bad("reasoning_effort", "Invalid value: %q. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', and 'xhigh'.", *b.Effort)
	}
	return nil
}

func unsupported(param, format string, a ...any) *refusal {
	why := bad(param, format, a...)
	why.Code = "unsupported_parameter"
	return why
}

func checkStream(b *body) *refusal {
	if b.StreamOptions == nil || string(b.StreamOptions) == "null" {
		return nil
	}
	if !b.Stream {
		return bad("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	var options struct {
		Usage       bool  `json:"include_usage"`
		Obfuscation *bool `json:"include_obfuscation"`
	}
	if err := strict(b.StreamOptions, &options); err != nil {
		return bad("stream_options", "Invalid 'stream_options': %v", err)
	}
	b.usage = options.Usage
	return nil
}

func checkTools(b *body) *refusal {
	if _, set := b.fields["tools"]; !set || string(b.fields["tools"]) == "null" {
		if b.ToolChoice != nil || b.Parallel != nil {
			return bad("tool_choice", "'tool_choice' and 'parallel_tool_calls' are only allowed when 'tools' are specified.")
		}
		return nil
	}
	if len(b.Tools) == 0 || len(b.Tools) > maxTools {
		return bad("tools", "Invalid 'tools': %d of them, expected 1 to %d.", len(b.Tools), maxTools)
	}
	seen := map[string]bool{}
	for i, t := range b.Tools {
		at := fmt.Sprintf("tools[%d]", i)
		switch {
		case t.Type != "function":
			return bad(at+".type", "Invalid value: %q. Supported values are: 'function'.", t.Type)
		case !goodName.MatchString(t.Function.Name):
			return bad(at+".function.name", "Invalid '%s.function.name': %q does not match '%s'.", at, t.Function.Name, goodName)
		case seen[t.Function.Name]:
			return bad(at+".function.name", "Tool names must be unique: %q is repeated.", t.Function.Name)
		}
		seen[t.Function.Name] = true
		if refusal := checkSchema(at, t); refusal != nil {
			return refusal
		}
	}
	return nil
}

func checkSchema(at string, t tool) *refusal {
	if t.Function.Parameters == nil {
		return nil
	}
	var schema struct {
		Type       any                        `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(t.Function.Parameters, &schema); err != nil || schema.Type != "object" || schema.Properties == nil {
		return bad(at+".function.parameters", "Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"' with properties, got %s", t.Function.Name, t.Function.Parameters)
	}
	return nil
}

// checkMessages walks the conversation. open are the ids of the last
// assistant's calls that have no result yet.
func checkMessages(b *body) *refusal {
	if len(b.Messages) == 0 {
		return bad("messages", "Invalid 'messages': empty array. Expected an array with minimum length 1.")
	}
	used, open := map[string]bool{}, map[string]bool{}
	for i := range b.Messages {
		m, at := &b.Messages[i], fmt.Sprintf("messages[%d]", i)
		if m.Role != "tool" && len(open) > 0 {
			return unanswered(open)
		}
		if refusal := m.readContent(at); refusal != nil {
			return refusal
		}
		if m.Role != "assistant" && m.ToolCalls != nil {
			return bad(at+".tool_calls", "Unknown parameter: '%s.tool_calls' of role '%s'.", at, m.Role)
		}
		switch m.Role {
		case "system", "developer", "user":
			if strings.TrimSpace(m.text) == "" {
				return bad(at+".content", "Invalid '%s.content': it is empty.", at)
			}
		case "assistant":
			if refusal := m.checkCalls(at, used, open); refusal != nil {
				return refusal
			}
		case "tool":
			if !open[m.ToolCallID] {
				return bad(at+".role", "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls': %q is not one of its calls or has its result already.", m.ToolCallID)
			}
			delete(open, m.ToolCallID)
		default:
			return bad(at+".role", "Invalid value: '%s'. Supported values are: 'system', 'developer', 'user', 'assistant', and 'tool'.", m.Role)
		}
	}
	if len(open) > 0 {
		return unanswered(open)
	}
	return nil
}

func unanswered(open map[string]bool) *refusal {
	return bad("messages", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s",
		strings.Join(slices.Sorted(maps.Keys(open)), ", "))
}

// checkCalls also wants ids that are unique in the whole prompt: OpenAI does
// not care, endpoints that find a result's call by its id alone do.
func (m *message) checkCalls(at string, used, open map[string]bool) *refusal {
	if m.ToolCalls == nil {
		if m.text == "" {
			return bad(at+".content", "Invalid '%s': an assistant message needs content or tool_calls.", at)
		}
		return nil
	}
	if len(*m.ToolCalls) == 0 {
		return bad(at+".tool_calls", "Invalid '%s.tool_calls': empty array. Expected an array with minimum length 1.", at)
	}
	for i, c := range *m.ToolCalls {
		at := fmt.Sprintf("%s.tool_calls[%d]", at, i)
		switch {
		case c.ID == "" || len(c.ID) > 64:
			return bad(at+".id", "Invalid '%s.id': %q has not 1 to 64 characters.", at, c.ID)
		case used[c.ID]:
			return bad(at+".id", "Duplicate value for 'tool_call_id': %q.", c.ID)
		case c.Type != "function":
			return bad(at+".type", "Invalid value: %q. Supported values are: 'function'.", c.Type)
		case !goodName.MatchString(c.Function.Name):
			return bad(at+".function.name", "Invalid '%s.function.name': %q does not match '%s'.", at, c.Function.Name, goodName)
		case c.Function.Arguments == nil || !isObject(*c.Function.Arguments):
			return bad(at+".function.arguments", "Invalid '%s.function.arguments': not a JSON object.", at)
		}
		used[c.ID], open[c.ID] = true, true
	}
	return nil
}

func isObject(text string) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &object) == nil && object != nil
}

// readContent fills text from a string or from text parts.
func (m *message) readContent(at string) *refusal {
	if m.Content == nil || string(m.Content) == "null" {
		if m.Role == "assistant" && m.ToolCalls != nil {
			return nil
		}
		return bad(at+".content", "Invalid value for 'content': expected a string, got null.")
	}
	if json.Unmarshal(m.Content, &m.text) == nil {
		return nil
	}
	var parts []struct {
		Type  string          `json:"type"`
		Text  string          `json:"text"`
		Image json.RawMessage `json:"image_url"`
	}
	if err := json.Unmarshal(m.Content, &parts); err != nil || len(parts) == 0 {
		return bad(at+".content", "Invalid type for '%s.content': expected a string or an array of content parts.", at)
	}
	for i, p := range parts {
		if p.Type != "text" && (p.Type != "image_url" || m.Role != "user" || p.Image == nil) {
			return bad(at+".content", "Invalid '%s.content[%d]': a part of type %q is not allowed here.", at, i, p.Type)
		}
		if p.Image != nil {
			image, err := readImage(p.Image)
			if err != nil {
				return bad(at+".content", "Invalid '%s.content[%d].image_url': %v.", at, i, err)
			}
			m.images = append(m.images, image)
		}
		m.text += p.Text
	}
	return nil
}

// readImage takes images in the request alone: the fake fetches nothing.
func readImage(raw json.RawMessage) (Image, error) {
	var image struct {
		URL    string `json:"url"`
		Detail string `json:"detail"`
	}
	if err := strict(raw, &image); err != nil {
		return Image{}, err
	}
	kind, data, found := strings.Cut(strings.TrimPrefix(image.URL, "data:"), ";base64,")
	content, err := base64.StdEncoding.DecodeString(data)
	switch {
	case !found || !strings.HasPrefix(image.URL, "data:"):
		return Image{}, errors.New("expected a base64-encoded data URL")
	case !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind):
		return Image{}, fmt.Errorf("the MIME type %q is not supported", kind)
	case err != nil || len(content) == 0:
		return Image{}, errors.New("the data is no image")
	case !slices.Contains([]string{"", "auto", "low", "high"}, image.Detail):
		return Image{}, fmt.Errorf("the detail %q is unknown", image.Detail)
	}
	return Image{Type: kind, Data: content}, nil
}

func strict(raw json.RawMessage, into any) error {
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}
