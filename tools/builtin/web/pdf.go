package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// ReaderCommand is the argument with which legwork reads a PDF for itself.
const ReaderCommand = "read-pdf"

// maxReading is more than ReadPDF writes.
const maxReading = 16 << 20

// readPDF has a process of its own read a PDF. A hostile file can make any PDF
// library loop, fill the memory or overflow the stack, and the last two cannot
// be recovered from. The process ends with ctx.
func readPDF(ctx context.Context, reader []string, file []byte) (document, error) {
	if len(reader) == 0 {
		return document{}, errors.New("the page is a PDF, and this program cannot read PDFs; look for the same text as a web page")
	}
	c := exec.CommandContext(ctx, reader[0], reader[1:]...)
	c.Env = []string{} // none of the daemon's secrets
	c.Stdin = bytes.NewReader(file)
	c.WaitDelay = time.Second
	out := &capped{left: maxReading}
	c.Stdout = out
	err := c.Run()
	var got reading
	if err == nil {
		err = json.Unmarshal(out.Bytes(), &got)
	}
	switch {
	case ctx.Err() != nil:
		return document{}, errors.New("the PDF takes too long to read; use another source")
	case err != nil:
		return document{}, errors.New("the PDF cannot be read: it is damaged or needs too much memory; use another source")
	case got.Problem != "":
		return document{}, fmt.Errorf("the PDF cannot be read: %s; use another source", got.Problem)
	}
	d := document{title: got.Title, author: got.Author, text: visible(got.Text)}
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

// capped keeps what is written up to a limit; more is an error.
type capped struct {
	bytes.Buffer
	left int
}

func (c *capped) Write(b []byte) (int, error) {
	if c.left -= len(b); c.left < 0 {
		return 0, io.ErrShortWrite
	}
	return c.Buffer.Write(b)
}
