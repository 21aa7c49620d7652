package read_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"

	"legwork/files/read"
	"legwork/internal/test/need"
)

// write puts a file into a folder of its own.
func write(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stored")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// parts reads a file and returns "[name] text" of its parts.
func parts(t testing.TB, path, name string, l read.Limits) (string, read.Document, error) {
	t.Helper()
	if f, err := os.Open(path); err == nil {
		head, _ := io.ReadAll(io.LimitReader(f, 4<<10)) // of a file that exists
		_ = f.Close()
		if bytes.Contains(head, []byte("%PDF-")) {
			need.PDFs(t)
		}
	}
	var all []string
	d, err := testReader.File(t.Context(), path, name, l, func(p read.Part) error {
		text := p.Text
		if p.Picture != nil {
			text += fmt.Sprintf("(picture %d x %d)", p.Picture.Width, p.Picture.Height)
		}
		all = append(all, "["+p.Name+"] "+text)
		return nil
	})
	return strings.Join(all, "\n"), d, err
}

func TestFile(t *testing.T) {
	for _, s := range samples(t) {
		t.Run(s.file, func(t *testing.T) {
			t.Parallel()
			got, d, err := parts(t, write(t, s.data), s.file, read.Limits{})
			if err != nil {
				t.Fatalf("reading %s: %v", s.file, err)
			}
			if got != s.want {
				t.Errorf("parts of %s:\n%s\nwant:\n%s", s.file, got, s.want)
			}
			if doc := fmt.Sprintf("%s %d %v", d.Title, d.Total, d.Notes); doc != s.doc || d.Kind != s.kind || d.Cut {
				t.Errorf("%s is a %s with %q, cut %v; want a %s with %q", s.file, d.Kind, doc, d.Cut, s.kind, s.doc)
			}
			// Content decides, whatever the name says.
			if again, d, err := parts(t, write(t, s.data), "wrong.exe", read.Limits{}); strings.Contains("a.docx a.xlsx a.pptx a.odt a.epub a.zip a.pdf a.png a.eml a.html", s.file) && (again != s.want || err != nil) {
				t.Errorf("%s under a wrong name is a %s: %q, %v", s.file, d.Kind, again, err)
			}
		})
	}
}

func TestCharsets(t *testing.T) {
	const russian = "Съешь же ещё этих мягких французских булок, да выпей чаю.\n"
	for name, test := range map[string]struct {
		e    encoding.Encoding
		text string
	}{
		"utf-8 with a mark":     {unicode.UTF8BOM, russian},
		"utf-16 with a mark":    {unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), russian},
		"utf-16be with a mark":  {unicode.UTF16(unicode.BigEndian, unicode.UseBOM), russian},
		"utf-16 without a mark": {unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), russian},
		"utf-16be without":      {unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "A plain English line, and another.\n"},
		"windows-1251":          {charmap.Windows1251, russian},
		"koi8-r":                {charmap.KOI8R, russian},
		"windows-1252":          {charmap.Windows1252, "Übermäßig süße Äpfel kosten 3 € im Café.\n"},
		"windows-1250":          {charmap.Windows1250, "Zażółć gęślą jaźń, proszę.\n"},
		"windows-1253":          {charmap.Windows1253, "Μπορώ να φάω σπασμένα γυαλιά χωρίς να πάθω τίποτα.\n"},
		"shift_jis":             {japanese.ShiftJIS, "私はガラスを食べられます。それは私を傷つけません。\n"},
		"euc-jp":                {japanese.EUCJP, "私はガラスを食べられます。それは私を傷つけません。\n"},
		"gbk":                   {simplifiedchinese.GBK, "我能吞下玻璃而不伤身体。这是一个中国的句子。\n"},
		"big5":                  {traditionalchinese.Big5, "我能吞下玻璃而不傷身體。這是一個中國的句子。\n"},
		"euc-kr":                {korean.EUCKR, "나는 유리를 먹을 수 있어요. 그래도 아프지 않아요.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := test.e.NewEncoder().String(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if got, d, err := parts(t, write(t, []byte(data)), "a.txt", read.Limits{}); got != "[line 1] "+strings.TrimSpace(test.text) || err != nil {
				t.Errorf("got %q as %s, %v; want %q", got, d.Type, err, test.text)
			}
		})
	}
}

