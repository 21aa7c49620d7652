package pdf

import (
	_ "embed"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

//go:embed glyphs.txt
var glyphList string

// glyphNames returns the characters of glyphs by their names.
func glyphNames() map[string]rune {
	names := make(map[string]rune, 2000)
	for line := range strings.Lines(glyphList) {
		glyph, hex, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseUint(hex, 16, 32); err == nil && !strings.HasPrefix(glyph, "#") {
			names[glyph] = rune(n) //nolint:gosec // of our list
		}
	}
	return names
}

// glyphText returns the text of a glyph by its name: of the list, "uni20AC", "u1F600",
// "f_i", or "a.alt".
func (f *File) glyphText(glyph string) string {
	glyph, _, _ = strings.Cut(glyph, ".")
	if r, ok := f.glyphs[glyph]; ok {
		return string(r)
	}
	if utf8.RuneCountInString(glyph) == 1 {
		return glyph
	}
	if hex, ok := strings.CutPrefix(glyph, "uni"); ok && len(hex) >= 4 && len(hex)%4 == 0 {
		var raw []byte
		for i := 0; i < len(hex); i += 2 {
			n, err := strconv.ParseUint(hex[i:i+2], 16, 8)
			if err != nil {
				return ""
			}
			raw = append(raw, byte(n))
		}
		return utf16Text(string(raw))
	}
	if hex, ok := strings.CutPrefix(glyph, "u"); ok && len(hex) >= 4 && len(hex) <= 6 {
		if n, err := strconv.ParseUint(hex, 16, 32); err == nil && n < utf8.MaxRune {
			return string(rune(n)) //nolint:gosec // checked
		}
	}
	var out strings.Builder
	if parts := strings.Split(glyph, "_"); len(parts) > 1 {
		for _, p := range parts {
			out.WriteString(f.glyphText(p))
		}
	}
	return out.String()
}

// font turns the strings of a page into text and widths.
type font struct {
	composite bool
	vertical  bool
	unicode   *cmap // what the file says about the text of codes; may be nil
	codes     *cmap // how strings are cut into codes; nil: by two bytes, or as charset says
	charset   encoding.Encoding
	wide      bool // charset is UTF-16
	simple    [256]string
	widths    map[int]float64 // by code, in text space
	width     float64         // of others; negative: an estimate
}

// glyph is a code of a string.
type glyph struct {
	text  string
	width float64
	space bool // word spacing applies
}

// font reads a font dictionary once.
func (f *File) font(o any) *font {
	key := o
	if _, ok := o.(ref); !ok {
		key = nil
	}
	if key != nil {
		if known := f.fonts[key]; known != nil {
			return known
		}
	}
	d, _ := f.dict(o)
	out := &font{widths: map[int]float64{}}
	if s, ok := f.resolve(d["ToUnicode"]).(*stream); ok {
		out.unicode = f.readCMap(s)
	}
	if d["Subtype"] == name("Type0") {
		f.compositeFont(d, out)
	} else {
		f.simpleFont(d, out)
	}
	if key != nil {
		f.fonts[key] = out
	}
	return out
}

func (f *File) simpleFont(d dict, out *font) {
	base := charmap.Windows1252
	var differences array
	builtIn := map[int]string{}
	descriptor, _ := f.dict(d["FontDescriptor"])
	baseName := name("")
	switch e := f.resolve(d["Encoding"]).(type) {
	case name:
		baseName = e
	case dict:
		baseName, _ = f.resolve(e["BaseEncoding"]).(name)
		differences = f.array(e["Differences"])
	}
	if baseName == "MacRomanEncoding" {
		base = charmap.Macintosh
	}
	if program, ok := f.resolve(descriptor["FontFile"]).(*stream); ok && baseName == "" {
		builtIn = type1Encoding(f.unpack(program))
	}
	for c := range 256 {
		out.simple[c] = string(base.DecodeByte(byte(c)))
		if c < ' ' {
			out.simple[c] = ""
		}
		if glyph, ok := builtIn[c]; ok {
			out.simple[c] = f.glyphText(glyph)
		}
	}
	code := 0
	for _, o := range differences {
		switch o := f.resolve(o).(type) {
		case float64:
			code = toInt(o)
		case name:
			if code >= 0 && code < 256 {
				out.simple[code] = f.glyphText(string(o))
			}
			code++
		}
	}
	scale := 0.001
	if m := f.array(d["FontMatrix"]); d["Subtype"] == name("Type3") && len(m) == 6 {
		scale = f.number(m[0])
	}
	first := toInt(f.resolve(d["FirstChar"]))
	for i, w := range f.array(d["Widths"]) {
		out.widths[first+i] = f.number(w) * scale
	}
	if out.width = f.number(descriptor["MissingWidth"]) * scale; len(out.widths) == 0 && out.width == 0 {
		out.width = -1
	}
}

// type1Encoding reads the encoding in the clear part of a Type 1 font program.
func type1Encoding(program []byte) map[int]string {
	out := map[int]string{}
	l := &lexer{data: program, content: true}
	var last [3]any
	for len(out) < 256 {
		o := l.object()
		switch o := o.(type) {
		case end:
			if o == 0 {
				return out
			}
		case operator:
			if glyph, ok := last[2].(name); ok && o == "put" {
				if code := toInt(last[1]); code >= 0 && code < 256 {
					out[code] = string(glyph)
				}
			}
			if o == "eexec" {
				return out
			}
		}
		last = [3]any{last[1], last[2], o}
	}
	return out
}

func (f *File) compositeFont(d dict, out *font) {
	out.composite, out.width = true, 1
	switch e := f.resolve(d["Encoding"]).(type) {
	case *stream:
		out.codes = f.readCMap(e)
	case name:
		out.vertical = strings.HasSuffix(string(e), "-V")
		out.charset, out.wide = predefined(string(e))
	}
	if list := f.array(d["DescendantFonts"]); len(list) > 0 {
		below, _ := f.dict(list[0])
		if w, ok := f.resolve(below["DW"]).(float64); ok {
			out.width = w / 1000
		}
		f.cidWidths(f.array(below["W"]), out)
	}
}

// cidWidths reads [c [w1 w2 ...] first last w ...].
func (f *File) cidWidths(w array, out *font) {
	for i := 0; i+1 < len(w) && len(out.widths) < 1<<17; {
		first := toInt(f.resolve(w[i]))
		if list, ok := f.resolve(w[i+1]).(array); ok {
			for j, o := range list {
				out.widths[first+j] = f.number(o) / 1000
			}
			i += 2
			continue
		}
		if i+2 >= len(w) {
			break
		}
		last, width := toInt(f.resolve(w[i+1])), f.number(w[i+2])/1000
		for c := first; c <= min(last, first+1<<16); c++ {
			out.widths[c] = width
		}
		i += 3
	}
}

// predefined returns the charset of a predefined CMap (ISO 32000-2, 9.7.5.2); nil for
// Identity, which has none.
func predefined(cmap string) (e encoding.Encoding, wide bool) {
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(cmap, p) {
				return true
			}
		}
		return false
	}
	switch {
	case has("UCS2", "UTF16"):
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), true
	case has("RKSJ"):
		return japanese.ShiftJIS, false
	case has("GBK", "GB-EUC", "GBpc", "GBT"):
		return simplifiedchinese.GBK, false
	case has("B5", "HKscs"):
		return traditionalchinese.Big5, false
	case has("KSC"):
		return korean.EUCKR, false
	case has("EUC"):
		return japanese.EUCJP, false
	}
	return nil, false
}

