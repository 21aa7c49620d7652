package planner

import (
	"strings"

	"legwork/llm/lenient"
)

// Spoken is the text of a reply that people may read: without thinking blocks
// and surrounding space.
func Spoken(text string) string {
	return strings.TrimSpace(lenient.WithoutThinking(text))
}

// sure is how many bytes of a growing text must be there before it is taken
// for an answer.
const sure = 24

// Utterance is the part of a growing reply that is known to be an answer and
// may be shown: nothing while it may still become a plan, and nothing from
// where a plan seems to start.
func Utterance(text string) string {
	text = strings.TrimLeft(text, " \t\r\n\ufeff")
	if strings.HasPrefix(text, "<") || strings.HasPrefix("<think", text) {
		if strings.HasPrefix(text, "<think") && !strings.Contains(text, "</think") {
			return ""
		}
		text = strings.TrimLeft(lenient.WithoutThinking(text), " \t\r\n")
	}
	if text == "" || len(text) < sure || strings.ContainsAny(text[:1], "{[`") {
		return ""
	}
	for _, start := range []string{"\n{", "```json", `{"plan"`, "{'plan'", "[{"} {
		if i := strings.Index(text, start); i >= 0 {
			text = text[:i]
		}
	}
	return text
}
