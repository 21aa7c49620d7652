package parse

import (
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// maxShared is how much text the shared strings of a workbook may have: they are held.
const maxShared = 64 << 20

// parseXLSX gives ranges of rows of the sheets. The workbook is read as a stream: of a
// sheet of a million rows only those up to the limit are unpacked
// (https://ecma-international.org/publications-and-standards/standards/ecma-376/, part 1, 18).
func parseXLSX(src Source, s *sink) error {
	a, err := openOOXML(src, s)
	if err != nil {
		return err
	}
	b := &workbook{archive: a}
	if err := b.outline(); err != nil {
		return err
	}
	if err := b.readStyles(); err != nil {
		return err
	}
	if err := b.readShared(); err != nil {
		return err
	}
	s.Total = len(b.sheets)
	for _, sheet := range b.sheets {
		if sheet.member == "" || a.files[sheet.member] == nil {
			s.note(NoteDamaged)
			continue
		}
		if err := b.readSheet(sheet); err != nil {
			return err
		}
	}
	return nil
}

type workbook struct {
	*archive
	sheets []sheetRef
	dates1 bool // days count from 1904
	shared []string
	styles []numberFormat
}

type sheetRef struct{ name, member string }

// outline reads the names of the sheets.
func (b *workbook) outline() error {
	const main = "xl/workbook.xml"
	related, err := b.relations(main)
	if err != nil {
		return err
	}
	return b.each(main, func(t xml.Token) error {
		e, ok := t.(xml.StartElement)
		if !ok {
			return nil
		}
		switch e.Name.Local {
		case "workbookPr":
			b.dates1 = attr(e, "date1904") == "1" || attr(e, "date1904") == "true"
		case "sheet":
			if state := attr(e, "state"); state != "" && state != "visible" {
				b.s.note(NoteHidden)
			}
			b.sheets = append(b.sheets, sheetRef{attr(e, "name"), related[attr(e, "id")]})
		}
		return nil
	})
}

// readShared reads the texts that cells refer to by number.
func (b *workbook) readShared() error {
	const name = "xl/sharedStrings.xml"
	if b.files[name] == nil {
		return nil
	}
	var text strings.Builder
	in, phonetic, size := false, false, 0
	return b.each(name, func(t xml.Token) error {
		switch t := t.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "si":
				text.Reset()
			case "t":
				in = true
			case "rPh":
				phonetic = true
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "si":
				b.shared = append(b.shared, text.String())
			case "t":
				in = false
			case "rPh":
				phonetic = false
			}
		case xml.CharData:
			if in && !phonetic {
				if size += len(t); size > maxShared {
					return ErrUnpacked
				}
				text.Write(t)
			}
		}
		return nil
	})
}

// numberFormat is how a cell shows a number; dates are stored as numbers.
type numberFormat int

const (
	plainNumber numberFormat = iota
	percent
	dateOnly
	timeOnly
	dateTime
)

// readStyles reads the formats that cells refer to by number.
func (b *workbook) readStyles() error {
	const name = "xl/styles.xml"
	if b.files[name] == nil {
		return nil
	}
	custom, in := map[int]numberFormat{}, false
	return b.each(name, func(t xml.Token) error {
		switch t := t.(type) {
		case xml.StartElement:
			id, _ := strconv.Atoi(attr(t, "numFmtId"))
			switch t.Name.Local {
			case "numFmt":
				custom[id] = formatOf(attr(t, "formatCode"))
			case "cellXfs":
				in = true
			case "xf":
				if f, ok := custom[id]; in && ok {
					b.styles = append(b.styles, f)
				} else if in {
					b.styles = append(b.styles, builtIn(id))
				}
			}
		case xml.EndElement:
			in = in && t.Name.Local != "cellXfs"
		}
		return nil
	})
}

// builtIn are the formats that files do not define (ECMA-376, part 1, 18.8.30).
func builtIn(id int) numberFormat {
	switch {
	case id == 9 || id == 10:
		return percent
	case id >= 14 && id <= 17 || id >= 27 && id <= 31 || id == 36 || id >= 50 && id <= 58:
		return dateOnly
	case id == 22:
		return dateTime
	case id >= 18 && id <= 21 || id >= 32 && id <= 35 || id >= 45 && id <= 47:
		return timeOnly
	}
	return plainNumber
}

// formatOf reads a format code such as "yyyy-mm-dd hh:mm". Quoted text, and what is in
// brackets, is no code.
func formatOf(code string) numberFormat {
	var letters strings.Builder
	quoted, bracket := false, false
	code, _, _ = strings.Cut(code, ";")
	for i := 0; i < len(code); i++ {
		switch c := code[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\\' || c == '_' || c == '*':
			i++
		case c == '[':
			bracket = true
		case c == ']':
			bracket = false
		case !bracket:
			letters.WriteByte(c | 0x20)
		}
	}
	s := strings.ReplaceAll(letters.String(), "general", "")
	date, clock := strings.ContainsAny(s, "yd"), strings.ContainsAny(s, "hs")
	switch {
	case date && clock:
		return dateTime
	case date, strings.Contains(s, "m") && !clock:
		return dateOnly
	case clock:
		return timeOnly
	case strings.Contains(s, "%"):
		return percent
	}
	return plainNumber
}

