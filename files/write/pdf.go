package write

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"codeberg.org/go-pdf/fpdf"
)

// Lengths in points.
const (
	pdfMargin  = 60
	pdfSize    = 10.5 // of text
	pdfLead    = 1.42 // lines per size
	pdfIndent  = 20   // of a level of a list or quotation
	pdfGap     = 7    // after a paragraph
	pdfColumns = 30   // of a table: more leave no room for letters
)

// pdf lays a document out on pages, from the top down.
type pdf struct {
	*fpdf.Fpdf
	fonts    *fonts
	shaper   *shaper
	loaded   map[string]bool
	widths   map[glyphKey]float64
	pictures *pictures
	anchors  map[string]int // links by slug
	outline  int            // level of the last bookmark
	width    float64        // of the page
	bottom   float64        // where the text of a page ends
	y        float64        // where the next line begins
}

// area is where a block is on the page.
type area struct {
	left, right float64   // from the left edge of the page
	bars        []float64 // at the left of quotations
	quoted      bool
}

// writePDF draws a document. The library that draws may panic on a font that is
// broken, which is an error here.
func writePDF(w io.Writer, d document, o Options) (err error) {
	width, height := paper(o)
	p := &pdf{
		Fpdf:   fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt", Size: fpdf.SizeType{Wd: width, Ht: height}}),
		shaper: newShaper(), loaded: map[string]bool{}, widths: map[glyphKey]float64{}, pictures: newPictures(o),
		anchors: map[string]int{}, outline: -1, width: width, bottom: height - pdfMargin,
	}
	if p.fonts, err = newFonts(o, p.shaper.shape(allText(d))); err != nil {
		return err
	}
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("writing PDF: %v", broken)
		}
	}()
	now := o.Now
	if now.IsZero() { // the library would take the clock's time
		now = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	p.SetCreationDate(now.UTC())
	p.SetModificationDate(now.UTC())
	p.SetCatalogSort(true)
	p.SetTitle(o.title(d), true)
	p.SetAuthor(clean(o.Author), true)
	p.SetCreator("legwork", true)
	p.SetProducer("legwork", true)
	p.SetLang(o.tag().String())
	p.SetMargins(0, 0, 0)
	p.SetAutoPageBreak(false, 0)
	p.SetCellMargin(0)
	p.AliasNbPages("{nb}")
	p.SetFooterFunc(func() {
		p.use("sans", 8.5)
		p.SetTextColor(107, 119, 133)
		text := fmt.Sprintf("%d / {nb}", p.PageNo())
		p.Text((width-p.GetStringWidth(fmt.Sprintf("%d / %[1]d", p.PageNo())))/2, height-pdfMargin/2, text)
	})
	p.findAnchors(d.blocks)
	p.newPage()
	whole := area{left: pdfMargin, right: width - pdfMargin}
	if err := p.blocks(d.blocks, whole); err != nil {
		return err
	}
	if err := p.notes(d.notes, whole); err != nil {
		return err
	}
	if err := p.Output(w); err != nil {
		return fmt.Errorf("writing PDF: %w", err)
	}
	return nil
}

// allText is every text of a document, for finding fonts.
func allText(d document) string {
	var out strings.Builder
	var add func(blocks []block)
	add = func(blocks []block) {
		for _, b := range blocks {
			out.WriteString(plain(b.runs) + b.text + "\n")
			for _, row := range b.rows {
				for _, cell := range row {
					out.WriteString(plain(cell) + "\n")
				}
			}
			add(b.children)
		}
	}
	add(d.blocks)
	for _, note := range d.notes {
		add(note)
	}
	return out.String()
}

func (p *pdf) findAnchors(blocks []block) {
	for _, b := range blocks {
		if b.kind == heading {
			p.anchors[b.slug] = p.AddLink()
		}
		p.findAnchors(b.children)
	}
}

func (p *pdf) newPage() {
	p.AddPage()
	p.y = pdfMargin
}

// take reserves height on this page or the next one, and returns where it begins.
func (p *pdf) take(height float64, a area) float64 {
	if p.y+height > p.bottom && p.y > pdfMargin {
		p.newPage()
	}
	y := p.y
	p.y += height
	for _, x := range a.bars {
		p.SetFillColor(184, 196, 210)
		p.Rect(x, y, 2.2, height, "F")
	}
	return y
}

