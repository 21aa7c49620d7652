package planner

import (
	"encoding/json"
	"slices"
	"strings"

	"legwork/internal/clip"
	"legwork/llm"
)

// merged makes one of texts of the same speaker in a row, since some models
// insist on alternation.
func merged(messages []llm.Message) []llm.Message {
	var list []llm.Message
	for _, m := range messages {
		if n := len(list); n > 0 && m.Role != llm.ToolRole && list[n-1].Role == m.Role && len(list[n-1].ToolCalls)+len(m.ToolCalls) == 0 {
			list[n-1].Content += "\n\n" + m.Content
			list[n-1].Images = append(slices.Clip(list[n-1].Images), m.Images...)
			continue
		}
		list = append(list, m)
	}
	return list
}

// planText is a plan as its model would have written it.
func planText(plan []Subtask) string {
	type entry struct {
		ID          string   `json:"id"`
		Name        string   `json:"name"`
		Description string   `json:"description"`
		After       []string `json:"after,omitempty"`
	}
	list := make([]entry, 0, len(plan))
	for _, p := range plan {
		list = append(list, entry(p))
	}
	text, err := json.Marshal(map[string]any{"plan": list})
	if err != nil {
		return "{}"
	}
	return string(text)
}

func tag(name, body string) string {
	return "<" + name + ">\n" + shield(body, name) + "\n</" + name + ">"
}

// shield keeps data from closing the tag it is in, also in a spelling that only
// a model would take for its end: "</ Data >".
func shield(body, name string) string {
	var out strings.Builder
	for rest := body; ; {
		i := strings.IndexByte(rest, '<')
		if i < 0 {
			if out.Len() == 0 {
				return body
			}
			out.WriteString(rest)
			return out.String()
		}
		out.WriteString(rest[:i+1])
		rest = rest[i+1:]
		if closes(rest, name) {
			out.WriteString("\u200b")
		}
	}
}

// closes reports that what follows a "<" makes it the end of that tag.
func closes(rest, name string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(clip.Bytes(rest, 64), " \t\r\n"), "/")
	if !ok {
		return false
	}
	rest = strings.TrimLeft(rest, " \t\r\n")
	return len(rest) >= len(name) && strings.EqualFold(rest[:len(name)], name)
}
