package write_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"legwork/files/write"
)

func TestKinds(t *testing.T) {
	for kind, begins := range map[string]string{"md": "# A", "txt": "# A", "html": "<!DOCTYPE html>", "docx": "PK", "pdf": "%PDF-"} {
		if got := document(t, kind, "# A\r\n\x00*b*\n\n\n", options(t)); !bytes.HasPrefix(got, []byte(begins)) {
			t.Errorf("%s begins with %.20q, want %q", kind, got, begins)
		}
	}
	if got := string(document(t, "md", "# A\r\n\x00*b*\n\n\n", options(t))); got != "# A\n*b*\n" {
		t.Errorf("as md: got %q, want clean lines", got)
	}
	var unknown *write.KindError
	if err := write.Document(io.Discard, "pptx", "a", write.Options{}); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "docx") {
		t.Errorf("pptx: got %v, want a KindError that names the known ones", err)
	}
}

func TestSameBytes(t *testing.T) {
	for _, kind := range []string{"html", "docx", "pdf"} {
		if a, b := document(t, kind, latin(t), options(t)), document(t, kind, latin(t), options(t)); !bytes.Equal(a, b) {
			t.Errorf("%s: two makings differ", kind)
		}
	}
	for _, kind := range []string{"png", "svg"} {
		if a, b := drawn(t, kind, costOverYears, write.Options{}), drawn(t, kind, costOverYears, write.Options{}); !bytes.Equal(a, b) {
			t.Errorf("%s: two makings differ", kind)
		}
	}
	if a, b := spreadsheet(t, "xlsx", offers), spreadsheet(t, "xlsx", offers); !bytes.Equal(a, b) {
		t.Error("xlsx: two makings differ")
	}
}

func TestDOCX(t *testing.T) {
	all := parts(t, document(t, "docx", report(t), options(t)))
	body := all["word/document.xml"]
	for what, want := range map[string]string{
		"a heading's style":   `<w:pStyle w:val="Heading1"/>`,
		"a table's header":    `<w:tblHeader/>`,
		"bold":                `<w:b/>`,
		"strike":              `<w:strike/>`,
		"code":                `<w:rStyle w:val="CodeChar"/>`,
		"a list's number":     `<w:ilvl w:val="1"/>`,
		"a link":              `<w:hyperlink r:id=`,
		"a link in the text":  `<w:hyperlink w:anchor=`,
		"a footnote":          `<w:footnoteReference w:id="1"/>`,
		"a picture":           `<wp:docPr id="1" name="Picture 1" descr="Cost over ten years"/>`,
		"a paragraph of RTL":  `<w:bidi/>`,
		"a run of RTL":        `<w:rtl/>`,
		"the size of A4":      `<w:pgSz w:w="11905" w:h="16837"/>`,
		"the footer's number": `<w:footerReference`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%s: the document has no %s", what, want)
		}
	}
	text := words(docxText(body))
	for _, want := range []string{
		"This report compares three offers for replacing the gas boiler. It looks at cost, guesses noise and the grant",
		"Wärme & Söhne 27,350 € 9.0 kW", `"""Total over some years`, "☑ Roof measured", "List<String> and a < b & c stay as they are. Done ✅ 🎉",
		"热泵的运行成本取决于电价", "المضخة الحرارية هادئة وتكلف 24,900 يورو",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	if notes := words(docxText(all["word/footnotes.xml"])); notes != "The three PDFs of this morning, and prices.xlsx." {
		t.Errorf("the footnotes are %q", notes)
	}
	o := options(t)
	o.Language = "en-US"
	if letter := parts(t, document(t, "docx", "a", o)); !strings.Contains(letter["word/document.xml"], `<w:pgSz w:w="12240" w:h="15840"/>`) {
		t.Error("a page of en-US is not of the size Letter")
	}
	if _, remote, _ := strings.Cut(all["word/_rels/document.xml.rels"], "javascript"); remote != "" {
		t.Error("a link runs a script")
	}
}

func TestListsGoOn(t *testing.T) {
	var long strings.Builder
	for i := range 900 {
		fmt.Fprintf(&long, "%d. item %d of a long list\n", i+1, i+1)
	}
	long.WriteString("\n|a|b|\n|-|-|\n")
	for i := range 900 {
		fmt.Fprintf(&long, "|row %d|x|\n", i)
	}
	long.WriteString("\n```go\n")
	for i := range 900 {
		fmt.Fprintf(&long, "line %d\n\n", i)
	}
	long.WriteString("```\nend\n")
	body := parts(t, document(t, "docx", long.String(), options(t)))["word/document.xml"]
	for what, want := range map[string]int{`<w:tbl>`: 1, `<w:tblHeader/>`: 1, `<w:pStyle w:val="Code"/>`: 1, `<w:numId w:val="2"/>`: 900, `<w:numId w:val="3"/>`: 0, `<w:tr>`: 901} {
		if got := strings.Count(body, what); got != want {
			t.Errorf("%s: got %d, want %d", what, got, want)
		}
	}
}

