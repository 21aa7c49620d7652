package parse

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"

	htmlcharset "golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// parseRTF gives ranges of paragraphs of a Rich Text Format document (the specification
// of Microsoft, version 1.9.1).
func parseRTF(src Source, s *sink) error {
	cp1252, _ := htmlcharset.Lookup("windows-1252")
	r := &rtf{prose: newProse(s), in: bufio.NewReaderSize(src.reader(), 64<<10), codepage: cp1252}
	r.groups = []rtfGroup{{unicode: 1}}
	for {
		c, err := r.in.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			r.flush()
			if len(r.groups) > 1 {
				s.note(NoteDamaged) // it ends in a group
			}
			return r.finish()
		case err != nil:
			return err
		}
		if err := r.char(c); err != nil {
			return err
		}
	}
}

type rtfGroup struct {
	skip    bool // text of the group is none of the document
	unicode int  // characters that stand for a Unicode one in old programs
}

type rtf struct {
	*prose
	in       *bufio.Reader
	codepage encoding.Encoding
	groups   []rtfGroup
	bytes    []byte // text in the code page
	fallback int    // characters to skip after a Unicode one
	cells    []string
	rows     [][]string
	inRow    bool
}

func (r *rtf) group() *rtfGroup { return &r.groups[len(r.groups)-1] }

func (r *rtf) char(c byte) error {
	switch c {
	case '{':
		if len(r.groups) > maxDepth {
			return ErrDamaged
		}
		r.groups = append(r.groups, *r.group())
	case '}':
		if r.flush(); len(r.groups) > 1 {
			r.groups = r.groups[:len(r.groups)-1]
		}
	case '\\':
		return r.control()
	case '\r', '\n':
	default:
		r.literal(c)
	}
	return nil
}

func (r *rtf) literal(c byte) {
	if r.fallback > 0 {
		r.fallback--
		return
	}
	if !r.group().skip {
		r.bytes = append(r.bytes, c)
	}
}

// flush decodes the text that was read in the code page.
func (r *rtf) flush() {
	if len(r.bytes) == 0 {
		return
	}
	text, err := r.codepage.NewDecoder().Bytes(r.bytes)
	if err == nil {
		r.buf.Write(text)
	}
	r.bytes = r.bytes[:0]
}

// control reads a control word or symbol after its backslash.
func (r *rtf) control() error {
	c, err := r.in.ReadByte()
	if err != nil {
		return nil //nolint:nilerr // the next read finds the end
	}
	if c|0x20 < 'a' || c|0x20 > 'z' {
		return r.symbol(c)
	}
	word := []byte{c}
	var number []byte
	for len(word) < 64 && len(number) < 12 {
		if c, err = r.in.ReadByte(); err != nil {
			break
		}
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		switch {
		case letter && len(number) == 0:
			word = append(word, c)
			continue
		case c >= '0' && c <= '9' || c == '-' && len(number) == 0:
			number = append(number, c)
			continue
		case c != ' ':
			_ = r.in.UnreadByte() // the byte before was read
		}
		break
	}
	n, err := strconv.Atoi(string(number))
	if err != nil {
		n = 1
	}
	return r.word(string(word), n)
}

func (r *rtf) symbol(c byte) error {
	switch c {
	case '\'':
		var hex [2]byte
		if _, err := io.ReadFull(r.in, hex[:]); err != nil {
			return nil //nolint:nilerr // the next read finds the end
		}
		if n, err := strconv.ParseUint(string(hex[:]), 16, 8); err == nil {
			r.literal(byte(n))
		}
	case '*':
		r.group().skip = true
	case '~':
		r.literal(' ')
	case '_':
		r.literal('-')
	case '\\', '{', '}':
		r.literal(c)
	case '\r', '\n':
		return r.word("par", 1)
	}
	return nil
}

func (r *rtf) word(word string, n int) error {
	switch word {
	case "fonttbl", "colortbl", "stylesheet", "info", "pict", "object", "header", "footer", "headerl", "headerr", "footerl", "footerr", "themedata", "generator", "fldinst", "xe", "tc":
		r.group().skip = true
	case "ansicpg":
		if e, _ := htmlcharset.Lookup("windows-" + strconv.Itoa(n)); e != nil {
			r.codepage = e
		} else if e, _ = htmlcharset.Lookup(map[int]string{932: "shift_jis", 936: "gbk", 949: "euc-kr", 950: "big5"}[n]); e != nil {
			r.codepage = e
		}
	case "bin":
		_, _ = io.CopyN(io.Discard, r.in, int64(max(n, 0))) // the next read finds the end
	case "uc":
		r.group().unicode = min(max(n, 0), 10)
	case "u":
		r.flush()
		if !r.group().skip {
			r.buf.WriteString(string(rune(uint16(n)))) //nolint:gosec // the format wraps at 16 bits
		}
		r.fallback = r.group().unicode
	}
	if r.group().skip {
		return nil
	}
	if mark, ok := map[string]string{"tab": "\t", "line": "\n", "emdash": "—", "endash": "–", "bullet": "•", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”"}[word]; ok {
		r.flush()
		r.buf.WriteString(mark)
		return nil
	}
	switch word {
	case "trowd":
		r.inRow = true
	case "cell":
		r.flush()
		r.cells = append(r.cells, strings.TrimSpace(r.buf.String()))
		r.buf.Reset()
		if len(r.cells) > 10*maxColumns {
			return ErrDamaged
		}
	case "row":
		r.rows = append(r.rows, r.cells)
		r.cells, r.inRow = nil, false
	case "par", "sect", "page":
		r.flush()
		if r.inRow {
			r.buf.WriteByte(' ')
			return nil
		}
		return r.endParagraph()
	}
	return nil
}

func (r *rtf) endParagraph() error {
	if len(r.rows) > 0 {
		text := r.buf.String()
		r.buf.Reset()
		if err := r.add("\n"+table(r.rows)+"\n", true); err != nil {
			return err
		}
		r.rows = nil
		r.buf.WriteString(text)
	}
	return r.paragraph("", false)
}

// finish also hands over a table at the end.
func (r *rtf) finish() error {
	if err := r.endParagraph(); err != nil {
		return err
	}
	return r.prose.finish()
}