// glyphs cuts a string into codes.
func (t *font) glyphs(s string) []glyph {
	out := make([]glyph, 0, len(s))
	for len(s) > 0 {
		n := t.codeLength(s)
		code := 0
		for i := range n {
			code = code<<8 | int(s[i])
		}
		g := glyph{space: n == 1 && code == ' ', width: t.width}
		if w, ok := t.widths[code]; ok {
			g.width = w
		}
		found := false
		if t.unicode != nil {
			g.text, found = t.unicode.text(code, n)
		}
		if !found {
			g.text = t.fallback(s[:n], code)
		}
		if g.width < 0 {
			g.width = estimate(g.text)
		}
		out = append(out, g)
		s = s[n:]
	}
	return out
}

func (t *font) codeLength(s string) int {
	switch {
	case !t.composite:
		return 1
	case t.codes != nil:
		return t.codes.length(s)
	case t.charset != nil && !t.wide:
		if s[0] >= 0x81 && (t.charset != japanese.ShiftJIS || s[0] < 0xa0 || s[0] >= 0xe0) {
			return min(2, len(s))
		}
		return 1
	}
	return min(2, len(s))
}

// fallback is the text of a code that ToUnicode does not have.
func (t *font) fallback(s string, code int) string {
	switch {
	case !t.composite:
		return t.simple[code&0xff]
	case t.charset != nil:
		if text, err := t.charset.NewDecoder().String(s); err == nil {
			return text
		}
	}
	return ""
}

