// Package write makes files out of what a language model writes: documents from
// Markdown, sheets from tables, and charts from numbers. It runs nothing of what
// it is given, reads no file but fonts, and opens no connection. The same input
// and the same fonts give the same bytes.
//
// After an error the writer may hold the beginning of a file: throw it away.
package write

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
)

// Kinds of file, which are also their extensions.
const (
	Markdown = "md"
	Text     = "txt"
	HTML     = "html"
	DOCX     = "docx"
	PDF      = "pdf"
	XLSX     = "xlsx"
	CSV      = "csv"
	PNG      = "png"
	SVG      = "svg"
)

// Limits of what is made and of what it is made from.
const (
	MaxBytes      = 20 << 20   // of a made file
	MaxMarkdown   = 1 << 20    // bytes of a document's Markdown
	MaxRows       = 1_048_576  // of a sheet, its header among them
	MaxColumns    = 200        // of a sheet, and of a table in a document
	MaxCells      = 5_000_000  // of all sheets of a file
	MaxTableCells = 50_000     // of all tables of a document
	MaxSheets     = 50         // of a file
	MaxCell       = 32_767     // characters of a cell
	MaxSeries     = 12         // of a chart
	MaxPoints     = 20_000     // of all series of a chart
	MaxBars       = 60         // labels of a chart with bars
	MaxSlices     = 12         // of a pie
	MaxPicture    = 40_000_000 // pixels of a picture in a document
	MaxPictures   = 100        // in a document
	maxJSONLevels = 100
)

// Options say how a file is made. The zero value is ready for use.
type Options struct {
	Title  string // for the file's properties; empty: the first heading
	Author string
	// Pictures returns the bytes of a picture that a document's Markdown names,
	// such as "chart.png". If nil, a document has no pictures.
	Pictures func(name string) ([]byte, error)
	// Fonts are folders with .ttf files, searched before the system's.
	Fonts []string
	// Language is that of the text, such as "en-US". It decides the size of paper:
	// Letter in the countries that use it, A4 elsewhere and without a country.
	Language string
	Now      time.Time // the time of making that is noted in the file
}

// Document writes a document of a kind: md, txt, html, docx or pdf. Markdown is
// CommonMark with tables, strikethrough, task lists, bare links and footnotes. As
// md and txt the text goes out as it came in.
func Document(w io.Writer, kind, markdown string, o Options) error {
	if len(markdown) > MaxMarkdown {
		return &TooLargeError{What: "bytes of text", Limit: MaxMarkdown, Got: len(markdown)}
	}
	w = &limited{w: w, left: MaxBytes}
	writers := map[string]func(io.Writer, document, Options) error{HTML: writeHTML, DOCX: writeDOCX, PDF: writePDF}
	switch write, known := writers[kind]; {
	case kind == Markdown || kind == Text:
		text := strings.TrimRight(clean(markdown), "\n")
		_, err := io.WriteString(w, text+"\n")
		return err
	case known:
		d, err := parse(markdown)
		if err != nil {
			return err
		}
		return write(w, d, o)
	}
	return &KindError{Kind: kind, Known: []string{Markdown, Text, HTML, DOCX, PDF}}
}

// TypeOf is the MIME type of a kind of file.
func TypeOf(kind string) string {
	const openXML = "application/vnd.openxmlformats-officedocument."
	return map[string]string{
		DOCX: openXML + "wordprocessingml.document", XLSX: openXML + "spreadsheetml.sheet", PDF: "application/pdf",
		CSV: "text/csv; charset=utf-8", Markdown: "text/markdown; charset=utf-8", Text: "text/plain; charset=utf-8",
		HTML: "text/html; charset=utf-8", "json": "application/json", PNG: "image/png", SVG: "image/svg+xml",
	}[kind]
}

// JSON writes JSON with indents. Text that is not JSON is a *TableError.
func JSON(w io.Writer, text []byte) error {
	level, deepest := 0, 0
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		t, err := decoder.Token()
		if err != nil {
			break
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			level++
			deepest = max(deepest, level)
		case json.Delim('}'), json.Delim(']'):
			level--
		}
		if deepest > maxJSONLevels { // indents would grow with the square of it
			return &TooLargeError{What: "levels of JSON", Limit: maxJSONLevels, Got: deepest}
		}
	}
	if len(text) > MaxBytes {
		return &TooLargeError{What: "bytes", Limit: MaxBytes, Got: len(text)}
	}
	var out bytes.Buffer
	if err := json.Indent(&out, bytes.TrimSpace(text), "", "  "); err != nil {
		return &TableError{Where: "JSON", Reason: err.Error()}
	}
	out.WriteByte('\n')
	if _, err := (&limited{w: w, left: MaxBytes}).Write(out.Bytes()); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return nil
}

// clean makes text valid UTF-8 with plain line ends, without characters that no
// file may hold.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.Contains(text, "\r") {
		text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || r == '\uFFFE' || r == '\uFFFF' || r == '\uFEFF' {
			return -1
		}
		return r
	}, text)
}

// limited refuses what is more than left bytes.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		return 0, &TooLargeError{What: "bytes of the made file", Limit: MaxBytes}
	}
	l.left -= len(p)
	return l.w.Write(p)
}
