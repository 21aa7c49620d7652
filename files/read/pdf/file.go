package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"
)

// The reasons why a PDF cannot be read.
var (
	ErrDamaged   = errors.New("the PDF is damaged")
	ErrEncrypted = errors.New("the PDF is protected by a password")
	ErrUnpacked  = errors.New("the PDF is too large when unpacked")
)

// File is an open PDF. It is for one goroutine.
type File struct {
	data    []byte
	table   map[int]entry
	trailer dict
	objects map[int]any // that were read
	busy    map[int]bool
	streams map[int]*objectStream
	fonts   map[any]*font
	crypt   *crypt
	rebuilt bool
	left    int64 // bytes that may still be unpacked
	pages   *pageTree
	glyphs  map[string]rune
}

// entry says where an object is.
type entry struct {
	offset int // in the file, or the place in an object stream
	in     int // number of the object stream; 0: in the file itself
}

// objectStream holds objects.
type objectStream struct {
	data    []byte
	offsets map[int]int // by number of the object
}

// Open reads the structure of a PDF that is in data, and unpacks at most a number of
// bytes, now and later.
func Open(data []byte, unpack int64) (f *File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = asError(p)
		}
	}()
	if at := bytes.Index(data[:min(len(data), 1024)], []byte("%PDF-")); at > 0 {
		data = data[at:] // offsets count from there
	}
	f = &File{data: data, left: unpack, fonts: map[any]*font{}, glyphs: glyphNames()}
	f.reset()
	if !f.readTables() || f.root() == nil {
		f.rebuild()
	}
	if err := f.decrypt(); err != nil {
		return nil, err
	}
	if f.root() == nil {
		f.rebuild()
		if f.root() == nil {
			return nil, ErrDamaged
		}
	}
	f.pages = &pageTree{}
	return f, nil
}

func (f *File) reset() {
	f.table, f.objects, f.busy, f.streams = map[int]entry{}, map[int]any{}, map[int]bool{}, map[int]*objectStream{}
}

// asError turns a panic of this package into an error.
func asError(p any) error {
	if err, ok := p.(error); ok && (errors.Is(err, ErrUnpacked) || errors.Is(err, ErrEncrypted)) {
		return err
	}
	return fmt.Errorf("%w: %v", ErrDamaged, p)
}

// root returns the tree of pages.
func (f *File) root() dict {
	d, _ := f.dict(f.trailer["Root"])
	pages, _ := f.dict(d["Pages"])
	return pages
}

// readTables reads the tables of objects from the newest to the oldest.
func (f *File) readTables() (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			ok = false
		}
	}()
	tail := f.data[max(0, len(f.data)-2048):]
	at := bytes.LastIndex(tail, []byte("startxref"))
	if at < 0 {
		return false
	}
	next, ok := number(bytes.TrimSpace((&lexer{data: bytes.TrimLeft(tail[at+9:], " \r\n\t")}).word()))
	queue, seen := []any{next}, map[int]bool{}
	for len(queue) > 0 && ok {
		offset := toInt(queue[0])
		queue = queue[1:]
		if offset < 0 || offset >= len(f.data) || seen[offset] {
			continue
		}
		seen[offset] = true
		var d dict
		if d, ok = f.readTable(offset); !ok {
			break
		}
		if f.trailer == nil {
			f.trailer = d
		}
		for _, more := range []any{d["XRefStm"], d["Prev"]} {
			if more != nil {
				queue = append(queue, more)
			}
		}
	}
	return ok && f.trailer != nil
}

// readTable reads one table and returns its trailer.
func (f *File) readTable(offset int) (dict, bool) {
	l := &lexer{data: f.data, at: offset}
	l.skipSpace()
	if !bytes.HasPrefix(l.data[l.at:], []byte("xref")) {
		return f.readTableStream(offset)
	}
	l.at += 4
	for {
		l.skipSpace()
		if bytes.HasPrefix(l.data[l.at:], []byte("trailer")) {
			l.at += 7
			d, ok := l.object().(dict)
			return d, ok
		}
		first, ok1 := number(l.word())
		l.skipSpace()
		count, ok2 := number(l.word())
		if !ok1 || !ok2 || first < 0 || count < 0 {
			return nil, false
		}
		for i := range int(count) {
			l.skipSpace()
			at, ok1 := number(l.word())
			l.skipSpace()
			l.word() // the generation
			l.skipSpace()
			kind := l.word()
			if !ok1 || len(kind) != 1 {
				return nil, false
			}
			n := int(first) + i
			if _, known := f.table[n]; !known && kind[0] == 'n' && at > 0 {
				f.table[n] = entry{offset: int(at)}
			} else if !known && kind[0] == 'f' {
				f.table[n] = entry{offset: -1}
			}
		}
	}
}