// show writes a number as its format wants it.
func (b *workbook) show(value string, style int) string {
	if style < 0 || style >= len(b.styles) || b.styles[style] == plainNumber {
		return shortNumber(value)
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(n) || math.Abs(n) > 3e6 && b.styles[style] != percent {
		return value
	}
	if b.styles[style] == percent {
		return strconv.FormatFloat(math.Round(n*1e8)/1e6, 'f', -1, 64) + "%"
	}
	from := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	if b.dates1 {
		from = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	t := from.Add(time.Duration(math.Round(n*86400)) * time.Second)
	switch {
	case b.styles[style] == timeOnly && n < 1:
		return t.Format("15:04:05")
	case b.styles[style] == dateOnly && n == math.Trunc(n):
		return t.Format("2006-01-02")
	}
	return t.Format("2006-01-02 15:04:05")
}

// shortNumber writes 0.1 for 0.10000000000000001, as the programs do that show sheets.
func shortNumber(value string) string {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || len(value) < 16 {
		return value
	}
	return strconv.FormatFloat(n, 'g', 15, 64)
}

// readSheet gives the rows of a sheet.
func (b *workbook) readSheet(ref sheetRef) error {
	r := &sheetReader{workbook: b, out: sheetWriter{pieces: pieces{s: b.s, unit: fmt.Sprintf("sheet %s, rows", ref.name)}}}
	if err := b.each(ref.member, r.token); err != nil {
		return err
	}
	return r.out.end()
}

type sheetReader struct {
	*workbook
	out     sheetWriter
	number  int
	cells   []string
	column  int
	kind    string // of the cell
	style   int
	value   strings.Builder
	valued  bool // the file holds a value, which may be empty
	formula strings.Builder
	into    *strings.Builder // where the text of the element goes
}

func (r *sheetReader) token(t xml.Token) error {
	switch t := t.(type) {
	case xml.StartElement:
		r.start(t)
	case xml.EndElement:
		switch t.Name.Local {
		case "v", "t", "f":
			r.into = nil
		case "c":
			r.cell()
		case "row":
			return r.out.row(r.number, r.cells)
		}
	case xml.CharData:
		if r.into != nil {
			r.into.Write(t)
		}
	}
	return nil
}

func (r *sheetReader) start(e xml.StartElement) {
	switch e.Name.Local {
	case "row":
		r.number++
		if n, err := strconv.Atoi(attr(e, "r")); err == nil && n >= r.number {
			r.number = n
		}
		if attr(e, "hidden") == "1" {
			r.s.note(NoteHidden)
		}
		r.cells, r.column = r.cells[:0], -1
	case "c":
		r.column++
		if n := columnOf(attr(e, "r")); n >= 0 {
			r.column = n
		}
		r.kind, r.style = attr(e, "t"), -1
		if n, err := strconv.Atoi(attr(e, "s")); err == nil {
			r.style = n
		}
		r.value.Reset()
		r.valued = false
		r.formula.Reset()
	case "v", "t":
		r.into, r.valued = &r.value, true
	case "f":
		r.into = &r.formula
		r.formula.WriteByte('=')
	}
}

// cell puts a value into its column.
func (r *sheetReader) cell() {
	text := r.value.String()
	switch r.kind {
	case "s":
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if text = ""; err == nil && n >= 0 && n < len(r.shared) {
			text = r.shared[n]
		}
	case "b":
		text = map[string]string{"1": "TRUE", "0": "FALSE"}[text]
	case "", "n":
		text = r.show(text, r.style)
	}
	if r.formula.Len() > 0 {
		r.s.note(NoteFormulas)
		if text == "" && (r.kind != "str" || !r.valued) { // the result of a formula may be an empty text
			r.s.note(NoteUncomputed)
			text = r.formula.String()
		}
	}
	if r.column > maxColumns {
		r.s.Cut = true
		return
	}
	for len(r.cells) < r.column {
		r.cells = append(r.cells, "")
	}
	if r.column < len(r.cells) {
		r.cells[r.column] = text // a file that names a cell twice
		return
	}
	r.cells = append(r.cells, text)
}

// columnOf is the number of the column of a cell such as "AB12"; -1 for what is none.
func columnOf(ref string) int {
	n := 0
	for _, c := range ref {
		if c < 'A' || c > 'Z' || n > 1<<20 {
			break
		}
		n = n*26 + int(c-'A') + 1
	}
	return n - 1
}
