package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/ledongthuc/pdf"
)

// ReaderCommand is the argument that makes legwork run ReadPDF.
const ReaderCommand = "read-pdf"

const (
	maxPDFStack = 64 << 20
	memoryCheck = 5 * time.Millisecond
)

// ReadPDF reads a PDF from in and writes its text to out, for machines without
// pdftotext. It must be the only thing that a process does: when the file takes
// too much time or memory, the process ends by a panic.
func ReadPDF(in io.Reader, out io.Writer) error {
	debug.SetMaxStack(maxPDFStack)
	defer enforceLimits()()
	file, err := io.ReadAll(io.LimitReader(in, maxBytesLimit))
	if err != nil {
		return fmt.Errorf("reading the PDF: %w", err)
	}
	if err := json.NewEncoder(out).Encode(plainPDF(file)); err != nil {
		return fmt.Errorf("writing the text of the PDF: %w", err)
	}
	return nil
}

// enforceLimits ends the process when it takes too much time or memory, until stop is
// called.
func enforceLimits() (stop func()) {
	ticker, over, end, ended := time.NewTicker(memoryCheck), time.After(readerTime), make(chan struct{}), make(chan struct{})
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	go func() {
		defer close(ended)
		defer ticker.Stop()
		for {
			select {
			case <-end:
				return
			case <-over:
				panic("the PDF takes too long to read")
			case <-ticker.C:
				metrics.Read(samples)
				if samples[0].Value.Uint64()-samples[1].Value.Uint64() > maxPDFMemory {
					panic("the PDF takes too much memory to read")
				}
			}
		}
	}()
	return func() { close(end); <-ended }
}

// plainPDF returns the text of a PDF, without layout. It leaves out pages that
// are damaged.
func plainPDF(file []byte) (r pdfText) {
	defer func() {
		if p := recover(); p != nil && r.Text == "" {
			r.Problem = "it is damaged"
		}
	}()
	doc, err := pdf.NewReader(bytes.NewReader(file), int64(len(file)))
	switch {
	case errors.Is(err, pdf.ErrInvalidPassword):
		return pdfText{Problem: "it is protected by a password"}
	case err != nil:
		return pdfText{Problem: "it is damaged or of a kind that is not known"}
	}
	info := doc.Trailer().Key("Info")
	r.Title, r.Author = info.Key("Title").Text(), info.Key("Author").Text()
	r.Pages = max(0, doc.NumPage())
	for i := range min(r.Pages, maxPDFPages) {
		page, err := plainPage(doc, i+1)
		if len(r.Text)+len(page) > maxPDFText {
			break
		}
		if err == nil {
			r.Read++
		}
		r.Text = strings.TrimSpace(r.Text + "\n\n" + strings.TrimSpace(page))
	}
	return r
}

// plainPage returns the text of a page. The library panics at what it does not
// understand.
func plainPage(doc *pdf.Reader, number int) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reading page %d: %v", number, p)
		}
	}()
	page := doc.Page(number)
	if page.V.IsNull() {
		return "", fmt.Errorf("page %d is missing", number)
	}
	return joinLetters(page.Content().Text), nil
}

// joinLetters puts the letters of a page together, in the order of the file. A
// step down begins a line or a paragraph, a step to the right a word.
func joinLetters(letters []pdf.Text) string {
	var b strings.Builder
	var end, y float64
	space := true // the operator before separates words
	for _, l := range letters {
		if l.S < " " {
			continue // the library ends some strings by a line break of its own
		}
		size := max(math.Abs(l.FontSize), 1)
		down, right := math.Abs(l.Y-y), l.X-end
		switch {
		case b.Len() == 0:
		case down > 1.7*size:
			b.WriteString("\n\n")
		case down > 0.4*size:
			b.WriteByte('\n')
		case !space && l.S != " " && (right > 0.2*size || right < -size):
			b.WriteByte(' ')
		}
		b.WriteString(l.S)
		end, y, space = l.X+cmp.Or(l.W, size), l.Y, l.S == " "
	}
	return b.String()
}
