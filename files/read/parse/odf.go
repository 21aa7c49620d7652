package parse

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// openODF opens a file of OpenDocument and reads its title
// (https://docs.oasis-open.org/office/OpenDocument/v1.3/).
func openODF(src Source, s *sink) (*archive, error) {
	a, err := openArchive(src, s)
	if err != nil {
		return nil, err
	}
	manifest, err := a.read("META-INF/manifest.xml", 1<<20)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(manifest, []byte("encryption-data")) {
		return nil, ErrEncrypted
	}
	for name := range a.files {
		if strings.HasPrefix(name, "Basic/") || strings.HasPrefix(name, "Scripts/") {
			s.note(NoteMacros)
		}
	}
	s.Title = a.title("meta.xml")
	return a, nil
}

// parseODF gives ranges of paragraphs of a text, or slides.
func parseODF(src Source, s *sink) error {
	a, err := openODF(src, s)
	if err != nil {
		return err
	}
	d := &odf{prose: newProse(s), slides: s.Type == typeODP, numbered: map[string]*[listLevels]int{}, ended: map[*[listLevels]int]int{}}
	if a.files["styles.xml"] != nil {
		err := a.each("styles.xml", func(t xml.Token) error {
			if e, ok := t.(xml.StartElement); ok {
				d.define(e)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := a.each("content.xml", d.token); err != nil {
		return err
	}
	if d.slides {
		s.Total = d.slide
	}
	return d.finish()
}

// define reads the styles of lists: the first number of each level; 0 is a level with
// bullets. In content.xml they stand before the text.
func (d *odf) define(e xml.StartElement) {
	switch e.Name.Local {
	case "list-style":
		d.style = &[listLevels]int{}
		d.numbered[attr(e, "name")] = d.style
	case "list-level-style-number":
		if d.style == nil || attr(e, "num-format") == "" {
			return
		}
		level, _ := strconv.Atoi(attr(e, "level"))
		first, _ := strconv.Atoi(attr(e, "start-value"))
		d.style[min(max(level, 1), listLevels)-1] = max(first, 1)
	}
}

type odf struct {
	*prose
	slides   bool
	slide    int
	heading  int
	numbered map[string]*[listLevels]int // first numbers of a style
	style    *[listLevels]int            // that is defined
	lists    []odfList                   // that are open, from the outside
	ended    map[*[listLevels]int]int    // items of the latest outer list of a style
	skip     int
	texts    int // paragraphs that are open: a footnote is inside one
	item     bool
}

type odfList struct {
	style *[listLevels]int // nil: bullets
	items int
}

func (d *odf) token(t xml.Token) error {
	switch t := t.(type) {
	case xml.StartElement:
		if d.skip > 0 || leftOutODF(t.Name.Local) {
			d.define(t)
			d.skip++
			return nil
		}
		return d.start(t)
	case xml.EndElement:
		if d.skip > 0 {
			d.skip--
			return nil
		}
		return d.finishElement(t.Name.Local)
	case xml.CharData:
		if d.texts > 0 && d.skip == 0 {
			d.buf.Write(t)
		}
	}
	return nil
}

// leftOutODF tells elements that are no text of the document: deleted text, comments,
// and the definitions of styles and forms.
func leftOutODF(name string) bool {
	switch name {
	case "tracked-changes", "annotation", "automatic-styles", "font-face-decls", "scripts", "forms", "sequence-decls", "desc":
		return true
	}
	return false
}

func (d *odf) start(e xml.StartElement) error {
	switch e.Name.Local {
	case "h":
		d.heading, _ = strconv.Atoi(attr(e, "outline-level"))
		d.heading = max(d.heading, 1)
		d.texts++
	case "p":
		d.texts++
	case "list":
		l := odfList{style: d.numbered[attr(e, "style-name")]}
		if n := len(d.lists); n > 0 && attr(e, "style-name") == "" {
			l.style = d.lists[n-1].style
		}
		if attr(e, "continue-numbering") == "true" {
			l.items = d.ended[l.style]
		}
		d.lists = append(d.lists, l)
	case "list-item":
		if d.item = true; len(d.lists) > 0 {
			d.lists[len(d.lists)-1].items++
		}
	case "s":
		n, err := strconv.Atoi(attr(e, "c"))
		if err != nil {
			n = 1
		}
		d.buf.WriteString(strings.Repeat(" ", min(max(n, 0), 100)))
	case "tab":
		d.buf.WriteByte('\t')
	case "line-break":
		d.buf.WriteByte('\n')
	case "note":
		d.buf.WriteString(" (")
	case "table":
		return d.startTable()
	case "table-row":
		d.startRow()
	case "table-cell":
		d.startCell()
	case "covered-table-cell":
		n, _ := strconv.Atoi(attr(e, "number-columns-repeated"))
		d.skipCells(max(n, 1))
	case "page":
		d.slide++
		d.unit = fmt.Sprintf("slide %d, paragraphs", d.slide)
		d.last = 0
	case "notes":
		if d.slides {
			d.buf.WriteString("Notes of the speaker: ")
		}
	}
	return nil
}

func (d *odf) finishElement(name string) error {
	switch name {
	case "h", "p":
		if d.texts--; d.texts > 0 { // the paragraph of a footnote
			d.buf.WriteByte(' ')
			return nil
		}
		prefix := ""
		switch {
		case d.heading > 0:
			prefix = strings.Repeat("#", min(d.heading, 6)) + " "
		case len(d.lists) > 0 && d.item:
			prefix = d.mark()
		}
		list := d.heading == 0 && len(d.lists) > 0
		d.heading, d.item = 0, false
		return d.paragraph(prefix, list)
	case "list":
		if n := len(d.lists); n > 0 {
			if n == 1 {
				d.ended[d.lists[0].style] = d.lists[0].items
			}
			d.lists = d.lists[:n-1]
		}
	case "note":
		d.buf.WriteString(") ")
	case "table":
		return d.endTable()
	case "page":
		return d.end()
	}
	return nil
}

// mark is what stands before an item of the innermost list: its number, or a bullet.
func (d *odf) mark() string {
	level := min(len(d.lists), listLevels) - 1
	indent, l := strings.Repeat("  ", level), d.lists[len(d.lists)-1]
	if l.style == nil || l.style[level] == 0 {
		return indent + "- "
	}
	return indent + strconv.Itoa(l.style[level]+l.items-1) + ". "
}

// parseODS gives ranges of rows of the sheets.
func parseODS(src Source, s *sink) error {
	a, err := openODF(src, s)
	if err != nil {
		return err
	}
	r := &odsReader{s: s}
	if err := a.each("content.xml", r.token); err != nil {
		return err
	}
	return nil
}

type odsReader struct {
	s            *sink
	out          *sheetWriter
	number       int // of the last row
	repeat       int // of the row
	cells        []string
	cellRepeat   int
	value        string // of the cell, where it has no text
	formula      string
	text         strings.Builder
	texts, cellN int
	skip         int
}

func (r *odsReader) token(t xml.Token) error {
	switch t := t.(type) {
	case xml.StartElement:
		if r.skip > 0 || leftOutODF(t.Name.Local) {
			r.skip++
			return nil
		}
		r.start(t)
	case xml.EndElement:
		if r.skip > 0 {
			r.skip--
			return nil
		}
		return r.finishElement(t.Name.Local)
	case xml.CharData:
		if r.texts > 0 && r.skip == 0 {
			r.text.Write(t)
		}
	}
	return nil
}

func (r *odsReader) start(e xml.StartElement) {
	switch e.Name.Local {
	case "table":
		r.s.Total++
		r.out = &sheetWriter{pieces: pieces{s: r.s, unit: fmt.Sprintf("sheet %s, rows", attr(e, "name"))}}
		r.number = 0
	case "table-row":
		r.repeat = repeated(e, "number-rows-repeated")
		r.cells = r.cells[:0]
		if v := attr(e, "visibility"); v != "" && v != "visible" {
			r.s.note(NoteHidden)
		}
	case "table-cell", "covered-table-cell":
		r.cellN++
		r.cellRepeat, r.formula = repeated(e, "number-columns-repeated"), attr(e, "formula")
		r.value = ""
		for _, name := range []string{"value", "date-value", "time-value", "boolean-value", "string-value"} {
			if v := attr(e, name); v != "" && r.value == "" {
				r.value = v
			}
		}
		r.text.Reset()
	case "p":
		if r.texts++; r.text.Len() > 0 {
			r.text.WriteByte(' ')
		}
	case "s":
		r.text.WriteByte(' ')
	}
}

func repeated(e xml.StartElement, name string) int {
	n, err := strconv.Atoi(attr(e, name))
	if err != nil {
		return 1
	}
	return min(max(n, 1), 1<<20)
}

func (r *odsReader) finishElement(name string) error {
	switch name {
	case "p":
		r.texts = max(r.texts-1, 0)
	case "table-cell", "covered-table-cell":
		r.cellN--
		r.cell()
	case "table-row":
		return r.row()
	case "table":
		if r.out == nil {
			return nil
		}
		return r.out.end()
	}
	return nil
}

func (r *odsReader) cell() {
	text := r.text.String()
	if text == "" {
		text = r.value
	}
	if r.formula != "" {
		r.s.note(NoteFormulas)
		if text == "" {
			r.s.note(NoteUncomputed)
			_, text, _ = strings.Cut(r.formula, ":")
		}
	}
	n := r.cellRepeat
	if text == "" && n > maxColumns {
		n = maxColumns // the empty rest of a row
	}
	for range n {
		if len(r.cells) > maxColumns {
			break
		}
		r.cells = append(r.cells, text)
	}
	r.text.Reset()
}

// row writes a row as often as it is repeated. The empty rest of a sheet is one that is
// repeated a million times.
func (r *odsReader) row() error {
	empty := true
	for _, c := range r.cells {
		empty = empty && c == ""
	}
	if empty || r.out == nil {
		r.number += r.repeat
		return nil
	}
	for range r.repeat {
		r.number++
		if err := r.out.row(r.number, r.cells); err != nil {
			return err
		}
	}
	return nil
}
