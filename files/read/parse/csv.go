package parse

import (
	"bufio"
	"encoding/csv"
	"errors"
	"io"
	"strings"
)

// parseCSV gives ranges of rows as Markdown tables, with their numbers. The delimiter is
// the one that the first lines have most evenly.
func parseCSV(src Source, s *sink) error {
	in, err := utf8Reader(src)
	if err != nil {
		return err
	}
	buffered := bufio.NewReaderSize(in, 64<<10)
	head, err := buffered.Peek(32 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	r := csv.NewReader(buffered)
	r.Comma, r.LazyQuotes, r.FieldsPerRecord, r.ReuseRecord = delimiter(string(head)), true, -1, true
	if s.Type == typeTSV {
		r.Comma = '\t'
	}
	t := &sheetWriter{pieces: pieces{s: s, unit: "rows"}}
	for number := 1; ; number++ {
		record, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return t.end()
		case err != nil:
			var syntax *csv.ParseError
			if errors.As(err, &syntax) {
				return errors.Join(ErrDamaged, err)
			}
			return err
		}
		if err := t.row(number, record); err != nil {
			return err
		}
	}
}

// delimiter returns the character that stands in most of the first lines as often as in
// the very first.
func delimiter(head string) rune {
	lines := strings.SplitN(head, "\n", 21)
	if len(lines) > 1 {
		lines = lines[:len(lines)-1] // it may be cut
	}
	best, most := ',', 0
	for _, d := range ",;\t|" {
		even := 0
		first := strings.Count(lines[0], string(d))
		for _, line := range lines {
			if n := strings.Count(line, string(d)); n == first && n > 0 {
				even++
			}
		}
		if even > most {
			best, most = d, even
		}
	}
	return best
}

// maxColumns is how many columns of a sheet are shown.
const maxColumns = 200

// sheetWriter writes the rows of a sheet as Markdown tables with the letters of the
// columns and the numbers of the rows. A table has the width of its first row or of the
// widest before.
type sheetWriter struct {
	pieces
	width int
}

func (t *sheetWriter) row(number int, cells []string) error {
	for len(cells) > 0 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	if len(cells) > maxColumns {
		cells, t.s.Cut = cells[:maxColumns], true
	}
	if len(cells) == 0 {
		return nil
	}
	if len(cells) > t.width {
		if err := t.end(); err != nil {
			return err
		}
		t.width = len(cells)
		names := []string{""}
		for i := range t.width {
			names = append(names, column(i))
		}
		t.head = row(names) + rule(t.width+1)
	}
	all := append(make([]string, 0, t.width+1), itoa(number))
	all = append(all, cells...)
	for len(all) <= t.width {
		all = append(all, "")
	}
	return t.addNumbered(number, row(all), true)
}
