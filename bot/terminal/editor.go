package terminal

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"legwork/bot"
)

// editor is the text of the prompt. Its unit is the grapheme cluster, which people
// see as one character.
type editor struct {
	text   []string
	pos    int // the cursor stands before text[pos]
	killed string
}

func clusters(s string) []string {
	var all []string
	g := displaywidth.StringGraphemes(s)
	for g.Next() {
		if c := g.Value(); c == "\r\n" {
			all = append(all, "\n")
		} else {
			all = append(all, c)
		}
	}
	return all
}

// String is the whole text.
func (e *editor) String() string { return strings.Join(e.text, "") }

// set replaces the text; the cursor goes to its end.
func (e *editor) set(s string) {
	e.text = clusters(s)
	e.pos = len(e.text)
}

// insert puts text from outside before the cursor, made safe to show.
func (e *editor) insert(s string) {
	s = bot.Clean(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", ""))
	from := e.pos
	if from > 0 { // a combining mark joins the character before it
		from--
		s = e.text[from] + s
	}
	added := clusters(s)
	e.text = slices.Replace(e.text, from, e.pos, added...)
	e.pos = from + len(added)
}

// apply handles a key of editing; other keys do nothing.
func (e *editor) apply(k key) {
	switch k.name {
	case keyText, keyPaste:
		e.insert(k.text)
	case keyNewline:
		e.insert("\n")
	case keyLeft:
		e.pos = max(e.pos-1, 0)
	case keyRight:
		e.pos = min(e.pos+1, len(e.text))
	case keyHome:
		e.pos = e.lineStart()
	case keyEnd:
		e.pos = e.lineEnd()
	case keyWordLeft:
		e.pos = e.wordLeft()
	case keyWordRight:
		e.pos = e.wordRight()
	case keyBackspace:
		e.remove(max(e.pos-1, 0), e.pos)
	case keyDelete:
		e.remove(e.pos, min(e.pos+1, len(e.text)))
	case keyKillWordLeft:
		e.kill(e.wordLeft(), e.pos)
	case keyKillWordRight:
		e.kill(e.pos, e.wordRight())
	case keyKillToStart:
		e.kill(e.lineStart(), e.pos)
	case keyKillToEnd:
		end := e.lineEnd()
		if end == e.pos && end < len(e.text) {
			end++ // at the end of a line, join it with the next
		}
		e.kill(e.pos, end)
	case keyYank:
		e.insert(e.killed)
	}
}

func (e *editor) remove(from, to int) {
	e.text = slices.Delete(e.text, from, to)
	e.pos = from
}

func (e *editor) kill(from, to int) {
	if from < to {
		e.killed = strings.Join(e.text[from:to], "")
		e.remove(from, to)
	}
}

func (e *editor) lineStart() int {
	i := e.pos
	for i > 0 && e.text[i-1] != "\n" {
		i--
	}
	return i
}

func (e *editor) lineEnd() int {
	i := e.pos
	for i < len(e.text) && e.text[i] != "\n" {
		i++
	}
	return i
}

func (e *editor) wordLeft() int {
	i := e.pos
	for i > 0 && !inWord(e.text[i-1]) {
		i--
	}
	for i > 0 && inWord(e.text[i-1]) {
		i--
	}
	return i
}

func (e *editor) wordRight() int {
	i := e.pos
	for i < len(e.text) && !inWord(e.text[i]) {
		i++
	}
	for i < len(e.text) && inWord(e.text[i]) {
		i++
	}
	return i
}

func inWord(cluster string) bool {
	r, _ := utf8.DecodeRuneInString(cluster)
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_'
}

// up moves to the line above and reports whether there is one.
func (e *editor) up() bool {
	start := e.lineStart()
	if start == 0 {
		return false
	}
	column := e.pos - start
	e.pos = start - 1
	e.pos = min(e.lineStart()+column, start-1)
	return true
}

// down moves to the line below and reports whether there is one.
func (e *editor) down() bool {
	column, end := e.pos-e.lineStart(), e.lineEnd()
	if end == len(e.text) {
		return false
	}
	e.pos = end + 1
	e.pos = min(e.pos+column, e.lineEnd())
	return true
}

// layout breaks the text into rows of at most width columns and returns the
// position of the cursor.
func (e *editor) layout(width int) (rows []string, row, column int) {
	var b strings.Builder
	used := 0
	flush := func() {
		rows = append(rows, b.String())
		b.Reset()
		used = 0
	}
	for i, c := range e.text {
		w := displaywidth.String(c)
		if c == "\t" {
			c, w = "    ", 4
		}
		if c != "\n" && used+w > width {
			flush()
		}
		if i == e.pos {
			row, column = len(rows), used
		}
		if c == "\n" {
			flush()
			continue
		}
		b.WriteString(c)
		used += w
	}
	if e.pos == len(e.text) {
		if used >= width {
			flush()
		}
		row, column = len(rows), used
	}
	flush()
	return rows, row, column
}
