package parse

import (
	"encoding/xml"
	"path"
	"strconv"
	"strings"
)

// openOOXML opens a file of Word, Excel or PowerPoint and reads its title.
func openOOXML(src Source, s *sink) (*archive, error) {
	a, err := openArchive(src, s)
	if err != nil {
		return nil, err
	}
	for name := range a.files {
		if path.Base(name) == "vbaProject.bin" {
			s.note(NoteMacros)
		}
	}
	s.Title = a.title("docProps/core.xml")
	return a, nil
}

// title reads the title that a member with properties names; without one it is empty.
func (a *archive) title(name string) string {
	if a.files[name] == nil {
		return ""
	}
	var title strings.Builder
	in := false
	_ = a.each(name, func(t xml.Token) error { // a title is no reason to refuse a file
		switch t := t.(type) {
		case xml.StartElement:
			in = t.Name.Local == "title"
		case xml.EndElement:
			in = false
		case xml.CharData:
			if in && title.Len() < 1000 {
				title.Write(t)
			}
		}
		return nil
	})
	return clip(title.String(), 1000)
}

// parseDOCX gives ranges of paragraphs
// (https://ecma-international.org/publications-and-standards/standards/ecma-376/, part 1, 17).
func parseDOCX(src Source, s *sink) error {
	a, err := openOOXML(src, s)
	if err != nil {
		return err
	}
	d := &docx{prose: newProse(s), counts: map[string]*[listLevels]int{}}
	if d.levels, err = a.headingStyles(); err != nil {
		return err
	}
	if d.numbered, err = a.numberedLists(); err != nil {
		return err
	}
	if err := a.each("word/document.xml", d.token); err != nil {
		return err
	}
	for _, notes := range []string{"word/footnotes.xml", "word/endnotes.xml"} {
		if a.files[notes] == nil {
			continue
		}
		if err := a.each(notes, d.token); err != nil {
			return err
		}
	}
	return d.finish()
}

// headingStyles returns the level of each style that is a heading, by its id. Ids are
// in the language of the program that wrote the file, names are not.
func (a *archive) headingStyles() (map[string]int, error) {
	levels, id := map[string]int{}, ""
	if a.files["word/styles.xml"] == nil {
		return levels, nil
	}
	return levels, a.each("word/styles.xml", func(t xml.Token) error {
		e, ok := t.(xml.StartElement)
		if !ok {
			return nil
		}
		switch e.Name.Local {
		case "style":
			id = attr(e, "styleId")
		case "name":
			name := strings.ToLower(attr(e, "val"))
			if n, err := strconv.Atoi(strings.TrimPrefix(name, "heading ")); err == nil {
				levels[id] = n
			} else if name == "title" {
				levels[id] = 1
			}
		case "outlineLvl":
			if n, err := strconv.Atoi(attr(e, "val")); err == nil && n < 9 && levels[id] == 0 {
				levels[id] = n + 1
			}
		}
		return nil
	})
}

// listLevels is how many levels a list has.
const listLevels = 9

// numberedLists returns the first number of each level of each list, by the list's id; 0
// is a level with bullets.
func (a *archive) numberedLists() (map[string]*[listLevels]int, error) {
	lists, kinds := map[string]*[listLevels]int{}, map[string]*[listLevels]int{}
	if a.files["word/numbering.xml"] == nil {
		return lists, nil
	}
	var kind *[listLevels]int // of the definition that is read; nil outside of one
	id, level, first := "", 0, 1
	return lists, a.each("word/numbering.xml", func(t xml.Token) error {
		e, ok := t.(xml.StartElement)
		if !ok {
			return nil
		}
		switch value := attr(e, "val"); e.Name.Local {
		case "abstractNum":
			kind = &[listLevels]int{}
			kinds[attr(e, "abstractNumId")] = kind
		case "num":
			id, kind = attr(e, "numId"), nil
		case "abstractNumId":
			lists[id] = kinds[value]
		case "lvl":
			level, first = levelOf(attr(e, "ilvl")), 1
		case "start":
			if n, err := strconv.Atoi(value); err == nil && n > 0 {
				first = n
			}
		case "numFmt":
			if kind != nil && value != "bullet" && value != "none" {
				kind[level] = first
			}
		}
		return nil
	})
}

