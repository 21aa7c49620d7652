package write

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strings"
)

// Chart is a picture of numbers.
type Chart struct {
	Kind   string `json:"kind"` // line, bar, stacked, scatter, pie or histogram
	Title  string `json:"title,omitempty"`
	XTitle string `json:"x_title,omitempty"`
	YTitle string `json:"y_title,omitempty"`
	Unit   string `json:"unit,omitempty"` // of the values, such as EUR or km/h
	// Labels are those of the values of line, bar, stacked and pie, in their order.
	Labels []string `json:"labels,omitempty"`
	Series []Series `json:"series"`
}

// Series are the numbers of a chart that belong together.
type Series struct {
	Name string `json:"name,omitempty"`
	// Values are as many as there are labels; null where one is missing. Those of
	// a histogram are counted.
	Values []*float64 `json:"values,omitempty"`
	// Points are [x, y] of scatter, and of line without labels.
	Points [][2]float64 `json:"points,omitempty"`
}

// yTitle is the title of the axis of values with their unit.
func (c Chart) yTitle() string {
	switch {
	case c.Unit == "" || strings.Contains(c.YTitle, c.Unit):
		return c.YTitle
	case c.YTitle == "":
		return c.Unit
	}
	return c.YTitle + " (" + c.Unit + ")"
}

// Draw writes a chart as png or svg.
func Draw(w io.Writer, kind string, c Chart, o Options) error {
	if kind != PNG && kind != SVG {
		return &KindError{Kind: kind, Known: []string{PNG, SVG}}
	}
	if err := c.check(); err != nil {
		return err
	}
	return draw(&limited{w: w, left: MaxBytes}, kind, c, o)
}

// check refuses a chart that cannot be drawn.
func (c Chart) check() error {
	if !strings.Contains(" line bar stacked scatter pie histogram ", " "+c.Kind+" ") || c.Kind == "" {
		return &TableError{Where: "kind", Reason: fmt.Sprintf("there is no chart %q: take line, bar, stacked, scatter, pie or histogram", c.Kind)}
	}
	if len(c.Series) == 0 {
		return &TableError{Where: "series", Reason: "there is none"}
	}
	if len(c.Series) > MaxSeries {
		return &TooLargeError{What: "series", Where: "the chart", Limit: MaxSeries, Got: len(c.Series)}
	}
	points := 0
	for i, s := range c.Series {
		points += len(s.Values) + len(s.Points)
		if err := c.checkSeries(s); err != nil {
			return &TableError{Where: fmt.Sprintf("series %d", i+1), Reason: err.Error()}
		}
	}
	switch {
	case points > MaxPoints:
		return &TooLargeError{What: "points", Where: "the chart", Limit: MaxPoints, Got: points}
	case (c.Kind == "bar" || c.Kind == "stacked") && len(c.Labels) > MaxBars:
		return &TooLargeError{What: "labels", Where: "a chart with bars", Limit: MaxBars, Got: len(c.Labels)}
	case c.Kind == "pie" && len(c.Series) > 1:
		return &TableError{Where: "series", Reason: "a pie has one"}
	case c.Kind == "pie" && len(c.Labels) > MaxSlices:
		return &TooLargeError{What: "slices", Where: "a pie", Limit: MaxSlices, Got: len(c.Labels)}
	}
	return nil
}

func (c Chart) checkSeries(s Series) error {
	known := 0
	for _, v := range s.Values {
		switch {
		case v == nil:
		case !drawable(*v):
			return fmt.Errorf("the value %g is too large to be drawn", *v)
		case *v < 0 && c.Kind == "pie":
			return fmt.Errorf("a pie has no slice of %g", *v)
		default:
			known++
		}
	}
	for _, p := range s.Points {
		if !drawable(p[0]) || !drawable(p[1]) {
			return fmt.Errorf("the point %g, %g is too large to be drawn", p[0], p[1])
		}
	}
	usesPoints := c.Kind == "scatter" || c.Kind == "line" && len(c.Labels) == 0 && len(s.Values) == 0
	switch {
	case usesPoints && len(s.Points) == 0:
		return fmt.Errorf("it has no points")
	case usesPoints:
	case known == 0:
		return fmt.Errorf("it has no values")
	case c.Kind != "histogram" && len(s.Values) != len(c.Labels) && (c.Kind != "line" || len(c.Labels) != 0):
		return fmt.Errorf("it has %d values, but there are %d labels", len(s.Values), len(c.Labels))
	}
	return nil
}

func drawable(v float64) bool { return !math.IsNaN(v) && math.Abs(v) < 1e15 }

// palette returns colours that people with any colour vision tell apart, by Okabe
// and Ito, without the yellow that is too light on white.
func palette(i int) color.RGBA {
	colours := [...]color.RGBA{
		{0x00, 0x72, 0xB2, 0xFF},
		{0xE6, 0x9F, 0x00, 0xFF},
		{0x00, 0x9E, 0x73, 0xFF},
		{0xD5, 0x5E, 0x00, 0xFF},
		{0x56, 0xB4, 0xE9, 0xFF},
		{0xCC, 0x79, 0xA7, 0xFF},
		{0x44, 0x44, 0x44, 0xFF},
		{0x99, 0x99, 0x33, 0xFF},
		{0x33, 0x22, 0x88, 0xFF},
		{0x88, 0x22, 0x55, 0xFF},
		{0x88, 0xCC, 0xEE, 0xFF},
		{0xBB, 0xBB, 0xBB, 0xFF},
	}
	return colours[i%len(colours)]
}

func hex(c color.RGBA) string { return fmt.Sprintf("%02X%02X%02X", c.R, c.G, c.B) }
