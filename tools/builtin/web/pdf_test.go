package web_test

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/need"
	"legwork/internal/test/watch"
	"legwork/tools/builtin/web"
)

// pdfFile writes a PDF of numbered objects, the first of which is the catalog.
func pdfFile(trailer string, objects ...string) string {
	var b strings.Builder
	b.WriteString("%PDF-1.7\n")
	var at []int
	for i, o := range objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, offset := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, trailer, start)
	return b.String()
}

func stream(entries, data string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", entries, len(data), data)
}

func deflate(data string) string { return deflateTimes(data, 1) }

// deflateTimes deflates n copies of data. A block is compressed once and copied,
// as each refers only to itself; the checksum at the end is left out.
func deflateTimes(data string, n int) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_ = z.Flush()
	header := b.String()
	b.Reset()
	_, _ = z.Write([]byte(data))
	_ = z.Flush()
	block := b.String()
	b.Reset()
	_ = z.Close()
	end := b.String()
	return header + strings.Repeat(block, n) + end
}

func twoPages() string {
	const font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding /FirstChar 32 /LastChar 126 /Widths 6 0 R >>"
	const toUnicode = `begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange 2 beginbfchar <0001> <6E56> <0002> <8FB9> endbfchar endcmap`
	return pdfFile("/Info 13 0 R",
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R 7 0 R] /Count 2 /MediaBox [0 0 595 842] /Resources << /Font << /F1 5 0 R /F2 9 0 R >> /XObject << /X1 12 0 R >> >> >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>",
		stream("/Filter /FlateDecode", deflate("BT /F1 12 Tf 72 700 Td (Winter timetable) Tj 0 -40 Td (Trams leave) Tj 70 0 Td (every) Tj 35 0 Td (six) Tj 22 0 Td (minutes.) Tj -127 -14 Td [(Ca) 20 (f\\351s) -300 (are) -280 (open.)] TJ ET /X1 Do")),
		font,
		"["+strings.Repeat("500 ", 95)+"]",
		"<< /Type /Page /Parent 2 0 R /Contents [8 0 R 8 0 R] >>",
		stream("", "BT /F2 10 Tf 1 0 0 1 50 50 Tm <00010002> Tj ET 1 0 0 1 23 0 cm\n"),
		"<< /Type /Font /Subtype /Type0 /BaseFont /Song /Encoding /Identity-H /DescendantFonts [10 0 R] /ToUnicode 11 0 R >>",
		"<< /Type /Font /Subtype /CIDFontType2 /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /DW 1000 /W [1 [1000 1000]] >>",
		stream("", toUnicode),
		stream("/Type /XObject /Subtype /Form /BBox [0 0 595 842] /Matrix [1 0 0 1 0 -300] /Resources << /Font << /F1 5 0 R >> >>", "BT /F1 8 Tf 72 650 Td (Page one) Tj ET"),
		"<< /Title (Timetable \\(winter\\)) /Author (Harbour \\344ffairs) >>",
	)
}

func TestPDF(t *testing.T) {
	need.PDFs(t)
	testPDF(t, loopback(), "Winter timetable\nTrams leave every six minutes.\nCafés are open.\nPage one\n\n湖边 湖边")
}

// testPDF fetches a PDF of two pages with this text.
func testPDF(t *testing.T, o web.Options, text string) {
	s := serve(t, "application/pdf", twoPages())
	got, failed := fetcher(t, o)(s.URL)
	want := `Title: Timetable (winter)
Address: ` + s.URL + `
Author: Harbour äffairs
Type: application/pdf
Note: 2 pages

` + text
	if failed || got != want {
		t.Errorf("fetch of a PDF: failed %v, got\n%s\nwant\n%s", failed, got, want)
	}
	s = serve(t, "application/octet-stream", twoPages())
	if got, failed := fetcher(t, o)(s.URL, "offset", 8, "max_chars", 500); failed || !strings.Contains(got, "Part: characters 8 to ") {
		t.Errorf("fetch of a part of a PDF that is not called one: failed %v, got %q", failed, got)
	}
	o.MaxBytes = 1024
	if got, failed := fetcher(t, o)(s.URL); !failed || !strings.Contains(got, "too large to be read") {
		t.Errorf("fetch of a large PDF: failed %v, got %q", failed, got)
	}
}

