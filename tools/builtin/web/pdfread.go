package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/ledongthuc/pdf"
)

// Bounds on reading one PDF.
const (
	maxPDFPages  = 500
	maxPDFText   = 4 << 20
	maxPDFMemory = 256 << 20
	maxPDFStack  = 64 << 20
	memoryCheck  = 5 * time.Millisecond
)

// reading is what ReadPDF writes, as JSON.
type reading struct {
	Title   string `json:"title,omitempty"`
	Author  string `json:"author,omitempty"`
	Pages   int    `json:"pages,omitempty"`
	Read    int    `json:"read,omitempty"` // pages that Text is of
	Text    string `json:"text,omitempty"`
	Problem string `json:"problem,omitempty"` // why there is no text
}

// ReadPDF reads a PDF from in and writes its text to out. It is to be the only
// thing that a process does: when the file takes too much time or memory, the
// process ends by a panic.
func ReadPDF(in io.Reader, out io.Writer) error {
	debug.SetMaxStack(maxPDFStack)
	defer watch()()
	file, err := io.ReadAll(io.LimitReader(in, maxBytesLimit))
	if err != nil {
		return fmt.Errorf("reading the PDF: %w", err)
	}
	if err := json.NewEncoder(out).Encode(pdfText(file)); err != nil {
		return fmt.Errorf("writing the text of the PDF: %w", err)
	}
	return nil
}

// watch ends the process when it takes too much. What it returns stops that.
func watch() (stop func()) {
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

// pdfText reads a PDF. A page that is damaged is left out.
func pdfText(file []byte) (r reading) {
	defer func() {
		if p := recover(); p != nil && r.Text == "" {
			r.Problem = "it is damaged"
		}
	}()
	doc, err := pdf.NewReader(bytes.NewReader(file), int64(len(file)))
	switch {
	case errors.Is(err, pdf.ErrInvalidPassword):
		return reading{Problem: "it is protected by a password"}
	case err != nil:
		return reading{Problem: "it is damaged or of a kind that is not known"}
	}
	info := doc.Trailer().Key("Info")
	r.Title, r.Author = info.Key("Title").Text(), info.Key("Author").Text()
	r.Pages = max(0, doc.NumPage())
	var text strings.Builder
	for i := range min(r.Pages, maxPDFPages) {
		page, err := pageText(doc, i+1)
		if text.Len()+len(page) > maxPDFText {
			break
		}
		if err == nil {
			r.Read++
		}
		if page != "" && text.Len() > 0 {
			text.WriteString("\n\n")
		}
		text.WriteString(page)
		r.Text = text.String()
	}
	return r
}

// pageText is the text of a page. The library panics at whatever it does not
// understand; what came before that is kept.
func pageText(doc *pdf.Reader, number int) (text string, err error) {
	w := &writer{scale: 1}
	defer func() {
		if p := recover(); p != nil {
			text, err = w.String(), fmt.Errorf("reading page %d: %v", number, p)
		}
	}()
	page := doc.Page(number)
	if page.V.IsNull() {
		return "", fmt.Errorf("page %d is missing", number)
	}
	w.draw(page.V.Key("Contents"), page.Resources(), 0)
	return w.String(), nil
}
