package offline

import (
	"strings"

	"legwork/internal/clip"
	"legwork/llm"
)

// keptLines is how many lines a summary has at most: the newest ones.
const keptLines = 40

// digest is the summary that a request wants: the one so far, and a line for
// each question and its answer since. ok is false when it wants none.
func (r *rules) digest(q llm.Request) (summary string, ok bool) {
	var lines []string
	for _, m := range q.Messages {
		if m.Role != llm.User {
			continue
		}
		if before := r.before.FindStringSubmatch(m.Content); before != nil {
			lines = append(lines, strings.Split(strings.TrimSpace(before[1]), "\n")...)
		}
		for _, turn := range r.turn.FindAllStringSubmatch(m.Content, -1) {
			lines = append(lines, "- "+clip.Line(turn[1], 100)+" → "+clip.Line(turn[2], 100))
			ok = true
		}
	}
	return strings.Join(lines[max(0, len(lines)-keptLines):], "\n"), ok
}
