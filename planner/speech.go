package planner

import (
	"regexp"
	"strings"

	"legwork/internal/clip"
	"legwork/llm/lenient"
)

// VisibleText is the text of a reply that people may read: without thinking blocks
// and surrounding space.
func VisibleText(text string) string {
	return strings.TrimSpace(lenient.WithoutThinking(text))
}

// maxThought is the longest text that is kept beside a plan or calls, in bytes.
const maxThought = 2000

// Thought is the text of a model beside its plan or its calls or, without such text,
// its thinking, shortened.
func Thought(text, thinking string) string {
	text = VisibleText(text)
	var out strings.Builder
	from := 0
	for _, v := range lenient.Values(text) {
		if v.Start < from {
			continue
		}
		out.WriteString(text[from:v.Start])
		from = v.End
	}
	out.WriteString(text[min(from, len(text)):])
	said := strings.TrimSpace(strings.NewReplacer("```json", "", "```", "").Replace(out.String()))
	for strings.Contains(said, "\n\n\n") {
		said = strings.ReplaceAll(said, "\n\n\n", "\n\n")
	}
	if said == "" {
		said = strings.TrimSpace(thinking)
	}
	return clip.Marked(said, maxThought)
}

// minPrefix is how many bytes of a growing text must be there before it is taken
// for an answer.
const minPrefix = 24

const space = " \t\r\n"

// maybeCall reports that the text after a brace is, or may still become, the first
// key of a plan or of a tool call written as text.
func maybeCall(rest string) bool {
	rest = strings.TrimLeft(rest, space)
	if rest == "" {
		return true
	}
	keys := []string{"plan", "thought", "tool_calls"}
	if strings.ContainsAny(rest[:1], `"'`) {
		rest, keys = rest[1:], append(keys, "tool", "name", "function", "type", "action")
	}
	for _, key := range keys {
		if strings.HasPrefix(rest, key) || strings.HasPrefix(key, rest) {
			return true
		}
	}
	return false
}

// StreamablePrefix is the part of a growing reply that is known to be an answer and
// may be shown: nothing while it may still become a plan or a call, and nothing from
// where one seems to start.
func StreamablePrefix(text string) string {
	text = strings.TrimLeft(text, " \t\r\n\ufeff")
	if strings.HasPrefix(text, "<") || strings.HasPrefix("<think", text) {
		if strings.HasPrefix(text, "<think") && !strings.Contains(text, "</think") {
			return ""
		}
		text = strings.TrimLeft(lenient.WithoutThinking(text), " \t\r\n")
	}
	if strings.Contains(text, "</think") { // of a server that keeps the opening tag to itself
		text = lenient.WithoutThinking(text)
	}
	if len(text) < minPrefix || beginsData(text) || beginsCode.MatchString(text) {
		return ""
	}
	if i := strings.Index(text, "```json"); i >= 0 {
		text = text[:i]
	}
	for i := range len(text) {
		rest := text[i+1:]
		switch {
		case text[i] == '{' && (maybeCall(rest) || (text[i-1] == '\n' || strings.HasSuffix(text[:i], ": ")) && maybeData(rest)),
			text[i] == '[' && strings.HasPrefix(strings.TrimLeft(rest, space), "{"),
			lenient.MarkAt(text, i):
			return strings.TrimSuffix(text[:i], "\n")
		}
	}
	return text
}

// beginsCode matches a text that begins as a call written as code may, or a plan in YAML.
var beginsCode = regexp.MustCompile(`^(?:\[?[A-Za-z_][A-Za-z0-9_.]*(?:\(|$)|plan:|- +(?:id|name): )`)

// maybeData reports that the text after a brace at the beginning of a line, or behind a
// colon, is, or may still become, a quoted key, as in a plan that begins with another
// key. Code with braces on lines of their own goes on otherwise.
func maybeData(rest string) bool {
	rest = strings.TrimLeft(rest, space)
	return rest == "" || strings.ContainsAny(rest[:1], `"'`)
}

var beginsElement = regexp.MustCompile(`^<[A-Za-z]`)

// beginsData reports that a text begins as a plan may, bare, as XML or fenced. One that
// begins with a link, a reference or a piece of code does not.
func beginsData(text string) bool {
	switch {
	case strings.HasPrefix(text, "{"), beginsElement.MatchString(text):
		return true
	case strings.HasPrefix(text, "["):
		rest := strings.TrimLeft(text[1:], space)
		return rest == "" || strings.HasPrefix(rest, "{")
	case strings.HasPrefix(text, "```"):
		language, _, whole := strings.Cut(text[3:], "\n")
		language = strings.ToLower(strings.TrimSpace(language))
		return !whole || language == "" || strings.HasPrefix(language, "json")
	}
	return false
}
