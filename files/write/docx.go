package write

import (
	"embed"
	"fmt"
	"io"
	"strings"
)

//go:embed docx
var templates embed.FS

// Lengths in twentieths of a point, the unit of Word.
const (
	docxMargin  = 1247 // 22 mm
	docxIndent  = 425  // of a level of a list or quotation
	docxColumns = 63   // of a table in Word
)

// docx collects the parts of a DOCX, by ECMA-376 part 1.
type docx struct {
	body     strings.Builder
	inNotes  bool
	links    docxLinks      // of the document
	ofNotes  docxLinks      // of its footnotes
	anchors  map[string]int // numbers of headings by slug
	starts   []listStart    // ordered lists, each counting by itself
	pictures *pictures
	media    []picture
	drawings int
	width    int // of the text
	height   int
}

// docxLinks are the relationships of a part, by number.
type docxLinks struct {
	all   []string // XML
	known map[string]string
}

type listStart struct{ level, start int }

// place says where a block is.
type place struct {
	style  string // of paragraphs, or empty
	indent int    // levels of lists and quotations around it
	lists  int    // levels of lists
	tight  bool
	align  string
	bold   bool
	number string // XML: the number of the list item that begins here
	lead   string // XML before the text
}

func writeDOCX(w io.Writer, d document, o Options) error {
	width, height := paper(o)
	x := &docx{
		links: docxLinks{known: map[string]string{}}, ofNotes: docxLinks{known: map[string]string{}},
		anchors: map[string]int{}, pictures: newPictures(o),
		width: int(width*20) - 2*docxMargin, height: int(height*20) - 2*docxMargin,
	}
	x.findAnchors(d.blocks)
	if err := x.blocks(d.blocks, place{}); err != nil {
		return err
	}
	// A page begins and ends with a paragraph.
	fmt.Fprintf(&x.body, `<w:sectPr><w:footerReference w:type="default" r:id="footer"/><w:pgSz w:w="%d" w:h="%d"/><w:pgMar w:top="%[3]d" w:right="%[3]d" w:bottom="%[3]d" w:left="%[3]d" w:header="567" w:footer="567" w:gutter="0"/></w:sectPr>`,
		int(width*20), int(height*20), docxMargin)
	body := x.body.String()
	x.body.Reset()
	x.inNotes = true
	for i, note := range d.notes {
		fmt.Fprintf(&x.body, `<w:footnote w:id="%d">`, i+1)
		mark := place{style: "FootnoteText", lead: `<w:r><w:rPr><w:rStyle w:val="FootnoteReference"/></w:rPr><w:footnoteRef/></w:r><w:r><w:t xml:space="preserve"> </w:t></w:r>`}
		if err := x.led(note, mark); err != nil {
			return err
		}
		x.body.WriteString("</w:footnote>")
	}
	return x.pack(w, o, o.title(d), body, x.body.String())
}

func (x *docx) findAnchors(blocks []block) {
	for _, b := range blocks {
		if b.kind == heading {
			x.anchors[b.slug] = len(x.anchors) + 1
		}
		x.findAnchors(b.children)
	}
}

func (x *docx) blocks(blocks []block, p place) error {
	for _, b := range blocks {
		if err := x.block(b, p); err != nil {
			return err
		}
	}
	return nil
}

// led writes blocks of which the first paragraph has the number or lead of p.
func (x *docx) led(blocks []block, p place) error {
	rest := p
	rest.number, rest.lead = "", ""
	if len(blocks) > 0 && blocks[0].kind == paragraph {
		if err := x.block(blocks[0], p); err != nil {
			return err
		}
		blocks = blocks[1:]
	} else if err := x.paragraph(nil, p); err != nil {
		return err
	}
	return x.blocks(blocks, rest)
}

func (x *docx) block(b block, p place) error {
	switch b.kind {
	case heading:
		p.style = fmt.Sprintf("Heading%d", b.level)
		n := x.anchors[b.slug]
		p.lead = fmt.Sprintf(`<w:bookmarkStart w:id="%d" w:name="h%d"/><w:bookmarkEnd w:id="%d"/>`, n, n, n)
		return x.paragraph(b.runs, p)
	case paragraph:
		return x.paragraph(b.runs, p)
	case list:
		return x.list(b, p)
	case quote:
		p.style = "Quote"
		p.indent++
		return x.blocks(b.children, p)
	case code:
		p.style = "Code"
		return x.paragraph([]run{{text: strings.TrimRight(b.text, "\n")}}, p)
	case table:
		return x.table(b, p)
	case rule:
		x.body.WriteString(`<w:p><w:pPr><w:pBdr><w:bottom w:val="single" w:sz="6" w:space="1" w:color="B8C4D2"/></w:pBdr></w:pPr></w:p>`)
	}
	return nil
}

