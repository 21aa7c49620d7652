package parse

import (
	"encoding/xml"
	"fmt"
	"path"
	"strings"
)

// parsePPTX gives the slides with the notes of the speaker.
func parsePPTX(src Source, s *sink) error {
	a, err := openOOXML(src, s)
	if err != nil {
		return err
	}
	const main = "ppt/presentation.xml"
	related, err := a.relations(main)
	if err != nil {
		return err
	}
	var slides []string
	err = a.each(main, func(t xml.Token) error {
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "sldId" {
			for _, at := range e.Attr {
				if at.Name.Local == "id" && at.Name.Space != "" {
					slides = append(slides, related[at.Value])
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.Total = len(slides)
	for i, name := range slides {
		text, err := a.slide(name)
		if err != nil {
			return err
		}
		if err := s.part(Part{Name: fmt.Sprintf("slide %d", i+1), Text: text}); err != nil {
			return err
		}
	}
	return nil
}

// slide returns the text of a slide.
func (a *archive) slide(name string) (string, error) {
	d := &slide{prose: newProse(nil)}
	d.s = &sink{limits: a.s.limits, out: func(p Part) error { d.all.WriteString(p.Text + "\n\n"); return nil }}
	if err := a.each(name, d.token); err != nil {
		return "", err
	}
	if d.hidden {
		a.s.note(NoteHidden)
	}
	related, err := a.relations(name)
	if err != nil {
		return "", err
	}
	for _, target := range related {
		if !strings.HasPrefix(path.Base(target), "notesSlide") || a.files[target] == nil {
			continue
		}
		if err := d.finish(); err != nil {
			return "", err
		}
		notes := &slide{prose: d.prose, notes: true}
		d.buf.WriteString("Notes of the speaker: ")
		if err := a.each(target, notes.token); err != nil {
			return "", err
		}
	}
	err = d.finish()
	return strings.TrimSpace(d.all.String()), err
}

type slide struct {
	*prose
	all    strings.Builder
	title  bool // the shape is a title
	text   bool
	hidden bool
	notes  bool // of the shapes of notes only the text itself counts
	other  bool
}

func (d *slide) token(t xml.Token) error {
	switch t := t.(type) {
	case xml.StartElement:
		switch t.Name.Local {
		case "sld":
			d.hidden = attr(t, "show") == "0"
		case "sp":
			d.title, d.other = false, false
		case "ph":
			kind := attr(t, "type")
			d.title = kind == "title" || kind == "ctrTitle"
			d.other = d.notes && kind != "body" || kind == "sldNum" || kind == "dt" || kind == "ftr"
		case "t":
			d.text = true
		case "br":
			d.buf.WriteByte('\n')
		case "tab":
			d.buf.WriteByte('\t')
		case "tbl":
			return d.startTable()
		case "tr":
			d.startRow()
		case "tc":
			d.startCell()
		}
	case xml.EndElement:
		switch t.Name.Local {
		case "t":
			d.text = false
		case "p":
			if d.title {
				return d.paragraph("## ", false)
			}
			return d.paragraph("", false)
		case "tbl":
			return d.endTable()
		}
	case xml.CharData:
		if d.text && !d.other {
			d.buf.Write(t)
		}
	}
	return nil
}
