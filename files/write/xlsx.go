package write

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"
)

// A column is as wide as its content within these bounds, in characters.
const (
	minColumn = 7
	maxColumn = 60
	// shortTable is the most rows of a table that has its charts below.
	shortTable = 40
)

func writeXLSX(w io.Writer, b Workbook, o Options) (err error) {
	file := excelize.NewFile()
	defer func() {
		if closing := file.Close(); err == nil && closing != nil { // it removes temporary files
			err = fmt.Errorf("writing XLSX: %w", closing)
		}
	}()
	file.ZipWriter = func(io.Writer) excelize.ZipWriter { return &sortedZip{w: w, now: o.Now} }
	x := &xlsx{file: file, names: sheetNames(b.Sheets), styles: map[string]int{}}
	if err := x.properties(o); err != nil {
		return fmt.Errorf("writing XLSX: %w", err)
	}
	for i, s := range b.Sheets {
		if i == 0 {
			err = file.SetSheetName("Sheet1", x.names[0])
		} else {
			_, err = file.NewSheet(x.names[i])
		}
		if err != nil {
			return fmt.Errorf("writing XLSX: %w", err)
		}
		if err := x.sheet(s, x.names[i]); err != nil {
			return err
		}
	}
	types := file.ContentTypes.Defaults // the library fills them from a map
	sort.Slice(types, func(i, j int) bool { return types[i].Extension < types[j].Extension })
	_, err = file.WriteTo(w)
	if err != nil {
		return fmt.Errorf("writing XLSX: %w", err)
	}
	return nil
}

// xlsx is a workbook that is being written.
type xlsx struct {
	file   *excelize.File
	names  []string // of its sheets
	styles map[string]int
}

func (x *xlsx) properties(o Options) error {
	properties := excelize.DocProperties{Title: clean(o.Title), Creator: cmp.Or(clean(o.Author), "legwork"), LastModifiedBy: cmp.Or(clean(o.Author), "legwork")}
	if !o.Now.IsZero() {
		properties.Created = o.Now.UTC().Format(time.RFC3339)
		properties.Modified = properties.Created
	}
	if err := x.file.SetDocProps(&properties); err != nil {
		return err
	}
	compute := true // formulas without a known result, when the file is opened
	return x.file.SetCalcProps(&excelize.CalcPropsOptions{FullCalcOnLoad: &compute})
}

// columnFacts are what the look of a column follows from.
type columnFacts struct {
	longest  int     // characters
	highest  float64 // number without its sign
	decimals int
	numbers  int
	others   int
	booleans int
	clock    bool
	wrap     bool // a text has several lines, or is wider than a column becomes
}

func (x *xlsx) sheet(s Sheet, name string) error {
	facts, err := x.facts(s)
	if err != nil {
		return err
	}
	err = x.print(name)
	if err != nil {
		return fmt.Errorf("writing sheet %q: %w", name, err)
	}
	stream, err := x.file.NewStreamWriter(name)
	if err != nil {
		return fmt.Errorf("writing sheet %q: %w", name, err)
	}
	styles, widths := make([]int, len(facts)), make([]float64, len(facts)) // a width of those that wrap
	var header []any
	for i, f := range facts {
		c := s.column(i)
		width := c.Width
		if width <= 0 {
			width = float64(min(max(f.longest+2, minColumn), maxColumn))
		}
		if err := stream.SetColWidth(i+1, i+1, min(width, 255)); err != nil {
			return fmt.Errorf("writing sheet %q: %w", name, err)
		}
		numeric := f.numbers > f.others // such as Total below dates
		alignment := ""
		switch {
		case numeric:
			alignment = "right"
		case f.booleans > 0 && f.others == 0:
			alignment = "center"
		}
		if f.wrap = f.wrap || float64(f.longest) > width; f.wrap && !numeric {
			widths[i] = width
		}
		if styles[i], err = x.style(numberFormat(c, f), widths[i] > 0, false, strings.TrimPrefix(alignment, "right")); err != nil {
			return err
		}
		style, err := x.style("", true, true, alignment)
		if err != nil {
			return err
		}
		header = append(header, excelize.Cell{Value: clean(c.Title), StyleID: style})
	}
	if len(s.Columns) > 0 {
		panes := excelize.Panes{Freeze: true, YSplit: 1, TopLeftCell: "A2", ActivePane: "bottomLeft"}
		if n := min(s.FreezeColumns, len(facts)-1); n > 0 {
			panes.XSplit, panes.ActivePane = n, "bottomRight"
			panes.TopLeftCell = cellName("", n, 2)
		}
		if err := stream.SetPanes(&panes); err != nil {
			return fmt.Errorf("writing sheet %q: %w", name, err)
		}
		if err := stream.SetRow("A1", header); err != nil {
			return fmt.Errorf("writing sheet %q: %w", name, err)
		}
	}
	if err := x.rows(stream, s, styles, widths); err != nil {
		return err
	}
	if len(s.Columns) > 0 && len(s.Rows) > 0 {
		if err := x.file.AutoFilter(name, "A1:"+cellName("", len(facts)-1, len(s.Rows)+1), nil); err != nil {
			return fmt.Errorf("filtering sheet %q: %w", name, err)
		}
	}
	if err := x.charts(s, name, facts); err != nil {
		return err
	}
	if err := stream.Flush(); err != nil {
		return fmt.Errorf("writing sheet %q: %w", name, err)
	}
	return nil
}

