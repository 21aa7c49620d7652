package llm

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"legwork/internal/issue"

	openai "github.com/sashabaranov/go-openai"
)

// Validate lists every mistake, models by name, then roles. Zero values are
// not mistakes where a default exists. No text contains a key's value.
func (c Config) Validate() issue.List {
	v := &validation{config: c}
	if len(c.Models) == 0 {
		v.Add("models", "no model is configured; name at least one, such as main")
		return v.List
	}
	for _, name := range c.Names() {
		v.model(name, c.Models[name])
	}
	v.roles()
	return v.List
}

type validation struct {
	config Config
	issue.List
}

func (v *validation) model(name string, m ModelConfig) {
	at := "models." + name
	if name == "" {
		v.Add("models", "a model needs a name")
	}
	if m.Offline {
		v.offline(at, m)
	} else if strings.TrimSpace(m.Model) == "" {
		v.Add(at+".model", "missing; it is the endpoint's name of the model, such as gpt-5-mini")
	}
	v.address(at+".base_url", m.BaseURL)
	if strings.ContainsFunc(m.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		v.Add(at+".api_key", "contains a space, a line break or another character that no key has")
	}
	v.tokens(at, m)
	v.timeouts(at, m)
	v.oneOf(at+".tool_calls", m.ToolCalls, ToolCallsNative, ToolCallsText)
	v.oneOf(at+".reasoning_effort", m.ReasoningEffort, openai.ReasoningEffortNone, openai.ReasoningEffortMinimal,
		openai.ReasoningEffortLow, openai.ReasoningEffortMedium, openai.ReasoningEffortHigh,
		openai.ReasoningEffortXHigh, openai.ReasoningEffortMax)
	v.extraBody(at+".extra_body", m.ExtraBody)
	v.price(at+".price", m.Price)
	v.fallback(name, m.Fallback)
}

// offline reports settings of an endpoint, which an offline model does not have.
func (v *validation) offline(at string, m ModelConfig) {
	for _, field := range []struct {
		key   string
		given bool
	}{{"base_url", m.BaseURL != ""}, {"api_key", m.APIKey != ""}, {"model", m.Model != ""}, {"extra_body", len(m.ExtraBody) > 0}} {
		if field.given {
			v.Add(at+"."+field.key, "must be left out where offline is true: the offline stand-in has no endpoint")
		}
	}
}

func (v *validation) address(path, base string) {
	if base == "" {
		return
	}
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		v.Add(path, "is not an address; allowed: http://... or https://...")
	case u.RawQuery != "" || u.Fragment != "":
		v.Add(path, "must not contain ? or #; put further fields into extra_body")
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions"):
		v.Add(path, "must end before /chat/completions, usually in /v1")
	}
}

func (v *validation) tokens(at string, m ModelConfig) {
	switch d := m.withDefaults(); {
	case m.ContextTokens < 0:
		v.Add(at+".context_tokens", "is %d; allowed: a positive number of tokens", m.ContextTokens)
	case m.MaxOutputTokens < 0:
		v.Add(at+".max_output_tokens", "is %d; allowed: a positive number of tokens", m.MaxOutputTokens)
	case d.MaxOutputTokens >= d.ContextTokens:
		v.Add(at+".max_output_tokens", "is %d and leaves no room for a prompt; allowed: less than context_tokens, %d",
			d.MaxOutputTokens, d.ContextTokens)
	}
}

func (v *validation) timeouts(at string, m ModelConfig) {
	whole := m.withDefaults().Timeout
	for _, t := range []struct {
		key   string
		value time.Duration
	}{{"timeout", m.Timeout}, {"first_byte_timeout", m.FirstByteTimeout}, {"idle_timeout", m.IdleTimeout}} {
		switch {
		case t.value < 0:
			v.Add(at+"."+t.key, "is %s; allowed: a positive duration such as 90s or 5m", t.value)
		case whole > 0 && t.value > whole:
			v.Add(at+"."+t.key, "is %s, more than the whole call may take; allowed: up to timeout, %s", t.value, whole)
		}
	}
}

func (v *validation) oneOf(path, value string, allowed ...string) {
	if value != "" && !slices.Contains(allowed, value) {
		v.Add(path, "is %q; allowed: %s", value, strings.Join(allowed, ", "))
	}
}

func (v *validation) extraBody(path string, extra map[string]any) {
	for _, key := range []string{"messages", "model", "stream", "tools"} {
		if _, ok := extra[key]; ok {
			v.Add(path+"."+key, "cannot be set here: it is part of every request")
		}
	}
	if _, err := json.Marshal(extra); err != nil {
		v.Add(path, "cannot be written as JSON; allowed: texts, numbers, booleans, null, lists and maps with text keys")
	}
}

func (v *validation) price(path string, p *Price) {
	if p == nil {
		return
	}
	const tokens = " per million tokens"
	amount := func(key, per string, usd *float64) {
		if usd != nil && (*usd < 0 || math.IsNaN(*usd) || math.IsInf(*usd, 0)) {
			v.Add(path+"."+key, "is %v; allowed: US dollars%s, 0 or more", *usd, per)
		}
	}
	amount("input", tokens, &p.Input)
	amount("cached_input", tokens, p.CachedInput)
	amount("output", tokens, &p.Output)
	for _, u := range units() {
		amount(u.key, "", u.price(p))
	}
}

func (v *validation) fallback(name string, fallback []string) {
	for i, other := range fallback {
		path := fmt.Sprintf("models.%s.fallback[%d]", name, i)
		switch {
		case other == name:
			v.Add(path, "is the model itself; allowed: %s", v.others(name))
		case !v.known(other):
			v.Add(path, "%q is not a model; allowed: %s", other, v.others(name))
		case slices.Contains(fallback[:i], other):
			v.Add(path, "%q is named twice", other)
		}
	}
}

func (v *validation) roles() {
	filled := v.config.WithDefaults().Roles
	for _, role := range Roles()[:4] {
		if filled[role] == "" {
			v.Add("roles."+role, "missing, and no model is named %s; allowed: %s", mainModel, v.others(""))
		}
	}
	for _, role := range slices.Sorted(maps.Keys(v.config.Roles)) {
		model := v.config.Roles[role]
		if !slices.Contains(Roles(), role) {
			v.Add("roles."+role, "is not a role; allowed: %s", strings.Join(Roles(), ", "))
		} else if model != "" && !v.known(model) {
			v.Add("roles."+role, "%q is not a model; allowed: %s", model, v.others(""))
		}
	}
	for _, u := range units() {
		if model := v.config.Roles[u.role]; v.config.Models[model].Offline {
			v.Add("roles."+u.role, "%q is the offline stand-in, which answers in text alone", model)
		}
	}
}

func (v *validation) known(model string) bool {
	_, ok := v.config.Models[model]
	return ok
}

// others lists the models that may be used in the place of name.
func (v *validation) others(name string) string {
	names := slices.DeleteFunc(v.config.Names(), func(n string) bool { return n == name })
	if len(names) == 0 {
		return "none, as there is no other model"
	}
	return strings.Join(names, ", ")
}
