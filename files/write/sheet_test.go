package write_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"legwork/files/write"
)

const offers = `{"sheets": [
	{"name": "Offers: 2026/27", "freeze_columns": 1,
	 "columns": [{"title": "Supplier"}, {"title": "Signed", "type": "date"}, {"title": "Price", "type": "currency", "format": "EUR"}, {"title": "Grant", "type": "percent"},
		{"title": "Net price", "type": "currency", "format": "EUR"}, {"title": "Power (kW)"}, {"title": "Installed", "type": "boolean"}, {"title": "Remarks", "type": "text"}],
	 "rows": [
		["North Heating", "2026-03-14", 24900, 0.3, {"formula": "C2*(1-D2)"}, 8.5, true, "=HYPERLINK(\"http://evil.example\")"],
		["Wärme & Söhne", "2026-02-28", "€27,350.50", 0.35, {"formula": "C3*(1-D3)", "value": 17777.825}, 9, true, "Removal of the boiler costs extra; they come twice in the first year, and the price of the foundation is not known yet"],
		["Тепло и Дом", "2026-04-01", 22100, "25%", {"formula": "C4*(1-D4)"}, 8, false, "-5"],
		["Total", null, {"formula": "SUM(C2:C4)"}, null, {"formula": "SUM(E2:E4)"}, null, null, "+49 170 1234567"]],
	 "charts": [{"kind": "bar", "title": "Price and net price", "unit": "EUR", "series": [{"name": "price"}, {"name": "Net price"}]}, {"kind": "pie", "title": "Shares", "series": [{"name": "Price"}]}]},
	{"name": "offers  2026 27", "columns": [{"title": "Year"}, {"title": "Cost"}], "rows": [[2026, 1200], [2027, 1310.5], [2028, 12500]]},
	{"name": "", "rows": [["no header", "@a"]]}]}`

func TestXLSX(t *testing.T) {
	data := spreadsheet(t, "xlsx", offers)
	file, err := excelize.OpenReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}()
	if got, want := file.GetSheetList(), []string{"Offers 2026 27", "offers 2026 27 (2)", "Sheet3"}; !slices.Equal(got, want) {
		t.Errorf("sheets: got %q, want %q", got, want)
	}
	const sheet = "Offers 2026 27"
	for cell, want := range map[string]string{
		"A1": "Supplier", "B2": "2026-03-14", "C3": "27,350.50 €", "D4": "25%", "F3": "9.0", "G2": "TRUE",
		"H2": `=HYPERLINK("http://evil.example")`, "H4": "-5", "H5": "+49 170 1234567", "E3": "17,777.83 €",
	} {
		if got, err := file.GetCellValue(sheet, cell); err != nil || got != want {
			t.Errorf("%s: got %q and %v, want %q", cell, got, err, want)
		}
	}
	for cell, want := range map[string]string{"E2": "C2*(1-D2)", "C5": "SUM(C2:C4)", "H2": "", "H4": ""} {
		if got, err := file.GetCellFormula(sheet, cell); err != nil || got != want {
			t.Errorf("formula of %s: got %q and %v, want %q", cell, got, err, want)
		}
	}
	if panes, err := file.GetPanes(sheet); err != nil || !panes.Freeze || panes.XSplit != 1 || panes.YSplit != 1 {
		t.Errorf("panes: got %+v and %v, want the header and one column frozen", panes, err)
	}
	all := parts(t, data)
	first := all["xl/worksheets/sheet1.xml"]
	if !strings.Contains(first, `<autoFilter ref="$A$1:$H$5"`) || strings.Contains(first, "<hyperlink") {
		t.Error("the sheet has no filter, or a link")
	}
	if chart := all["xl/charts/chart1.xml"]; !strings.Contains(chart, "$C$2:$C$4") || !strings.Contains(chart, "Price and net price") {
		t.Errorf("the chart does not show the prices without their total: %.2000s", chart)
	}
	if len(all["xl/charts/chart2.xml"]) == 0 {
		t.Error("the second chart is missing")
	}
}

func TestCSV(t *testing.T) {
	got := string(spreadsheet(t, "csv", `{"sheets": [{"name": "a", "columns": [{"title": "=a"}, {"title": "b, c"}, {"title": "n", "type": "number"}],
		"rows": [["=1+1", "@x", -5], ["-5", "+1.5", "-7.5"], ["-1-2", "a\"b\nc", null], ["＝1", " x", {"formula": "SUM(C2:C4)"}], [true, 12345678901234567890], ["\t=1", "x;y", 0.1]]}]}`))
	want := "\uFEFF" + `"'=a","b, c",n` + "\r\n" +
		`"'=1+1","'@x",-5` + "\r\n" + `-5,+1.5,-7.5` + "\r\n" + `"'-1-2","a""b` + "\n" + `c",` + "\r\n" +
		`"'＝1"," x",=SUM(C2:C4)` + "\r\n" + `TRUE,12345678901234567000,` + "\r\n" + "\"'\t=1\",\"x;y\",0.1\r\n"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	var bad *write.TableError
	if err := write.Spreadsheet(io.Discard, "csv", workbook(t, offers), write.Options{}); !errors.As(err, &bad) {
		t.Errorf("three sheets as CSV: got %v, want a TableError", err)
	}
}

