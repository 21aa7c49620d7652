package offline

import (
	"fmt"
	"slices"
	"strings"

	"legwork/internal/clip"
	"legwork/llm"
)

// file is a file that came with the question, as the prompt shows it.
type file struct{ name, text string }

// How much of a file the stand-in repeats, in lines and bytes.
const (
	shownLines = 5
	shownBytes = 500
)

// tell says what it sees of files: their size and how they begin. ok is false when there
// are none, or when work fits the question.
func (m *Model) tell(p prompt, parts []part) (_ llm.Reply, ok bool) {
	busy := slices.ContainsFunc(parts, func(q part) bool { return q.group != alone })
	if len(p.files) == 0 || len(p.results) > 0 || busy {
		return llm.Reply{}, false
	}
	f := m.rules.frames(p.goal)
	text := f.notice
	for _, file := range p.files {
		words, note := m.rules.apart(file.text)
		if words == "" {
			text += "\n\n" + note
			continue
		}
		lines := strings.Split(words, "\n")
		text += "\n\n" + fmt.Sprintf(f.file, file.name, len(lines), len(strings.Fields(words))) + "\n\n```\n" +
			strings.ReplaceAll(clip.Marked(strings.Join(lines[:min(len(lines), shownLines)], "\n"), shownBytes), "```", "'''") + "\n```"
	}
	return llm.Reply{Text: text}, true
}

// apart takes what legwork notes about a file off its text. note is the first sentence of
// the first note.
func (r *rules) apart(text string) (words, note string) {
	if m := r.remark.FindStringSubmatch(text); m != nil {
		note, _, _ = strings.Cut(m[1], ". ")
		note, _, _ = strings.Cut(note, "。")
		note = strings.TrimSuffix(note, ".") + "."
	}
	return strings.TrimSpace(r.remark.ReplaceAllString(text, "")), note
}