func TestTypeOf(t *testing.T) {
	for _, test := range []struct{ head, name, want string }{
		{"", "a.txt", "application/octet-stream"},
		{"plain, with commas\nand, lines\n", "a", "text/plain"},
		{"a,b\n1,2\n", "a.CSV", "text/csv"},
		{"<!DOCTYPE html><p>x", "a.csv", "text/html"},
		{"<h1>Read me</h1>", "README.md", "text/markdown"},
		{"package x", `C:\x\a.go`, "text/x-go"},
		{"%PDF-1.4\n", "a.jpg", "application/pdf"},
		{"\x89PNG\r\n\x1a\n", "a.txt", "image/png"},
		{"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", "a.jpg", "image/heic"},
		{"\x00\x01\x02\x03\x04", "a.txt", "application/octet-stream"},
		{"OggS" + strings.Repeat("\x00", 24) + "OpusHead\x01\x02", "voice", "audio/ogg"},
	} {
		if got := read.TypeOf([]byte(test.head), test.name); got != test.want {
			t.Errorf("TypeOf(%q, %q) is %s, want %s", test.head, test.name, got, test.want)
		}
	}
}

// TestLimits: a document is cut at a limit, and says so.
func TestLimits(t *testing.T) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintln(&text, "line", i)
	}
	path := write(t, []byte(text.String()))
	got, d, err := parts(t, path, "a.txt", read.Limits{Parts: 2})
	if err != nil || !d.Cut || !strings.Contains(got, "[lines 201-400]") || strings.Contains(got, "[lines 401") {
		t.Errorf("with two parts: cut %v, %v, got %.100q", d.Cut, err, got)
	}
	if got, d, err = parts(t, path, "a.txt", read.Limits{Text: 3000}); err != nil || !d.Cut || len(got) > 3100 {
		t.Errorf("with 3,000 bytes: cut %v, %v, got %d bytes", d.Cut, err, len(got))
	}
	stop := errors.New("stop")
	if _, err := testReader.File(t.Context(), path, "a.txt", read.Limits{}, func(read.Part) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of the caller comes back as %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := testReader.File(ended, path, "a.txt", read.Limits{}, func(read.Part) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

func TestMember(t *testing.T) {
	inner := archiveOf(t, "b.txt", "deep")
	path := write(t, archiveOf(t, "../up.txt", "up", "in.zip", string(inner), "zeros", strings.Repeat("\x00", 1<<20)))
	for name, want := range map[string]string{"../up.txt": "up", "in.zip": string(inner)} {
		var b bytes.Buffer
		if err := read.Member(t.Context(), path, name, read.Limits{}, &b); err != nil || b.String() != want {
			t.Errorf("member %s: %d bytes, %v; want %d", name, b.Len(), err, len(want))
		}
	}
	var b bytes.Buffer
	if err := read.Member(t.Context(), path, "none", read.Limits{}, &b); !errors.Is(err, read.ErrNoMember) {
		t.Errorf("a member that is not there: %v", err)
	}
	if err := read.Member(t.Context(), path, "zeros", read.Limits{Bytes: 64 << 10}, &b); !errors.Is(err, read.ErrUnpacked) {
		t.Errorf("a member that is too large: %v", err)
	}
}

// TestFilesOfPrograms: files of LibreOffice, Chromium, groff and Ghostscript.
func TestFilesOfPrograms(t *testing.T) {
	for name, want := range map[string]string{
		"doc.docx":   "[paragraphs 1-9] # Quarterly report\n\n\nCafé naïve – “quotes” первый 第一章 office fluffy efficient.\n\n## Figures\n\n\n| Region | Sales |\n| --- | --- |\n| North \\| West | 1,234.50 |\n\n- one\n- two\n  - deep\n1. first\n\nEnd.",
		"doc.odt":    "[paragraphs 1-9] # Quarterly report\n\n\nCafé naïve – “quotes” первый 第一章 office fluffy efficient.\n\n## Figures\n\n\n| Region | Sales |\n| --- | --- |\n| North \\| West | 1,234.50 |\n\n- one\n- two\n  - deep\n1. first\n\nEnd.",
		"groff.pdf":  "[page 1] X(1) General Commands Manual X(1)\nNAME\nfoo - bar efficient office\nText of the manual page goes here.\n1",
		"aes256.pdf": "[page 1] X(1) General Commands Manual X(1)\nNAME\nfoo - bar efficient office\nText of the manual page goes here.\n1",
		"scan.pdf":   "[page 1] (picture 1110 x 1568)\n[page 2] (picture 1110 x 1568)",
	} {
		got, _, err := parts(t, filepath.Join("testdata", name), name, read.Limits{})
		if got != want || err != nil {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", name, err, got, want)
		}
	}
}

// TestSameWordsAsPoppler: pdftotext finds the same words, whatever their order.
func TestSameWordsAsPoppler(t *testing.T) {
	pdftotext := need.Command(t, "pdftotext", "apt-get install poppler-utils")
	count := func(text string) map[string]int {
		words := map[string]int{}
		for _, w := range strings.Fields(text) {
			words[w]++
		}
		return words
	}
	for _, name := range []string{"chrome.pdf", "groff.pdf", "aes256.pdf"} {
		path := filepath.Join("testdata", name)
		out, err := exec.CommandContext(t.Context(), pdftotext, path, "-").Output()
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := parts(t, path, name, read.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		got = strings.Replace(got, "her\ne", "here", 1) // PDFium ends a line within this word, which is turned
		ours, theirs := count(strings.ReplaceAll(got, "[page 1]", "")), count(string(out))
		for w, n := range theirs {
			if ours[w] != n {
				t.Errorf("%s has %q %d times, want %d as pdftotext finds", name, w, ours[w], n)
			}
		}
		if len(ours) != len(theirs) {
			t.Errorf("%s has %d words, want %d as pdftotext finds", name, len(ours), len(theirs))
		}
	}
}

// TestNewFilesOfSoffice: what LibreOffice makes today.
func TestNewFilesOfSoffice(t *testing.T) {
	need.Check(t)
	soffice := need.Command(t, "soffice", "apt-get install libreoffice-writer-nogui libreoffice-calc-nogui")
	dir := t.TempDir()
	for _, test := range []struct{ from, data, filter, to, want string }{
		{"a.csv", "Name,Day,Share\nAnn,2026-01-05,50%\n", "xlsx", "a.xlsx", "| 2 | Ann | 2026-01-05 | 50% |"},
		{"b.csv", "Name,Day,Share\nAnn,2026-01-05,50%\n", "ods", "b.ods", "| 2 | Ann | 2026-01-05 | 50% |"},
		{"c.html", "<h1>Head</h1><p>Привет, 世界</p>", "odt:writer8", "c.odt", "# Head\n\n\nПривет, 世界"},
		{"c.odt", "", "docx:MS Word 2007 XML", "c.docx", "# Head\n\n\nПривет, 世界"},
		{"c.odt", "", "pdf:writer_pdf_Export", "c.pdf", "Head\n"},
	} {
		if test.data != "" {
			if err := os.WriteFile(filepath.Join(dir, test.from), []byte(test.data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c := exec.CommandContext(t.Context(), soffice, "--headless", "-env:UserInstallation=file://"+filepath.Join(dir, "profile"), "--convert-to", test.filter, test.from)
		if strings.HasSuffix(test.from, ".html") {
			c.Args = append(c.Args, "--infilter=HTML (StarWriter)") // without it, a page of the web
		}
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("making %s: %v\n%s", test.to, err, out)
		}
		if got, _, err := parts(t, filepath.Join(dir, test.to), test.to, read.Limits{}); err != nil || !strings.Contains(got, test.want) {
			t.Errorf("%s: %v, got\n%s\nwant in it %q", test.to, err, got, test.want)
		}
	}
}

// BenchmarkFirstPage: the time to the first page of a PDF of 500.
func BenchmarkFirstPage(b *testing.B) {
	path := write(b, blankPages(500, "BT /F1 12 Tf 72 700 Td "+strings.Repeat("(A line of a page of a report, as long as they are.) Tj 0 -14 Td ", 50)+"ET"))
	enough := errors.New("enough")
	for b.Loop() {
		if _, err := testReader.File(b.Context(), path, "a.pdf", read.Limits{}, func(read.Part) error { return enough }); !errors.Is(err, enough) {
			b.Fatal(err)
		}
	}
}

// BenchmarkAllPages: the time to the last of them.
func BenchmarkAllPages(b *testing.B) {
	path := write(b, blankPages(500, "BT /F1 12 Tf 72 700 Td "+strings.Repeat("(A line of a page of a report, as long as they are.) Tj 0 -14 Td ", 50)+"ET"))
	for b.Loop() {
		if _, err := testReader.File(b.Context(), path, "a.pdf", read.Limits{}, func(read.Part) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