// readTableStream reads a table that is a stream.
func (f *File) readTableStream(offset int) (dict, bool) {
	_, o := f.objectAt(offset)
	s, ok := o.(*stream)
	if !ok || s.dict["Type"] != name("XRef") {
		return nil, false
	}
	s.key = nil
	w, _ := s.dict["W"].(array)
	if len(w) < 3 {
		return nil, false
	}
	var width [3]int
	for i := range width {
		if width[i] = toInt(w[i]); width[i] < 0 || width[i] > 8 {
			return nil, false
		}
	}
	data, size := f.unpack(s), width[0]+width[1]+width[2]
	index, ok := s.dict["Index"].(array)
	if !ok {
		index = array{0.0, s.dict["Size"]}
	}
	field := func(n, standard int) int {
		if n == 0 {
			return standard
		}
		v := 0
		for _, c := range data[:n] {
			v = v<<8 | int(c)
		}
		data = data[n:]
		return v
	}
	for i := 0; i+1 < len(index); i += 2 {
		for n := range toInt(index[i+1]) {
			if len(data) < size || size == 0 {
				break
			}
			kind, a, b := field(width[0], 1), field(width[1], 0), field(width[2], 0)
			number := toInt(index[i]) + n
			if _, known := f.table[number]; known {
				continue
			}
			switch kind {
			case 0:
				f.table[number] = entry{offset: -1}
			case 1:
				f.table[number] = entry{offset: a}
			case 2:
				f.table[number] = entry{offset: b, in: a}
			}
		}
	}
	return s.dict, true
}

var objectStart = regexp.MustCompile(`(\d{1,9})[ \t\r\n\x00]+(\d{1,5})[ \t\r\n\x00]+obj`)

// rebuild finds the objects of a file without a usable table. The last one of a number
// counts.
func (f *File) rebuild() {
	if f.rebuilt {
		return
	}
	f.rebuilt = true
	old := f.trailer
	f.reset()
	f.trailer = dict{}
	for _, m := range objectStart.FindAllSubmatchIndex(f.data, -1) {
		if n, err := strconv.Atoi(string(f.data[m[2]:m[3]])); err == nil {
			f.table[n] = entry{offset: m[0]}
		}
	}
	for at := 0; ; {
		i := bytes.Index(f.data[at:], []byte("trailer"))
		if i < 0 {
			break
		}
		at += i + 7
		if d, ok := (&lexer{data: f.data, at: at}).object().(dict); ok {
			for k, v := range d {
				f.trailer[k] = v
			}
		}
	}
	for k, v := range old {
		if f.trailer[k] == nil {
			f.trailer[k] = v
		}
	}
	f.rebuildStreams()
}

// rebuildStreams finds the objects in object streams, and the catalog.
func (f *File) rebuildStreams() {
	var in []int
	for n := range f.table {
		o := f.object(n)
		switch o := o.(type) {
		case *stream:
			switch o.dict["Type"] {
			case name("ObjStm"):
				in = append(in, n)
			case name("XRef"):
				for _, k := range []name{"Root", "Encrypt", "ID", "Info"} {
					if f.trailer[k] == nil && o.dict[k] != nil {
						f.trailer[k] = o.dict[k]
					}
				}
			}
		case dict:
			if o["Type"] == name("Catalog") && f.trailer["Root"] == nil {
				f.trailer["Root"] = ref{number: n}
			}
		}
	}
	if f.decrypt() != nil {
		return
	}
	for _, n := range in {
		s := f.objectStream(n)
		if s == nil {
			continue
		}
		for number := range s.offsets {
			if _, known := f.table[number]; !known {
				f.table[number] = entry{in: n}
				if d, ok := f.object(number).(dict); ok && d["Type"] == name("Catalog") && f.trailer["Root"] == nil {
					f.trailer["Root"] = ref{number: number}
				}
			}
		}
	}
}

// resolve follows references.
func (f *File) resolve(o any) any {
	for range maxDepth {
		r, ok := o.(ref)
		if !ok {
			return o
		}
		o = f.object(r.number)
	}
	return nil
}

// object returns an object by its number; nil when there is none.
func (f *File) object(n int) any {
	if o, ok := f.objects[n]; ok {
		return o
	}
	e, ok := f.table[n]
	if !ok || e.offset < 0 || f.busy[n] {
		return nil
	}
	f.busy[n] = true
	defer delete(f.busy, n)
	var o any
	if e.in > 0 {
		s := f.objectStream(e.in)
		if s == nil {
			return nil
		}
		at, ok := s.offsets[n]
		if !ok || at >= len(s.data) {
			return nil
		}
		o = (&lexer{data: s.data, at: at}).object()
	} else {
		var found int
		if found, o = f.objectAt(e.offset); found != n && !f.rebuilt {
			trailer := f.trailer
			f.rebuild()
			f.trailer = trailer
			delete(f.busy, n)
			return f.object(n)
		} else if found != n {
			return nil
		}
	}
	switch o.(type) {
	case end, operator:
		o = nil
	}
	f.objects[n] = o
	return o
}

