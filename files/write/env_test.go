package write_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"legwork/files/write"
)

// options are the same for all tests; its only picture is chart.png.
func options(t testing.TB) write.Options {
	t.Helper()
	return write.Options{
		Author: "legwork", Now: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC),
		Pictures: func(name string) ([]byte, error) {
			if name != "chart.png" {
				return nil, fs.ErrNotExist
			}
			return costChart(t), nil
		},
	}
}

const costOverYears = `{"kind": "line", "title": "Cost over ten years", "unit": "EUR", "labels": ["0", "2", "4", "6", "8", "10"], "series": [
	{"name": "North Heating", "values": [17400, 20004, 22608, 25212, 27816, 30420]},
	{"name": "Wärme & Söhne", "values": [19850, 22310, 24770, 27230, 29690, 32150]},
	{"name": "Gas boiler", "values": [6000, 12400, 18900, 25600, 32400, 39500]}]}`

func costChart(t testing.TB) []byte {
	t.Helper()
	return drawn(t, "png", costOverYears, write.Options{})
}

func drawn(t testing.TB, kind, text string, o write.Options) []byte {
	t.Helper()
	var c write.Chart
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := write.Draw(&out, kind, c, o); err != nil {
		t.Fatalf("drawing %s as %s: %v", text, kind, err)
	}
	return out.Bytes()
}

func document(t testing.TB, kind, markdown string, o write.Options) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := write.Document(&out, kind, markdown, o); err != nil {
		t.Fatalf("making %s of %.80q: %v", kind, markdown, err)
	}
	return out.Bytes()
}

func spreadsheet(t testing.TB, kind, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := write.Spreadsheet(&out, kind, workbook(t, text), options(t)); err != nil {
		t.Fatalf("making %s of %.80q: %v", kind, text, err)
	}
	return out.Bytes()
}

func workbook(t testing.TB, text string) write.Workbook {
	t.Helper()
	var b write.Workbook
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		t.Fatal(err)
	}
	return b
}

func report(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("testdata/report.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// latin is the report without the scripts that need fonts of the system.
func latin(t testing.TB) string {
	t.Helper()
	text, _, _ := strings.Cut(report(t), "中文")
	return text + "\n[^files]: The three PDFs of this morning, and `prices.xlsx`.\n"
}

// parts returns the files of a ZIP archive; all XML in it must be well formed.
func parts(t testing.TB, data []byte) map[string]string {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name] = string(text)
		if strings.HasSuffix(f.Name, ".xml") || strings.HasSuffix(f.Name, ".rels") {
			for decoder := xml.NewDecoder(bytes.NewReader(text)); ; {
				if _, err := decoder.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%s is not valid XML: %v", f.Name, err)
				}
			}
		}
	}
	return all
}

var (
	docxBreak = regexp.MustCompile(`</w:p>|<w:br/>`)
	xmlTag    = regexp.MustCompile(`<[^>]*>`)
)

// docxText is the text of a part of a DOCX.
func docxText(part string) string {
	text := xmlTag.ReplaceAllString(docxBreak.ReplaceAllString(part, "\n"), "")
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&amp;", "&").Replace(text)
}

// words is text with single spaces.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

func picture(t testing.TB, width, height int) []byte {
	t.Helper()
	img := image.NewRGBA64(image.Rect(0, 0, width, height)) // 16 bits, which not all can read
	img.Set(0, 0, color.White)
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
