package planner

import (
	"slices"
	"unicode/utf8"

	"legwork/internal/clip"
	"legwork/llm"
)

// The least that is left of a content that must be shortened, in bytes: of a
// result that newer ones came after, and of any other.
const (
	leastResult  = 500
	leastContent = 100
)

// Bytes is how much text a prompt's messages hold.
func Bytes(messages []llm.Message) int {
	n := 0
	for _, m := range messages {
		n += messageBytes(m)
	}
	return n
}

func messageBytes(m llm.Message) int {
	n := len(m.Content)
	for _, c := range m.ToolCalls {
		n += len(c.Arguments) + len(c.Name)
	}
	return n
}

// fitting are the messages of the prompt, shortened to input.MaxBytes. The least
// important content goes first: the oldest turns of the conversation before the
// task, then its summary, then the middle of old results, then that of the
// longest contents. The system message, the question of a review and calls stay
// whole.
func (b *builder) fitting() []llm.Message {
	limit := b.input.MaxBytes
	over := Bytes(b.messages) - limit
	if limit <= 0 || over <= 0 {
		return b.messages
	}
	shorten := func(i, least int) {
		m := &b.messages[i]
		before := len(m.Content)
		if short := middleOut(m.Content, max(least, before-over-len(omission))); len(short) < before {
			m.Content = short
			over -= before - len(short)
		}
	}
	over -= b.forget(over)
	for i := 0; i+1 < len(b.results) && over > 0; i++ {
		shorten(b.results[i], leastResult)
	}
	for over > 0 {
		longest := b.longest()
		if longest < 0 || len(b.messages[longest].Content) < 2*leastContent {
			break
		}
		shorten(longest, max(leastContent, len(b.messages[longest].Content)/2))
	}
	return b.messages
}

// forget empties turns of the conversation before the task, the oldest first and
// the summary of those before them last, until so many bytes are gone. It
// returns how many are; whole exchanges go, so that roles still take turns.
func (b *builder) forget(over int) (gone int) {
	from := 1
	if b.input.Past.Summary != "" {
		from = 2
	}
	at := from
	for at < b.pastEnd && (gone < over || b.messages[at].Role != llm.User) {
		gone += len(b.messages[at].Content)
		at++
	}
	if gone < over && from == 2 && b.pastEnd > 1 {
		gone += len(b.messages[1].Content)
		from = 1
	}
	b.messages = slices.Delete(b.messages, from, max(from, at))
	for i := range b.results {
		b.results[i] -= max(0, at-from)
	}
	return gone
}

// longest is the index of the longest content but for the system message and the
// question of a review; -1 when there is none.
func (b *builder) longest() int {
	longest := -1
	for i, m := range b.messages {
		if i > 0 && m.Content != b.review && (longest < 0 || len(m.Content) > len(b.messages[longest].Content)) {
			longest = i
		}
	}
	return longest
}

// middleOut keeps so many bytes of a text: two thirds from its beginning, the
// rest from its end.
func middleOut(text string, keep int) string {
	if keep >= len(text) {
		return text
	}
	head, tail := clip.Bytes(text, keep*2/3), text[len(text)-keep/3:]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return head + omission + tail
}

// omission is in the place of text that was left out.
const omission = "\n[…]\n"
