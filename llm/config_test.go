package llm_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"legwork/llm"
)

func load(t *testing.T, text string) llm.Config {
	t.Helper()
	var cfg llm.Config
	dec := yaml.NewDecoder(strings.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&cfg); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return cfg
}

func TestConfig(t *testing.T) {
	t.Parallel()
	cfg := load(t, `
models:
  main:
    base_url: http://127.0.0.1:1234/v1
    api_key: k
    model: gpt-5-mini
    context_tokens: 64000
    max_output_tokens: 4000
    timeout: 2m
    first_byte_timeout: 30s
    idle_timeout: 10s
    reasoning_effort: ""
    tool_calls: native
    extra_body: {}
    price: {input: 0.25, cached_input: 0.025, output: 2.00}
    fallback: [backup]
  backup: {model: small, context_tokens: 4000, tool_calls: text}
roles: {answer: backup}
`)
	if issues := cfg.Validate(); len(issues) != 0 {
		t.Errorf("issues %v, want none", issues)
	}
	got := cfg.WithDefaults()
	if main := got.Models["main"]; main.Timeout != 2*time.Minute || main.FirstByteTimeout != 30*time.Second || *main.Price.CachedInput != 0.025 {
		t.Errorf("main = %+v, want what the text says", main)
	}
	want := llm.ModelConfig{
		BaseURL: "https://api.openai.com/v1", Model: "small", ContextTokens: 4000, MaxOutputTokens: 1000,
		Timeout: 5 * time.Minute, FirstByteTimeout: 2 * time.Minute, IdleTimeout: time.Minute, ToolCalls: "text",
	}
	if diff := cmp.Diff(want, got.Models["backup"]); diff != "" {
		t.Errorf("defaults of backup (-want +got):\n%s", diff)
	}
	roles := map[string]string{"plan": "main", "review": "main", "work": "main", "answer": "backup"}
	if diff := cmp.Diff(roles, got.Roles); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
}

func TestValidateListsEveryMistake(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	cfg := llm.Config{
		Models: map[string]llm.ModelConfig{
			"a": {
				BaseURL: "localhost:1234/v1", APIKey: "two words", ContextTokens: -1, Timeout: time.Second, IdleTimeout: time.Minute,
				FirstByteTimeout: -1, ReasoningEffort: "huge", ToolCalls: "xml", ExtraBody: map[string]any{"stream": false, "x": map[any]any{1: 2}},
				Price: &llm.Price{Input: -1, CachedInput: &nan, Output: math.Inf(1)}, Fallback: []string{"a", "unknown", "b", "b"},
			},
			"b": {BaseURL: "https://example.com/v1/chat/completions", Model: "m", ContextTokens: 100, MaxOutputTokens: 100},
			"c": {BaseURL: "https://example.com/v1?key=1", Model: "m", MaxOutputTokens: -5},
			"d": {Offline: true, BaseURL: "https://example.com/v1", APIKey: "key", Model: "m"},
			"e": {Offline: true},
		},
		Roles: map[string]string{"plan": "unknown", "chief": "a", "speech": "e"},
	}
	want := []string{
		"models.a.model: missing; it is the endpoint's name of the model, such as gpt-5-mini",
		"models.a.base_url: is not an address; allowed: http://... or https://...",
		"models.a.api_key: contains a space, a line break or another character that no key has",
		"models.a.context_tokens: is -1; allowed: a positive number of tokens",
		"models.a.first_byte_timeout: is -1ns; allowed: a positive duration such as 90s or 5m",
		"models.a.idle_timeout: is 1m0s, more than the whole call may take; allowed: up to timeout, 1s",
		`models.a.tool_calls: is "xml"; allowed: native, text`,
		`models.a.reasoning_effort: is "huge"; allowed: none, minimal, low, medium, high, xhigh, max`,
		"models.a.extra_body.stream: cannot be set here: it is part of every request",
		"models.a.extra_body: cannot be written as JSON; allowed: texts, numbers, booleans, null, lists and maps with text keys",
		"models.a.price.input: is -1; allowed: US dollars per million tokens, 0 or more",
		"models.a.price.cached_input: is NaN; allowed: US dollars per million tokens, 0 or more",
		"models.a.price.output: is +Inf; allowed: US dollars per million tokens, 0 or more",
		"models.a.fallback[0]: is the model itself; allowed: b, c, d, e",
		`models.a.fallback[1]: "unknown" is not a model; allowed: b, c, d, e`,
		`models.a.fallback[3]: "b" is named twice`,
		"models.b.base_url: must end before /chat/completions, usually in /v1",
		"models.b.max_output_tokens: is 100 and leaves no room for a prompt; allowed: less than context_tokens, 100",
		"models.c.base_url: must not contain ? or #; put further fields into extra_body",
		"models.c.max_output_tokens: is -5; allowed: a positive number of tokens",
		"models.d.base_url: must be left out where offline is true: the offline stand-in has no endpoint",
		"models.d.api_key: must be left out where offline is true: the offline stand-in has no endpoint",
		"models.d.model: must be left out where offline is true: the offline stand-in has no endpoint",
		"roles.review: missing, and no model is named main; allowed: a, b, c, d, e",
		"roles.work: missing, and no model is named main; allowed: a, b, c, d, e",
		"roles.answer: missing, and no model is named main; allowed: a, b, c, d, e",
		"roles.chief: is not a role; allowed: plan, review, work, answer, vision, transcribe, image, speech",
		`roles.plan: "unknown" is not a model; allowed: a, b, c, d, e`,
		`roles.speech: "e" is the offline stand-in, which answers in text alone`,
	}
	var got []string
	for _, issue := range cfg.Validate() {
		got = append(got, issue.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("issues (-want +got):\n%s", diff)
	}
	if _, err := llm.New(cfg, llm.Options{}); err == nil || !strings.Contains(err.Error(), want[len(want)-1]) || strings.Contains(err.Error(), "two words") {
		t.Errorf("New: error %v, want every issue and no key", err)
	}
	if issues := (llm.Config{}).Validate(); len(issues) != 1 || issues[0].Path != "models" {
		t.Errorf("issues of an empty config %v, want one at models", issues)
	}
}

// The struct tags must give a schema that takes durations as people write them.
func TestSchemaOfConfig(t *testing.T) {
	t.Parallel()
	r := &jsonschema.Reflector{FieldNameTag: "yaml", ExpandedStruct: true, RequiredFromJSONSchemaTags: true}
	text, err := json.MarshalIndent(r.Reflect(llm.Config{}), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Defs map[string]struct {
			Properties map[string]struct {
				Type        string
				Description string
				Enum        []string
			}
			AnyOf []struct{ Required []string }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	model := doc.Defs["ModelConfig"]
	for name, p := range model.Properties {
		if p.Description == "" {
			t.Errorf("%s has no description", name)
		}
		if strings.HasSuffix(name, "timeout") && p.Type != "string" {
			t.Errorf("%s is of type %s, want string", name, p.Type)
		}
	}
	if diff := cmp.Diff([]struct{ Required []string }{{[]string{"model"}}, {[]string{"offline"}}}, model.AnyOf); diff != "" {
		t.Errorf("required (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"", "none", "minimal", "low", "medium", "high", "xhigh", "max"}, model.Properties["reasoning_effort"].Enum); diff != "" {
		t.Errorf("reasoning_effort (-want +got):\n%s", diff)
	}
}
