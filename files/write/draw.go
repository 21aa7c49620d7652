package write

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/message"
	format "golang.org/x/text/number"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Sizes of a chart in points; a PNG has two pixels for each. Text is large, as
// phones show the picture at half of this width.
const (
	chartWidth  = 780
	chartHeight = 520
	chartMargin = 18
	titleSize   = 27
	labelSize   = 20
	maxLabel    = 24 // characters of a label
)

func ink() color.Color   { return color.RGBA{0x22, 0x2B, 0x36, 0xFF} }
func faint() color.Color { return color.RGBA{0xCC, 0xD3, 0xDB, 0xFF} }

func draw(w io.Writer, kind string, c Chart, o Options) error {
	c = c.cleaned()
	texts, err := newChartText(o, c, kind == SVG)
	if err != nil {
		return err
	}
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	}
	if kind == SVG {
		canvas = vgsvg.New(chartWidth, chartHeight)
	} else {
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(chartWidth, chartHeight), vgimg.UseDPI(144), vgimg.UseBackgroundColor(color.White))}
	}
	page := vgdraw.New(canvas)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())
	d := &drawing{Chart: c, texts: texts, canvas: page, top: chartHeight - chartMargin, printer: message.NewPrinter(o.tag())}
	d.head()
	if c.Kind == "pie" {
		d.pie()
	} else {
		d.legend()
		d.axes()
	}
	var out bytes.Buffer
	_, err = canvas.WriteTo(&out)
	if err == nil {
		text := out.Bytes()
		if kind == SVG { // viewers without Liberation have one like it
			text = bytes.ReplaceAll(text, []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,sans-serif;"))
		}
		_, err = w.Write(text)
	}
	if err != nil {
		return fmt.Errorf("writing the chart: %w", err)
	}
	return nil
}

func (c Chart) cleaned() Chart {
	line := func(text string) string { return strings.Join(strings.Fields(clean(text)), " ") }
	c.Title, c.XTitle, c.YTitle, c.Unit = line(c.Title), line(c.XTitle), line(c.YTitle), line(c.Unit)
	c.Labels, c.Series = slices.Clone(c.Labels), slices.Clone(c.Series)
	for i := range c.Labels {
		c.Labels[i] = line(c.Labels[i])
	}
	for i := range c.Series {
		c.Series[i].Name = line(c.Series[i].Name)
	}
	return c
}

// drawing is a chart on its canvas. The part below top is still free.
type drawing struct {
	Chart
	texts   *chartText
	canvas  vgdraw.Canvas
	top     vg.Length
	printer *message.Printer
}

func (d *drawing) style(size vg.Length, name string) text.Style {
	s := text.Style{Color: ink(), Font: d.texts.font(name, size), Handler: d.texts}
	return s
}

// head draws the title in at most two lines.
func (d *drawing) head() {
	if d.Title == "" {
		return
	}
	style := d.style(titleSize, "sansB")
	for _, line := range wrap(d.Title, chartWidth-2*chartMargin, 2, style.Width) {
		d.top -= titleSize
		d.canvas.FillText(style, vg.Point{X: chartMargin, Y: d.top}, line)
		d.top -= 8
	}
	d.top -= 6
}

// wrap breaks text into at most some lines of a width; the last one is shortened.
func wrap(text string, width vg.Length, most int, measure func(string) vg.Length) []string {
	var lines []string
	for text != "" && len(lines) < most {
		end, space := 0, 0
		for i, r := range text {
			next := i + len(string(r))
			if measure(text[:next]) > width {
				break
			}
			end = next
			if r == ' ' {
				space = next
			}
		}
		switch {
		case end == len(text):
		case len(lines) == most-1:
			for end > 0 && measure(text[:end]+"…") > width {
				end -= len(lastRune(text[:end]))
			}
			return append(lines, strings.TrimSpace(text[:end])+"…")
		case space > 0:
			end = space
		case end == 0:
			return lines
		}
		lines = append(lines, strings.TrimSpace(text[:end]))
		text = text[end:]
	}
	return lines
}

func lastRune(s string) string { r := []rune(s); return string(r[len(r)-1:]) }

// legend draws the names of the series in rows below the title.
func (d *drawing) legend() {
	if len(d.Series) < 2 && (len(d.Series) == 0 || d.Series[0].Name == "" || d.Title != "") {
		return
	}
	style := d.style(labelSize, "sans")
	const box, gap = 16, 8
	x := vg.Length(chartMargin)
	y := d.top - labelSize
	for i, s := range d.Series {
		name := s.Name
		if name == "" {
			name = strconv.Itoa(i + 1)
		}
		name = cut(name, 40)
		width := box + gap + style.Width(name)
		if x > chartMargin && x+width > chartWidth-chartMargin {
			x, y = chartMargin, y-labelSize-8
		}
		d.box(x, y-1, box, palette(i))
		d.canvas.FillText(style, vg.Point{X: x + box + gap, Y: y}, name)
		x += width + 22
	}
	d.top = y - 16
}

func (d *drawing) box(x, y, size vg.Length, c color.Color) {
	d.canvas.SetColor(c)
	r := vg.Rectangle{Min: vg.Point{X: x, Y: y}, Max: vg.Point{X: x + size, Y: y + size}}
	d.canvas.Fill(r.Path())
}

func cut(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return strings.TrimSpace(string(r[:n-1])) + "…"
	}
	return text
}

// pie draws the slices at the left, from the top and clockwise, and their names with
// their shares at the right.
func (d *drawing) pie() {
	all := 0.0
	for _, v := range d.Series[0].Values {
		if v != nil {
			all += *v
		}
	}
	bottom := vg.Length(chartMargin)
	radius := min(d.top-bottom, 350) / 2
	center := vg.Point{X: chartMargin + radius, Y: (d.top + bottom) / 2}
	name, share := d.style(labelSize, "sans"), d.style(labelSize, "sansB")
	row := min(34, (d.top-bottom)/vg.Length(max(1, len(d.Labels))))
	x, y := center.X+radius+36, center.Y+row*vg.Length(len(d.Labels))/2-row/2
	angle := math.Pi / 2
	for i, v := range d.Series[0].Values {
		part := 0.0
		if v != nil && all > 0 {
			part = *v / all
		}
		if part > 0 {
			var path vg.Path
			path.Move(center)
			path.Line(vg.Point{X: center.X + radius*vg.Length(math.Cos(angle)), Y: center.Y + radius*vg.Length(math.Sin(angle))})
			path.Arc(center, radius, angle, -part*2*math.Pi)
			path.Close()
			d.canvas.SetColor(palette(i))
			d.canvas.Fill(path)
			d.canvas.SetColor(color.White)
			d.canvas.SetLineWidth(2.5)
			d.canvas.Stroke(path)
			angle -= part * 2 * math.Pi
		}
		if d.Labels[i] == "" && v == nil {
			continue
		}
		d.box(x, y-8, 16, palette(i))
		percent := d.number(part*100, 1) + "%"
		right := vg.Length(chartWidth - chartMargin)
		width := share.Width(percent)
		d.canvas.FillText(share, vg.Point{X: right - width, Y: y - 6}, percent)
		for _, line := range wrap(d.Labels[i], right-width-12-x-26, 1, name.Width) {
			d.canvas.FillText(name, vg.Point{X: x + 26, Y: y - 6}, line)
		}
		y -= row
	}
}

// number writes a number as the chart's language does, with separators between
// thousands.
func (d *drawing) number(v float64, decimals int) string {
	return d.printer.Sprint(format.Decimal(v, format.MaxFractionDigits(decimals)))
}
