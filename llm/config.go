package llm

import (
	"maps"
	"slices"
	"time"

	"legwork/internal/issue"
)

// The values of ModelConfig.ToolCalls.
const (
	ToolCallsNative = "native"
	ToolCallsText   = "text"
)

// The address and model in requests to the offline stand-in, which never leave the
// process.
const (
	offlineURL   = "http://offline.invalid/v1"
	offlineModel = "offline"
)

// mainModel is the model that roles fall back to when the config names none.
const mainModel = "main"

// Config is this package's part of the config file: the named models and which
// of them plays which role.
type Config struct {
	// Models by their name in the config. At least one is needed.
	Models map[string]ModelConfig `yaml:"models" json:"models" jsonschema_description:"Language models by name; any OpenAI-compatible endpoint."`
	// Roles maps roles to names of models. The first four of Roles() default to the
	// model "main", or to the only one; what the others are for is not available
	// without a model.
	Roles map[string]string `yaml:"roles,omitempty" json:"roles,omitempty" jsonschema_description:"Which model plays which role: plan, review, work, answer (default: the model named main, or the only one), vision, transcribe, image, speech (default: none)."`
}

// ModelConfig describes one model at one endpoint. A zero value means the
// default named at each field; WithDefaults fills them in.
type ModelConfig struct {
	// BaseURL is the endpoint up to, and without, "/chat/completions".
	// Default: OpenAI's.
	BaseURL string `yaml:"base_url,omitempty" json:"base_url,omitempty" jsonschema:"example=https://api.openai.com/v1" jsonschema_description:"The endpoint without /chat/completions; usually ends in /v1. Default: https://api.openai.com/v1."`
	// APIKey is sent as a bearer token; empty sends none.
	APIKey string `yaml:"api_key,omitempty" json:"api_key,omitempty" jsonschema_description:"Sent as a bearer token; leave it out for an endpoint without keys."`
	// Model is the endpoint's own name of the model. Required, unless Offline.
	Model string `yaml:"model,omitempty" json:"model,omitempty" jsonschema:"anyof_required=model,minLength=1,example=gpt-5-mini" jsonschema_description:"The endpoint's name of the model."`
	// Offline is true for the stand-in of Options.Offline, which needs no endpoint: no
	// BaseURL, APIKey or Model.
	Offline bool `yaml:"offline,omitempty" json:"offline,omitempty" jsonschema:"anyof_required=offline" jsonschema_description:"No model, but a stand-in within legwork that plans, calls tools and answers by a few rules, for trying out: it needs no endpoint, and no model."`
	// ContextTokens is how much prompt and reply together may hold.
	// Default: 128000.
	ContextTokens int `yaml:"context_tokens,omitempty" json:"context_tokens,omitempty" jsonschema:"minimum=0" jsonschema_description:"Tokens that prompt and reply may hold together. Default: 128000."`
	// MaxOutputTokens bounds one reply, thinking included. Default: 8000, or a
	// quarter of ContextTokens when that is less.
	MaxOutputTokens int `yaml:"max_output_tokens,omitempty" json:"max_output_tokens,omitempty" jsonschema:"minimum=0" jsonschema_description:"Tokens of one reply, thinking included. Default: 8000, or a quarter of context_tokens."`
	// Timeout bounds one call of this model, all its attempts together.
	// Default: 5 minutes.
	Timeout time.Duration `yaml:"timeout,omitempty" json:"timeout,omitempty" jsonschema:"type=string,example=5m" jsonschema_description:"For one call of this model, retries included. Default: 5m."`
	// FirstByteTimeout bounds the wait for the first byte of a reply's body.
	// Default: twice IdleTimeout, at most Timeout.
	FirstByteTimeout time.Duration `yaml:"first_byte_timeout,omitempty" json:"first_byte_timeout,omitempty" jsonschema:"type=string,example=2m" jsonschema_description:"Until the first byte of a reply. Default: twice idle_timeout, at most timeout."`
	// IdleTimeout bounds the silence between two chunks. Default: 1 minute.
	IdleTimeout time.Duration `yaml:"idle_timeout,omitempty" json:"idle_timeout,omitempty" jsonschema:"type=string,example=60s" jsonschema_description:"Between two chunks of a reply. Default: 60s."`
	// ReasoningEffort is passed on; empty leaves it to the endpoint.
	ReasoningEffort string `yaml:"reasoning_effort,omitempty" json:"reasoning_effort,omitempty" jsonschema:"enum=,enum=none,enum=minimal,enum=low,enum=medium,enum=high,enum=xhigh,enum=max" jsonschema_description:"How much a reasoning model thinks; empty leaves it to the endpoint."`
	// ToolCalls is native (the default), or text for a model that cannot call
	// tools by the protocol and writes its calls into the text.
	ToolCalls string `yaml:"tool_calls,omitempty" json:"tool_calls,omitempty" jsonschema:"enum=native,enum=text" jsonschema_description:"native, or text for models without tool calling. Default: native."`
	// ExtraBody is merged into each request's JSON and wins over what this
	// package sets; a null leaves a field out.
	ExtraBody map[string]any `yaml:"extra_body,omitempty" json:"extra_body,omitempty" jsonschema_description:"Merged into each request; a null leaves a field out."`
	// Price is what calls cost; nil: not known.
	Price *Price `yaml:"price,omitempty" json:"price,omitempty" jsonschema_description:"USD per million tokens, and per picture, minute of audio and 1,000 spoken characters. Without it, budgets in money do not count this model."`
	// Fallback names the models that are tried in order when this one cannot
	// answer; after all of them come their own fallbacks.
	Fallback []string `yaml:"fallback,omitempty" json:"fallback,omitempty" jsonschema_description:"Models tried in order when this one cannot answer."`
}

