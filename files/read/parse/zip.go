package parse

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	htmlcharset "golang.org/x/net/html/charset"
)

func itoa(n int) string { return strconv.Itoa(n) }

func isZIP(head []byte) bool {
	return bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06"))
}

// archive is an open ZIP file. Names in it lead nowhere: no file is ever written.
type archive struct {
	files map[string]*zip.File
	list  []*zip.File
	s     *sink
}

func openArchive(src Source, s *sink) (*archive, error) {
	z, err := zip.NewReader(src, src.Size)
	if err != nil {
		return nil, errors.Join(ErrDamaged, err)
	}
	a := &archive{files: map[string]*zip.File{}, list: z.File, s: s}
	for _, f := range z.File {
		if a.files[f.Name] == nil {
			a.files[f.Name] = f
		}
	}
	return a, nil
}

// typeOfZIP tells the formats that are ZIP files apart.
func typeOfZIP(src Source) (string, error) {
	a, err := openArchive(src, &sink{limits: Limits{}.Defaults()})
	if err != nil {
		return typeZIP, err
	}
	declared, _ := a.read("mimetype", 256)
	kind := strings.TrimSpace(string(declared))
	for _, variant := range []string{"-template", "-web", "-master"} {
		kind = strings.TrimSuffix(kind, variant)
	}
	switch {
	case kind == typeODT || kind == typeODS || kind == typeODP || kind == typeEPUB:
		return kind, nil
	case a.files["[Content_Types].xml"] == nil:
		return typeZIP, nil
	}
	for name, of := range map[string]string{"word/document.xml": typeDOCX, "xl/workbook.xml": typeXLSX, "ppt/presentation.xml": typePPTX} {
		if a.files[name] != nil {
			return of, nil
		}
	}
	return typeZIP, nil
}

// open returns the contents of a member. A member that is missing is damage.
func (a *archive) open(name string) (io.ReadCloser, error) {
	f := a.files[name]
	switch {
	case f == nil:
		return nil, fmt.Errorf("%w: it has no %q", ErrDamaged, clip(name, 100))
	case f.Flags&1 != 0:
		return nil, ErrEncrypted
	}
	r, err := f.Open()
	if err != nil {
		return nil, errors.Join(ErrDamaged, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{a.s.limited(damage{r}), r}, nil
}

// read returns the contents of a member of at most some size; nil when it is missing.
func (a *archive) read(name string, size int64) ([]byte, error) {
	if a.files[name] == nil {
		return nil, nil
	}
	r, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, size))
}

// damage reads what was packed by others: an error of unpacking is damage.
type damage struct{ r io.Reader }

func (d damage) Read(b []byte) (int, error) {
	n, err := d.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = errors.Join(ErrDamaged, err)
	}
	return n, err
}

// parseZIP gives the list of the members as one part.
func parseZIP(src Source, s *sink) error {
	a, err := openArchive(src, s)
	if err != nil {
		return err
	}
	s.Total = len(a.list)
	p := &pieces{s: s, unit: "members", head: row([]string{"", "member", "bytes"}) + rule(3)}
	for i, f := range a.list {
		size := strconv.FormatUint(f.UncompressedSize64, 10)
		switch {
		case strings.HasSuffix(f.Name, "/"):
			size = "folder"
		case f.Flags&1 != 0:
			size += ", encrypted"
		}
		if err := p.add(row([]string{itoa(i + 1), memberName(f), size}), true); err != nil {
			return err
		}
	}
	return p.end()
}

// memberName is the name of a member in UTF-8. Old archives have it in the code page of
// the machine that made them.
func memberName(f *zip.File) string {
	if !f.NonUTF8 {
		return f.Name
	}
	text, err := io.ReadAll(mustUTF8(f.Name))
	if err != nil {
		return f.Name
	}
	return string(text)
}

func mustUTF8(text string) io.Reader {
	r, err := utf8Reader(Source{ReaderAt: strings.NewReader(text), Size: int64(len(text))})
	if err != nil {
		return strings.NewReader(text)
	}
	return r
}

// Member writes a member of a ZIP file to w.
func Member(src Source, name string, l Limits, w io.Writer) error {
	s := &sink{limits: l.Defaults()}
	switch {
	case src.Size == 0:
		return ErrEmpty
	case src.Size > s.limits.Bytes:
		return ErrLarge
	}
	return guard(func() error {
		a, err := openArchive(src, s)
		if err != nil {
			return err
		}
		for _, f := range a.list {
			if f.Name != name && memberName(f) != name || strings.HasSuffix(f.Name, "/") {
				continue
			}
			if f.UncompressedSize64 > uint64(s.limits.Bytes) {
				return ErrUnpacked
			}
			r, err := a.open(f.Name)
			if err != nil {
				return err
			}
			defer r.Close()
			n, err := io.Copy(w, io.LimitReader(r, s.limits.Bytes+1))
			if err == nil && n > s.limits.Bytes {
				err = ErrUnpacked
			}
			return err
		}
		return ErrNoMember
	})
}

// A token of XML may take that many bytes, and elements may be that deep.
const (
	maxToken = 16 << 20
	maxDepth = 1000
)

// elements reads the XML of a member. Names have no prefix, and entities other than the
// five of XML are refused: they are never used in these formats, and make bombs.
type elements struct {
	*xml.Decoder
	token *tokenReader
	depth int
}

type tokenReader struct {
	r    io.Reader
	size int64 // since the last token began
}

func (t *tokenReader) Read(b []byte) (int, error) {
	n, err := t.r.Read(b)
	if t.size += int64(n); t.size > maxToken {
		return 0, ErrUnpacked
	}
	return n, err
}

func readXML(r io.Reader) *elements {
	t := &tokenReader{r: r}
	d := xml.NewDecoder(t)
	d.Strict = false // &nbsp; and the like stand as they are
	d.CharsetReader = htmlcharset.NewReaderLabel
	return &elements{Decoder: d, token: t}
}

// next returns the next token; io.EOF at the end.
func (e *elements) next() (xml.Token, error) {
	e.token.size = 0
	t, err := e.RawToken()
	var syntax *xml.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, errors.Join(ErrDamaged, err)
	case err != nil:
		return nil, err
	}
	switch t := t.(type) {
	case xml.StartElement:
		if e.depth++; e.depth > maxDepth {
			return nil, fmt.Errorf("%w: its elements are too deep", ErrDamaged)
		}
	case xml.EndElement:
		e.depth--
	case xml.Directive:
		if bytes.Contains(t, []byte("<!ENTITY")) {
			return nil, fmt.Errorf("%w: it defines entities", ErrUnpacked)
		}
	}
	return t, nil
}

// each calls do for each token of a member until the end.
func (a *archive) each(name string, do func(xml.Token) error) error {
	r, err := a.open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	for e := readXML(r); ; {
		t, err := e.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := do(t); err != nil {
			return err
		}
	}
}

// attr is the value of an attribute, whatever the prefix of its name.
func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// relations returns where the relations of an OOXML member lead, by their ids, as names
// of members. What leads out of the file is left out.
func (a *archive) relations(of string) (map[string]string, error) {
	name := path.Join(path.Dir(of), "_rels", path.Base(of)+".rels")
	all := map[string]string{}
	if a.files[name] == nil {
		return all, nil
	}
	err := a.each(name, func(t xml.Token) error {
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "Relationship" && attr(e, "TargetMode") != "External" {
			target := attr(e, "Target")
			if !strings.HasPrefix(target, "/") {
				target = path.Join(path.Dir(of), target)
			}
			all[attr(e, "Id")] = strings.TrimPrefix(target, "/")
		}
		return nil
	})
	return all, err
}