func levelOf(text string) int {
	n, _ := strconv.Atoi(text)
	return min(max(n, 0), listLevels-1)
}

type docx struct {
	*prose
	levels   map[string]int
	numbered map[string]*[listLevels]int // first numbers
	counts   map[string]*[listLevels]int // items so far
	heading  int                         // of the paragraph
	list     string                      // id; empty outside of lists
	indent   int
	skip     int // inside an element that is left out
	text     bool
	span     int    // columns of the open cell
	note     string // the number of the footnote that begins
}

func (d *docx) token(t xml.Token) error {
	switch t := t.(type) {
	case xml.StartElement:
		if d.skip > 0 || d.left(t) {
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
		if d.text && d.skip == 0 {
			d.buf.Write(t)
		}
	}
	return nil
}

// left tells elements that are left out: deleted text, codes of fields, and the copies
// of drawings for old programs.
func (d *docx) left(e xml.StartElement) bool {
	switch e.Name.Local {
	case "del", "moveFrom", "instrText", "Fallback", "delText":
		return true
	case "footnote", "endnote":
		return attr(e, "type") != "" // separators
	}
	return false
}

func (d *docx) start(e xml.StartElement) error {
	switch e.Name.Local {
	case "p":
		d.heading, d.list, d.indent = 0, "", 0
		if d.note != "" {
			d.buf.WriteString("[^" + d.note + "]: ")
			d.note = ""
		}
	case "pStyle":
		d.heading = d.levels[attr(e, "val")]
	case "outlineLvl":
		if n, err := strconv.Atoi(attr(e, "val")); err == nil && n < 9 {
			d.heading = n + 1
		}
	case "numId":
		if d.list = attr(e, "val"); d.list == "0" {
			d.list = ""
		}
	case "ilvl":
		d.indent = levelOf(attr(e, "val"))
	case "t":
		d.text = true
	case "tab":
		d.buf.WriteByte('\t')
	case "br", "cr":
		d.buf.WriteByte('\n')
	case "noBreakHyphen":
		d.buf.WriteByte('-')
	case "footnoteReference", "endnoteReference":
		d.buf.WriteString("[^" + attr(e, "id") + "]")
	case "footnote", "endnote":
		d.note = attr(e, "id")
	case "tbl":
		return d.startTable()
	case "tr":
		d.startRow()
	case "tc":
		d.span = 1
		d.startCell()
	case "gridSpan":
		d.span, _ = strconv.Atoi(attr(e, "val"))
	}
	return nil
}

func (d *docx) finishElement(name string) error {
	switch name {
	case "t":
		d.text = false
	case "p":
		prefix := ""
		switch {
		case d.heading > 0:
			prefix = strings.Repeat("#", min(d.heading, 6)) + " "
		case d.list != "":
			prefix = strings.Repeat("  ", d.indent) + d.mark()
		}
		return d.paragraph(prefix, d.list != "" && d.heading == 0)
	case "tc":
		d.skipCells(d.span - 1)
		d.span = 1
	case "tbl":
		return d.endTable()
	}
	return nil
}

// mark is what stands before the next item of the list: its number, or a bullet.
func (d *docx) mark() string {
	numbered := d.numbered[d.list]
	if numbered == nil || numbered[d.indent] == 0 {
		return "- "
	}
	counts := d.counts[d.list]
	if counts == nil {
		counts = &[listLevels]int{}
		d.counts[d.list] = counts
	}
	number := numbered[d.indent] + counts[d.indent]
	counts[d.indent]++
	clear(counts[d.indent+1:])
	return strconv.Itoa(number) + ". "
}