// Price is in US dollars. The zero value means that everything is free of charge.
type Price struct {
	Input float64 `yaml:"input" json:"input" jsonschema:"minimum=0" jsonschema_description:"Per million tokens of prompt."`
	// CachedInput is nil where cached tokens cost as much as others.
	CachedInput *float64 `yaml:"cached_input,omitempty" json:"cached_input,omitempty" jsonschema:"minimum=0" jsonschema_description:"Per million tokens of prompt that the endpoint had cached. Default: like input."`
	Output      float64  `yaml:"output" json:"output" jsonschema:"minimum=0" jsonschema_description:"Per million tokens of reply."`
	// The prices of calls that are not billed by tokens; nil: not known, unless all of
	// the price is empty.
	Image       *float64 `yaml:"image,omitempty" json:"image,omitempty" jsonschema:"minimum=0" jsonschema_description:"Per picture that a model of the role image makes. Default: not known."`
	AudioMinute *float64 `yaml:"audio_minute,omitempty" json:"audio_minute,omitempty" jsonschema:"minimum=0" jsonschema_description:"Per minute of audio that a model of the role transcribe hears. Default: not known."`
	Speech1K    *float64 `yaml:"speech_1k,omitempty" json:"speech_1k,omitempty" jsonschema:"minimum=0" jsonschema_description:"Per 1,000 characters that a model of the role speech speaks. Default: not known."`
}

// Roles lists every role that the config may name. The first four always have a model.
func Roles() []string {
	return []string{RolePlan, RoleReview, RoleWork, RoleAnswer, RoleVision, RoleTranscribe, RoleImage, RoleSpeech}
}

// unit is what a role is billed by beside tokens.
type unit struct {
	role, key, plural string
	size              float64 // of the amount that the price is for
	price             func(*Price) *float64
	used              func(Usage) int
}

// costs returns the price of the unit; nil: it is not known. An empty price means that
// everything is free of charge.
func (u unit) costs(p *Price) *float64 {
	switch {
	case p == nil:
		return nil
	case *p == Price{}:
		return new(float64)
	}
	return u.price(p)
}