// onePage is a PDF with one content stream.
func onePage(entries, data string) string {
	return pdfFile("", catalog, pages, page, stream(entries, data), "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
}

const (
	catalog = "<< /Type /Catalog /Pages 2 0 R >>"
	pages   = "<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
	page    = "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
)

// bombs are small files that unpack to hundreds of megabytes.
func bombs() map[string]string {
	return map[string]string{
		"bomb":               onePage("/Filter [/FlateDecode /FlateDecode]", deflate(deflateTimes(strings.Repeat("\x00", 1<<20), 256))),
		"bomb in a string":   onePage("/Filter /FlateDecode", deflateTimes(strings.Repeat("(a", 1<<19), 512)),
		"bomb of shown text": onePage("/Filter /FlateDecode", deflateTimes("BT /F1 9 Tf "+strings.Repeat("(abcdefgh) Tj ", 10<<10), 1<<10)),
	}
}

// hostilePDFs end, fill or hang the process that reads them.
func hostilePDFs() map[string]string {
	good := twoPages()
	return map[string]string{
		"only the mark":           "%PDF-1.7",
		"cut":                     good[:len(good)/2],
		"no trailer":              strings.ReplaceAll(good, "trailer", "trailor"),
		"huge numbers":            strings.ReplaceAll(good, "/Length ", "/Length 99999999999999999999"),
		"negative length":         strings.ReplaceAll(good, "/Length ", "/Length -"),
		"deep arrays":             onePage("", strings.Repeat("[", 1<<20)),
		"deep dictionaries":       onePage("", strings.Repeat("<</a", 1<<20)),
		"deep objects":            pdfFile("", strings.Repeat("1 0 obj ", 1<<19)),
		"string without end":      onePage("", "("+strings.Repeat("(", 1<<20)),
		"wide predictor":          onePage("/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 9000000000 >>", deflate("x")),
		"very wide predictor":     onePage("/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 9000000000000000000 >>", deflate("x")),
		"pages in themselves":     pdfFile("", catalog, "<< /Type /Pages /Kids [2 0 R] /Count 5 >>"),
		"parent of itself":        pdfFile("", catalog, pages, "<< /Type /Page /Parent 3 0 R /Contents 4 0 R >>", stream("", "BT ET")),
		"many pages":              pdfFile("", catalog, "<< /Type /Pages /Kids [3 0 R] /Count 999999999 >>", page, stream("", "BT ET")),
		"length of itself":        pdfFile("", catalog, pages, page, "<< /Length 4 0 R >>\nstream\nBT ET\nendstream"),
		"object stream of itself": objectStreamOfItself(),
		"table of itself":         strings.ReplaceAll(good, "/Root 1 0 R", fmt.Sprintf("/Prev %d /Root 1 0 R", strings.Index(good, "xref\n0"))),
		"too few operands":        onePage("", "BT Tf Td Tm Tj TJ ' \" cm Do Q Q Q ET"),
		"strange operands":        onePage("", "BT [1] 2 Tf (a) (b) Td 1 TJ [[[]]] TJ /x Tj << >> ' /F1 1e308 Tf (a) Tj /F1 -0 Tf (b) Tj ET"),
		"drawing of itself": pdfFile("", catalog, pages, "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >> >>", stream("", "/X Do"),
			stream("/Subtype /Form /Resources << /XObject << /X 5 0 R >> >>", strings.Repeat("/X Do ", 1000))),
		"operators without content": onePage("", strings.Repeat("q ", 1<<20)),
		"password":                  strings.ReplaceAll(good, "/Root 1 0 R", "/Encrypt << /Filter /Standard /V 1 /R 2 /O ("+strings.Repeat("o", 32)+") /U ("+strings.Repeat("u", 32)+") /P 0 >> /ID [(x) (y)] /Root 1 0 R"),
	}
}

// objectStreamOfItself has a stream whose own entries are in it.
func objectStreamOfItself() string {
	var b strings.Builder
	b.WriteString("%PDF-1.7\n")
	at := b.Len()
	b.WriteString("1 0 obj\n" + stream("/Type /ObjStm /N 2 0 R /First 8", "2 0 3 2 1 1 ") + "\nendobj\n")
	start := b.Len()
	entry := func(kind byte, offset, index int) string {
		return string([]byte{kind, byte(offset >> 8), byte(offset), byte(index)})
	}
	rows := entry(0, 0, 0) + entry(1, at, 0) + entry(2, 1, 0) + entry(2, 1, 1)
	b.WriteString("4 0 obj\n" + stream("/Type /XRef /Size 4 /W [1 2 1] /Root 2 0 R", rows) + "\nendobj\n")
	fmt.Fprintf(&b, "startxref\n%d\n%%%%EOF\n", start)
	return b.String()
}

func TestHostilePDFs(t *testing.T) {
	need.PDFs(t)
	files := hostilePDFs()
	if need.All() {
		maps.Copy(files, bombs())
	}
	for name, file := range files {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, "application/pdf", file)
			o := loopback().Patient(4 * time.Second)
			o.MaxBytes = 64 << 20
			began := time.Now()
			got, failed := fetcher(t, o)(s.URL)
			if took := time.Since(began); took > watch.Patience {
				t.Errorf("fetch took %v", took)
			}
			if failed && !strings.Contains(got, "use another source") {
				t.Errorf("fetch: got the error %q, want one that says what to do", got)
			}
			t.Logf("%v, failed %v: %.300q", time.Since(began).Round(time.Millisecond), failed, got)
			if name == "password" && !strings.Contains(got, "protected by a password") {
				t.Errorf("fetch: got %q", got)
			}
		})
	}
}

// Any file gives an answer, whatever becomes of the process that reads it.
func FuzzPDF(f *testing.F) {
	for _, file := range hostilePDFs() {
		if len(file) < 10_000 {
			f.Add([]byte(file))
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > 64<<10 {
			return
		}
		s := serve(t, "application/pdf", "%PDF-"+string(file))
		defer s.Close()
		if got, failed := fetcher(t, loopback().Patient(3*time.Second))(s.URL); failed && !strings.Contains(got, "use another source") {
			t.Errorf("fetch: got the error %q, want one that says what to do", got)
		}
	})
}
