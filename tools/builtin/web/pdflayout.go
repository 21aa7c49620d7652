package web

import (
	"math"
	"strings"

	"github.com/ledongthuc/pdf"
)

// Where letters stand tells what is a word and what a line, in parts of the
// font's size.
const (
	wordGap = 0.18 // to the right of the last letter
	lineGap = 0.4  // up or down
	paraGap = 1.7  // down

	maxDrawings = 1000 // on one page
	maxInside   = 5    // drawings within drawings
)

// matrix is a transformation of PDF: a, b, c, d, e, f.
type matrix [6]float64

func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// writer follows the operators of a page (ISO 32000-1, 9.4) and writes down its
// text, in the order of the file.
type writer struct {
	strings.Builder
	fonts map[string]*font // of the drawing that is followed

	font                *font
	size, scale         float64 // of letters
	charGap, spaceGap   float64
	leading             float64
	text, line, drawing matrix
	saved               []matrix

	x, y, height float64 // where the last letter ended, and its size
	began        bool
	drawings     int // so far
}

// draw follows the content of a page, or of a drawing on it.
func (w *writer) draw(content, resources pdf.Value, depth int) {
	outer := w.fonts
	w.fonts = map[string]*font{}
	if depth == 0 {
		w.drawing = matrix{1, 0, 0, 1, 0, 0}
	}
	if content.Kind() == pdf.Stream || content.Kind() == pdf.Array {
		pdf.Interpret(content, func(stack *pdf.Stack, operator string) {
			args := make([]pdf.Value, stack.Len())
			for i := len(args) - 1; i >= 0; i-- {
				args[i] = stack.Pop()
			}
			w.do(operator, args, resources, depth)
		})
	}
	w.fonts = outer
}

func (w *writer) do(operator string, args []pdf.Value, resources pdf.Value, depth int) {
	n := numbers(args)
	switch operator {
	case "q":
		if len(w.saved) < 1000 {
			w.saved = append(w.saved, w.drawing)
		}
	case "Q":
		if last := len(w.saved) - 1; last >= 0 {
			w.drawing, w.saved = w.saved[last], w.saved[:last]
		}
	case "cm":
		w.drawing = matrix(n).times(w.drawing)
	case "Do":
		if form := resources.Key("XObject").Key(name(args)); form.Key("Subtype").Name() == "Form" && depth < maxInside && w.drawings < maxDrawings {
			w.form(form, resources, depth)
		}
	case "BT":
		w.text, w.line = matrix{1, 0, 0, 1, 0, 0}, matrix{1, 0, 0, 1, 0, 0}
	case "Tf":
		w.use(name(args), resources)
		w.size = n[1]
	case "Tc":
		w.charGap = n[0]
	case "Tw":
		w.spaceGap = n[0]
	case "Tz":
		w.scale = n[0] / 100
	case "TL":
		w.leading = n[0]
	case "TD":
		w.leading = -n[1]
		w.move(n[0], n[1])
	case "Td":
		w.move(n[0], n[1])
	case "Tm":
		w.text, w.line = matrix(n), matrix(n)
	case "T*":
		w.move(0, -w.leading)
	case "\"":
		w.spaceGap, w.charGap = n[0], n[1]
		w.move(0, -w.leading)
		w.show(args)
	case "'":
		w.move(0, -w.leading)
		w.show(args)
	case "Tj":
		w.show(args)
	case "TJ":
		if len(args) > 0 {
			w.showAll(args[len(args)-1])
		}
	}
}

// form follows a drawing that is used like a letter.
func (w *writer) form(form, resources pdf.Value, depth int) {
	w.drawings++
	before := w.drawing
	if m := form.Key("Matrix"); m.Len() == 6 {
		var six matrix
		for i := range six {
			six[i] = m.Index(i).Float64()
		}
		w.drawing = six.times(w.drawing)
	}
	if own := form.Key("Resources"); own.Kind() == pdf.Dict {
		resources = own
	}
	w.draw(form, resources, depth+1)
	w.drawing = before
}

func (w *writer) use(name string, resources pdf.Value) {
	f, ok := w.fonts[name]
	if !ok {
		f = newFont(resources.Key("Font").Key(name))
		w.fonts[name] = f
	}
	w.font = f
}

func (w *writer) move(x, y float64) {
	w.line = matrix{1, 0, 0, 1, x, y}.times(w.line)
	w.text = w.line
}

func (w *writer) showAll(parts pdf.Value) {
	for i := range parts.Len() {
		if part := parts.Index(i); part.Kind() == pdf.String {
			w.write(part.RawString())
		} else {
			w.advance(-part.Float64() / 1000 * w.size)
		}
	}
}

func (w *writer) show(args []pdf.Value) {
	if len(args) > 0 {
		w.write(args[len(args)-1].RawString())
	}
}

func (w *writer) advance(x float64) {
	w.text = matrix{1, 0, 0, 1, x * w.scale, 0}.times(w.text)
}

// write adds a string of the page and the space before it.
func (w *writer) write(raw string) {
	if w.font == nil || raw == "" || w.Len() > maxPDFText {
		return
	}
	at := w.text.times(w.drawing)
	height := math.Abs(w.size) * math.Hypot(at[2], at[3])
	text := w.font.decode(raw)
	if w.began && strings.TrimSpace(text) != "" {
		w.separate(at[4], at[5], max(height, 1))
	}
	if w.began = w.began || text != ""; text != "" {
		w.WriteString(text)
	}
	codes, width := w.font.measure(raw)
	w.advance(width/1000*w.size + float64(codes)*w.charGap + float64(strings.Count(raw, " "))*w.spaceGap)
	end := w.text.times(w.drawing)
	w.x, w.y, w.height = end[4], end[5], max(height, 1)
}

// separate writes the space or line break that lies between the last letter and
// one at x, y.
func (w *writer) separate(x, y, height float64) {
	last := w.String()[w.Len()-1]
	size := min(w.height, height)
	down := math.Abs(w.y - y)
	switch {
	case down > paraGap*size:
		w.WriteString("\n\n")
	case down > lineGap*size:
		if last != '\n' {
			w.WriteByte('\n')
		}
	case (x-w.x > wordGap*size || w.x-x > size) && last != ' ' && last != '\n':
		w.WriteByte(' ')
	}
}

// numbers are the operands as numbers, at least six.
func numbers(args []pdf.Value) []float64 {
	n := make([]float64, max(6, len(args)))
	for i, a := range args {
		n[i] = a.Float64()
	}
	return n[:6]
}

func name(args []pdf.Value) string {
	if len(args) == 0 {
		return ""
	}
	return args[0].Name()
}