func units() [3]unit {
	return [3]unit{
		{RoleImage, "image", "pictures", 1, func(p *Price) *float64 { return p.Image }, func(u Usage) int { return u.Images }},
		{RoleTranscribe, "audio_minute", "minutes of audio", 60, func(p *Price) *float64 { return p.AudioMinute }, func(u Usage) int { return u.AudioSeconds }},
		{RoleSpeech, "speech_1k", "spoken characters", 1000, func(p *Price) *float64 { return p.Speech1K }, func(u Usage) int { return u.Characters }},
	}
}

// MissingPrices lists the prices of pictures, audio and speech that the models of
// those roles, and their fallbacks, do not have, by the keys of the config.
func (c Config) MissingPrices() issue.List {
	var l issue.List
	for _, u := range units() {
		for _, name := range c.Chain(u.role) {
			if m := c.Models[name]; !m.Offline && u.costs(m.Price) == nil {
				l.Add("models."+name+".price."+u.key, "missing; budgets in US dollars do not count the %s of roles.%s", u.plural, u.role)
			}
		}
	}
	return l
}

// Chain lists the model of a role and the fallbacks that may take its place. It is
// empty where the role has no model.
func (c Config) Chain(role string) []string { return c.chain(c.Roles[role]) }

// chain lists a model, its fallbacks, their fallbacks and so on, each once. It is
// empty where there is no such model.
func (c Config) chain(first string) []string {
	if _, known := c.Models[first]; !known {
		return nil
	}
	chain := []string{first}
	for i := 0; i < len(chain); i++ {
		for _, name := range c.Models[chain[i]].Fallback {
			if !slices.Contains(chain, name) {
				chain = append(chain, name)
			}
		}
	}
	return chain
}

// WithDefaults returns a copy in which every zero value is replaced by its
// default. Maps and slices inside the models are shared with c.
func (c Config) WithDefaults() Config {
	out := Config{Models: make(map[string]ModelConfig, len(c.Models)), Roles: maps.Clone(c.Roles)}
	for name, m := range c.Models {
		out.Models[name] = m.withDefaults()
	}
	if out.Roles == nil {
		out.Roles = map[string]string{}
	}
	fill := c.defaultModel()
	for _, role := range Roles()[:4] {
		if out.Roles[role] == "" && fill != "" {
			out.Roles[role] = fill
		}
	}
	return out
}

// Unpriced are the names of the models whose price is not known, sorted.
func (c Config) Unpriced() []string {
	return slices.DeleteFunc(c.Names(), func(name string) bool { return c.Models[name].withDefaults().Price != nil })
}

func (c Config) defaultModel() string {
	if _, ok := c.Models[mainModel]; ok {
		return mainModel
	}
	if len(c.Models) == 1 {
		return c.Names()[0]
	}
	return ""
}

// DefaultContext is context_tokens of a model whose config does not say it.
const DefaultContext = 128000

func (m ModelConfig) withDefaults() ModelConfig {
	if m.Offline {
		m.BaseURL, m.Model = offlineURL, offlineModel
		or(&m.Price, &Price{})
	}
	or(&m.BaseURL, "https://api.openai.com/v1")
	or(&m.ContextTokens, DefaultContext)
	or(&m.MaxOutputTokens, min(8000, max(1, m.ContextTokens/4)))
	or(&m.Timeout, 5*time.Minute)
	or(&m.IdleTimeout, min(time.Minute, m.Timeout))
	or(&m.FirstByteTimeout, min(2*m.IdleTimeout, m.Timeout))
	or(&m.ToolCalls, ToolCallsNative)
	return m
}

func or[T comparable](field *T, fallback T) {
	var zero T
	if *field == zero {
		*field = fallback
	}
}

// Names lists the models in alphabetical order.
func (c Config) Names() []string { return slices.Sorted(maps.Keys(c.Models)) }