func (x *docx) list(b block, p place) error {
	level := min(p.lists, maxLevels-1)
	number := 1 // the bullets
	if b.ordered {
		x.starts = append(x.starts, listStart{level, b.start})
		number = 1 + len(x.starts)
	}
	p.lists++
	p.indent++
	p.tight = b.tight
	for i, child := range b.children {
		at := p
		at.tight = p.tight && (i < len(b.children)-1 || p.lists > 1)
		at.number = fmt.Sprintf(`<w:numPr><w:ilvl w:val="%d"/><w:numId w:val="%d"/></w:numPr>`, level, number)
		if err := x.led(child.children, at); err != nil {
			return err
		}
	}
	return nil
}

// paragraph writes a paragraph; its properties are in the order of the schema.
func (x *docx) paragraph(runs []run, p place) error {
	right := rightToLeft(plain(runs))
	x.body.WriteString("<w:p><w:pPr>")
	if p.style != "" {
		fmt.Fprintf(&x.body, `<w:pStyle w:val="%s"/>`, p.style)
	}
	x.body.WriteString(p.number)
	if right && p.style != "Code" {
		x.body.WriteString("<w:bidi/>")
	}
	if p.tight {
		x.body.WriteString(`<w:spacing w:after="50"/>`)
	}
	if p.indent > 0 {
		hanging := ""
		if p.number != "" {
			hanging = fmt.Sprintf(` w:hanging="%d"`, docxIndent)
		}
		fmt.Fprintf(&x.body, `<w:ind w:left="%d"%s/>`, p.indent*docxIndent, hanging)
	}
	if align := p.align; align != "" {
		if right { // Word reads left as the side where lines begin
			align = map[string]string{"left": "right", "right": "left", "center": "center"}[align]
		}
		fmt.Fprintf(&x.body, `<w:jc w:val="%s"/>`, align)
	}
	x.body.WriteString("</w:pPr>" + p.lead)
	for _, r := range runs {
		r.bold = r.bold || p.bold
		if err := x.run(r); err != nil {
			return err
		}
	}
	x.body.WriteString("</w:p>")
	return nil
}

func (x *docx) run(r run) error {
	switch {
	case r.note > 0 && x.inNotes: // Word has no footnotes of footnotes
		x.text(fmt.Sprintf("[%d]", r.note), r.style)
	case r.note > 0:
		fmt.Fprintf(&x.body, `<w:r><w:rPr><w:rStyle w:val="FootnoteReference"/></w:rPr><w:footnoteReference w:id="%d"/></w:r>`, r.note)
	case r.picture != "":
		return x.picture(r)
	default:
		end := x.openLink(r.link)
		for _, part := range directions(r.text) {
			x.text(part, r.style)
		}
		x.body.WriteString(end)
	}
	return nil
}

// openLink begins a link and returns what ends it.
func (x *docx) openLink(link string) string {
	switch {
	case link == "":
		return ""
	case link[0] == '#':
		n, ok := x.anchors[link[1:]]
		if !ok {
			return ""
		}
		fmt.Fprintf(&x.body, `<w:hyperlink w:anchor="h%d">`, n)
	default:
		id := x.part().add("hyperlink", link, ` TargetMode="External"`)
		fmt.Fprintf(&x.body, `<w:hyperlink r:id="%s">`, id)
	}
	return "</w:hyperlink>"
}

func (x *docx) part() *docxLinks {
	if x.inNotes {
		return &x.ofNotes
	}
	return &x.links
}

// add returns the id of a relationship.
func (l *docxLinks) add(kind, target, more string) string {
	if id, ok := l.known[target]; ok {
		return id
	}
	id := fmt.Sprintf("r%d", len(l.all)+1)
	l.all = append(l.all, fmt.Sprintf(`<Relationship Id="%s" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%s" Target="%s"%s/>`, id, kind, escape(target), more))
	l.known[target] = id
	return id
}

// text writes text of one direction in one style; the properties are in the order of
// the schema.
func (x *docx) text(text string, s style) {
	x.body.WriteString("<w:r>")
	var look strings.Builder
	switch {
	case s.code:
		look.WriteString(`<w:rStyle w:val="CodeChar"/>`)
	case s.link != "" && (s.link[0] != '#' || x.anchors[s.link[1:]] > 0):
		look.WriteString(`<w:rStyle w:val="Hyperlink"/>`)
	}
	if s.bold {
		look.WriteString("<w:b/><w:bCs/>")
	}
	if s.italic {
		look.WriteString("<w:i/><w:iCs/>")
	}
	if s.strike {
		look.WriteString("<w:strike/>")
	}
	if rightToLeft(text) {
		look.WriteString("<w:rtl/>")
	}
	if look.Len() > 0 {
		x.body.WriteString("<w:rPr>" + look.String() + "</w:rPr>")
	}
	for text != "" {
		at := strings.IndexAny(text, "\n\t")
		part := text
		if at >= 0 {
			part = text[:at]
		}
		if part != "" {
			x.body.WriteString(`<w:t xml:space="preserve">` + escape(part) + "</w:t>")
		}
		if at < 0 {
			break
		}
		x.body.WriteString(map[byte]string{'\n': "<w:br/>", '\t': "<w:tab/>"}[text[at]])
		text = text[at+1:]
	}
	x.body.WriteString("</w:r>")
}