// space leaves room, but not at the top of a page.
func (p *pdf) space(height float64, a area) {
	if p.y == pdfMargin || p.y+height > p.bottom {
		return
	}
	p.take(height, a)
}

func (p *pdf) blocks(blocks []block, a area) error {
	for _, b := range blocks {
		if err := p.block(b, a); err != nil {
			return err
		}
	}
	return nil
}

func (p *pdf) block(b block, a area) error {
	switch b.kind {
	case heading:
		return p.heading(b, a)
	case paragraph:
		if err := p.runs(b.runs, pdfSize, a); err != nil {
			return err
		}
		p.space(pdfGap, a)
	case list:
		return p.list(b, a)
	case quote:
		inner := a
		inner.bars = append(append([]float64{}, a.bars...), a.left+2)
		inner.left += pdfIndent
		inner.quoted = true
		if err := p.blocks(b.children, inner); err != nil {
			return err
		}
	case code:
		p.code(b.text, a)
	case table:
		return p.table(b, a)
	case rule:
		y := p.take(14, a)
		p.SetDrawColor(184, 196, 210)
		p.SetLineWidth(0.8)
		p.Line(a.left, y+5, a.right, y+5)
	}
	return nil
}

func (p *pdf) heading(b block, a area) error {
	size := []float64{20, 15.5, 13, 11.5, pdfSize, pdfSize}[b.level-1]
	p.space(size*0.7, a)
	if p.y+size*pdfLead+3*pdfSize*pdfLead > p.bottom { // it stays with what follows
		p.newPage()
	}
	for i := range b.runs {
		b.runs[i].bold = true
	}
	text := strings.Join(strings.Fields(p.fonts.printable(plain(b.runs))), " ")
	p.outline = min(b.level-1, p.outline+1) // levels that are left out would break the outline
	p.use("sans", size)
	p.Bookmark(text, p.outline, p.y)
	p.SetLink(p.anchors[b.slug], p.y, -1)
	if err := p.colored(b.runs, size, a, 31, 58, 95); err != nil {
		return err
	}
	p.space(size*0.35, a)
	return nil
}

func (p *pdf) list(b block, a area) error {
	for i, child := range b.children {
		right := len(child.children) > 0 && rightToLeft(plain(child.children[0].runs))
		inner := a
		if right {
			inner.right -= pdfIndent
		} else {
			inner.left += pdfIndent
		}
		mark := "•"
		if b.ordered {
			mark = fmt.Sprintf("%d.", b.start+i)
		}
		if len(child.children) == 0 {
			child.children = []block{{kind: paragraph, runs: []run{{text: "\u00A0"}}}}
		}
		if p.y+pdfSize*pdfLead > p.bottom {
			p.newPage()
		}
		p.use("sans", pdfSize)
		p.SetTextColor(34, 43, 54)
		x := inner.left - 6 - p.GetStringWidth(mark)
		if right {
			x = inner.right + 6
		}
		p.Text(max(x, 4), p.y+pdfSize*1.08, mark)
		if err := p.blocks(child.children, inner); err != nil {
			return err
		}
		if b.tight && i < len(b.children)-1 && p.y > pdfMargin {
			p.y = max(pdfMargin, p.y-pdfGap+2)
		}
	}
	return nil
}

// code draws lines in a grey box; long ones are broken anywhere.
func (p *pdf) code(text string, a area) {
	const size, lead, padding = 8.8, 12, 7
	p.space(2, a)
	inner := area{left: a.left + padding, right: a.right - padding}
	var lines [][]glyph
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		glyphs := p.glyphs([]run{{style: style{code: true}, text: strings.TrimRight(line, "\n")}}, size)
		for i := range glyphs {
			glyphs[i].style.code = false // the box is drawn here
		}
		lines = append(lines, p.breakAnywhere(glyphs, inner.right-inner.left)...)
	}
	for i, line := range lines {
		height := float64(lead)
		if i == 0 {
			height += padding
		}
		if i == len(lines)-1 {
			height += padding
		}
		y := p.take(height, a)
		p.SetFillColor(244, 246, 248)
		p.Rect(a.left, y, a.right-a.left, height, "F")
		if i == 0 {
			y += padding
		}
		p.SetTextColor(34, 43, 54)
		p.line(line, size, y+size*1.02, inner, "left", rightToLeft(glyphText(line)))
	}
	p.space(pdfGap+2, area{})
}

