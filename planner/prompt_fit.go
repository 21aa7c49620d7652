package planner

import (
	"slices"
	"strings"
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

// imageBytes is the size of an image among the bytes of a prompt, at four bytes to a
// token.
const imageBytes = 4 * llm.ImageTokens

func messageBytes(m llm.Message) int {
	n := len(m.Content) + len(m.Images)*imageBytes
	for _, c := range m.ToolCalls {
		n += len(c.Arguments) + len(c.Name)
	}
	return n
}

// contents are the messages of one prompt, in order. The first is the system's.
type contents struct {
	list     []llm.Message
	results  []int  // indexes of messages with results, the oldest first
	pictures []int  // and of those with pictures; those of earlier tasks are the first
	unseen   string // stands in place of pictures that are left out
	question string // at the end of a review
	// Between these indexes are the turns of the conversation before the task. The
	// message before them is its summary, if it has one.
	turns, turnsEnd int
}

// add appends a message. It leaves out an empty one.
func (c *contents) add(role, content string) {
	if content != "" {
		c.list = append(c.list, llm.Message{Role: role, Content: content})
	}
}

// addResult appends a message whose middle is left out of a long prompt once newer
// results came after it.
func (c *contents) addResult(m llm.Message) {
	c.results = append(c.results, len(c.list))
	c.list = append(c.list, m)
}

// addPictures appends a message with pictures. earlier says that they are of an earlier
// task.
func (c *contents) addPictures(m llm.Message, earlier bool) {
	at := len(c.pictures)
	if earlier {
		at = 0
	}
	c.pictures = slices.Insert(c.pictures, at, len(c.list))
	c.list = append(c.list, m)
}

// fitting are the messages, shortened to so many bytes; 0 for no limit. The least
// important content goes first: pictures but for those of the newest message that has
// some, the oldest turns of the conversation before the task, then its summary, then the
// middle of old results, then that of the longest contents, and the newest pictures last.
// The system message, the question of a review and calls stay whole.
func (c *contents) fitting(limit int) []llm.Message {
	over := Bytes(c.list) - limit
	if limit <= 0 || over <= 0 {
		return c.list
	}
	shorten := func(i, least int) {
		m := &c.list[i]
		before := len(m.Content)
		if short := middleOut(m.Content, max(least, before-over-len(omission))); len(short) < before {
			m.Content = short
			over -= before - len(short)
		}
	}
	newest := -1
	if n := len(c.pictures); n > 0 {
		newest = c.pictures[n-1]
		for _, i := range c.pictures[:n-1] {
			over -= c.unsee(i, over)
		}
	}
	before := len(c.list)
	over -= c.forget(over)
	newest -= before - len(c.list)
	for i := 0; i+1 < len(c.results) && over > 0; i++ {
		shorten(c.results[i], leastResult)
	}
	for over > 0 {
		longest := c.longest()
		if longest < 0 || len(c.list[longest].Content) < 2*leastContent {
			break
		}
		shorten(longest, max(leastContent, len(c.list[longest].Content)/2))
	}
	if newest >= 0 {
		c.unsee(newest, over)
	}
	return c.list
}

// unsee leaves pictures of a message out, the first ones first, until so many bytes are
// gone. It returns how many are.
func (c *contents) unsee(i, over int) (gone int) {
	m, n := &c.list[i], 0
	for n < len(m.Images) && over > n*imageBytes {
		n++
	}
	if n == 0 {
		return 0
	}
	m.Images = slices.Clone(m.Images[n:])
	m.Content = strings.TrimSpace(m.Content + "\n" + c.unseen)
	return n*imageBytes - len(c.unseen)
}

// forget removes turns of the conversation before the task, the oldest first and
// the summary of those before them last, until so many bytes are gone. It
// returns how many are; whole exchanges go, so that roles still take turns.
func (c *contents) forget(over int) (gone int) {
	from, at := c.turns, c.turns
	for at < c.turnsEnd && (gone < over || c.list[at].Role != llm.User) {
		gone += len(c.list[at].Content)
		at++
	}
	if gone < over && from > 1 {
		from--
		gone += len(c.list[from].Content)
	}
	c.list = slices.Delete(c.list, from, at)
	for i := range c.results {
		c.results[i] -= at - from
	}
	return gone
}

// longest is the index of the longest content but for the system message and the
// question of a review; -1 when there is none.
func (c *contents) longest() int {
	longest := -1
	for i, m := range c.list {
		if i > 0 && m.Content != c.question && (longest < 0 || len(m.Content) > len(c.list[longest].Content)) {
			longest = i
		}
	}
	return longest
}

// merged joins texts of the same role in a row, since some models insist on
// alternation.
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
