// Package pdf reads PDF files with PDFium, the library of Chromium
// (https://pdfium.googlesource.com/pdfium). It is compiled to WebAssembly, so that a
// hostile file reaches the memory of this machine alone, and not this process.
package pdf

import (
	"errors"
	"fmt"
	"image"
	"image/draw"
	"io"
	"strings"

	"github.com/klippa-app/go-pdfium/enums"
	problems "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

// The reasons why a file or a page cannot be read.
var (
	ErrDamaged  = errors.New("the PDF is damaged")
	ErrPassword = errors.New("the PDF needs a password")
	ErrMemory   = errors.New("the PDF takes too much memory")
)

// File is an open PDF.
type File struct {
	library  *Library
	document references.FPDF_DOCUMENT
	Pages    int
}

// Open opens the only file of a library.
func (l *Library) Open(r io.ReadSeeker, size int64) (*File, error) {
	opened, err := l.OpenDocument(&requests.OpenDocument{FileReader: r, FileReaderSize: size})
	if err != nil {
		return nil, l.reason(err)
	}
	count, err := l.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: opened.Document})
	if err != nil {
		return nil, l.reason(err)
	}
	return &File{l, opened.Document, count.PageCount}, nil
}

// About returns a value of the file's own description, such as its Title.
func (f *File) About(key string) string {
	value, err := f.library.FPDF_GetMetaText(&requests.FPDF_GetMetaText{Document: f.document, Tag: key})
	if err != nil {
		return ""
	}
	return value.Value
}

func (f *File) page(n int) requests.Page {
	return requests.Page{ByIndex: &requests.PageByIndex{Document: f.document, Index: n}}
}

// Text returns the text of a page, the first of which is 0.
func (f *File) Text(n int) (string, error) {
	text, err := f.library.GetPageText(&requests.GetPageText{Page: f.page(n)})
	if err != nil || f.library.memory.full { // a stream that does not fit counts as empty
		return "", f.library.reason(err)
	}
	return lines.Replace(text.Text), nil
}

// lines joins words that PDFium found divided at the end of a line, which it marks by
// U+0002.
var lines = strings.NewReplacer("\x02\r\n", "", "\x02", "", "\r\n", "\n")

// Picture draws a page so that its longer side has that many pixels; nil when there is
// nothing on it.
func (f *File) Picture(n, side int) (*image.RGBA, error) {
	objects, err := f.library.FPDFPage_CountObjects(&requests.FPDFPage_CountObjects{Page: f.page(n)})
	if err != nil {
		return nil, f.library.reason(err)
	}
	if objects.Count == 0 {
		return nil, nil
	}
	drawn, err := f.library.RenderPageInPixels(&requests.RenderPageInPixels{Page: f.page(n), Width: side, Height: side, RenderFlags: enums.FPDF_RENDER_FLAG_ANNOT})
	if err != nil || f.library.memory.full {
		return nil, f.library.reason(err)
	}
	defer drawn.Cleanup()
	m := image.NewRGBA(drawn.Result.RenderedImage.Bounds())
	draw.Draw(m, m.Rect, image.White, image.Point{}, draw.Src)
	draw.Draw(m, m.Rect, drawn.Result.RenderedImage, drawn.Result.RenderedImage.Bounds().Min, draw.Over)
	if blank(m) {
		return nil, nil
	}
	return m, nil
}

// blank reports whether a picture has one colour.
func blank(m *image.RGBA) bool {
	for i := 4; i < len(m.Pix); i += 4 {
		if [4]byte(m.Pix[i:i+4]) != [4]byte(m.Pix[:4]) {
			return false
		}
	}
	return true
}

// reason turns an error of PDFium into one of this package.
func (l *Library) reason(err error) error {
	switch {
	case l.memory.full:
		return ErrMemory
	case errors.Is(err, problems.ErrPassword), errors.Is(err, problems.ErrSecurity):
		return ErrPassword
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}
