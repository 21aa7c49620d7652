package web

import (
	"bytes"
	"context"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"legwork/files/read"
)

// How pages are turned into text: that many at once, for the sake of memory,
// and that long at most.
const (
	pageReaders = 1
	pdfReaders  = 2
	readerTime  = 10 * time.Second
)

// What a page can be.
const (
	asHTML    = "html"
	asPDF     = "pdf"
	asText    = "text"
	asUnknown = "unknown" // its bytes will tell
)

// kind is the media type of a Content-Type, in lower case without parameters.
func kind(contentType string) string {
	name, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		name, _, _ = strings.Cut(contentType, ";")
	}
	return strings.ToLower(strings.TrimSpace(name))
}

// readable says how a media type is read; empty: not at all.
func readable(name string) string {
	main, sub, _ := strings.Cut(name, "/")
	switch {
	case sub == "html" || sub == "xhtml+xml":
		return asHTML
	case sub == "pdf" || sub == "x-pdf":
		return asPDF
	case name == "" || sub == "octet-stream" || sub == "x-download" || sub == "force-download":
		return asUnknown
	case main == "text" || strings.HasSuffix(sub, "+json") || strings.HasSuffix(sub, "+xml") && main != "image":
		return asText
	}
	switch sub {
	case "json", "xml", "javascript", "x-javascript", "ecmascript", "yaml", "x-yaml", "toml", "sql", "x-sh", "ld+json", "x-ndjson", "jsonl", "graphql", "rtf", "svg+xml":
		return asText
	}
	return ""
}

// sniff finds out what a body is of which the server said nothing credible.
func sniff(body []byte) (how, name string) {
	name = kind(http.DetectContentType(body))
	if how = readable(name); how == asUnknown {
		return "", name
	}
	return how, name
}

// document turns a response into words. format is one of the formats of fetch.
func (f *fetcher) document(ctx context.Context, r *response, format string) (document, string, error) {
	contentType := r.header.Get("Content-Type")
	name := kind(contentType)
	how := readable(name)
	isPDF := bytes.Contains(r.body[:min(len(r.body), 1024)], []byte("%PDF-"))
	if len(r.body) > 0 && (how == asUnknown || how == asPDF && !isPDF) {
		how, name = sniff(r.body)
		contentType = "" // it was wrong
	}
	if how == "" {
		size := ""
		if n := r.header.Get("Content-Length"); n != "" {
			size = " of " + n + " bytes"
		}
		return document{}, name, fmt.Errorf("%s is a file of type %s%s, which has no text to read; HTML, PDF, JSON and other texts can be read", r.url(), name, size)
	}
	if how == asPDF {
		if r.cut {
			return document{}, name, fmt.Errorf("%s is a PDF of more than %d bytes, which is too large to be read", r.url(), f.maxBytes)
		}
		d, err := f.bounded(ctx, f.pdfs, f.patience+read.LoadTime, func(ctx context.Context) (document, error) {
			return readPDF(ctx, f.pdfReader, r.body, f.patience)
		})
		return d, name, err
	}
	d, err := f.bounded(ctx, f.pages, f.patience, func(context.Context) (document, error) {
		text := decode(r.body, contentType)
		if how == asText || format == formatSource {
			return document{text: strings.ReplaceAll(text, "\r\n", "\n")}, nil
		}
		return readHTML(text, r.url(), format == formatPage)
	})
	return d, name, err
}

// bounded runs work, which may be given a hostile page, and waits for it as
// long as ctx and patience last. Work that takes longer goes on by itself,
// though the bounds on pages let none take much longer, and keeps its place
// among the readers, so that there are never more.
func (f *fetcher) bounded(ctx context.Context, readers chan struct{}, patience time.Duration, work func(context.Context) (document, error)) (document, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	select {
	case readers <- struct{}{}:
	case <-ctx.Done():
		cancel()
		return document{}, fmt.Errorf("too many pages are being read; try again later")
	}
	type outcome struct {
		d   document
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- outcome{err: fmt.Errorf("the page cannot be read: it is damaged; use another source")}
			}
			cancel()
			<-readers
		}()
		d, err := work(ctx)
		done <- outcome{d, err}
	}()
	select {
	case o := <-done:
		return o.d, o.err
	case <-ctx.Done():
		select {
		case o := <-done: // cancel came after it
			return o.d, o.err
		default:
			return document{}, fmt.Errorf("the page takes more than %v to read; use another source", patience)
		}
	}
}
