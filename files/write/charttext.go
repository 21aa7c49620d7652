package write

import (
	"math"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// chartText draws text of many scripts in a chart: each piece in a font that has its
// letters. It is a text.Handler.
type chartText struct {
	cache  *font.Cache
	fonts  *fonts
	shaper *shaper
	svg    bool // the viewer of an SVG chooses fonts and orders text by itself
}

var _ text.Handler = (*chartText)(nil)

// DropPlotFonts frees the fonts that the library for charts reads at the start of the
// program, which are some 200 KiB: charts bring their own. main calls it, before anything
// else runs.
func DropPlotFonts() { plot.DefaultTextHandler, font.DefaultCache = nil, nil }

func newChartText(o Options, c Chart, svg bool) (*chartText, error) {
	t := &chartText{cache: font.NewCache(nil), shaper: newShaper(), svg: svg}
	all := []string{c.Title, c.XTitle, c.YTitle, c.Unit}
	all = append(all, c.Labels...)
	for _, s := range c.Series {
		all = append(all, s.Name)
	}
	found, err := newFonts(o, t.shaper.shape(strings.Join(all, "\n")))
	if err != nil {
		return nil, err
	}
	t.fonts = found
	return t, nil
}

// font returns one of the embedded fonts.
func (t *chartText) font(name string, size vg.Length) font.Font {
	return font.Font{Typeface: font.Typeface("Liberation"), Variant: font.Variant(name), Size: size}
}

// look returns a font in a size, which the cache knows after the first time.
func (t *chartText) look(f *face, like font.Font) font.Face {
	like.Variant = font.Variant(f.name)
	if t.svg { // these are written into the file
		like.Variant = "Sans"
		if f.name == "sansB" {
			like.Weight = xfont.WeightBold
		}
	}
	if !t.cache.Has(like) {
		t.cache.Add(font.Collection{{Font: like, Face: f.font}})
	}
	return t.cache.Lookup(like, like.Size)
}

// base is the font of the program that a style names.
func (t *chartText) base(f font.Font) font.Face {
	return t.look(t.fonts.pick(string(f.Variant), 'x'), f)
}

// piece is text in one font, from left to right.
type piece struct {
	text string
	face font.Face
}

func (t *chartText) pieces(line string, f font.Font) []piece {
	if t.svg {
		return []piece{{line, t.base(f)}}
	}
	runes := []rune(t.shaper.shape(line))
	var all []piece
	var last *face
	order, drawn := visual(runes, rightToLeft(line))
	for _, i := range order {
		r := drawn[i]
		picked := t.fonts.pick(string(f.Variant), r)
		if picked == nil {
			if r = t.fonts.substitute(string(f.Variant), r); r == 0 {
				continue
			}
			picked = t.fonts.pick(string(f.Variant), r)
		}
		if picked != last {
			all = append(all, piece{face: t.look(picked, f)})
			last = picked
		}
		all[len(all)-1].text += string(r)
	}
	return all
}

// Cache returns the fonts that were used.
func (t *chartText) Cache() *font.Cache { return t.cache }

// Extents returns the height of a font.
func (t *chartText) Extents(f font.Font) font.Extents {
	base := t.base(f)
	return base.Extents()
}

// Lines splits text.
func (t *chartText) Lines(text string) []string {
	return strings.Split(strings.TrimRight(text, "\n"), "\n")
}

// Box returns the size of a line above and below its base.
func (t *chartText) Box(line string, f font.Font) (width, height, depth vg.Length) {
	for _, p := range t.pieces(line, f) {
		width += p.face.Width(p.text)
	}
	e := t.Extents(f)
	return width, e.Ascent, e.Descent
}

// Draw draws text as text.Plain does, but piece by piece.
func (t *chartText) Draw(c vg.Canvas, txt string, style text.Style, at vg.Point) {
	if txt = strings.TrimRight(txt, "\n"); txt == "" {
		return
	}
	c.SetColor(style.Color)
	if style.Rotation != 0 {
		c.Push()
		defer c.Pop()
		c.Rotate(style.Rotation)
	}
	sin, cos := math.Sincos(style.Rotation)
	at.X, at.Y = at.Y*vg.Length(sin)+at.X*vg.Length(cos), at.Y*vg.Length(cos)-at.X*vg.Length(sin)
	lines := t.Lines(txt)
	at.Y += style.Height(txt)*vg.Length(style.YAlign) - t.Extents(style.Font).Ascent
	for i, line := range lines {
		width, _, _ := t.Box(line, style.Font)
		x := at.X + vg.Length(style.XAlign)*width
		y := at.Y + vg.Length(len(lines)-i)*style.Font.Size
		for _, p := range t.pieces(line, style.Font) {
			c.FillString(p.face, vg.Point{X: x, Y: y}, p.text)
			x += p.face.Width(p.text)
		}
	}
}
