package planner

import (
	"encoding/json"
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"legwork/internal/clip"
	"legwork/internal/lookalike"
	"legwork/llm"
)

// Prompts mark what they hold: "<data>" and "</data>" stand around a result, "<goal>"
// around the person's wish. Data must not imitate these marks, or a page could end its
// own block and begin one that a model obeys. So every text of a prompt goes through
// Plain, and only marks that ownMarks has made stay.

// ownMark stands before a "<" of legwork's own. No text from outside holds this byte,
// which is not valid UTF-8.
const ownMark = "\xff"

// ownMarks is a text of legwork itself or of the admin: the marks in it stay.
func ownMarks(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, ownMark, ""), "<", ownMark+"<")
}

// tag puts marks around a text that is not legwork's. attributes are pairs of a name
// and a value.
func tag(name, body string, attributes ...string) string {
	return around(name, strings.ReplaceAll(body, ownMark, ""), attributes...)
}

// around is tag for a body that may hold marks of legwork's own.
func around(name, body string, attributes ...string) string {
	head := name
	for i := 0; i+1 < len(attributes); i += 2 {
		head += " " + attributes[i] + "=" + strconv.Quote(attributes[i+1])
	}
	return ownMark + "<" + head + ">\n" + body + "\n" + ownMark + "</" + name + ">"
}

// Plain is a text as a model may read it: without hidden characters, and with "_" behind
// each bracket that begins something like a mark of a prompt. "</data>" becomes
// "<_/data>".
func Plain(text string) string {
	text = lookalike.WithoutHidden(text)
	var b strings.Builder
	kept := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case strings.IndexByte(firstBytes, c) < 0:
		case c == ownMark[0]:
			b.WriteString(text[kept:i])
			kept = i + 1
			i++ // its bracket
		default:
			if n := bracket(text[i:]); n > 0 && beginsMark(text[i+n:]) {
				b.WriteString(text[kept:i+n] + "_")
				kept = i + n
			}
		}
	}
	if kept == 0 {
		return text
	}
	return b.String() + text[kept:]
}

// brackets look like "<". firstBytes are those of them, and of what else Plain looks at.
const (
	brackets   = "<＜﹤‹˂〈〈⟨❬❮❰≺ᐸ"
	firstBytes = "<&" + ownMark + "\xcb\xe1\xe2\xe3\xef"
)

// bracket is the length of what a text begins with, when that is a bracket or an HTML
// entity of one; otherwise 0.
func bracket(text string) int {
	c, n := utf8.DecodeRuneInString(text)
	if c == '&' {
		entity := entity.FindString(text[:min(len(text), maxMark)])
		if n = len(entity); n == 0 {
			return 0
		}
		c, _ = utf8.DecodeRuneInString(unescaped(entity))
	}
	if strings.ContainsRune(brackets, c) {
		return n
	}
	return 0
}

// entity is an HTML entity at the beginning of a text; its "&" may be one too.
var entity = regexp.MustCompile(`^&(?:amp;|#0*38;|#[xX]0*26;)*(?:[a-zA-Z]{2,20};?|#[0-9]{1,20};?|#[xX][0-9a-fA-F]{1,20};?)`)

// unescaped replaces HTML entities, also those of entities.
func unescaped(text string) string {
	for strings.Contains(text, "&") {
		next := html.UnescapeString(text)
		if next == text {
			break
		}
		text = next
	}
	return text
}

// maxMark is how far a mark is looked for behind its bracket, in bytes.
const maxMark = 160

// beginsMark reports that the text behind a bracket begins like a mark of a prompt, or
// like a token of a model's own template, such as "<|im_start|>".
func beginsMark(text string) bool {
	text = unescaped(clip.Bytes(text, maxMark))
	if bar, n := utf8.DecodeRuneInString(text); bar == '|' || bar == '｜' {
		next, _ := utf8.DecodeRuneInString(text[n:])
		return unicode.IsLetter(next)
	}
	text = strings.TrimLeftFunc(text, func(c rune) bool {
		return unicode.IsSpace(c) || unicode.Is(unicode.M, c) || strings.ContainsRune("/／⁄∕⧸\\", c)
	})
	word := text
	if end := strings.IndexFunc(text, func(c rune) bool { return !unicode.In(c, unicode.L, unicode.N, unicode.M, unicode.So) }); end >= 0 {
		word = text[:end]
	}
	if len(word) < len("goal") {
		return false
	}
	switch lookalike.Skeleton(word) { // "i" is "l" in it
	case "goal", "guldance", "task", "result", "data", "state", "summary", "question", "questlon", "answer", "earller":
		return true
	}
	return false
}

// jsonText is a text in JSON.
var jsonText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// plainJSON is JSON with its texts plain, so that escapes hide nothing either.
func plainJSON(raw string) string {
	return jsonText.ReplaceAllStringFunc(raw, func(quoted string) string {
		var text string
		if json.Unmarshal([]byte(quoted), &text) != nil {
			return Plain(quoted)
		}
		if plain := Plain(text); plain != text {
			return encoded(plain)
		}
		return quoted
	})
}

// plain makes the messages plain.
func (c *contents) plain() *contents {
	for i := range c.list {
		m := &c.list[i]
		m.Content = Plain(m.Content)
		for j := range m.ToolCalls {
			m.ToolCalls[j].Arguments = plainJSON(m.ToolCalls[j].Arguments)
		}
	}
	return c
}

// plainTools are tools with plain texts.
func plainTools(tools []llm.Tool) []llm.Tool {
	list := make([]llm.Tool, 0, len(tools))
	for _, t := range tools {
		list = append(list, llm.Tool{Name: t.Name, Description: Plain(t.Description), Schema: json.RawMessage(plainJSON(string(t.Schema)))})
	}
	return list
}
