package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"legwork/internal/charset"
)

// Bounds on reading one PDF. A hostile file can make any PDF library loop, fill
// the memory or overflow the stack, so a process of its own reads each.
const (
	maxPDFPages  = 500
	maxPDFText   = 4 << 20
	maxPDFOutput = 16 << 20 // more than a reader writes
	maxPDFMemory = 256 << 20
)

// pdfText is what a reader finds in a PDF.
type pdfText struct {
	Title   string `json:"title,omitempty"`
	Author  string `json:"author,omitempty"`
	Pages   int    `json:"pages,omitempty"`
	Read    int    `json:"read,omitempty"` // pages that Text is of
	Text    string `json:"text,omitempty"`
	Problem string `json:"problem,omitempty"` // why there is no text
}

// readPDF returns the text of a PDF: from reader, which does what ReadPDF does,
// or from poppler's pdftotext when that is set.
func readPDF(ctx context.Context, pdftotext string, reader []string, file []byte) (document, error) {
	var got pdfText
	var err error
	switch {
	case pdftotext != "":
		got, err = poppler(ctx, pdftotext, file)
	case len(reader) == 0:
		return document{}, errors.New("the page is a PDF, and this program cannot read PDFs; look for the same text as a web page")
	default:
		var out []byte
		if out, err = runReader(ctx, file, reader...); err == nil {
			err = json.Unmarshal(out, &got)
		}
	}
	switch {
	case ctx.Err() != nil:
		return document{}, errors.New("the PDF takes too long to read; use another source")
	case err != nil:
		return document{}, errors.New("the PDF cannot be read: it is damaged or needs too much memory; use another source")
	case got.Problem != "":
		return document{}, fmt.Errorf("the PDF cannot be read: %s; use another source", got.Problem)
	}
	d := document{title: got.Title, author: got.Author, text: charset.Visible(ligatures.Replace(got.Text))}
	switch {
	case got.Text == "":
		d.note = "it may consist of pictures, or be damaged"
	case got.Read < got.Pages:
		d.note = fmt.Sprintf("the text of %d of %d pages", got.Read, got.Pages)
	case got.Pages > 1:
		d.note = fmt.Sprintf("%d pages", got.Pages)
	}
	return d, nil
}

// ligatures are replaced by the letters that a search or a model expects.
var ligatures = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")

// findPoppler returns the path of pdftotext, or "" where it or the shell that
// sets its limits is missing.
func findPoppler() string {
	path, err := exec.LookPath("pdftotext")
	if _, noShell := exec.LookPath("sh"); err != nil || noShell != nil {
		return ""
	}
	return path
}

// poppler reads a PDF with pdftotext, and with the pdfinfo beside it what is
// known of the file.
func poppler(ctx context.Context, pdftotext string, file []byte) (pdfText, error) {
	limited := func(program string, args ...string) ([]byte, error) {
		limits := fmt.Sprintf(`ulimit -v %d; ulimit -t %d; exec "$@"`, maxPDFMemory>>10, int(readerTime.Seconds()))
		return runReader(ctx, file, append([]string{"sh", "-c", limits, "sh", program, "-enc", "UTF-8"}, args...)...)
	}
	text, err := limited(pdftotext, "-q", "-l", strconv.Itoa(maxPDFPages), "-", "-")
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() > 0 && bytes.Contains(file, []byte("/Encrypt")):
		return pdfText{Problem: "it is protected by a password"}, nil
	case err != nil:
		return pdfText{}, err
	}
	var r pdfText
	var pages []string
	size := 0
	for page := range strings.SplitSeq(strings.TrimSuffix(string(text), "\f"), "\f") {
		if size += len(page); size > maxPDFText {
			break
		}
		r.Read++
		if page = strings.TrimSpace(page); page != "" {
			pages = append(pages, page)
		}
	}
	r.Text = strings.Join(pages, "\n\n")
	about, err := limited(filepath.Join(filepath.Dir(pdftotext), "pdfinfo"), "-")
	if err != nil {
		return r, nil //nolint:nilerr // the text does without
	}
	for line := range strings.Lines(string(about)) {
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); name {
		case "Title":
			r.Title = value
		case "Author":
			r.Author = value
		case "Pages":
			r.Pages, _ = strconv.Atoi(value)
		}
	}
	return r, nil
}

// runReader returns what a command writes that is given a file. The command ends
// with ctx, and sees none of the daemon's secrets.
func runReader(ctx context.Context, file []byte, command ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Env = []string{}
	c.Stdin = bytes.NewReader(file)
	c.WaitDelay = time.Second
	out := &limitedBuffer{left: maxPDFOutput}
	c.Stdout = out
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("reading a PDF: %w", err)
	}
	return out.Bytes(), nil
}

// limitedBuffer keeps what is written up to a limit; more is an error.
type limitedBuffer struct {
	bytes.Buffer
	left int
}

func (c *limitedBuffer) Write(b []byte) (int, error) {
	if c.left -= len(b); c.left < 0 {
		return 0, io.ErrShortWrite
	}
	return c.Buffer.Write(b)
}