// print lays the pages out: across, and as wide as the table.
func (x *xlsx) print(name string) error {
	across, fit, wide, high := "landscape", true, 1, 0
	if err := x.file.SetSheetProps(name, &excelize.SheetPropsOptions{FitToPage: &fit}); err != nil {
		return err
	}
	return x.file.SetPageLayout(name, &excelize.PageLayoutOptions{Orientation: &across, FitToWidth: &wide, FitToHeight: &high})
}

func (x *xlsx) rows(stream *excelize.StreamWriter, s Sheet, styles []int, widths []float64) error {
	cells, values := make([]excelize.Cell, len(styles)), make([]any, len(styles))
	for j := range cells {
		values[j] = &cells[j]
	}
	for i, row := range s.Rows {
		lines := 1
		for j, cell := range row {
			v, _ := read(cell, s.column(j).Type) // facts found no error
			out := &cells[j]
			*out = excelize.Cell{StyleID: styles[j]}
			switch v.kind {
			case isEmpty:
			case isText:
				out.Value = v.text
				if widths[j] > 0 {
					lines = max(lines, linesOf(v.text, widths[j]))
				}
			case isNumber:
				out.Value = v.number
			case isBoolean:
				out.Value = v.truth
			case isFormula:
				out.Formula, out.Value = stored(v.text), v.result
			}
		}
		if err := stream.SetRow(cellName("", 0, i+s.first()), values[:len(row)], excelize.RowOpts{Height: rowHeight(lines)}); err != nil {
			return fmt.Errorf("writing row %d of sheet %q: %w", i+s.first(), s.Name, err)
		}
	}
	return nil
}

// linesOf is how many lines a text takes in a column.
func linesOf(text string, width float64) int {
	n := 0
	for line := range strings.Lines(text) {
		n += 1 + int(float64(max(0, cells(line)-1))/(width*0.95))
	}
	return n
}

// rowHeight is the height of a row of several lines in points, and 0 for the usual
// one. Excel allows 409.
func rowHeight(lines int) float64 {
	if lines < 2 {
		return 0
	}
	return float64(min(lines*15, 405))
}

// facts reads all cells once and refuses those that no sheet can hold.
func (x *xlsx) facts(s Sheet) ([]columnFacts, error) {
	facts := make([]columnFacts, s.width())
	for i, c := range s.Columns {
		facts[i].longest = cells(c.Title) + 3 // the button of the filter
	}
	for i, row := range s.Rows {
		for j, cell := range row {
			v, err := read(cell, s.column(j).Type)
			if err == nil && v.kind == isFormula {
				err = checkFormula(v.text, x.names)
			}
			if err != nil {
				return nil, &TableError{Where: cellName(s.Name, j, i+s.first()), Reason: err.Error()}
			}
			facts[j].add(v, s.column(j).Type)
		}
	}
	return facts, nil
}

