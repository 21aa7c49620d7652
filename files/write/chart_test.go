package write_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"strings"
	"testing"

	"legwork/files/write"
)

// charts are one of each kind.
func charts() map[string]string {
	return map[string]string{
		"bar":       `{"kind": "bar", "title": "Price and net price of three offers", "unit": "EUR", "y_title": "Price", "labels": ["North Heating", "Wärme & Söhne", "Тепло и Дом"], "series": [{"name": "Price", "values": [24900, 27350, 22100]}, {"name": "Net price after the grant", "values": [17430, 17777, 16575]}]}`,
		"stacked":   `{"kind": "stacked", "title": "Electricity by source", "unit": "GWh", "labels": ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], "series": [{"name": "Wind", "values": [12000, 11000, 9000, 8000, 7000, 6500, 6000, 6100, 8000, 9500, 11000, 12500]}, {"name": "Sun", "values": [1000, 2000, 4000, 6000, 7500, 8200, 8100, 7400, 5500, 3000, 1400, 900]}, {"name": "Coal", "values": [9000, 8000, 7600, 6000, 5000, 4500, 4300, 4400, 5200, 6600, 8000, 9400]}]}`,
		"line":      `{"kind": "line", "title": "Visitors per day", "x_title": "Day of 2026", "y_title": "Visitors", "labels": ["01-01", "01-02", "01-03", "01-04", "01-05", "01-06", "01-07", "01-08", "01-09", "01-10", "01-11", "01-12", "01-13", "01-14", "01-15", "01-16"], "series": [{"name": "Museum", "values": [120, 130, 125, null, 160, 170, 165, 150, 180, 190, 200, 210, 190, 195, 220, 240]}, {"name": "Zoo", "values": [80, 85, 95, 120, 110, 90, 92, 97, 99, 101, 140, 150, 138, 136, 133, 160]}]}`,
		"scatter":   `{"kind": "scatter", "title": "Noise against power", "x_title": "Power (kW)", "y_title": "Noise", "unit": "dB", "series": [{"name": "Air", "points": [[6, 45], [7, 47], [8.5, 49], [9, 51], [12, 56]]}, {"name": "Ground", "points": [[6, 38], [8, 40], [10, 41], [12, 43]]}]}`,
		"pie":       `{"kind": "pie", "title": "Where the money goes in the year of building", "labels": ["Heat pump", "Foundation and connection", "Electrician", "Removal of the boiler", "Other"], "series": [{"values": [14000, 4200, 3100, 1900, 1700]}]}`,
		"histogram": `{"kind": "histogram", "title": "Times of answers", "x_title": "Time", "unit": "ms", "y_title": "Answers", "series": [{"values": [12, 15, 17, 19, 22, 22, 23, 25, 28, 30, 31, 31, 33, 35, 36, 37, 38, 41, 44, 47, 52, 58, 61, 75, 90, 120]}]}`,
	}
}

// names is a chart whose labels need fonts of the system.
const names = `{"kind": "bar", "title": "人口最多的城市 — Население — السكان", "y_title": "Population", "labels": ["Delhi National Capital Territory", "東京", "上海市", "القاهرة", "São Paulo", "Mexico City", "Москва", "New York metropolitan area", "תל אביב"], "series": [{"values": [33000000, 37000000, 29800000, 22600000, 22800000, 22500000, 17300000, 19000000, 4400000]}]}`

func TestCharts(t *testing.T) {
	for name, text := range charts() {
		img, err := png.Decode(bytes.NewReader(drawn(t, "png", text, write.Options{})))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if size := img.Bounds().Size(); size.X != 1560 || size.Y != 1040 {
			t.Errorf("%s: got a size of %v, want 1560 by 1040", name, size)
		}
		if r, g, b, a := img.At(1, 1).RGBA(); r&g&b&a != 0xFFFF {
			t.Errorf("%s: the background is not white", name)
		}
		var c write.Chart
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		svg := string(drawn(t, "svg", text, write.Options{}))
		for decoder := xml.NewDecoder(strings.NewReader(svg)); ; {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s is not valid SVG: %v", name, err)
			}
		}
		wanted := []string{c.Title}
		if len(c.Labels) < 12 {
			wanted = append(wanted, c.Labels...)
		}
		for _, s := range c.Series {
			if len(c.Series) > 1 {
				wanted = append(wanted, s.Name)
			}
		}
		for _, want := range wanted {
			if !strings.Contains(svg, ">"+strings.ReplaceAll(want, "&", "&amp;")+"<") {
				t.Errorf("%s: the SVG lacks %q", name, want)
			}
		}
	}
}

