package web

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"legwork/files/read"
)

// Bounds on the text of one PDF.
const (
	maxPDFPages = 500
	maxPDFText  = 4 << 20
)

// readPDF returns the text of a PDF, which may take that long to read.
func readPDF(ctx context.Context, r read.Reader, file []byte, patience time.Duration) (document, error) {
	limits := read.Limits{Bytes: maxBytesLimit, Parts: maxPDFPages, Text: maxPDFText, Pictures: -1, Time: patience}
	var pages []string
	about, err := r.Bytes(ctx, file, "", limits, func(p read.Part) error {
		pages = append(pages, p.Text)
		return nil
	})
	d := document{title: about.Title, author: about.Author, text: strings.Join(pages, "\n\n")}
	switch {
	case ctx.Err() != nil:
		return document{}, errors.New("the PDF takes too long to read; use another source")
	case errors.Is(err, read.ErrEncrypted):
		return document{}, errors.New("the PDF cannot be read: it is protected by a password; use another source")
	case err != nil && len(pages) == 0:
		return document{}, errors.New("the PDF cannot be read: it is damaged, or needs too much time or memory; use another source")
	case len(pages) == 0:
		d.note = "it may consist of pictures, or be damaged"
	case err != nil || about.Cut:
		d.note = fmt.Sprintf("the text of %d of %d pages", len(pages), about.Total)
	case about.Total > 1:
		d.note = fmt.Sprintf("%d pages", about.Total)
	}
	return d, nil
}
