package planner

import (
	"encoding/json"
	"fmt"
	"strings"

	"legwork/internal/clip"
	"legwork/llm"
)

// How much of what others added to the context a decision sees, in bytes: of one
// message, and of all of them, the newest first.
const (
	maxNote         = 4 << 10
	notesInDecision = 32 << 10
)

// noteworthy are the seqs of the notes that a decision sees; how many older ones
// it does not is said at once.
func (b *builder) noteworthy() []int {
	list, room := b.s.Notes, notesInDecision
	for from := len(list); from > 0; from-- {
		if room -= min(len(b.noteText(list[from-1])), maxNote); room < 0 {
			b.add(llm.User, b.text("prompt.notes_left", map[string]any{"Count": from}))
			return list[from:]
		}
	}
	return list
}

// notes adds what others added to the context before the event of that seq, and
// returns the rest.
func (b *builder) notes(list []int, before int) []int {
	var texts []string
	for len(list) > 0 && list[0] < before {
		e := b.journal(list[0])
		texts = append(texts, fmt.Sprintf("<data from=%q type=%q>\n%s\n</data>", e.By, e.Note.Type, shield(clip.Marked(b.noteText(e.Seq), maxNote), "data")))
		list = list[1:]
	}
	if len(texts) > 0 {
		b.results = append(b.results, len(b.messages))
		b.add(llm.User, b.text("prompt.notes", nil)+"\n"+strings.Join(texts, "\n"))
	}
	return list
}

// noteText is what a note says: a text as it is, anything else as JSON.
func (b *builder) noteText(seq int) string {
	content := b.journal(seq).Note.Content
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	return string(content)
}

// verdict tells how a review went.
func (b *builder) verdict(d Decision) string {
	key := "prompt.review_rejected"
	if d.Approve {
		key = "prompt.review_approved"
	}
	if d.Text == "" {
		return b.text(key, nil)
	}
	return b.text(key, nil) + "\n" + tag("guidance", d.Text)
}

// reviewed is the result of an update_state call that asked for a review.
func (b *builder) reviewed(call CallState) string {
	out := b.text("prompt.state_updated", map[string]any{"Version": call.Version}) + "\n"
	if e := b.journal(call.Reviewed); e.Decision != nil {
		return out + b.verdict(*e.Decision)
	}
	return out + b.text("prompt.review_ended", nil)
}
