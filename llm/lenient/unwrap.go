package lenient

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

var (
	roleMark    = regexp.MustCompile(`^<\|[a-z_]{2,40}\|>\s*assistant\s*(?:<\|[a-z_]{2,40}\|>\s*(?:final\s*<\|[a-z_]{2,40}\|>)?)?\s*`)
	endMark     = regexp.MustCompile(`\s*(?:<\|[a-z_]{2,40}\|>|</s>|<end_of_turn>)$`)
	answerMark  = regexp.MustCompile(`(?s)^<(answer|final_answer|response)>(.*)</(answer|final_answer|response)>$`)
	finalAnswer = regexp.MustCompile(`(?s)^(?:Thought:.*?\n)?\s*(?:\*\*)?Final Answer:(?:\*\*)?\s*(\S.*)$`)
)

// Unwrapped returns the answer that a model put into a wrapper of its own: a JSON string,
// an object such as {"answer": "…"} or {"role": "assistant", "content": "…"}, an element
// <answer>, the words "Final Answer:", and the marks around a model's turn. The wrapper
// is the whole text; other texts come back as they are. Where the person asked for JSON,
// a JSON value is the answer itself and no wrapper.
func Unwrapped(text string, jsonWanted bool) string {
	const nested = 4
	text = strings.TrimSpace(text)
	for range nested {
		inner := text
		switch m := answerMark.FindStringSubmatch(text); {
		case roleMark.MatchString(text):
			inner = roleMark.ReplaceAllString(text, "")
		case strings.HasSuffix(text, ">") && endMark.MatchString(text):
			inner = endMark.ReplaceAllString(text, "")
		case m != nil && m[1] == m[3] && !strings.Contains(m[2], "<"+m[1]+">"):
			inner = m[2]
		case strings.Contains(text, "Final Answer:") && finalAnswer.MatchString(text):
			inner = finalAnswer.FindStringSubmatch(text)[1]
		case jsonWanted:
		case strings.HasPrefix(text, `"`):
			if json.Unmarshal([]byte(text), &inner) != nil {
				inner = text
			}
		default:
			inner = answerIn(text)
		}
		if inner = strings.TrimSpace(inner); inner == text {
			break
		}
		text = inner
	}
	return text
}

// answerIn is the answer in an object that holds nothing else but what kind of message
// it is.
func answerIn(text string) string {
	m, _ := Decode(Whole(Unfence(text))).(map[string]any)
	answer, found := "", 0
	for key, v := range m {
		value, isText := v.(string)
		switch {
		case isText && slices.Contains([]string{"answer", "final_answer", "response", "text", "content", "action_input"}, key):
			answer, found = value, found+1
		case isText && slices.Contains([]string{"type", "role", "thought"}, key):
		case key == "action" && strings.EqualFold(strings.ReplaceAll(value, "_", " "), "final answer"):
		default:
			return text
		}
	}
	if _, react := m["action_input"]; found != 1 || react != (m["action"] != nil) {
		return text
	}
	return answer
}