// objectAt reads the object at an offset, and returns its number; -1 for what is none.
func (f *File) objectAt(offset int) (int, any) {
	if offset < 0 || offset >= len(f.data) {
		return -1, nil
	}
	l := &lexer{data: f.data, at: offset}
	l.skipSpace()
	n, ok1 := number(l.word())
	l.skipSpace()
	generation, ok2 := number(l.word())
	l.skipSpace()
	if !ok1 || !ok2 || !bytes.HasPrefix(l.data[l.at:], []byte("obj")) {
		return -1, nil
	}
	l.at += 3
	o := l.object()
	r := ref{int(n), int(generation)}
	d, ok := o.(dict)
	l.skipSpace()
	if ok && bytes.HasPrefix(l.data[l.at:], []byte("stream")) {
		l.at += 6
		if l.at < len(l.data) && l.data[l.at] == '\r' {
			l.at++
		}
		if l.at < len(l.data) && l.data[l.at] == '\n' {
			l.at++
		}
		s := &stream{dict: d, raw: f.raw(l.at, d)}
		if f.crypt != nil && d["Type"] != name("XRef") {
			f.crypt.unlock(s, r)
		}
		return r.number, s
	}
	if f.crypt != nil {
		o = f.crypt.strings(o, r)
	}
	return r.number, o
}

// raw returns the bytes of a stream. A length that leads elsewhere than to the end of the
// stream is wrong.
func (f *File) raw(at int, d dict) []byte {
	size := toInt(f.resolve(d["Length"]))
	rest := f.data[at:]
	if size >= 0 && size <= len(rest) && d["Length"] != nil {
		after := rest[size:min(len(rest), size+32)]
		if bytes.HasPrefix(bytes.TrimLeft(after, "\r\n \t\x00"), []byte("endstream")) {
			return rest[:size]
		}
	}
	if i := bytes.Index(rest, []byte("endstream")); i >= 0 {
		return bytes.TrimSuffix(bytes.TrimSuffix(rest[:i], []byte("\n")), []byte("\r"))
	}
	return rest
}

// objectStream unpacks a stream that holds objects.
func (f *File) objectStream(n int) *objectStream {
	if s, ok := f.streams[n]; ok {
		return s
	}
	f.streams[n] = nil // it may refer to itself
	s, ok := f.object(n).(*stream)
	if !ok || f.table[n].in > 0 {
		return nil
	}
	o := &objectStream{data: f.unpack(s), offsets: map[int]int{}}
	l, first := &lexer{data: o.data}, toInt(f.resolve(s.dict["First"]))
	for range toInt(f.resolve(s.dict["N"])) {
		l.skipSpace()
		number1, ok1 := number(l.word())
		l.skipSpace()
		offset, ok2 := number(l.word())
		if !ok1 || !ok2 {
			break
		}
		if at := first + int(offset); at >= 0 {
			o.offsets[int(number1)] = at
		}
	}
	f.streams[n] = o
	return o
}

func (f *File) dict(o any) (dict, bool) {
	switch o := f.resolve(o).(type) {
	case dict:
		return o, true
	case *stream:
		return o.dict, true
	}
	return nil, false
}

func (f *File) array(o any) array {
	a, _ := f.resolve(o).(array)
	return a
}

func (f *File) number(o any) float64 { return toFloat(f.resolve(o)) }

func toFloat(o any) float64 {
	n, _ := o.(float64)
	return n
}

func toInt(o any) int {
	n := toFloat(o)
	if n != n || n > 1<<40 || n < -(1<<40) {
		return -1
	}
	return int(n)
}

// Repaired reports whether the table of objects was damaged, so that pages may be missing.
func (f *File) Repaired() bool { return f.rebuilt }

// Title is the title that the file gives itself.
func (f *File) Title() (title string) {
	defer func() {
		if recover() != nil {
			title = ""
		}
	}()
	info, _ := f.dict(f.trailer["Info"])
	s, _ := f.resolve(info["Title"]).(string)
	return textString(s)
}

// textString decodes a text outside of pages.
func textString(s string) string {
	switch {
	case len(s) >= 2 && s[0] == 0xfe && s[1] == 0xff:
		return utf16Text(s[2:])
	case len(s) >= 3 && s[:3] == "\xef\xbb\xbf":
		return s[3:]
	}
	text, err := charmap.Windows1252.NewDecoder().String(s)
	if err != nil {
		return s
	}
	return text
}

func utf16Text(s string) string {
	units := make([]uint16, len(s)/2)
	for i := range units {
		units[i] = uint16(s[2*i])<<8 | uint16(s[2*i+1])
	}
	return string(utf16.Decode(units))
}