func (f *columnFacts) add(v value, columnType string) {
	switch v.kind {
	case isNumber:
		f.numbers++
		f.highest = max(f.highest, math.Abs(v.number))
		f.clock = f.clock || v.clock
		if _, decimals, ok := strings.Cut(v.text, "."); ok && !v.date {
			f.decimals = min(4, max(f.decimals, len(decimals)))
		}
		length := len(v.text) + len(v.text)/3
		if columnType == "currency" {
			length += 6
		}
		f.longest = max(f.longest, min(length, 24))
	case isText:
		f.others++
		for line := range strings.Lines(v.text) {
			f.longest = max(f.longest, cells(line))
		}
		f.wrap = f.wrap || strings.Contains(v.text, "\n")
	case isFormula:
		f.numbers++ // most of them
		f.longest = max(f.longest, 12)
	case isBoolean:
		f.booleans++
	case isEmpty:
	}
}

// currencySign is the sign of a currency, and whether it stands behind the number.
func currencySign(code string) (sign string, behind bool) {
	switch strings.ToUpper(strings.TrimSpace(code)) {
	case "", "EUR", "€":
		return "€", true
	case "USD", "$":
		return "$", false
	case "GBP", "£":
		return "£", false
	case "JPY", "CNY", "¥":
		return "¥", false
	case "INR", "₹":
		return "₹", false
	case "RUB", "₽":
		return "₽", true
	}
	return clean(code), true
}

// numberFormat is the format of a column's numbers; "" is the general one.
func numberFormat(c Column, f columnFacts) string {
	format := clean(c.Format)
	isCode := strings.ContainsAny(format, "0#") || c.Type == "date" && strings.ContainsAny(format, "ymdhYMDH")
	decimals := ""
	if f.decimals > 0 {
		decimals = "." + strings.Repeat("0", f.decimals)
	}
	switch {
	case isCode:
		return format
	case c.Type == "date" && f.clock:
		return "yyyy-mm-dd hh:mm"
	case c.Type == "date":
		return "yyyy-mm-dd"
	case c.Type == "percent":
		return "0" + strings.Repeat(".", min(1, max(0, f.decimals-2))) + strings.Repeat("0", max(0, f.decimals-2)) + "%"
	case c.Type == "currency":
		if format == "" {
			return "#,##0.00" // its sign is not known
		}
		sign, behind := currencySign(format)
		quoted := `"` + strings.ReplaceAll(sign, `"`, "") + `"`
		if behind {
			return "#,##0.00 " + quoted
		}
		return quoted + "#,##0.00"
	case f.booleans > 0 && f.numbers+f.others == 0: // for LibreOffice, which shows 1 and 0 otherwise
		return `"TRUE";"TRUE";"FALSE"`
	case c.Type == "text" || f.numbers == 0:
		return ""
	case f.highest >= 10_000:
		return "#,##0" + decimals
	case f.decimals > 0:
		return "0" + decimals
	}
	return ""
}

// style returns the id of a look, each made once.
func (x *xlsx) style(format string, wrap, header bool, alignment string) (int, error) {
	key := fmt.Sprint(format, wrap, header, alignment)
	if id, ok := x.styles[key]; ok {
		return id, nil
	}
	style := excelize.Style{Alignment: &excelize.Alignment{WrapText: wrap, Vertical: "top", Horizontal: alignment}}
	if format != "" {
		style.CustomNumFmt = &format
	}
	if header {
		style.Font = &excelize.Font{Bold: true, Family: "Calibri", Size: 11}
		style.Fill = excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{"E8EDF3"}}
		style.Border = []excelize.Border{{Type: "bottom", Color: "8496AA", Style: 1}}
		style.Alignment.Vertical = "center"
	}
	id, err := x.file.NewStyle(&style)
	if err != nil {
		return 0, &TableError{Where: "format " + format, Reason: err.Error()}
	}
	x.styles[key] = id
	return id, nil
}