func (p *pdf) table(b block, a area) error {
	if len(b.align) > pdfColumns {
		return &TooLargeError{What: "columns of a table", Where: "a PDF", Limit: pdfColumns, Got: len(b.align)}
	}
	size, padding := 9.3, 5.0
	if len(b.align) > 7 {
		size, padding = 7.8, 3.5
	}
	if len(b.align) > 12 {
		size, padding = 6.2, 2
	}
	longest, word := tableWidths(b, func(text string) float64 {
		return p.measure(p.glyphs([]run{{style: style{bold: true}, text: text}}, size)) + 2*padding + 1
	})
	t := &pdfTable{block: b, area: a, size: size, padding: padding, widths: columnWidths(longest, word, a.right-a.left)}
	p.space(2, a)
	for i := range b.rows {
		p.row(t, i)
	}
	p.space(pdfGap+4, area{})
	return nil
}

type pdfTable struct {
	block
	area
	size, padding float64
	widths        []float64
}

// row draws a row, on the next page if it fits there only, and over pages if it fits
// on none. The header is repeated on each page.
func (p *pdf) row(t *pdfTable, i int) {
	lead := t.size * 1.32
	cells := make([][][]glyph, len(t.widths))
	most := 1
	for column, runs := range t.rows[i] {
		if i == 0 {
			runs = append([]run{}, runs...)
			for k := range runs {
				runs[k].bold = true
			}
		}
		cells[column] = p.wrap(p.glyphs(runs, t.size), t.widths[column]-2*t.padding)
		most = max(most, len(cells[column]))
	}
	for from := 0; from < most; {
		fit := int((p.bottom - p.y - 2*t.padding) / lead)
		if page := int((p.bottom - pdfMargin - 2*t.padding) / lead * 0.8); (fit < 1 || most-from > fit && most <= page) && p.y > pdfMargin {
			p.newPage()
			if i > 0 {
				p.row(t, 0)
			}
			continue
		}
		n := min(max(1, fit), most-from)
		height := float64(n)*lead + 2*t.padding
		y := p.take(height, t.area)
		x := t.left
		for column, lines := range cells {
			width := t.widths[column]
			p.SetDrawColor(184, 196, 210)
			p.SetLineWidth(0.5)
			p.SetFillColor(232, 237, 243)
			p.Rect(x, y, width, height, map[bool]string{true: "DF", false: "D"}[i == 0])
			p.SetTextColor(34, 43, 54)
			text := glyphText(flat(lines))
			for k := range min(n, max(0, len(lines)-from)) {
				p.line(lines[from+k], t.size, y+t.padding+float64(k)*lead+t.size*0.98, area{left: x + t.padding, right: x + width - t.padding}, t.align[column], rightToLeft(text))
			}
			x += width
		}
		from += n
	}
}

// notes draws the footnotes at the end.
func (p *pdf) notes(notes [][]block, a area) error {
	if len(notes) == 0 {
		return nil
	}
	y := p.take(16, a)
	p.SetDrawColor(107, 119, 133)
	p.SetLineWidth(0.5)
	p.Line(a.left, y+8, a.left+120, y+8)
	for i, note := range notes {
		if p.y+2*pdfSize > p.bottom {
			p.newPage()
		}
		p.use("sans", 8)
		p.SetTextColor(34, 43, 54)
		p.Text(a.left, p.y+pdfSize*1.0, fmt.Sprintf("%d", i+1))
		inner := a
		inner.left += pdfIndent
		if err := p.blocks(note, inner); err != nil {
			return err
		}
	}
	return nil
}

// picture draws a picture as a block.
func (p *pdf) picture(r run, a area) error {
	made, err := p.pictures.get(r.picture)
	if err != nil {
		return err
	}
	width, height := made.fit(72, a.right-a.left, p.bottom-pdfMargin-pdfGap)
	if p.GetImageInfo(r.picture) == nil {
		p.RegisterImageOptionsReader(r.picture, fpdf.ImageOptions{ImageType: made.ext}, bytes.NewReader(made.data))
		if err := p.Error(); err != nil {
			return &PictureError{Name: r.picture, Err: err}
		}
	}
	y := p.take(height+4, a)
	p.ImageOptions(r.picture, a.left, y+2, width, height, false, fpdf.ImageOptions{ImageType: made.ext}, 0, "")
	return nil
}
