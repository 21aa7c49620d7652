// Package parse turns files of outside formats into text and pictures. Any of these
// files can be hostile: package read runs this one in a process of its own.
package parse

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"legwork/files/read/pdf"
	"legwork/internal/charset"
)

// Part is a page, a sheet, a slide, a chapter, a member of an archive, or a range of
// lines, rows or paragraphs.
type Part struct {
	Name    string   `json:"name"` // such as "page 3" or "lines 1-200"
	Text    string   `json:"text,omitempty"`
	Picture *Picture `json:"picture,omitempty"` // of a page without text, and of a file that is a picture
}

// Document says what a file is, apart from its parts.
type Document struct {
	Kind   string   `json:"kind"` // for people and prompts, such as "PDF" or "Word document"
	Type   string   `json:"type"` // the MIME type, by content
	Title  string   `json:"title,omitempty"`
	Author string   `json:"author,omitempty"` // of a PDF
	Total  int      `json:"total,omitempty"`  // pages, slides, sheets or members in the file; 0 when the format has none
	Cut    bool     `json:"cut,omitempty"`    // a limit was reached before the end
	Notes  []string `json:"notes,omitempty"`  // the constants below
}

// Notes of a Document.
const (
	NoteMacros      = "macros"      // the file has macros; they do not run
	NoteFormulas    = "formulas"    // formulas are shown as the values that the file holds for them
	NoteUncomputed  = "uncomputed"  // some formulas have no value in the file and are shown as formulas
	NoteHidden      = "hidden"      // some sheets, rows or slides are hidden; they are read as well
	NoteDamaged     = "damaged"     // some pages or members are damaged and were left out
	NoteAttachments = "attachments" // the mail has attachments, which are listed and not read
	NoteScan        = "scan"        // some pages have no text; their pictures are given
	NoteBlank       = "blank"       // some pages have no text, and no picture of them is given
	NoteAnimated    = "animated"    // the picture moves; the first frame is given
)

// Limits of reading one file. A zero means the default, see Defaults.
type Limits struct {
	Bytes    int64         `json:"bytes"`    // of the file
	Unpacked int64         `json:"unpacked"` // bytes that are unpacked in all
	Text     int64         `json:"text"`     // bytes of text; then the document is cut
	Parts    int           `json:"parts"`    // then the document is cut
	Pages    int           `json:"pages"`    // a PDF with more is refused
	Pictures int           `json:"pictures"` // pages given as pictures; negative: none
	Pixels   int64         `json:"pixels"`   // a larger picture is refused
	Side     int           `json:"side"`     // pixels of the longer side of a picture that is given
	Time     time.Duration `json:"time"`
	Memory   int64         `json:"memory"` // of the process that reads
}

// Defaults fills in the limits that are zero.
func (l Limits) Defaults() Limits {
	fill(&l.Bytes, 64<<20)
	fill(&l.Unpacked, 256<<20)
	fill(&l.Text, 4<<20)
	fill(&l.Parts, 2000)
	fill(&l.Pages, 20_000)
	fill(&l.Pictures, 20)
	fill(&l.Pixels, 50_000_000)
	fill(&l.Side, 1568)
	fill(&l.Time, 10*time.Second)
	fill(&l.Memory, 512<<20)
	return l
}

func fill[T int | int64 | time.Duration](value *T, standard T) {
	if *value == 0 {
		*value = standard
	}
}

// Error is a reason why a file cannot be read. The texts are for logs.
type Error string

// The reasons why a file cannot be read. Beside them there is KindError.
const (
	ErrEmpty     Error = "the file is empty"
	ErrLarge     Error = "the file is larger than the limit"
	ErrDamaged   Error = "the file is damaged or cut off"
	ErrEncrypted Error = "the file is protected by a password"
	ErrUnpacked  Error = "the file is too large when unpacked"
	ErrPages     Error = "the file has too many pages"
	ErrPixels    Error = "the picture has too many pixels"
	ErrHEIC      Error = "the picture is in the format HEIC"
	ErrTime      Error = "the file takes too long to read"
	ErrMemory    Error = "the file takes too much memory to read"
	ErrNoMember  Error = "the archive has no such member"
	ErrKind      Error = "files of this kind cannot be read"
)

