package read_test

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// archiveOf is a ZIP file of names and contents.
func archiveOf(t testing.TB, members ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		method := zip.Deflate
		if members[i] == "mimetype" {
			method = zip.Store
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: members[i], Method: method})
		if err == nil {
			_, err = w.Write([]byte(members[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const contentTypes = `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`

func relations(pairs ...string) string {
	var b strings.Builder
	b.WriteString(`<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`)
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, `<Relationship Id="%s" Target="%s"/>`, pairs[i], pairs[i+1])
	}
	return b.String() + `</Relationships>`
}

func docxOf(t testing.TB, body string, more ...string) []byte {
	return archiveOf(t, append([]string{
		"[Content_Types].xml", contentTypes,
		"word/styles.xml", `<w:styles><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style></w:styles>`,
		"word/document.xml", `<?xml version="1.0"?><w:document xmlns:w="x"><w:body>` + body + `</w:body></w:document>`,
	}, more...)...)
}

func xlsxOf(t testing.TB, sheet string, more ...string) []byte {
	return archiveOf(t, append([]string{
		"[Content_Types].xml", contentTypes,
		"xl/workbook.xml", `<workbook xmlns:r="y"><sheets><sheet name="Sales" r:id="r1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", relations("r1", "worksheets/sheet1.xml"),
		"xl/styles.xml", `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="10"/><xf numFmtId="22"/></cellXfs></styleSheet>`,
		"xl/sharedStrings.xml", `<sst><si><t>Region</t></si><si><r><t>No</t></r><r><t>rth | West</t></r><rPh><t>x</t></rPh></si></sst>`,
		"xl/worksheets/sheet1.xml", `<worksheet><sheetData>` + sheet + `</sheetData></worksheet>`,
	}, more...)...)
}

func odfOf(t testing.TB, kind, body string, more ...string) []byte {
	return archiveOf(t, append([]string{
		"mimetype", "application/vnd.oasis.opendocument." + kind,
		"meta.xml", `<m><dc:title>The title</dc:title></m>`,
		"content.xml", `<office:document-content><office:automatic-styles><p>no</p></office:automatic-styles><office:body>` + body + `</office:body></office:document-content>`,
	}, more...)...)
}

// pdfOf is a PDF of objects, the first of which is the catalog.
func pdfOf(trailer string, objects ...string) []byte {
	var b bytes.Buffer
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
	return b.Bytes()
}

func streamOf(entries, data string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", entries, len(data), data)
}

// deflateZeros deflates n zeros without holding them: the memory of this process counts
// as that of the processes that it starts.
func deflateZeros(n int) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	zeros := make([]byte, 1<<16)
	for ; n > 0; n -= len(zeros) {
		_, _ = z.Write(zeros[:min(n, len(zeros))])
	}
	_ = z.Close()
	return b.String()
}

// zeroSheet is a workbook whose sheet has n zeros.
func zeroSheet(t testing.TB, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string]string{
		"[Content_Types].xml": contentTypes, "xl/workbook.xml": `<workbook><sheets><sheet name="S" id="r"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": relations("r", "s.xml"), "xl/s.xml": "",
	} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(text))
		for left := n; name == "xl/s.xml" && left > 0; left -= 1 << 16 {
			_, _ = w.Write(bytes.Repeat([]byte("<a/>"), 1<<14))
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func deflate(data []byte) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write(data)
	_ = z.Close()
	return b.String()
}

// twoPages has a page with a font of its own encoding, a form and a divided word, and one
// with Chinese, a ligature, and text that is turned.
func twoPages() []byte {
	const toUnicode = `begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange 2 beginbfchar <0001> <6E56> <0002> <8FB9> endbfchar 1 beginbfrange <0003> <0004> <FB01> endbfrange endcmap`
	return pdfOf(`/Info 13 0 R`,
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R 7 0 R] /Count 2 /MediaBox [0 0 595 842] /Resources << /Font << /F1 5 0 R /F2 9 0 R >> /XObject << /X1 12 0 R >> >> >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>",
		streamOf("/Filter /FlateDecode", deflate([]byte("BT /F1 12 Tf 72 700 Td (Winter time-) Tj 0 -14 Td (table) Tj 0 -40 Td (Trams leave) Tj 70 0 Td (every) Tj 35 0 Td (six) Tj 22 0 Td (minutes.) Tj -127 -14 Td [(Ca) 20 (f\\001s) -300 (are) -280 (open.)] TJ ET /X1 Do"))),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding << /BaseEncoding /WinAnsiEncoding /Differences [1 /eacute] >> /FirstChar 32 /LastChar 126 /Widths 6 0 R >>",
		"["+strings.Repeat("500 ", 95)+"]",
		"<< /Type /Page /Parent 2 0 R /Contents [8 0 R] >>",
		streamOf("", "BT /F2 10 Tf 1 0 0 1 50 50 Tm <00010002> Tj ET BT /F2 10 Tf 0 1 -1 0 300 300 Tm <00030004> Tj ET\n"),
		"<< /Type /Font /Subtype /Type0 /BaseFont /Song /Encoding /Identity-H /DescendantFonts [10 0 R] /ToUnicode 11 0 R >>",
		"<< /Type /Font /Subtype /CIDFontType2 /DW 1000 /W [1 [1000 1000]] >>",
		streamOf("", toUnicode),
		streamOf("/Type /XObject /Subtype /Form /BBox [0 0 595 842] /Matrix [1 0 0 1 0 -300] /Resources << /Font << /F1 5 0 R >> >>", "BT /F1 8 Tf 72 650 Td (Page one) Tj ET"),
		`<< /Title (Timetable \(winter\)) >>`,
	)
}

// blankPages is a PDF of that many pages.
func blankPages(n int, text string) []byte {
	objects := []string{"<< /Type /Catalog /Pages 2 0 R >>", "", streamOf("", text), "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"}
	var kids strings.Builder
	for i := range n {
		fmt.Fprintf(&kids, "%d 0 R ", i+5)
		objects = append(objects, "<< /Type /Page /Parent 2 0 R /Contents 3 0 R /Resources << /Font << /F1 4 0 R >> >> >>")
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids.String(), n)
	return pdfOf("", objects...)
}

// scanned is a PDF whose page is a picture of 40 x 20 pixels.
func scanned() []byte {
	return pdfOf("", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /Rotate 90 /Contents 4 0 R /Resources << /XObject << /I 5 0 R >> >> >>", streamOf("", "q 595 0 0 842 0 0 cm /I Do Q"),
		streamOf("/Type /XObject /Subtype /Image /Width 40 /Height 20 /BitsPerComponent 8 /ColorSpace /DeviceRGB /Filter /FlateDecode", deflate(make([]byte, 40*20*3))))
}

// photo is a picture whose upper left corner is red.
func photo(w, h int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.RGBA{250, 250, 250, 255}
			if x < w/2 && y < h/2 {
				c = color.RGBA{250, 0, 0, 255}
			}
			m.SetRGBA(x, y, c)
		}
	}
	return m
}

func encoded(t testing.TB, kind string, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch kind {
	case "png":
		err = png.Encode(&b, m)
	case "jpeg":
		err = jpeg.Encode(&b, m, nil)
	case "gif":
		err = gif.Encode(&b, m, nil)
	case "bmp":
		err = bmp.Encode(&b, m)
	case "tiff":
		err = tiff.Encode(&b, m, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// turned is a JPEG with an EXIF orientation and a place in it.
func turned(t testing.TB, m image.Image, orientation byte) []byte {
	plain := encoded(t, "jpeg", m)
	exif := "Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00" + string(orientation) + "\x00\x00\x00\x00\x00\x00GPS 52.5 13.4"
	head := binary.BigEndian.AppendUint16([]byte("\xff\xd8\xff\xe1"), uint16(len(exif)+2))
	return append(append(head, exif...), plain[2:]...)
}

// hugePNG has a head of that size, and rows of zeros as far as data goes.
func hugePNG(w, h uint32, colors byte, data string) []byte {
	chunk := func(b []byte, kind, data string) []byte {
		b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
		b = append(append(b, kind...), data...)
		return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE([]byte(kind+data)))
	}
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)
	out := chunk([]byte("\x89PNG\r\n\x1a\n"), "IHDR", string(append(head, 8, colors, 0, 0, 0)))
	return chunk(chunk(out, "IDAT", data), "IEND", "")
}

// stillWebP is a picture of 75 x 100 pixels, and movingWebP the same in an animation.
func stillWebP(t testing.TB) []byte {
	data, err := os.ReadFile(filepath.Join("testdata", "still.webp"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func movingWebP(t testing.TB) []byte {
	riff := func(id, data string) string {
		if len(data)%2 != 0 {
			data += "\x00"
		}
		return id + string(binary.LittleEndian.AppendUint32(nil, uint32(len(data)))) + data
	}
	frame := "\x00\x00\x00\x00\x00\x00\x4a\x00\x00\x63\x00\x00\x64\x00\x00\x00" + string(stillWebP(t)[12:])
	return []byte(riff("RIFF", "WEBP"+riff("VP8X", "\x02\x00\x00\x00\x4a\x00\x00\x63\x00\x00")+riff("ANIM", "\x00\x00\x00\x00\x00\x00")+riff("ANMF", frame)))
}

const message = "From: =?utf-8?q?Ann_M=C3=BCller?= <a@example.com>\r\nTo: b@example.com\r\nDate: Mon, 5 Jan 2026 10:00:00 +0000\r\nSubject: =?koi8-r?b?8NLJ18XU?=\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n" +
	"--x\r\nContent-Type: multipart/alternative; boundary=y\r\n\r\n--y\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nCaf=E9 at nine.\r\n--y\r\nContent-Type: text/html\r\n\r\n<p>Other</p>\r\n--y--\r\n" +
	"--x\r\nContent-Type: application/pdf; name=\"offer.pdf\"\r\nContent-Disposition: attachment\r\n\r\n%PDF\r\n--x--\r\n"

// sample is a good file and what is read from it.
type sample struct {
	file string // its name
	data []byte
	kind string
	want string // "[name] text" of the parts
	doc  string // title, total and notes
}

func samples(t testing.TB) []sample {
	return []sample{
		{"a.txt", []byte("one\r\ntwo\n"), "text", "[lines 1-2] one\ntwo", " 0 []"},
		{"a.go", []byte("package a\n"), "source code", "[line 1] package a", " 0 []"},
		{"a.md", []byte("<h1>Hi</h1>\n\n- a\n"), "Markdown", "[lines 1-3] <h1>Hi</h1>\n\n- a", " 0 []"},
		{"a.json", []byte(`{"a": [1]}`), "JSON", `[line 1] {"a": [1]}`, " 0 []"},
		{"a.csv", []byte("a;b|c\n1;\"x\ny\"\n\n;3\n"), "CSV table", "[rows 1-3] |  | A | B |\n| --- | --- | --- |\n| 1 | a | b\\|c |\n| 2 | 1 | x y |\n| 3 |  | 3 |", " 0 []"},
		{"a.tsv", []byte("a\tb\n1\t2\n"), "TSV table", "[rows 1-2] |  | A | B |\n| --- | --- | --- |\n| 1 | a | b |\n| 2 | 1 | 2 |", " 0 []"},
		{
			"a.html", []byte("<!doctype html><title>Page</title><h1>Head</h1><script>no()</script><p>Text <b>bold</b><table><tr><th>A<th>B<tr><td>1<td>2</table>"), "HTML page",
			"[lines 1-7] # Head\n\nText **bold**\n\n| A | B |\n|---|---|\n| 1 | 2 |", "Page 0 []",
		},
		{"a.eml", []byte(message), "e-mail", "[head] From: Ann Müller <a@example.com>\nTo: b@example.com\nDate: Mon, 5 Jan 2026 10:00:00 +0000\nSubject: Привет\n[line 1] Café at nine.\n[attachments] - offer.pdf (application/pdf)", "Привет 0 [attachments]"},
		{
			"lists.docx", docxOf(t, `<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>a</w:t></w:r></w:p><w:p><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>b</w:t></w:r></w:p><w:p><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>c</w:t></w:r></w:p><w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>d</w:t></w:r></w:p><w:p><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>e</w:t></w:r></w:p><w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="2"/></w:numPr></w:pPr><w:r><w:t>f</w:t></w:r></w:p><w:p><w:pPr><w:numPr><w:ilvl w:val="99"/><w:numId w:val="9"/></w:numPr></w:pPr><w:r><w:t>g</w:t></w:r></w:p>`,
				"word/numbering.xml", `<w:numbering><w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"><w:start w:val="3"/><w:numFmt w:val="decimal"/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="lowerLetter"/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="8"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="7"/><w:lvlOverride><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl></w:lvlOverride></w:num><w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num></w:numbering>`),
			"Word document", "[paragraphs 1-7] 3. a\n  1. b\n  2. c\n4. d\n  1. e\n- f\n                - g", " 0 []",
		},
		{
			"a.docx", docxOf(t, `<w:p><w:pPr><w:pStyle w:val="berschrift1"/></w:pPr><w:r><w:t>Head</w:t></w:r></w:p><w:p><w:r><w:t>One </w:t></w:r><w:del><w:r><w:delText>gone</w:delText><w:t>gone</w:t></w:r></w:del><w:r><w:t>two</w:t><w:footnoteReference w:id="2"/></w:r></w:p><w:p><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>item</w:t></w:r></w:p>
<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr><w:p><w:r><w:t>wide</w:t></w:r></w:p></w:tc></w:tr><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p><w:p><w:r><w:t>b|</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>c</w:t></w:r></w:p></w:tc></w:tr></w:tbl>`,
				"word/footnotes.xml", `<w:footnotes><w:footnote w:type="separator"><w:p><w:r><w:t>no</w:t></w:r></w:p></w:footnote><w:footnote w:id="2"><w:p><w:r><w:t>Note.</w:t></w:r></w:p></w:footnote></w:footnotes>`,
				"word/vbaProject.bin", "macro", "docProps/core.xml", `<p><dc:title>The title</dc:title></p>`), "Word document",
			"[paragraphs 1-5] # Head\n\n\nOne two[^2]\n  - item\n\n| wide |  |\n| --- | --- |\n| a b\\| | c |\n\n\n[^2]: Note.", "The title 0 [macros]",
		},
		{
			"a.xlsx", xlsxOf(t, `<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>Day</t></is></c></row><row r="3" hidden="1"><c r="A3" t="s"><v>1</v></c><c r="B3"><v>0.10000000000000001</v></c><c r="C3" s="1"><v>46027</v></c></row><row r="4"><c r="A4" s="2"><f>B3*2</f><v>0.255</v></c><c r="B4"><f>WEBSERVICE("http://x")</f></c><c r="C4" s="3"><v>46027.5</v></c><c r="D4" t="b"><v>1</v></c><c r="E4" t="str"><f>SUM(B3:B4)</f></c><c r="F4" t="str"><f>T(B3)</f><v></v></c><c r="G4" t="str"><f>T(A3)</f><v>North</v></c></row>`), "Excel workbook",
			"[sheet Sales, rows 1-3] |  | A | B | C |\n| --- | --- | --- | --- |\n| 1 | Region |  | Day |\n| 3 | North \\| West | 0.1 | 2026-01-05 |\n[sheet Sales, row 4] |  | A | B | C | D | E | F | G |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n| 4 | 25.5% | =WEBSERVICE(\"http://x\") | 2026-01-05 12:00:00 | TRUE | =SUM(B3:B4) |  | North |", " 1 [hidden formulas uncomputed]",
		},
		{
			"a.pptx", archiveOf(t, "[Content_Types].xml", contentTypes, "ppt/presentation.xml", `<p:presentation xmlns:r="y"><p:sldIdLst><p:sldId id="256" r:id="r2"/><p:sldId id="257" r:id="r1"/></p:sldIdLst></p:presentation>`,
				"ppt/_rels/presentation.xml.rels", relations("r1", "slides/slide1.xml", "r2", "slides/slide2.xml"),
				"ppt/slides/slide1.xml", `<p:sld show="0"><p:sp><a:p><a:r><a:t>Last</a:t></a:r></a:p></p:sp></p:sld>`,
				"ppt/slides/slide2.xml", `<p:sld><p:sp><p:nvPr><p:ph type="title"/></p:nvPr><a:p><a:r><a:t>First</a:t></a:r></a:p></p:sp><p:sp><a:p><a:r><a:t>point</a:t></a:r></a:p></p:sp></p:sld>`,
				"ppt/slides/_rels/slide2.xml.rels", relations("n", "../notesSlides/notesSlide1.xml"),
				"ppt/notesSlides/notesSlide1.xml", `<p:notes><p:sp><p:nvPr><p:ph type="body"/></p:nvPr><a:p><a:r><a:t>Say hello.</a:t></a:r></a:p></p:sp><p:sp><p:nvPr><p:ph type="sldNum"/></p:nvPr><a:p><a:r><a:t>7</a:t></a:r></a:p></p:sp></p:notes>`), "PowerPoint presentation",
			"[slide 1] ## First\n\n\npoint\n\nNotes of the speaker: Say hello.\n[slide 2] Last", " 2 [hidden]",
		},
		{
			"lists.odt", odfOf(t, "text", `<text:list text:style-name="L1"><text:list-item><text:p>a</text:p><text:list><text:list-item><text:p>b</text:p></text:list-item><text:list-item><text:p>c</text:p></text:list-item></text:list></text:list-item><text:list-item><text:p>d</text:p></text:list-item></text:list><text:p>between</text:p><text:list text:style-name="L1" text:continue-numbering="true"><text:list-item><text:p>e</text:p></text:list-item></text:list><text:list text:style-name="L2"><text:list-item><text:p>f</text:p></text:list-item></text:list>`, "styles.xml", `<s><text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1" text:start-value="3"/><text:list-level-style-number text:level="2" style:num-format="a"/></text:list-style><text:list-style style:name="L2"><text:list-level-style-bullet text:level="1"/></text:list-style></s>`), "OpenDocument text",
			"[paragraphs 1-7] 3. a\n  1. b\n  2. c\n4. d\n\nbetween\n5. e\n- f", "The title 0 []",
		},
		{
			"a.odt", odfOf(t, "text", `<text:h text:outline-level="2">Head</text:h><text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:p>One<text:s text:c="2"/>two<text:note><text:note-body><text:p>Note.</text:p></text:note-body></text:note></text:p><text:list><text:list-item><text:p>item</text:p></text:list-item></text:list><table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></table:table>`), "OpenDocument text",
			"[paragraphs 1-4] ## Head\n\n\nOne  two (Note. )\n- item\n\n| a | b |\n| --- | --- |", "The title 0 []",
		},
		{
			"a.ods", odfOf(t, "spreadsheet", `<table:table table:name="Q1"><table:table-row table:number-rows-repeated="2"><table:table-cell office:value="1.5" table:formula="of:=A2"><text:p>1.50</text:p></table:table-cell><table:table-cell table:number-columns-repeated="16000"/></table:table-row><table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table>`), "OpenDocument spreadsheet",
			"[sheet Q1, rows 1-2] |  | A |\n| --- | --- |\n| 1 | 1.50 |\n| 2 | 1.50 |", "The title 1 [formulas]",
		},
		{
			"a.odp", odfOf(t, "presentation", `<draw:page><text:p>One</text:p></draw:page><draw:page><text:p>Two</text:p></draw:page>`), "OpenDocument presentation",
			"[slide 1, paragraph 1] One\n[slide 2, paragraph 1] Two", "The title 2 []",
		},
		{
			"a.epub", archiveOf(t, "mimetype", "application/epub+zip", "META-INF/container.xml", `<container><rootfile full-path="b/c.opf"/></container>`,
				"b/c.opf", `<package><dc:title>Book</dc:title><item id="1" href="one%20x.xhtml"/><itemref idref="1"/><itemref idref="2"/></package>`, "b/one x.xhtml", `<?xml version="1.0"?><html><body><h1>Chapter</h1><p>Text.</p></body></html>`), "EPUB book",
			"[chapter 1, lines 1-3] # Chapter\n\nText.", "Book 2 [damaged]",
		},
		{
			"a.zip", archiveOf(t, "d/a.txt", "hello", "../../etc/passwd", "x", "in.zip", string(archiveOf(t, "b.txt", "deep"))), "ZIP archive",
			"[members 1-3] |  | member | bytes |\n| --- | --- | --- |\n| 1 | d/a.txt | 5 |\n| 2 | ../../etc/passwd | 1 |\n| 3 | in.zip | 134 |", " 3 []",
		},
		{"a.pdf", twoPages(), "PDF", "[page 1] Winter timetable\nTrams leave every six minutes.\nCafés are open.\nPage one\n[page 2] 湖边\nfifl", "Timetable (winter) 2 []"},
		{"scan.pdf", scanned(), "PDF", "[page 1] (picture 1568 x 1212)", " 1 [scan]"},
		{"a.png", encoded(t, "png", photo(40, 20)), "picture", "[picture] (picture 40 x 20)", " 1 []"},
	}
}