func TestPictures(t *testing.T) {
	for _, kind := range []string{"docx", "pdf", "html"} {
		o := options(t)
		var missing *write.PictureError
		if err := write.Document(io.Discard, kind, "![a](gone.png)", o); !errors.As(err, &missing) || missing.Name != "gone.png" || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a missing picture: got %v", kind, err)
		}
		o.Pictures = func(string) ([]byte, error) { return []byte("GIF89a broken"), nil }
		if err := write.Document(io.Discard, kind, "![a](x.gif)", o); !errors.As(err, &missing) {
			t.Errorf("%s: a broken picture: got %v", kind, err)
		}
		o.Pictures = func(string) ([]byte, error) { return picture(t, 40, 20), nil }
		document(t, kind, "![a](deep.png) and ![again](deep.png)", o)
		remote := document(t, kind, "![the web](https://example.org/x.png)", write.Options{})
		if kind == "html" && (bytes.Contains(remote, []byte("<img")) || !bytes.Contains(remote, []byte(`<a href="https://example.org/x.png"`))) {
			t.Errorf("a picture of the web: got %s, want a link", remote)
		}
	}
}

func TestHTMLRunsNothing(t *testing.T) {
	page := string(document(t, "html", "<script>alert(1)</script>\n\n[a](javascript:alert(1)) <img src=x onerror=alert(1)> <b onclick=x>bold</b>\n\n`<i>` [b](data:text/html,x) [c](#\"><script>)\n\n# <script>\n", options(t)))
	_, body, _ := strings.Cut(page, "<body>")
	for _, bad := range []string{"<script", "<img", "onclick", `href="javascript`, `href="data`} {
		if strings.Contains(body, bad) {
			t.Errorf("the page holds %s:\n%s", bad, body)
		}
	}
	if !strings.Contains(page, "default-src 'none'") {
		t.Error("the page may fetch")
	}
}

func TestPDF(t *testing.T) {
	data := document(t, "pdf", latin(t)+strings.Repeat("\nA paragraph that fills the page with a few more words, so that there are more.\n", 90), options(t))
	if got := bytes.Count(data, []byte("/Type /Page\n")); got < 4 {
		t.Errorf("got %d pages, want at least 4", got)
	}
	if !bytes.Contains(data, []byte("/Outlines")) || !bytes.Contains(data, []byte("/URI (https://www.example.org/grants?year=2026&kind=heat)")) {
		t.Error("the outline or a link is missing")
	}
}

func TestPDFWithoutFonts(t *testing.T) {
	for text, script := range map[string]string{"हिन्दी": "Devanagari", "\U00012000": "Cuneiform"} {
		var missing *write.FontError
		if err := write.Document(io.Discard, "pdf", text, write.Options{}); !errors.As(err, &missing) || missing.Script != script || !strings.Contains(err.Error(), "DOCX") {
			t.Errorf("a PDF of %s: got %v, want an error that names %s and a DOCX", text, err, script)
		}
		var c write.Chart
		c.Kind, c.Title, c.Labels = "bar", text, []string{"a"}
		one := 1.0
		c.Series = []write.Series{{Values: []*float64{&one}}}
		if err := write.Draw(io.Discard, "png", c, write.Options{}); !errors.As(err, &missing) {
			t.Errorf("a chart of %s: got %v, want a FontError", text, err)
		}
		document(t, "docx", text, write.Options{})
	}
	document(t, "pdf", "👩‍👩‍👧 🇩🇪 ✅ ⚠️ 1️⃣ \u200b\u202e\u00ad é e\u0301 x", write.Options{})
}

func TestLimits(t *testing.T) {
	wide := strings.Repeat("|a", 250) + "|\n" + strings.Repeat("|-", 250) + "|\n"
	noise := make([]byte, 22<<20)
	for name, try := range map[string]func() error{
		"text": func() error {
			return write.Document(io.Discard, "md", strings.Repeat("a", write.MaxMarkdown+1), write.Options{})
		},
		"columns of DOCX": func() error { return write.Document(io.Discard, "docx", wide, write.Options{}) },
		"columns of PDF":  func() error { return write.Document(io.Discard, "pdf", wide, write.Options{}) },
		"JSON":            func() error { return write.JSON(io.Discard, noise) },
		"levels of JSON": func() error {
			return write.JSON(io.Discard, []byte(strings.Repeat("[", 5000)+strings.Repeat("]", 5000)))
		},
		"columns": func() error {
			return write.Spreadsheet(io.Discard, "xlsx", write.Workbook{Sheets: []write.Sheet{{Rows: [][]any{make([]any, 201)}}}}, write.Options{})
		},
		"rows": func() error {
			return write.Spreadsheet(io.Discard, "csv", write.Workbook{Sheets: []write.Sheet{{Rows: make([][]any, write.MaxRows+1)}}}, write.Options{})
		},
		"sheets": func() error {
			return write.Spreadsheet(io.Discard, "xlsx", write.Workbook{Sheets: make([]write.Sheet, 51)}, write.Options{})
		},
		"bytes": func() error {
			row := []any{strings.Repeat("a b,", 8000)}
			rows := make([][]any, 700)
			for i := range rows {
				rows[i] = row
			}
			return write.Spreadsheet(io.Discard, "csv", write.Workbook{Sheets: []write.Sheet{{Rows: rows}}}, write.Options{})
		},
	} {
		var large *write.TooLargeError
		if err := try(); !errors.As(err, &large) {
			t.Errorf("%s: got %v, want a TooLargeError", name, err)
		}
	}
}

func TestJSON(t *testing.T) {
	var out bytes.Buffer
	if err := write.JSON(&out, []byte(`{"b":[1,2],"a":null}`)); err != nil || out.String() != "{\n  \"b\": [\n    1,\n    2\n  ],\n  \"a\": null\n}\n" {
		t.Errorf("got %q and %v", out.String(), err)
	}
	var bad *write.TableError
	if err := write.JSON(io.Discard, []byte(`{"a":`)); !errors.As(err, &bad) {
		t.Errorf("broken JSON: got %v, want a TableError", err)
	}
}
