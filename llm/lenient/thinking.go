package lenient

import "strings"

// WithoutThinking returns a text without the blocks in which a model thinks
// aloud (<think>, <thinking>, <thought>, <reasoning>, [THINK]), and without a byte-order
// mark and white space around it. A closing tag alone ends a block that began
// with the text; a block that is not closed goes to the end. Tags in code are
// text.
func WithoutThinking(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	var kept strings.Builder
	var code fences
	inside, met, nested := false, false, 0 // in a block; a tag was met; opening tags inside blocks
	from := 0                              // where the text begins that is neither kept nor dropped yet
	for i := 0; i < len(text); i++ {
		code.pass(text, i)
		tag := tagAt(text, i)
		if tag.size == 0 || !inside && code.around(text, i) {
			continue
		}
		switch {
		case tag.opens && inside:
			nested++
			continue
		case tag.opens:
			kept.WriteString(text[from:i])
		case !inside && met && nested == 0:
			continue // closes nothing
		case !inside: // everything so far was thinking
			kept.Reset()
			nested = max(nested-1, 0)
		}
		inside, met = tag.opens, true
		from = i + tag.size
		code = fences{line: from}
		i = from - 1
	}
	if !inside {
		kept.WriteString(text[from:])
	}
	return strings.TrimSpace(kept.String())
}

// fences follows the code fences of a text, byte by byte.
type fences struct {
	open bool
	line int // where the current line begins
}

func (f *fences) pass(text string, i int) {
	if text[i] != '\n' {
		return
	}
	if strings.HasPrefix(strings.TrimLeft(text[f.line:i], " \t"), "```") {
		f.open = !f.open
	}
	f.line = i + 1
}

// around says whether the tag at i is shown as code or quoted.
func (f *fences) around(text string, i int) bool {
	return f.open || i > 0 && strings.IndexByte("`\"'", text[i-1]) >= 0
}

type thinkingTag struct {
	size  int // in bytes; 0: there is none
	opens bool
}

func tagAt(text string, i int) thinkingTag {
	if text[i] != '<' && text[i] != '[' {
		return thinkingTag{}
	}
	tag := thinkingTag{opens: true}
	rest := text[i+1:]
	if strings.HasPrefix(rest, "/") {
		tag.opens, rest = false, rest[1:]
	}
	names := []string{"think>", "thinking>", "thought>", "reasoning>"}
	if text[i] == '[' {
		names = []string{"THINK]"} // Magistral
	}
	for _, name := range names {
		if len(rest) >= len(name) && strings.EqualFold(rest[:len(name)], name) {
			tag.size = len(text) - i - len(rest) + len(name)
			return tag
		}
	}
	return thinkingTag{}
}

// Unfence returns the content of a text that is one fenced code block, and other
// texts as they are, without a byte-order mark and white space around.
func Unfence(text string) string {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	for _, fence := range [...]string{"```", "~~~"} {
		inner, opened := strings.CutPrefix(text, fence)
		first, body, lined := strings.Cut(inner, "\n")
		if !opened || !lined || strings.Contains(first, fence) {
			continue
		}
		body = strings.TrimRight(body, " \t\r\n")
		if body, closed := strings.CutSuffix(body, fence); closed && !strings.Contains(body, "\n"+fence) {
			return strings.TrimSpace(body)
		}
	}
	return text
}