func (e Error) Error() string { return string(e) }

// KindError is ErrKind with the kind.
type KindError struct{ Type string }

func (e KindError) Error() string { return fmt.Sprintf("files of type %s cannot be read", e.Type) }

// Is makes a KindError an ErrKind.
func (e KindError) Is(target error) bool { return target == ErrKind }

// Source is a file to read.
type Source struct {
	io.ReaderAt
	Size int64
	Name string       // decides between kinds of plain text
	PDF  *pdf.Library // reads a PDF; nil: it cannot be read
}

// IsPDF reports whether a file needs Source.PDF.
func (s Source) IsPDF() bool {
	head := make([]byte, min(headSize, s.Size))
	n, _ := s.ReadAt(head, 0)
	return TypeOf(head[:n], s.Name) == typePDF
}

func (s Source) reader() io.Reader { return io.NewSectionReader(s, 0, s.Size) }

// sink takes the parts of a file up to the limits.
type sink struct {
	Document
	limits   Limits
	out      func(Part) error
	text     int64
	parts    int
	pictures int
	unpacked int64
}

// errEnough ends a parser when a limit of text or parts is reached.
var errEnough = errors.New("enough was read")

// File gives the parts of a file to out, in order, and returns what the file is. An
// error may come after some parts; the document is then cut.
func File(src Source, l Limits, out func(Part) error) (d Document, err error) {
	s := &sink{limits: l.Defaults(), out: out}
	defer func() {
		d = s.Document
		d.Title, d.Author = oneLine(d.Title), oneLine(d.Author)
		d.Cut = d.Cut || err != nil && s.parts > 0
	}()
	switch {
	case src.Size == 0:
		return d, ErrEmpty
	case src.Size > s.limits.Bytes:
		return d, ErrLarge
	}
	var parser func(Source, *sink) error
	if s.Type, s.Kind, parser, err = find(src); err != nil {
		return d, err
	}
	err = guard(func() error { return parser(src, s) })
	if errors.Is(err, errEnough) {
		err = nil
	}
	return d, err
}

// guard turns a panic at a strange file into an error.
func guard(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			at := make([]byte, 1<<10)
			err = fmt.Errorf("%w: %v at %s", ErrDamaged, p, at[:runtime.Stack(at, false)])
		}
	}()
	return do()
}

// part hands over a part. Parts without text or picture count, but are left out.
func (s *sink) part(p Part) error {
	p.Name, p.Text = clip(oneLine(p.Name), 200), strings.TrimSpace(clean(p.Text))
	if s.parts >= s.limits.Parts || s.text >= s.limits.Text {
		s.Cut = true
		return errEnough
	}
	if left := s.limits.Text - s.text; int64(len(p.Text)) > left {
		p.Text, s.Cut = clip(p.Text, int(left)), true
	}
	s.parts++
	s.text += int64(len(p.Text))
	if p.Text == "" && p.Picture == nil {
		return nil
	}
	return s.out(p)
}

func (s *sink) note(note string) {
	for _, n := range s.Notes {
		if n == note {
			return
		}
	}
	s.Notes = append(s.Notes, note)
}

// clean removes what is no text, or text that people cannot see.
func clean(text string) string { return charset.Visible(strings.ToValidUTF8(text, "\ufffd")) }

// oneLine is a clean text without line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(clean(text)), " ") }

// clip shortens a text to a number of bytes, at a character.
func clip(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size], "")
}

// limited reads from r what may still be unpacked.
func (s *sink) limited(r io.Reader) io.Reader { return &limitedReader{s, r} }

type limitedReader struct {
	s *sink
	r io.Reader
}

func (l *limitedReader) Read(b []byte) (int, error) {
	n, err := l.r.Read(b)
	if l.s.unpacked += int64(n); l.s.unpacked > l.s.limits.Unpacked {
		return 0, ErrUnpacked
	}
	return n, err
}