func TestChartNumbers(t *testing.T) {
	text := `{"kind": "bar", "unit": "EUR", "y_title": "Cost", "labels": ["a", "b"], "series": [{"values": [0, %s]}]}`
	for value, want := range map[string]string{"25000": ">25,000<", "37000000": ">Cost (EUR) (×1,000)<", "0.004": ">0.004<", "-5": ">-5<"} {
		if svg := string(drawn(t, "svg", fmt.Sprintf(text, value), write.Options{})); !strings.Contains(svg, want) {
			t.Errorf("a value of %s: the chart lacks %s", value, want)
		}
	}
	if svg := string(drawn(t, "svg", fmt.Sprintf(text, "25000"), write.Options{Language: "ru"})); !strings.Contains(svg, ">25\u00A0000<") {
		t.Error("in Russian, thousands are not separated by a space")
	}
}

func TestOddCharts(t *testing.T) {
	for _, text := range []string{
		`{"kind": "line", "labels": ["a"], "series": [{"values": [7]}]}`,
		`{"kind": "line", "series": [{"points": [[3, 1], [1, 2]]}]}`,
		`{"kind": "bar", "labels": ["a", "b"], "series": [{"values": [0, 0]}]}`,
		`{"kind": "stacked", "labels": ["a", "b"], "series": [{"values": [-1, 2]}, {"values": [null, -2]}]}`,
		`{"kind": "pie", "labels": ["a"], "series": [{"values": [0]}]}`,
		`{"kind": "histogram", "series": [{"values": [5, 5, 5]}]}`,
		`{"kind": "histogram", "series": [{"values": [-1e14, 1e14]}]}`,
		`{"kind": "scatter", "series": [{"points": [[0, 0]]}]}`,
		`{"kind": "scatter", "series": [{"points": [[-1e14, 1e-14], [1e14, 2e-14]]}]}`,
		`{"kind": "bar", "title": "` + strings.Repeat("long title ", 90) + `", "y_title": "` + strings.Repeat("y", 900) + `", "labels": ["` + strings.Repeat("label ", 90) + `"], "series": [{"name": "` + strings.Repeat("n", 900) + `", "values": [1]}]}`,
	} {
		drawn(t, "png", text, write.Options{})
	}
	for _, text := range []string{
		`{}`, `{"kind": "bar"}`, `{"kind": "radar", "series": [{"values": [1]}]}`, `{"kind": "bar", "labels": ["a"], "series": [{"values": [1, 2]}]}`,
		`{"kind": "pie", "labels": ["a"], "series": [{"values": [-1]}]}`, `{"kind": "pie", "labels": ["a"], "series": [{"values": [1]}, {"values": [1]}]}`,
		`{"kind": "line", "labels": ["a"], "series": [{"values": [null]}]}`, `{"kind": "scatter", "series": [{"values": [1]}]}`, `{"kind": "scatter", "series": [{"points": [[1, 1e300]]}]}`,
	} {
		var c write.Chart
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		var bad *write.TableError
		if err := write.Draw(io.Discard, "png", c, write.Options{}); !errors.As(err, &bad) {
			t.Errorf("%s: got %v, want a TableError", text, err)
		}
	}
	many := write.Chart{Kind: "scatter", Series: []write.Series{{Points: make([][2]float64, write.MaxPoints+1)}}}
	var large *write.TooLargeError
	if err := write.Draw(io.Discard, "svg", many, write.Options{}); !errors.As(err, &large) {
		t.Errorf("too many points: got %v", err)
	}
}
