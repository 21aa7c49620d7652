package web

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/ledongthuc/pdf"
)

// maxWidths bounds a font's table of widths: there are no more codes.
const maxWidths = 1 << 16

// ligatures are letters that hang together in print and in no dictionary.
var ligatures = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")

// font tells what the codes of a string mean and how wide they are.
type font struct {
	encoding pdf.TextEncoding
	wide     bool // codes of two bytes
	first    int  // code of widths[0]
	widths   []float64
	other    float64 // width of codes that are not in widths; 0: not known
	known    map[string]string
}

func newFont(v pdf.Value) *font {
	f := &font{known: map[string]string{}}
	f.encoding = (&pdf.Font{V: v}).Encoder()
	if descendant := v.Key("DescendantFonts").Index(0); v.Key("Subtype").Name() == "Type0" {
		f.wide, f.other = true, 1000
		if w := descendant.Key("DW"); w.Kind() == pdf.Integer || w.Kind() == pdf.Real {
			f.other = w.Float64()
		}
		f.wideWidths(descendant.Key("W"))
		return f
	}
	f.first = int(v.Key("FirstChar").Int64())
	list := v.Key("Widths")
	for i := range min(list.Len(), 256) {
		f.widths = append(f.widths, list.Index(i).Float64())
	}
	return f
}

// wideWidths reads "first [w w w]" and "first last w" (ISO 32000-1, 9.7.4.3).
func (f *font) wideWidths(list pdf.Value) {
	set := func(code int, width float64) {
		if code < 0 || code >= maxWidths {
			return
		}
		for len(f.widths) <= code {
			f.widths = append(f.widths, math.NaN())
		}
		f.widths[code] = width
	}
	for i := 0; i+1 < list.Len(); {
		first := int(list.Index(i).Int64())
		if each := list.Index(i + 1); each.Kind() == pdf.Array {
			for j := range each.Len() {
				set(first+j, each.Index(j).Float64())
			}
			i += 2
			continue
		}
		for code := max(0, first); code <= min(int(list.Index(i+1).Int64()), maxWidths); code++ {
			set(code, list.Index(i+2).Float64())
		}
		i += 3
	}
}

// decode is the text of a string. Strings come again, and looking each code up
// is slow in the library.
func (f *font) decode(raw string) string {
	text, ok := f.known[raw]
	if !ok {
		text = ligatures.Replace(strings.Map(func(r rune) rune {
			if r < ' ' || r == utf8.RuneError {
				return -1
			}
			return r
		}, f.encoding.Decode(raw)))
		if len(f.known) < 10_000 {
			f.known[strings.Clone(raw)] = text
		}
	}
	return text
}

// measure counts the codes of a string and adds up their widths, in thousandths
// of the font's size.
func (f *font) measure(raw string) (codes int, width float64) {
	step := 1
	if f.wide {
		step = 2
	}
	for i := 0; i+step <= len(raw); i += step {
		code := int(raw[i])
		if f.wide {
			code = code<<8 | int(raw[i+1])
		}
		codes++
		if at := code - f.first; at >= 0 && at < len(f.widths) && !math.IsNaN(f.widths[at]) {
			width += f.widths[at]
		} else {
			width += f.other
		}
	}
	return codes, width
}
