package llmfake

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// The top-level fields of OpenAI's chat completions.
const known = `model messages tools tool_choice parallel_tool_calls functions function_call
 stream stream_options max_tokens max_completion_tokens temperature top_p n stop seed user
 presence_penalty frequency_penalty logit_bias logprobs top_logprobs response_format
 reasoning_effort verbosity metadata store service_tier modalities audio prediction
 web_search_options prompt_cache_key prompt_cache_retention safety_identifier`

// What OpenAI takes at most.
const (
	maxTools = 128
	maxImage = 20 << 20
	maxSide  = 8000 // pixels, the limit of Anthropic
)

var (
	goodName   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	goodAuthor = regexp.MustCompile(`^[^\s<|\\/>]{1,64}$`)
)

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
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
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
	return checkChoice(b.ToolChoice, seen)
}

// checkLengths looks at what fits one endpoint and not another: a client cannot
// know that before.
func (s *Server) checkLengths(b *body, size int) *refusal {
	for i, t := range b.Tools {
		if n := utf8.RuneCountInString(t.Function.Description); s.o.Description > 0 && n > s.o.Description {
			at := fmt.Sprintf("tools[%d].function.description", i)
			why := bad(at, "Invalid '%s': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", at, s.o.Description, n)
			why.Code, why.lawful = "string_above_max_length", true
			return why
		}
	}
	if n := s.o.ContextTokens; n > 0 && size/4 > n {
		why := bad("messages", "This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.", n, size/4)
		why.Code, why.lawful = "context_length_exceeded", true
		return why
	}
	return nil
}

// checkChoice looks at which tool a model must call.
func checkChoice(choice json.RawMessage, names map[string]bool) *refusal {
	var word string
	if choice == nil || json.Unmarshal(choice, &word) == nil && slices.Contains([]string{"none", "auto", "required"}, word) {
		return nil
	}
	var named struct {
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if err := strict(choice, &named); err != nil || named.Type != "function" || !names[named.Function.Name] {
		return bad("tool_choice", "Invalid value for 'tool_choice': %s is neither none, auto or required, nor one of the tools.", choice)
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
