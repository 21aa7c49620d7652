package write

import (
	"cmp"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"
)

// slanted is the most characters of a slanted label.
const slanted = 16

// axes draws all kinds of chart but pies.
func (d *drawing) axes() {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.TextHandler = d.texts
	label := d.style(labelSize, "sans")
	p.Title.TextStyle, p.Legend.TextStyle = label, label // both stay empty
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle = label
		axis.Label.Padding = 8
		axis.Tick.Label = label
		axis.Tick.LineStyle.Color, axis.LineStyle.Color = color.Transparent, ink()
		axis.Tick.Length = 8 // keeps labels away from the axis
		axis.Padding = 0
	}
	p.X.Label.TextStyle.XAlign, p.X.Label.TextStyle.YAlign = text.XCenter, text.YBottom
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = text.XCenter, text.YTop
	p.Y.Tick.Label.XAlign, p.Y.Tick.Label.YAlign = text.XRight, text.YCenter
	p.Y.LineStyle.Width = 0
	p.X.Label.Text = d.XTitle
	yTitle := d.yTitle()
	if d.Kind == "histogram" { // the unit is of the values that are counted
		p.X.Label.Text = Chart{YTitle: d.XTitle, Unit: d.Unit}.yTitle()
		yTitle = d.YTitle
	}

	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = faint(), nil
	grid.Horizontal.Width, grid.Vertical.Width = 1, 1
	if d.Kind == "scatter" {
		grid.Vertical.Color = faint()
	}
	p.Add(grid)
	switch d.Kind {
	case "line":
		d.lines(p)
	case "bar", "stacked":
		d.bars(p)
	case "scatter":
		for i, s := range d.Series {
			p.Add(marks{points: xy(s.Points), color: palette(i), shape: i})
		}
	case "histogram":
		d.histogram(p)
	}
	d.ranges(p)
	scale := d.ticks(&p.Y)
	if p.X.Tick.Marker = plot.Ticker(plot.ConstantTicks(d.labels(p))); len(d.Labels) == 0 || d.Kind == "scatter" || d.Kind == "histogram" {
		if by := d.ticks(&p.X); by != "" {
			p.X.Label.Text = strings.TrimSpace(p.X.Label.Text + " " + by)
		}
	}
	if yTitle = strings.TrimSpace(yTitle + " " + scale); yTitle != "" { // above the axis, to be read without turning one's head
		d.top -= labelSize
		for _, line := range wrap(yTitle, chartWidth-2*chartMargin, 1, label.Width) {
			d.canvas.FillText(label, vg.Point{X: chartMargin, Y: d.top}, line)
		}
		d.top -= 14
	}
	left := vg.Length(chartMargin)
	if p.X.Tick.Label.Rotation != 0 { // the first label begins left of its bar
		left += max(0, p.X.Tick.Label.Width(cut(d.Labels[0], slanted))*0.8-70)
	}
	p.Draw(vgdraw.Crop(d.canvas, left, -chartMargin-8, chartMargin, d.top-chartHeight))
}

// ranges lets bars begin at zero, gives a single value some room, and ends the axis
// of values at round numbers.
func (d *drawing) ranges(p *plot.Plot) {
	if d.Kind == "bar" || d.Kind == "stacked" || d.Kind == "histogram" {
		p.Y.Min, p.Y.Max = min(0, p.Y.Min), max(0, p.Y.Max)
	}
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		if axis.Max-axis.Min < 1e-9*max(1, math.Abs(axis.Max)) {
			room := max(1, math.Abs(axis.Max)*0.1)
			axis.Min, axis.Max = axis.Min-room, axis.Max+room
		}
	}
	round := func(axis *plot.Axis) {
		step := niceStep(axis.Max - axis.Min)
		axis.Min, axis.Max = math.Floor(axis.Min/step+1e-9)*step, math.Ceil(axis.Max/step-1e-9)*step
	}
	if d.Kind == "scatter" { // no point lies on an axis
		for _, axis := range []*plot.Axis{&p.X, &p.Y} {
			room := (axis.Max - axis.Min) * 0.03
			axis.Min, axis.Max = axis.Min-room, axis.Max+room
		}
		round(&p.X)
	}
	round(&p.Y)
}

