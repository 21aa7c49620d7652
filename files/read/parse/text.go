package parse

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/text/transform"

	"legwork/internal/charset"
)

// A part of a text without pages has at most that many lines, rows or paragraphs, and
// about that many bytes.
const (
	partLines = 200
	partBytes = 16 << 10
)

// utf8Reader reads a text in UTF-8, whatever charset it is in.
func utf8Reader(src Source) (io.Reader, error) {
	head := make([]byte, min(64<<10, src.Size))
	if _, err := src.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	e, _ := charset.Of(head)
	return transform.NewReader(src.reader(), e.NewDecoder()), nil
}

// parseText gives ranges of lines.
func parseText(src Source, s *sink) error {
	r, err := utf8Reader(src)
	if err != nil {
		return err
	}
	p := &pieces{s: s, unit: "lines"}
	for in := bufio.NewReaderSize(r, partBytes); ; {
		line, err := in.ReadSlice('\n')
		whole := !errors.Is(err, bufio.ErrBufferFull)
		if len(line) > 0 {
			if more := p.add(strings.ReplaceAll(string(line), "\r\n", "\n"), whole); more != nil {
				return more
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return p.end()
		case err != nil && whole:
			return err
		}
	}
}

// pieces cuts a text into parts that are named by the numbers of their lines, rows or
// paragraphs.
type pieces struct {
	s           *sink
	unit        string // "lines", or "sheet Sales, rows"
	head        string // stands above each part
	text        strings.Builder
	first, last int  // numbers of the part's first and last unit
	open        bool // the last unit goes on
}

// add takes a unit, or a part of one when it is not whole.
func (p *pieces) add(text string, whole bool) error { return p.addNumbered(p.last+1, text, whole) }

// addNumbered takes a unit with its number; the numbers must rise.
func (p *pieces) addNumbered(number int, text string, whole bool) error {
	if full := p.last-p.first+1 >= partLines && !p.open || p.text.Len()+len(text) > partBytes; full && p.text.Len() > 0 {
		if err := p.end(); err != nil {
			return err
		}
	}
	if p.open {
		number = p.last
	}
	if p.text.Len() == 0 {
		p.first = number
	}
	p.last, p.open = number, !whole
	p.text.WriteString(text)
	return nil
}

// end hands over what is left.
func (p *pieces) end() error {
	if p.text.Len() == 0 {
		return nil
	}
	name := fmt.Sprintf("%s %d-%d", p.unit, p.first, p.last)
	if p.first == p.last {
		name = fmt.Sprintf("%s %d", strings.TrimSuffix(p.unit, "s"), p.first)
	}
	text := p.head + p.text.String()
	p.text.Reset()
	return p.s.part(Part{Name: name, Text: text})
}