func (x *docx) picture(r run) error {
	made, err := x.pictures.get(r.picture)
	if err != nil {
		return err
	}
	target := "media/" + r.picture
	id, known := x.part().known[target]
	if !known {
		x.media = append(x.media, made)
		id = x.part().add("image", fmt.Sprintf("media/%d.%s", len(x.media), made.ext), "")
		x.part().known[target] = id
	}
	const perInch = 914400 // English metric units
	w, h := made.fit(perInch, float64(x.width)/1440*perInch, float64(x.height)/1440*perInch*0.9)
	x.drawings++
	fmt.Fprintf(&x.body, `<w:r><w:drawing><wp:inline distT="0" distB="0" distL="0" distR="0"><wp:extent cx="%[1]d" cy="%[2]d"/><wp:docPr id="%[3]d" name="Picture %[3]d" descr="%[4]s"/><a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:pic><pic:nvPicPr><pic:cNvPr id="%[3]d" name="Picture %[3]d"/><pic:cNvPicPr/></pic:nvPicPr><pic:blipFill><a:blip r:embed="%[5]s"/><a:stretch><a:fillRect/></a:stretch></pic:blipFill><pic:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="%[1]d" cy="%[2]d"/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></pic:spPr></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r>`,
		max(1, int(w)), max(1, int(h)), x.drawings, escape(r.text), id)
	return nil
}

func (x *docx) table(b block, p place) error {
	if len(b.align) > docxColumns {
		return &TooLargeError{What: "columns of a table", Limit: docxColumns, Got: len(b.align)}
	}
	const letter, padding = 120, 240
	longest, word := tableWidths(b, func(text string) float64 { return float64(cells(text))*letter + padding })
	widths := columnWidths(longest, word, float64(x.width-p.indent*docxIndent))
	x.body.WriteString(`<w:tbl><w:tblPr><w:tblStyle w:val="Grid"/>`)
	if len(b.rows[0]) > 0 && rightToLeft(plain(b.rows[0][0])) {
		x.body.WriteString("<w:bidiVisual/>")
	}
	total := 0
	for _, width := range widths {
		total += int(width)
	}
	fmt.Fprintf(&x.body, `<w:tblW w:w="%d" w:type="dxa"/><w:tblInd w:w="%d" w:type="dxa"/><w:tblLayout w:type="fixed"/></w:tblPr><w:tblGrid>`, total, p.indent*docxIndent)
	for _, width := range widths {
		fmt.Fprintf(&x.body, `<w:gridCol w:w="%d"/>`, int(width))
	}
	x.body.WriteString("</w:tblGrid>")
	for i, row := range b.rows {
		x.body.WriteString("<w:tr>")
		if i == 0 {
			x.body.WriteString("<w:trPr><w:tblHeader/></w:trPr>")
		}
		for column, runs := range row {
			fmt.Fprintf(&x.body, `<w:tc><w:tcPr><w:tcW w:w="%d" w:type="dxa"/>`, int(widths[column]))
			if i == 0 {
				x.body.WriteString(`<w:shd w:val="clear" w:color="auto" w:fill="E8EDF3"/>`)
			}
			x.body.WriteString("</w:tcPr>")
			if err := x.paragraph(runs, place{style: "TableText", align: b.align[column], bold: i == 0}); err != nil {
				return err
			}
			x.body.WriteString("</w:tc>")
		}
		x.body.WriteString("</w:tr>")
	}
	// Word joins two tables that no paragraph separates.
	x.body.WriteString(`</w:tbl><w:p><w:pPr><w:spacing w:after="0" w:line="200" w:lineRule="exact"/></w:pPr></w:p>`)
	return nil
}

// tableWidths measures the longest line and the longest word of each column.
func tableWidths(b block, measure func(text string) float64) (longest, word []float64) {
	longest, word = make([]float64, len(b.align)), make([]float64, len(b.align))
	for _, row := range b.rows {
		for column, runs := range row {
			for line := range strings.Lines(plain(runs)) {
				longest[column] = max(longest[column], measure(strings.TrimSpace(line)))
			}
			for part := range strings.FieldsSeq(plain(runs)) {
				if wide([]rune(part)[0]) {
					part = string([]rune(part)[:1]) // may be broken anywhere
				}
				word[column] = max(word[column], measure(part))
			}
		}
	}
	for column := range longest {
		longest[column] = max(longest[column], measure("mm"))
		word[column] = min(max(word[column], measure("mm")), longest[column])
	}
	return longest, word
}