// charts adds native charts below a short table and to the right of a long one.
func (x *xlsx) charts(s Sheet, name string, facts []columnFacts) error {
	for i, c := range s.Charts {
		where := fmt.Sprintf("chart %d of sheet %q", i+1, s.Name)
		kind, ok := map[string]excelize.ChartType{"line": excelize.Line, "bar": excelize.Col, "stacked": excelize.ColStacked, "scatter": excelize.Scatter, "pie": excelize.Pie}[c.Kind]
		if !ok {
			return &TableError{Where: where, Reason: fmt.Sprintf("a chart in a sheet is line, bar, stacked, scatter or pie, not %q", c.Kind)}
		}
		dark := excelize.Font{Color: "444444", Size: 9}
		if len(s.Columns) == 0 || len(s.Rows) == 0 || len(c.Series) == 0 {
			return &TableError{Where: where, Reason: "it needs columns, rows and series"}
		}
		chart := excelize.Chart{
			Type: kind, Dimension: excelize.ChartDimension{Width: 640, Height: 380},
			Title: title(c.Title), XAxis: excelize.ChartAxis{Title: title(c.XTitle), Font: dark}, YAxis: excelize.ChartAxis{Title: title(c.yTitle()), MajorGridLines: true, Font: dark},
			Legend: excelize.ChartLegend{Position: "bottom"}, ShowBlanksAs: "gap",
		}
		if len(c.Series) == 1 && c.Kind != "pie" {
			chart.Legend.Position = "none"
		}
		if c.Kind == "pie" {
			chart.PlotArea.ShowPercent = true
		}
		if format := numberFormat(s.column(0), facts[0]); s.column(0).Type == "date" || c.Kind == "scatter" {
			chart.XAxis.NumFmt.CustomNumFmt = format
		}
		for k, series := range c.Series {
			column := slices.IndexFunc(s.Columns, func(c Column) bool {
				return strings.EqualFold(strings.TrimSpace(c.Title), strings.TrimSpace(series.Name))
			})
			if column < 0 {
				return &TableError{Where: where, Reason: fmt.Sprintf("the series %q has no column of that title", series.Name)}
			}
			if facts[column].highest >= 10_000 {
				chart.YAxis.NumFmt.CustomNumFmt = "#,##0"
			}
			last := len(s.Rows) + 1
			if isTotal(s.Rows[len(s.Rows)-1], column) {
				last--
			}
			quotedName := strings.ReplaceAll(name, "'", "''")
			cells := func(column int) string {
				at := excelizeColumn(column)
				return fmt.Sprintf("'%s'!$%s$2:$%s$%d", quotedName, at, at, last)
			}
			title := fmt.Sprintf("'%s'!$%s$1", quotedName, excelizeColumn(column))
			made := excelize.ChartSeries{Name: title, Categories: cells(0), Values: cells(column)}
			colour := hex(palette(k))
			switch c.Kind {
			case "line":
				made.Line = excelize.LineOptions{Width: 2, Fill: excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{colour}}}
				made.Marker = excelize.ChartMarker{Symbol: "none"}
			case "scatter":
				made.Line = excelize.LineOptions{Type: excelize.LineNone}
				made.Marker = excelize.ChartMarker{Symbol: "circle", Size: 6, Fill: excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{colour}}}
			case "bar", "stacked":
				made.Fill = excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{colour}}
			case "pie":
				for n := range min(len(s.Rows), MaxSlices) {
					made.DataPoint = append(made.DataPoint, excelize.ChartDataPoint{Index: n, Fill: excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{hex(palette(n))}}})
				}
			}
			chart.Series = append(chart.Series, made)
		}
		at := cellName("", len(facts)+1, 2+i*21)
		if len(s.Rows) <= shortTable {
			at = cellName("", 0, len(s.Rows)+4+i*21)
		}
		if err := x.file.AddChart(name, at, &chart); err != nil {
			return &TableError{Where: where, Reason: err.Error()}
		}
	}
	return nil
}

// isTotal reports a last row that adds up those above: a chart does not show it.
func isTotal(row []any, column int) bool {
	if column >= len(row) {
		return false
	}
	v, err := read(row[column], "")
	return err == nil && v.kind == isFormula && (strings.HasPrefix(v.text, "SUM(") || strings.HasPrefix(v.text, "SUBTOTAL("))
}

func title(text string) excelize.ChartTitle {
	if text == "" {
		return excelize.ChartTitle{}
	}
	return excelize.ChartTitle{Paragraph: []excelize.RichTextRun{{Text: clean(text)}}}
}

// excelizeColumn returns the letters of a column counted from 0.
func excelizeColumn(column int) string {
	name, err := excelize.ColumnNumberToName(column + 1)
	if err != nil {
		return ""
	}
	return name
}

// cellName returns the name of a cell, such as Prices!B3 or B3 without a sheet.
func cellName(sheet string, column, row int) string {
	name := fmt.Sprintf("%s%d", excelizeColumn(column), row)
	if sheet != "" {
		return sheet + "!" + name
	}
	return name
}