// niceStep is 1, 2 or 5 times a power of ten that a span holds four to nine times.
func niceStep(span float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(span/4)))
	for _, m := range []float64{5, 2, 1} {
		if span/(m*power) >= 4 {
			return m * power
		}
	}
	return power
}

// ticks sets round ticks, and returns the factor of numbers that are too long
// otherwise, such as (×1,000,000).
func (d *drawing) ticks(axis *plot.Axis) string {
	step := niceStep(axis.Max - axis.Min)
	scale, factor := 1.0, ""
	for highest := max(math.Abs(axis.Min), math.Abs(axis.Max)); highest/scale >= 1e6; {
		scale *= 1000
	}
	if scale > 1 {
		factor = "(×" + d.number(scale, 0) + ")"
	}
	decimals := min(12, max(0, int(math.Ceil(-math.Log10(step/scale)-1e-9))))
	var all plot.ConstantTicks
	for i := math.Ceil(axis.Min/step - 1e-9); i*step <= axis.Max+step*1e-9; i++ {
		all = append(all, plot.Tick{Value: i * step, Label: d.number(i*step/scale, decimals)})
	}
	axis.Tick.Marker = all
	return factor
}

// labels places those of the values, level where they fit, otherwise slanted, and only
// some where they are many.
func (d *drawing) labels(p *plot.Plot) []plot.Tick {
	if len(d.Labels) == 0 {
		return nil
	}
	slot := vg.Length(chartWidth-2*chartMargin-80) / vg.Length(len(d.Labels))
	widest := func(n int) (w vg.Length) {
		for _, label := range d.Labels {
			w = max(w, p.X.Tick.Label.Width(cut(label, n)))
		}
		return w
	}
	every, length := 1, 24
	switch w := widest(length); {
	case w+10 <= slot:
	case d.Kind == "line" && len(d.Labels) > 12 && w < 130: // dates, mostly
		every = int(math.Ceil(float64((w + 16) / slot)))
	default:
		length = slanted
		every = int(math.Ceil(float64((labelSize + 6) / slot)))
		p.X.Tick.Label.Rotation = math.Pi / 5
		p.X.Tick.Label.XAlign = text.XRight
	}
	var all []plot.Tick
	for i, label := range d.Labels {
		if i%every == 0 {
			all = append(all, plot.Tick{Value: float64(i), Label: cut(label, length)})
		}
	}
	return all
}

