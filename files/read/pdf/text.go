package pdf

import (
	"bytes"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// matrix is a transformation [a b c d e f] (ISO 32000-2, 8.3.3).
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

// times is m, and then n.
func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// state is the graphics state as far as text needs it.
type state struct {
	matrix                                  matrix
	font                                    *font
	size, charSpace, wordSpace, scale, rise float64
	leading                                 float64
}

// maxOperators is how many operators a page may have, with its forms.
const maxOperators = 3_000_000

// interpreter runs the content of a page and puts its text together, in the order of the
// file.
type interpreter struct {
	f         *File
	state     state
	saved     []state
	text      matrix // of the next glyph
	line      matrix // of the line
	operators int
	marked    []bool // the open marked contents: whether text stands for them
	instead   int    // how many of these
	out       lines
	image     *Image
	turn      int // the rotation of the page, in quarters
}

func (i *interpreter) run(content []byte, resources dict, depth int) {
	l := &lexer{data: content, content: true}
	var args []any
	for {
		switch o := l.object().(type) {
		case end:
			if o == 0 {
				return
			}
		case operator:
			if i.operators++; i.operators > maxOperators {
				return
			}
			if o == "BI" {
				skipInline(l)
			} else {
				i.do(o, args, resources, depth)
			}
			args = args[:0]
		default:
			if len(args) < 64 {
				args = append(args, o)
			}
		}
	}
}

// skipInline skips a picture in the content.
func skipInline(l *lexer) {
	for l.at < len(l.data) {
		i := bytes.Index(l.data[l.at:], []byte("EI"))
		if i < 0 {
			l.at = len(l.data)
			return
		}
		l.at += i + 2
		before := l.at < 3 || isSpace(l.data[l.at-3])
		if after := l.at >= len(l.data) || isSpace(l.data[l.at]); before && after {
			return
		}
	}
}

// numbers returns n operands as numbers; missing ones are zero.
func numbers(args []any, n int) []float64 {
	out := make([]float64, n)
	for i := range min(n, len(args)) {
		out[i] = toFloat(args[i])
	}
	return out
}

func (i *interpreter) do(op operator, args []any, resources dict, depth int) {
	s := &i.state
	switch op {
	case "q":
		if len(i.saved) < 1000 {
			i.saved = append(i.saved, *s)
		}
	case "Q":
		if n := len(i.saved); n > 0 {
			*s, i.saved = i.saved[n-1], i.saved[:n-1]
		}
	case "cm":
		s.matrix = matrix(numbers(args, 6)).times(s.matrix)
	case "BT":
		i.text, i.line = identity, identity
	case "Tf":
		if len(args) == 2 {
			fonts, _ := i.f.dict(resources["Font"])
			font, _ := args[0].(name)
			s.font, s.size = nil, toFloat(args[1])
			if fonts[font] != nil {
				s.font = i.f.font(fonts[font])
			}
		}
	case "Tc":
		s.charSpace = numbers(args, 1)[0]
	case "Tw":
		s.wordSpace = numbers(args, 1)[0]
	case "Tz":
		s.scale = numbers(args, 1)[0] / 100
	case "TL":
		s.leading = numbers(args, 1)[0]
	case "Ts":
		s.rise = numbers(args, 1)[0]
	case "Td":
		n := numbers(args, 2)
		i.move(n[0], n[1])
	case "TD":
		n := numbers(args, 2)
		s.leading = -n[1]
		i.move(n[0], n[1])
	case "Tm":
		i.text = matrix(numbers(args, 6))
		i.line = i.text
	case "T*":
		i.move(0, -s.leading)
	case "Tj":
		i.showAll(args)
	case "'":
		i.move(0, -s.leading)
		i.showAll(args)
	case "\"":
		n := numbers(args, 2)
		s.wordSpace, s.charSpace = n[0], n[1]
		i.move(0, -s.leading)
		i.showAll(args[min(len(args), 2):])
	case "TJ":
		if len(args) > 0 {
			list, _ := args[0].(array)
			i.showAll(list)
		}
	case "BMC", "BDC":
		i.begin(args, resources)
	case "EMC":
		if n := len(i.marked); n > 0 {
			if i.marked[n-1] {
				i.instead--
			}
			i.marked = i.marked[:n-1]
		}
	case "Do":
		if len(args) == 1 && depth < 12 {
			objects, _ := i.f.dict(resources["XObject"])
			key, _ := args[0].(name)
			if x, ok := i.f.resolve(objects[key]).(*stream); ok {
				i.object(x, resources, depth)
			}
		}
	}
}

func (i *interpreter) move(x, y float64) {
	i.line = matrix{1, 0, 0, 1, x, y}.times(i.line)
	i.text = i.line
}

// begin opens marked content. Text that stands for it is written at its first glyph.
func (i *interpreter) begin(args []any, resources dict) {
	if len(i.marked) > 1000 {
		return
	}
	var text string
	has := false
	if len(args) == 2 {
		d, ok := args[1].(dict)
		if !ok {
			properties, _ := i.f.dict(resources["Properties"])
			key, _ := args[1].(name)
			d, _ = i.f.dict(properties[key])
		}
		var s string
		if s, has = i.f.resolve(d["ActualText"]).(string); has {
			text = textString(s)
		}
	}
	if has && i.instead == 0 {
		i.out.instead(text)
	}
	if has {
		i.instead++
	}
	i.marked = append(i.marked, has)
}

// object draws a form, or notes a picture.
func (i *interpreter) object(x *stream, resources dict, depth int) {
	switch i.f.resolve(x.dict["Subtype"]) {
	case name("Image"):
		m := i.state.matrix
		if area := math.Abs(m[0]*m[3] - m[1]*m[2]); i.image == nil || area > i.image.area {
			i.image = &Image{f: i.f, s: x, area: area, turn: i.turn}
		}
	case name("Form"):
		before, saved := i.state, i.saved
		if m := i.f.array(x.dict["Matrix"]); len(m) == 6 {
			var own matrix
			for n := range own {
				own[n] = i.f.number(m[n])
			}
			i.state.matrix = own.times(i.state.matrix)
		}
		if own, ok := i.f.dict(x.dict["Resources"]); ok {
			resources = own
		}
		i.saved = nil
		i.run(i.f.unpack(x), resources, depth+1)
		i.state, i.saved = before, saved
	}
}

// showAll shows strings, with numbers between them that move the next one.
func (i *interpreter) showAll(list []any) {
	s := &i.state
	if s.font == nil {
		return
	}
	for _, o := range list {
		switch o := o.(type) {
		case string:
			i.show(o)
		case float64:
			by := -o / 1000 * s.size
			if s.font.vertical {
				i.text = matrix{1, 0, 0, 1, 0, by}.times(i.text)
			} else {
				i.text = matrix{1, 0, 0, 1, by * s.scale, 0}.times(i.text)
			}
		}
	}
}

func (i *interpreter) show(text string) {
	s := &i.state
	for _, g := range s.font.glyphs(text) {
		at := matrix{s.size * s.scale, 0, 0, s.size, 0, s.rise}.times(i.text).times(s.matrix)
		advance := g.width*s.size + s.charSpace
		if g.space {
			advance += s.wordSpace
		}
		var step matrix
		if s.font.vertical {
			step = matrix{1, 0, 0, 1, 0, -s.size - s.charSpace}
		} else {
			step = matrix{1, 0, 0, 1, advance * s.scale, 0}
		}
		i.text = step.times(i.text)
		after := matrix{s.size * s.scale, 0, 0, s.size, 0, s.rise}.times(i.text).times(s.matrix)
		t := g.text
		if i.instead > 0 {
			t = ""
		}
		i.out.add(placed{t, at[4], at[5], after[4], after[5], math.Hypot(at[2], at[3])}, i.instead > 0)
	}
}

// placed is a glyph on the page: where its baseline begins and ends.
type placed struct {
	text           string
	x, y, toX, toY float64
	size           float64
}

// lines puts glyphs together: a step down begins a line or a paragraph, a gap is a space.
type lines struct {
	b        strings.Builder
	cur      strings.Builder // the line
	last     placed
	dx, dy   float64 // the direction of the line
	pending  string  // text for marked content, which waits for its place
	waits    bool
	position bool // last is known
	divided  bool // the last line ended in a hyphen, which is not written yet
}

func (l *lines) instead(text string) { l.pending, l.waits = text, true }

func (l *lines) add(g placed, covered bool) {
	if covered && l.waits {
		g.text, l.waits = l.pending, false
	} else if covered {
		l.last.toX, l.last.toY = g.toX, g.toY
		return
	}
	g.text = ligatures.Replace(g.text)
	if g.text == "" {
		return // no glyph that means something
	}
	if strings.TrimSpace(g.text) == "" && l.position && l.sameLine(g) {
		l.space(" ")
		l.last = g
		return
	}
	if !l.position || !l.accented(g) {
		if l.position {
			l.separate(g)
		}
		l.cur.WriteString(g.text)
	}
	if length := math.Hypot(g.toX-g.x, g.toY-g.y); length > 0 {
		l.dx, l.dy = (g.toX-g.x)/length, (g.toY-g.y)/length
	} else if !l.position {
		l.dx, l.dy = 1, 0
	}
	l.last, l.position = g, true
}

// offset returns how far a point is from the end of the last glyph, along the line and
// across it.
func (l *lines) offset(g placed) (along, across float64) {
	x, y := g.x-l.last.toX, g.y-l.last.toY
	return x*l.dx + y*l.dy, x*l.dy - y*l.dx
}

func (l *lines) sameLine(g placed) bool {
	_, across := l.offset(g)
	return math.Abs(across) < 0.5*max(l.last.size, g.size, 1)
}

func (l *lines) separate(g placed) {
	along, across := l.offset(g)
	size := max(min(l.last.size, g.size), 0.1)
	big := max(l.last.size, g.size)
	turned := (g.toX-g.x)*l.dx+(g.toY-g.y)*l.dy < 0.5*math.Hypot(g.toX-g.x, g.toY-g.y)
	switch {
	case math.Abs(across) > 2.1*big || turned && math.Abs(across)+math.Abs(along) > big:
		l.paragraph()
	case math.Abs(across) > 0.5*big:
		l.newline()
	case along < -1.2*size && across != 0, along < -3*size:
		l.newline() // the next column, or a line that was drawn back
	case along > 2.5*size:
		l.space("\t")
	case along > 0.17*size:
		l.space(" ")
	}
}

// space separates words once.
func (l *lines) space(s string) {
	text := l.cur.String()
	if text == "" || strings.HasSuffix(text, "\t") {
		return
	}
	if strings.HasSuffix(text, " ") {
		if s == " " {
			return
		}
		l.cur.Reset()
		l.cur.WriteString(strings.TrimRight(text, " "))
	}
	l.cur.WriteString(s)
}

// newline ends a line. A word that was divided at the end of the line before is joined.
func (l *lines) newline() {
	line := strings.TrimSpace(logical(l.cur.String()))
	l.cur.Reset()
	if line == "" {
		return
	}
	if first, _ := utf8.DecodeRuneInString(line); l.divided && !unicode.IsLower(first) {
		l.b.WriteString("-\n")
	}
	rest, hyphen := strings.CutSuffix(line, "-")
	before, _ := utf8.DecodeLastRuneInString(rest)
	if l.divided = hyphen && unicode.IsLower(before); l.divided {
		l.b.WriteString(rest)
		return
	}
	l.b.WriteString(line + "\n")
}

// paragraph ends a line and a paragraph.
func (l *lines) paragraph() {
	l.newline()
	if l.divided {
		l.b.WriteString("-\n")
		l.divided = false
	}
	l.b.WriteString("\n")
}

// String returns the text.
func (l *lines) String() string {
	l.paragraph()
	return strings.TrimSpace(l.b.String())
}

// accents are drawn over a letter by fonts without the letters that have them.
var accents = map[string]string{
	"´": "\u0301", "`": "\u0300", "¨": "\u0308", "ˆ": "\u0302", "^": "\u0302", "˜": "\u0303", "~": "\u0303", "ˇ": "\u030c",
	"˘": "\u0306", "¯": "\u0304", "˙": "\u0307", "˚": "\u030a", "˝": "\u030b", "¸": "\u0327", "˛": "\u0328",
}

// accented joins an accent with the letter that is drawn below it.
func (l *lines) accented(g placed) bool {
	mark, ok := accents[l.last.text]
	along, _ := l.offset(g)
	first, size := utf8.DecodeRuneInString(g.text)
	line, has := strings.CutSuffix(l.cur.String(), l.last.text)
	if !ok || !has || along > -0.15*g.size || !unicode.IsLetter(first) || !l.sameLine(g) {
		return false
	}
	if first == 'ı' {
		first = 'i'
	}
	l.cur.Reset()
	l.cur.WriteString(line + norm.NFC.String(string(first)+mark) + g.text[size:])
	return true
}

// ligatures are replaced by the letters that a search or a model expects, and bullets of
// symbol fonts by bullets.
var ligatures = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st",
	"\uf0b7", "•", "\uf0a7", "▪", "\uf0d8", "➢", "\u00ad", "-", "\u00a0", " ", "\x00", "", "\ufffd", "")

// logical turns a line of Hebrew or Arabic, which is drawn from left to right, into the
// order of reading. Numbers and Latin words keep theirs.
func logical(line string) string {
	rtl, ltr := 0, 0
	for _, r := range line {
		if unicode.In(r, unicode.Hebrew, unicode.Arabic) {
			rtl++
		} else if unicode.IsLetter(r) {
			ltr++
		}
	}
	if rtl == 0 || rtl < ltr {
		return line
	}
	var words []string // each a run of one direction, in the order of reading
	var run []rune
	left := false
	flush := func() {
		if !left {
			for i, j := 0, len(run)-1; i < j; i, j = i+1, j-1 {
				run[i], run[j] = run[j], run[i]
			}
		}
		words = append([]string{string(run)}, words...)
		run = nil
	}
	for _, r := range line {
		isLeft := unicode.IsDigit(r) || unicode.IsLetter(r) && !unicode.In(r, unicode.Hebrew, unicode.Arabic) || left && strings.ContainsRune(".,:/-%", r)
		if isLeft != left && len(run) > 0 {
			flush()
		}
		left = isLeft
		run = append(run, r)
	}
	flush()
	return strings.Join(words, "")
}
