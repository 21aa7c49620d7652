package files

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

const (
	defaultLines = 1000
	defaultBytes = 64 << 10
	maxRead      = 256 << 10 // bytes of one answer
	maxLine      = 16 << 10  // bytes of one line; the rest is read by bytes
	maxSkip      = 256 << 20 // bytes that are gone through to come to a line
	maxImage     = 5 << 20   // bytes that vision models take
)

func read(ctx context.Context, w *workspace, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, err := clean(r.GetString("path", ""))
	if err != nil {
		return nil, err
	}
	f, info, err := w.file(name)
	if err != nil {
		return nil, pathError("reading", name, err)
	}
	defer f.Close()
	c, err := detectContent(f)
	if err != nil {
		return nil, pathError("reading", name, err)
	}
	if c.text {
		text, note, err := readText(ctx, f, info.Size(), r)
		if err != nil {
			return nil, pathError("reading", name, err)
		}
		return textParts(strings.ToValidUTF8(text, "\uFFFD"), note), nil
	}
	about := fmt.Sprintf("%s is no text: %s, %d bytes.", name, c.mime, info.Size())
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, c.mime) {
		return textResult("%s Its content cannot be shown.", about)
	}
	if info.Size() > maxImage {
		return textResult("%s It is larger than the %d bytes of an image that can be shown.", about, maxImage)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxImage))
	if err != nil {
		return nil, pathError("reading", name, err)
	}
	return mcp.NewToolResultImage(about, base64.StdEncoding.EncodeToString(data), c.mime), nil
}

func textParts(text, note string) *mcp.CallToolResult {
	parts := []mcp.Content{}
	if text != "" {
		parts = append(parts, mcp.NewTextContent(text))
	}
	if note != "" {
		parts = append(parts, mcp.NewTextContent(note))
	}
	return &mcp.CallToolResult{Content: parts}
}

// content is what the first bytes of a file tell.
type content struct {
	mime string
	text bool
}

// detectContent guesses the content of a file and goes back to its beginning.
func detectContent(f *os.File) (content, error) {
	head := make([]byte, 8<<10)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return content{}, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return content{}, err
	}
	head = head[:n]
	mime := http.DetectContentType(head)
	plain, _, err := transform.Bytes(decoder(), head)
	return content{mime, err == nil && isText(plain)}, nil
}

// decoder turns UTF-16 with a byte order mark into UTF-8, and takes the mark
// off.
func decoder() transform.Transformer { return unicode.BOMOverride(transform.Nop) }

// isText tells text from other data by its beginning, at whose end a character
// may be cut.
func isText(b []byte) bool {
	for i := 0; i < utf8.UTFMax-1 && len(b) > 0 && !utf8.Valid(b); i++ {
		b = b[:len(b)-1]
	}
	return utf8.Valid(b) && !bytes.ContainsRune(b, 0)
}

// readText returns a piece of a text and a note on where it goes on.
func readText(ctx context.Context, f io.ReadSeeker, size int64, r mcp.CallToolRequest) (text, note string, err error) {
	offset, limit := int64(r.GetInt("offset", 0)), r.GetInt("limit", 0)
	if r.GetString("unit", "lines") == "bytes" {
		if limit == 0 {
			limit = defaultBytes
		}
		return readBytes(f, size, offset, min(limit, maxRead))
	}
	if limit == 0 {
		limit = defaultLines
	}
	return readLines(ctx, f, offset, limit)
}

func readBytes(f io.ReadSeeker, size, offset int64, limit int) (text, note string, err error) {
	if offset >= size {
		return "", fmt.Sprintf("[The file ends before that: it has %d bytes.]", size), nil
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return "", "", err
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)))
	if err != nil {
		return "", "", err
	}
	end := offset + int64(len(data))
	if end < size {
		note = fmt.Sprintf("[Bytes %d to %d of %d. Go on with offset %d.]", offset, end, size, end)
	}
	return string(data), note, nil
}

// lineReader gives out lines of a text and skips the ones before them.
type lineReader struct {
	from     *bufio.Reader
	lines    int64 // lines that are behind
	bytes    int64 // bytes that are behind
	long     bool  // a line was cut
	out      strings.Builder
	finished bool
}

func readLines(ctx context.Context, f io.Reader, offset int64, limit int) (text, note string, err error) {
	p := &lineReader{from: bufio.NewReaderSize(transform.NewReader(io.LimitReader(f, maxSkip+maxRead), decoder()), maxLine)}
	for !p.finished && p.lines < offset+int64(limit) && p.out.Len() < maxRead-maxLine {
		if err := p.line(ctx, p.lines >= offset); err != nil {
			return "", "", err
		}
	}
	if _, err := p.from.Peek(1); errors.Is(err, io.EOF) {
		p.finished = true
	}
	return p.out.String(), p.note(offset), nil
}

// line goes past a line, and shows its beginning.
func (p *lineReader) line(ctx context.Context, show bool) error {
	part, err := p.from.ReadSlice('\n')
	if show {
		p.out.Write(part)
		if errors.Is(err, bufio.ErrBufferFull) {
			p.out.WriteString("…\n")
			p.long = true
		}
	}
	n := len(part)
	for errors.Is(err, bufio.ErrBufferFull) && ctx.Err() == nil {
		part, err = p.from.ReadSlice('\n')
		n += len(part)
	}
	p.bytes += int64(n)
	if n > 0 {
		p.lines++
	}
	if errors.Is(err, io.EOF) {
		p.finished, err = true, nil
	}
	return errors.Join(err, ctx.Err())
}

// note tells where a piece ends and how to go on.
func (p *lineReader) note(offset int64) string {
	var notes []string
	switch {
	case p.bytes == 0:
		notes = append(notes, "[The file is empty.]")
	case p.finished && p.bytes >= maxSkip:
		notes = append(notes, `[What comes after this is too far from the beginning to be counted in lines; read it with unit "bytes".]`)
	case p.finished && p.out.Len() == 0:
		notes = append(notes, fmt.Sprintf("[The file ends before that: it has %d lines.]", p.lines))
	case p.finished && offset > 0:
		notes = append(notes, fmt.Sprintf("[Lines %d to %d, where the file ends.]", offset+1, p.lines))
	case !p.finished:
		notes = append(notes, fmt.Sprintf("[Lines %d to %d. Go on with offset %d.]", offset+1, p.lines, p.lines))
	}
	if p.long {
		notes = append(notes, `[Lines that end in "…" are cut; read with unit "bytes" for the rest.]`)
	}
	return strings.Join(notes, " ")
}
