package write

import (
	"strconv"
	"strings"
	"unicode"
)

// glyph is a character with its look.
type glyph struct {
	r      rune
	face   *face
	style  style
	raised bool // the number of a footnote
	width  float64
}

type glyphKey struct {
	face string
	r    rune
}

// printable is text without the signs that no font has.
func (f *fonts) printable(text string) string {
	return strings.Map(func(r rune) rune {
		if f.pick("sans", r) == nil && !unicode.IsSpace(r) {
			if r = f.substitute("sans", r); r == 0 {
				return -1
			}
		}
		return r
	}, text)
}

// use sets a font, which the file then has a part of.
func (p *pdf) use(name string, size float64) {
	if !p.loaded[name] {
		p.loaded[name] = true
		data := embedded(name)
		for _, more := range p.fonts.more {
			if more.name == name {
				data = more.data
			}
		}
		p.AddUTF8FontFromBytes(name, "", data)
	}
	p.SetFont(name, "", size)
}

// glyphs shapes runs, in the order of reading.
func (p *pdf) glyphs(runs []run, size float64) []glyph {
	var all []glyph
	for _, r := range runs {
		name, text, raised := "sans", r.text, false
		switch {
		case r.note > 0:
			text, raised = strconv.Itoa(r.note), true
		case r.picture != "":
			continue
		case r.code && r.bold:
			name = "monoB"
		case r.code:
			name = "mono"
		default:
			if r.bold {
				name += "B"
			}
			if r.italic {
				name += "I"
			}
		}
		for _, c := range p.shaper.shape(strings.ReplaceAll(text, "\t", "    ")) {
			if g, ok := p.glyph(name, c, size); ok {
				g.style, g.raised = r.style, raised
				if raised {
					g.width *= 0.65
				}
				all = append(all, g)
			}
		}
	}
	return all
}

func (p *pdf) glyph(name string, r rune, size float64) (glyph, bool) {
	if r == '\n' {
		return glyph{r: r}, true
	}
	if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) {
		return glyph{}, false
	}
	picked := p.fonts.pick(name, r)
	if picked == nil && unicode.IsSpace(r) {
		r = ' '
		picked = p.fonts.pick(name, r)
	}
	if picked == nil {
		if r = p.fonts.substitute(name, r); r == 0 {
			return glyph{}, false
		}
		picked = p.fonts.pick(name, r)
	}
	key := glyphKey{picked.name, r}
	width, known := p.widths[key]
	if !known {
		p.use(picked.name, 1000)
		width = p.GetStringWidth(string(r)) / 1000
		if unicode.Is(unicode.Mn, r) {
			width = 0
		}
		p.widths[key] = width
	}
	return glyph{r: r, face: picked, width: width * size}, true
}

func (p *pdf) measure(glyphs []glyph) float64 {
	width := 0.0
	for _, g := range glyphs {
		width += g.width
	}
	return width
}

func glyphText(glyphs []glyph) string {
	var out strings.Builder
	for _, g := range glyphs {
		out.WriteRune(g.r)
	}
	return out.String()
}

func flat(lines [][]glyph) []glyph {
	var all []glyph
	for _, line := range lines {
		all = append(all, line...)
	}
	return all
}

// Characters that do not begin or end a line of Chinese and Japanese.
const (
	notFirst = "，。、；：！？）】」』》〉·ー々…,.;:!?)]}%"
	notLast  = "（【「『《〈([{"
)

// mayBreak reports whether a line may end between two characters.
func mayBreak(a, b rune) bool {
	switch {
	case unicode.IsSpace(b) || b == '\u00A0' || a == '\u00A0':
		return false
	case a == ' ' || a == '\u3000':
		return true
	case strings.ContainsRune(notFirst, b) || strings.ContainsRune(notLast, a) || unicode.Is(unicode.Mn, b):
		return false
	case wide(a) || wide(b):
		return true
	case strings.ContainsRune("-–—/&?=", a):
		return unicode.IsLetter(b)
	}
	return false
}

// wrap breaks glyphs into lines: between words, and within a word that is wider than
// a line.
func (p *pdf) wrap(glyphs []glyph, width float64) [][]glyph {
	var lines [][]glyph
	for len(glyphs) > 0 {
		used, end, good := 0.0, 0, 0
		for end < len(glyphs) && glyphs[end].r != '\n' {
			g := glyphs[end]
			if used+g.width > width && end > 0 && g.r != ' ' { // spaces at the end hang over
				break
			}
			used += g.width
			end++
			if end < len(glyphs) && mayBreak(g.r, glyphs[end].r) {
				good = end
			}
		}
		if end < len(glyphs) && glyphs[end].r == '\n' {
			lines = append(lines, glyphs[:end])
			glyphs = glyphs[end+1:]
			continue
		}
		if end < len(glyphs) && good > 0 {
			end = good
		}
		lines = append(lines, glyphs[:end])
		glyphs = glyphs[end:]
	}
	return lines
}