// estimate is the width of a character of a font without widths, one of the fourteen
// that every program has.
func estimate(text string) float64 {
	switch {
	case strings.ContainsAny(text, "ijl.,:;'|!I ft()[]r"):
		return 0.3
	case strings.ContainsAny(text, "mwMW@%"):
		return 0.85
	case text != "" && text[0] >= 'A' && text[0] <= 'Z':
		return 0.68
	}
	return 0.53
}

// cmap maps codes to texts, and cuts strings into codes.
type cmap struct {
	spaces []codeSpace
	single map[int]string
	ranges []codeRange
}

type codeSpace struct{ low, high string }

type codeRange struct {
	low, high int
	text      string // of low; its last character counts on
}

// readCMap reads a ToUnicode CMap, or one that is an encoding.
func (f *File) readCMap(s *stream) *cmap {
	m := &cmap{single: map[int]string{}}
	l := &lexer{data: f.unpack(s), content: true}
	var args []any
	for {
		switch o := l.object().(type) {
		case end:
			if o == 0 {
				return m
			}
		case operator:
			switch o {
			case "endcodespacerange":
				for i := 0; i+1 < len(args); i += 2 {
					low, ok1 := args[i].(string)
					high, ok2 := args[i+1].(string)
					if ok1 && ok2 && len(low) == len(high) && low != "" && len(m.spaces) < 1000 {
						m.spaces = append(m.spaces, codeSpace{low, high})
					}
				}
			case "endbfchar":
				for i := 0; i+1 < len(args); i += 2 {
					m.add(args[i], args[i+1], f)
				}
			case "endbfrange":
				for i := 0; i+2 < len(args); i += 3 {
					m.addRange(args[i], args[i+1], args[i+2], f)
				}
			}
			args = args[:0]
		default:
			if len(args) < 1<<17 {
				args = append(args, o)
			}
		}
	}
}

func codeOf(o any) (int, bool) {
	s, ok := o.(string)
	code := 0
	for i := range len(s) {
		code = code<<8 | int(s[i])
	}
	return code, ok && len(s) <= 4
}

func textOf(o any, f *File) string {
	switch o := o.(type) {
	case string:
		if len(o) == 1 {
			return string(rune(o[0]))
		}
		return utf16Text(o)
	case name:
		return f.glyphText(string(o))
	}
	return ""
}

func (m *cmap) add(code, text any, f *File) {
	if c, ok := codeOf(code); ok && len(m.single) < 1<<17 {
		m.single[c] = textOf(text, f)
	}
}

func (m *cmap) addRange(from, to, text any, f *File) {
	low, ok1 := codeOf(from)
	high, ok2 := codeOf(to)
	if !ok1 || !ok2 || high < low {
		return
	}
	if list, ok := text.(array); ok {
		for i, o := range list {
			if low+i <= high && len(m.single) < 1<<17 {
				m.single[low+i] = textOf(o, f)
			}
		}
		return
	}
	if len(m.ranges) < 1<<16 {
		m.ranges = append(m.ranges, codeRange{low, high, textOf(text, f)})
	}
}

// text returns the text of a code.
func (m *cmap) text(code, _ int) (string, bool) {
	if s, ok := m.single[code]; ok {
		return s, s != ""
	}
	for _, r := range m.ranges {
		if code < r.low || code > r.high || r.text == "" {
			continue
		}
		last, size := utf8.DecodeLastRuneInString(r.text)
		s := r.text[:len(r.text)-size] + string(last+rune(code-r.low)) //nolint:gosec // four bytes at most
		m.single[code] = s
		return s, true
	}
	return "", false
}

// length is how many bytes the next code of a string has.
func (m *cmap) length(s string) int {
	for n := 1; n <= min(4, len(s)); n++ {
		for _, space := range m.spaces {
			if len(space.low) == n && within(s[:n], space) {
				return n
			}
		}
	}
	if len(m.spaces) == 0 {
		return min(2, len(s))
	}
	return min(len(m.spaces[0].low), len(s))
}

func within(code string, s codeSpace) bool {
	for i := range len(code) {
		if code[i] < s.low[i] || code[i] > s.high[i] {
			return false
		}
	}
	return true
}
