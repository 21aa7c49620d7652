package setup

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"legwork/tools/builtin/search"
)

// preset is an endpoint that many people use.
type preset struct {
	name, url string
	key       string // variable of its API key; empty: it needs none
	model     string // part of the name of the model that is offered
}

// presets are the endpoints that can be chosen by number or name. Their addresses
// are those of the providers' pages on compatibility with OpenAI's protocol.
func presets() []preset {
	return []preset{
		{"OpenAI", "https://api.openai.com/v1", modelKey, usualModel},
		{"Anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", "sonnet"},
		{"Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", "flash"},
		{"OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "openrouter/auto"},
		{"DeepSeek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "deepseek-chat"},
		{"Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", "mistral-medium"},
		{"Ollama", "http://localhost:11434/v1", "", ""},
		{"LM Studio", "http://localhost:1234/v1", "", ""},
		{"vLLM", "http://localhost:8000/v1", "", ""},
	}
}

// presetAt is the preset with an address; without a known one it is an endpoint of
// somebody's own, which may need a key.
func presetAt(url string) preset {
	for _, p := range presets() {
		if strings.TrimRight(url, "/") == p.url {
			return p
		}
	}
	return preset{url: url, key: modelKey}
}

// plainName is a name as people type it: "lm-studio" is LM Studio.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "-", "", "_", "").Replace(name))
}

// chosen is the index of a name that is given by its number from 1 or by itself; -1
// for neither.
func chosen(answer string, names []string) int {
	if i := slices.IndexFunc(names, func(n string) bool { return plainName(n) == plainName(answer) }); i >= 0 {
		return i
	}
	if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(names) {
		return n - 1
	}
	return -1
}

// menu is a numbered list; the notes stand beside the names.
func menu(names, notes []string) string {
	width := 0
	for _, name := range names {
		width = max(width, len(name))
	}
	var b strings.Builder
	for i, name := range names {
		line := fmt.Sprintf("%4d  %s", i+1, name)
		if i < len(notes) && notes[i] != "" {
			line = fmt.Sprintf("%4d  %-*s  %s", i+1, width, name, notes[i])
		}
		b.WriteString("\n" + line)
	}
	return b.String()
}

// shownModels is how many names of models are listed at once.
const shownModels = 30

// otherModels matches the names of models that do not chat. They are not listed, but
// can be typed.
var otherModels = regexp.MustCompile(`(?i)embed|whisper|tts|dall-e|moderation|transcribe|image|imagen|realtime|audio|sora|veo|rerank|ocr`)

// chatModels sorts the names of an endpoint and leaves out those that do not chat,
// unless none is left.
func chatModels(names []string) []string {
	sorted := slices.Compact(slices.Sorted(slices.Values(names)))
	chat := slices.DeleteFunc(slices.Clone(sorted), otherModels.MatchString)
	if len(chat) == 0 {
		return sorted
	}
	return chat
}

// containing are the names with a part, in any case.
func containing(names []string, part string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return !strings.Contains(strings.ToLower(n), strings.ToLower(part))
	})
}

// searchChoice is the answer to the question for a search: a provider with a key, or
// an own search with an address. The zero value is none.
type searchChoice struct {
	provider search.Site // zero: an own search
	key      credential
	url      string
	base     string // address of the provider's API in place of its own
}

func (s searchChoice) none() bool { return s.url == "" && s.key.value == "" }

// options are those of the built-in search server.
func (s searchChoice) options() map[string]any {
	if s.provider.Name == "" {
		return map[string]any{"url": s.url}
	}
	options := map[string]any{"provider": s.provider.Name, "api_key": s.key.value}
	if s.base != "" {
		options["base_url"] = s.base
	}
	return options
}

// line is the server's line in the config.
func (s searchChoice) line() string {
	switch {
	case s.none():
		return ""
	case s.provider.Name == "":
		return "\n  search: {builtin: search, options: {url: " + quote(s.url) + "}}"
	}
	base := ""
	if s.base != "" {
		base = ", base_url: " + quote(s.base)
	}
	return fmt.Sprintf("\n  search: {builtin: search, options: {provider: %s, api_key: %q%s}}", s.provider.Name, "${"+s.key.variable+"}", base)
}

// title is how the choice is called when it works.
func (s searchChoice) title() string { return cmp.Or(s.provider.Label, s.url) }