// breakAnywhere breaks a line of code, whose spaces stay.
func (p *pdf) breakAnywhere(glyphs []glyph, width float64) [][]glyph {
	lines := [][]glyph{nil}
	used := 0.0
	for _, g := range glyphs {
		last := len(lines) - 1
		if used+g.width > width && len(lines[last]) > 0 {
			lines, used = append(lines, nil), 0
			last++
		}
		lines[last] = append(lines[last], g)
		used += g.width
	}
	return lines
}

// runs draws a paragraph without the room after it.
func (p *pdf) runs(runs []run, size float64, a area) error {
	if a.quoted {
		return p.colored(runs, size, a, 68, 84, 106)
	}
	return p.colored(runs, size, a, 34, 43, 54)
}

func (p *pdf) colored(runs []run, size float64, a area, red, green, blue int) error {
	right := rightToLeft(plain(runs))
	for len(runs) > 0 {
		n := 0
		for n < len(runs) && runs[n].picture == "" {
			n++
		}
		if strings.TrimSpace(plain(runs[:n])) != "" || n > 0 && runs[0].note > 0 {
			for _, line := range p.wrap(p.glyphs(runs[:n], size), a.right-a.left) {
				lead := size * pdfLead
				if size > 14 {
					lead = size * 1.25
				}
				y := p.take(lead, a)
				p.SetTextColor(red, green, blue)
				p.line(line, size, y+size*1.08, a, "", right)
			}
		}
		if n < len(runs) {
			if err := p.picture(runs[n], a); err != nil {
				return err
			}
			n++
		}
		runs = runs[n:]
	}
	return nil
}

// line draws a line with its base at y.
func (p *pdf) line(line []glyph, size, y float64, a area, align string, right bool) {
	for len(line) > 0 && line[len(line)-1].r == ' ' {
		line = line[:len(line)-1]
	}
	x, room := a.left, a.right-a.left-p.measure(line)
	switch {
	case align == "center":
		x += room / 2
	case align == "right" || align == "" && right:
		x += room
	}
	runes := make([]rune, len(line))
	for i, g := range line {
		runes[i] = g.r
	}
	order, drawn := visual(runes, right)
	for from := 0; from < len(order); {
		first := line[order[from]]
		end, width := from, 0.0
		var text strings.Builder
		for end < len(order) {
			g := line[order[end]]
			if g.face != first.face || g.style != first.style || g.raised != first.raised {
				break
			}
			text.WriteRune(drawn[order[end]])
			width += g.width
			end++
		}
		p.piece(text.String(), first, size, x, y, width)
		x += width
		from = end
	}
}

// piece draws text of one look.
func (p *pdf) piece(text string, g glyph, size, x, y, width float64) {
	red, green, blue := p.GetTextColor()
	link, isAnchor := 0, strings.HasPrefix(g.style.link, "#")
	if isAnchor {
		link = p.anchors[g.style.link[1:]]
	}
	leads := g.style.link != "" && (!isAnchor || link != 0)
	if g.style.code {
		p.SetFillColor(240, 242, 245)
		p.Rect(x-0.8, y-size*0.85, width+1.6, size*1.15, "F")
	}
	if leads {
		p.SetTextColor(11, 92, 173)
		p.SetDrawColor(11, 92, 173)
	} else {
		p.SetDrawColor(red, green, blue)
	}
	if g.raised {
		p.use(g.face.name, size*0.65)
		p.Text(x, y-size*0.36, text)
	} else {
		p.use(g.face.name, size)
		bold := g.style.bold && strings.HasPrefix(g.face.name, "more") // such fonts come in one weight
		if bold {
			p.SetLineWidth(size * 0.035)
			p.SetTextRenderingMode(2)
		}
		p.Text(x, y, text)
		if bold {
			p.SetTextRenderingMode(0)
		}
	}
	p.SetLineWidth(size * 0.055)
	if g.style.strike {
		p.Line(x, y-size*0.28, x+width, y-size*0.28)
	}
	if leads {
		p.Line(x, y+size*0.13, x+width, y+size*0.13)
		if isAnchor {
			p.Link(x, y-size, width, size*1.3, link)
		} else {
			p.LinkString(x, y-size, width, size*1.3, g.style.link)
		}
	}
	p.SetTextColor(red, green, blue)
}