func (d *drawing) lines(p *plot.Plot) {
	for i, s := range d.Series {
		var parts []plotter.XYs
		if len(s.Values) == 0 {
			points := xy(s.Points)
			slices.SortStableFunc(points, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
			parts = []plotter.XYs{points}
		} else {
			parts = append(parts, nil)
		}
		for n, v := range s.Values { // a missing value breaks the line
			if last := len(parts) - 1; v != nil {
				parts[last] = append(parts[last], plotter.XY{X: float64(n), Y: *v})
			} else if len(parts[last]) > 0 {
				parts = append(parts, nil)
			}
		}
		for _, part := range parts {
			if len(part) > 0 {
				p.Add(strokes{points: part, color: palette(i), dashed: i >= 6})
			}
			if len(part) > 0 && (len(part) == 1 || len(s.Values)+len(s.Points) <= 25) {
				p.Add(marks{points: part, color: palette(i), shape: i})
			}
		}
	}
}

func (d *drawing) bars(p *plot.Plot) {
	all := &bars{}
	width := 0.8 / float64(len(d.Series))
	for n := range d.Labels {
		above, below := 0.0, 0.0
		for i, s := range d.Series {
			v := s.Values[n]
			if v == nil {
				continue
			}
			left := float64(n) - 0.4 + float64(i)*width
			b := bar{left: left, right: left + width, top: *v, color: palette(i)}
			if d.Kind == "stacked" {
				b.left, b.right = float64(n)-0.35, float64(n)+0.35
				base := &above
				if *v < 0 {
					base = &below
				}
				b.bottom, b.top = *base, *base+*v
				*base += *v
			}
			all.bars = append(all.bars, b)
		}
	}
	p.Add(all)
	p.X.Min, p.X.Max = -0.5, float64(len(d.Labels))-0.5
}

// histogram counts values in bins of a round width.
func (d *drawing) histogram(p *plot.Plot) {
	var values []float64
	for _, s := range d.Series {
		for _, v := range s.Values {
			if v != nil {
				values = append(values, *v)
			}
		}
	}
	lowest, highest := slices.Min(values), slices.Max(values)
	step := 1.0
	if span := highest - lowest; span > 0 {
		step = niceStep(span)
		for most := math.Sqrt(float64(len(values))); span/step < min(12, most); step /= 2 {
		}
	}
	start := math.Floor(lowest/step) * step
	bins := int((highest-start)/step) + 1
	all := &bars{}
	for i, s := range d.Series {
		counts := make([]int, bins)
		for _, v := range s.Values {
			if v != nil {
				counts[min(bins-1, max(0, int((*v-start)/step)))]++
			}
		}
		width := step / float64(len(d.Series))
		for n, count := range counts {
			left := start + float64(n)*step + float64(i)*width
			all.bars = append(all.bars, bar{left: left + step*0.02, right: left + width - step*0.02, top: float64(count), color: palette(i)})
		}
	}
	p.Add(all)
	p.X.Min, p.X.Max = start, start+float64(bins)*step
}

func xy(points [][2]float64) plotter.XYs {
	var all plotter.XYs
	for _, point := range points {
		all = append(all, plotter.XY{X: point[0], Y: point[1]})
	}
	return all
}

// bar is a rectangle in the units of the axes.
type bar struct {
	left, right, bottom, top float64
	color                    color.Color
}

type bars struct{ bars []bar }

// Plot draws the bars.
func (b *bars) Plot(c vgdraw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, bar := range b.bars {
		r := vg.Rectangle{Min: vg.Point{X: x(bar.left), Y: y(bar.bottom)}, Max: vg.Point{X: x(bar.right), Y: y(bar.top)}}
		c.SetColor(bar.color)
		c.Fill(r.Path())
	}
}

// DataRange returns what the axes have to show.
func (b *bars) DataRange() (left, right, bottom, top float64) {
	left, right = math.Inf(1), math.Inf(-1)
	for _, bar := range b.bars {
		left, right = min(left, bar.left), max(right, bar.right)
		bottom, top = min(bottom, bar.bottom, bar.top), max(top, bar.bottom, bar.top)
	}
	return left, right, bottom, top
}

// strokes is a line through points.
type strokes struct {
	points plotter.XYs
	color  color.Color
	dashed bool
}

// Plot draws the line.
func (s strokes) Plot(c vgdraw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := vgdraw.LineStyle{Color: s.color, Width: 3}
	if s.dashed {
		style.Dashes = []vg.Length{8, 5}
	}
	line := make([]vg.Point, len(s.points))
	for i, point := range s.points {
		line[i] = vg.Point{X: x(point.X), Y: y(point.Y)}
	}
	c.StrokeLines(style, line)
}

// DataRange returns what the axes have to show.
func (s strokes) DataRange() (left, right, bottom, top float64) { return plotter.XYRange(s.points) }

// marks are points, of another shape for each series.
type marks struct {
	points plotter.XYs
	color  color.Color
	shape  int
}

// Plot draws the points.
func (m marks) Plot(c vgdraw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	shapes := []vgdraw.GlyphDrawer{vgdraw.CircleGlyph{}, vgdraw.BoxGlyph{}, vgdraw.PyramidGlyph{}, vgdraw.CrossGlyph{}, vgdraw.RingGlyph{}, vgdraw.SquareGlyph{}, vgdraw.TriangleGlyph{}, vgdraw.PlusGlyph{}}
	style := vgdraw.GlyphStyle{Color: m.color, Radius: 4.5, Shape: shapes[m.shape%len(shapes)]}
	for _, point := range m.points {
		c.DrawGlyph(style, vg.Point{X: x(point.X), Y: y(point.Y)})
	}
}

// DataRange returns what the axes have to show.
func (m marks) DataRange() (left, right, bottom, top float64) { return plotter.XYRange(m.points) }