func TestLongNumbersStayWhole(t *testing.T) {
	var b write.Workbook
	decoder := json.NewDecoder(strings.NewReader(`{"sheets": [{"rows": [[12345678901234567890, 1.5, 42]]}]}`))
	decoder.UseNumber()
	if err := decoder.Decode(&b); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := write.Spreadsheet(&out, "csv", b, write.Options{}); err != nil || !strings.Contains(out.String(), "12345678901234567890,1.5,42") {
		t.Errorf("got %q and %v, want all digits", out.String(), err)
	}
}

func TestFormulas(t *testing.T) {
	try := func(formula string) error {
		b := write.Workbook{Sheets: []write.Sheet{
			{Name: "Prices", Columns: []write.Column{{Title: "a"}}, Rows: [][]any{{map[string]any{"formula": formula}}}},
			{Name: "It's more", Rows: [][]any{{1.0}}},
		}}
		return write.Spreadsheet(io.Discard, "xlsx", b, write.Options{})
	}
	for _, good := range []string{
		"SUM(B2:B9)", "=SUM(B2:B9)", `IF(A1>3,"WEBSERVICE(1)","[x]|y")`, "Prices!B2*2", "'It''s more'!A1", "$A$1+1e5", "xlookup(A1, B:B, C:C)",
		`TEXT(A1,"0.00")&" €"`, "SUM({1,2;3,4})", "-A1%", "STDEV.S(A1:A9)", "SUM (A1)",
	} {
		if err := try(good); err != nil {
			t.Errorf("%s: got %v, want no error", good, err)
		}
	}
	for _, bad := range []string{
		`WEBSERVICE("http://a")`, `HYPERLINK("http://a","b")`, `IMPORTXML("a","b")`, "FILTERXML(A1,B1)", `RTD("a",,"b")`, `CALL("a","b","c")`, `REGISTER.ID("a","b")`,
		`INDIRECT("[a.xlsx]b!A1")`, "[a.xlsx]b!A1", "'[a.xlsx]b'!A1", `cmd|'/c calc'!A0`, `DDE("a","b","c")`, `'\\host\share\[a.xlsx]b'!A1`, `'http://a/[b.xlsx]c'!A1`,
		`IMAGE("http://a")`, "Other!A1", "SUM(A1", "SUM(A1))", `"a`, "", `webservice ("http://a")`, `_xlfn.WEBSERVICE("a")`, "@SUM(A1)", `PY("x")`, "EVALUATE(A1)", "LAMBDA(x,x)(1)",
	} {
		var refused *write.TableError
		if err := try(bad); !errors.As(err, &refused) || refused.Where != "Prices!A2" {
			t.Errorf("%s: got %v, want a TableError at Prices!A2", bad, err)
		}
	}
}

func TestTables(t *testing.T) {
	for text, where := range map[string]string{
		`{"sheets": []}`: "sheets",
		`{"sheets": [{"name": "A", "columns": [{"title": "a"}], "rows": [[1, 2]]}]}`:                                                            `sheet "A", row 1`,
		`{"sheets": [{"name": "A", "columns": [{"title": "a", "type": "colour"}], "rows": []}]}`:                                                `sheet "A", column 1`,
		`{"sheets": [{"name": "A", "rows": [[[1]]]}]}`:                                                                                          "A!A1",
		`{"sheets": [{"name": "A", "rows": [[{"a": 1}]]}]}`:                                                                                     "A!A1",
		`{"sheets": [{"name": "A", "rows": []}]}`:                                                                                               `sheet "A"`,
		`{"sheets": [{"name": "A", "columns": [{"title": "a"}], "rows": [["` + strings.Repeat("x", 32768) + `"]]}]}`:                            "A!A2",
		`{"sheets": [{"name": "A", "columns": [{"title": "a"}], "rows": [[1]], "charts": [{"kind": "bar", "series": [{"name": "b"}]}]}]}`:       `chart 1 of sheet "A"`,
		`{"sheets": [{"name": "A", "columns": [{"title": "a"}], "rows": [[1]], "charts": [{"kind": "histogram", "series": [{"name": "a"}]}]}]}`: `chart 1 of sheet "A"`,
	} {
		var bad *write.TableError
		if err := write.Spreadsheet(io.Discard, "xlsx", workbook(t, text), write.Options{}); !errors.As(err, &bad) || bad.Where != where {
			t.Errorf("%.120s: got %v, want a TableError at %s", text, err, where)
		}
	}
}

// manyRows are 100,000 rows of six columns.
func manyRows() write.Workbook {
	rows := make([][]any, 100_000)
	for i := range rows {
		rows[i] = []any{fmt.Sprint("Customer ", i), float64(i), float64(i) * 1.25, "2026-01-31", i%2 == 0, "some remark"}
	}
	columns := []write.Column{{Title: "Name"}, {Title: "Number"}, {Title: "Amount", Type: "currency", Format: "EUR"}, {Title: "Day", Type: "date"}, {Title: "Paid"}, {Title: "Remark"}}
	return write.Workbook{Sheets: []write.Sheet{{Name: "All", Columns: columns, Rows: rows}}}
}

// BenchmarkXLSX is to stay under 3 s and 64 MiB beside the rows.
func BenchmarkXLSX(b *testing.B) {
	book := manyRows()
	b.ReportAllocs()
	var highest uint64
	for b.Loop() {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		probe := writerFunc(func(p []byte) (int, error) { // all is in memory when the file is written
			runtime.ReadMemStats(&after)
			highest = max(highest, after.HeapInuse-min(after.HeapInuse, before.HeapInuse))
			return len(p), nil
		})
		if err := write.Spreadsheet(probe, "xlsx", book, write.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(highest)/(1<<20), "MiB")
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
