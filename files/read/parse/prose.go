package parse

import (
	"strings"
)

// prose writes paragraphs and tables as Markdown, in parts that are ranges of paragraphs.
type prose struct {
	pieces
	buf    strings.Builder // the paragraph that is being read
	tables []*grid         // the open tables, the innermost last
}

// grid is a table that is being read.
type grid struct {
	rows [][]string
	open bool // the last cell of the last row takes text
}

func newProse(s *sink) *prose { return &prose{pieces: pieces{s: s, unit: "paragraphs"}} }

// maxTable is how much text a table may have: it is held until its end.
const maxTable = 4 << 20

// paragraph ends a paragraph. It belongs to the open cell if there is one.
func (p *prose) paragraph(prefix string, list bool) error {
	text := strings.TrimSpace(p.buf.String())
	p.buf.Reset()
	switch {
	case len(p.tables) > 0:
		p.inCell(text)
		return nil
	case text == "":
		return nil
	case list:
		return p.add(prefix+text+"\n", true)
	case prefix != "":
		return p.add("\n"+prefix+strings.Join(strings.Fields(text), " ")+"\n\n", true)
	}
	return p.add("\n"+text+"\n", true)
}

func (p *prose) inCell(text string) {
	t := p.tables[len(p.tables)-1]
	if !t.open || text == "" {
		return
	}
	last := t.rows[len(t.rows)-1]
	if before := last[len(last)-1]; before != "" {
		text = before + " " + text
	}
	last[len(last)-1] = text
}

func (p *prose) startTable() error {
	if err := p.paragraph("", false); err != nil {
		return err
	}
	p.tables = append(p.tables, &grid{})
	return nil
}

func (p *prose) startRow() {
	if len(p.tables) > 0 {
		t := p.tables[len(p.tables)-1]
		t.rows, t.open = append(t.rows, nil), false
	}
}

func (p *prose) startCell() {
	if len(p.tables) == 0 {
		return
	}
	t := p.tables[len(p.tables)-1]
	if len(t.rows) == 0 {
		t.rows = append(t.rows, nil)
	}
	last := len(t.rows) - 1
	t.rows[last], t.open = append(t.rows[last], ""), true
}

// skipCells stands for cells that another one covers.
func (p *prose) skipCells(n int) {
	for range min(n, maxColumns) {
		p.startCell()
		if len(p.tables) > 0 {
			p.tables[len(p.tables)-1].open = false
		}
	}
}

// endTable writes a table, or adds it to the cell that it is in.
func (p *prose) endTable() error {
	if len(p.tables) == 0 {
		return nil
	}
	t := p.tables[len(p.tables)-1]
	p.tables = p.tables[:len(p.tables)-1]
	if len(p.tables) > 0 {
		for _, cells := range t.rows {
			p.inCell(strings.Join(cells, " "))
		}
		return nil
	}
	size := 0
	for _, cells := range t.rows {
		for _, c := range cells {
			size += len(c)
		}
	}
	if size > maxTable {
		return ErrUnpacked
	}
	if text := table(t.rows); text != "" {
		return p.add("\n"+text+"\n", true)
	}
	return nil
}

// finish ends what is open and hands over what is left.
func (p *prose) finish() error {
	if err := p.paragraph("", false); err != nil {
		return err
	}
	for len(p.tables) > 0 {
		if err := p.endTable(); err != nil {
			return err
		}
	}
	return p.end()
}
