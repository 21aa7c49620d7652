package markdown

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"

	"legwork/bot"
)

// tags are the elements of HTML that are shown as their writers mean them, with the look
// of their text. Those without an end are text, but for <br>.
var tags = map[string]look{
	"b": bold, "strong": bold, "mark": bold, "summary": bold, "i": italic, "em": italic, "u": underline, "ins": underline,
	"s": strike, "del": strike, "strike": strike, "code": code, "kbd": code, "samp": code, "tt": code,
	"h1": bold, "h2": bold, "h3": bold, "h4": bold, "h5": bold, "h6": bold,
	"a": 0, "br": 0, "sub": 0, "sup": 0, "details": 0, "p": 0, "div": 0, "center": 0, "span": 0, "font": 0, "small": 0, "big": 0,
	"ul": 0, "ol": 0, "li": 0,
}

var hrefPattern = regexp.MustCompile(`(?i)\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)

// readTag returns the name of a tag of this package; empty for any other HTML.
func readTag(s string) (name string, closing bool) {
	s, ok := strings.CutPrefix(s, "<")
	s, closing = strings.CutPrefix(s, "/")
	end := strings.IndexAny(s, " \t\n\f\r/>")
	if !ok || end < 0 {
		return "", false
	}
	name = strings.ToLower(s[:end])
	if _, known := tags[name]; !known {
		return "", false
	}
	return name, closing
}

// startsFolded reports whether a text starts with the title of a folded part, as
// prepare writes it.
func startsFolded(s string) bool {
	s = s[:min(len(s), len("<details><summary>"))]
	return strings.EqualFold(s, "<details><summary>")
}

// tag appends HTML: a tag of this package as a span of its own, any other as text.
func (r *renderer) tag(n *ast.RawHTML, l look, out *[]span) {
	var b strings.Builder
	for i := range n.Segments.Len() {
		segment := n.Segments.At(i)
		b.Write(segment.Value(r.src))
	}
	s := strings.ReplaceAll(bot.Clean(b.String()), "\t", " ")
	switch name, closing := readTag(s); {
	case name == "br" && !closing:
		add(out, span{"\n", l})
	case name != "":
		*out = append(*out, span{s, l | tag})
	default:
		add(out, span{s, l})
	}
}

// applyTags turns the tags among spans into looks, links, lines, raised and lowered text.
func (r *renderer) applyTags(spans []span) []span {
	type open struct {
		name string
		at   int
	}
	var stack []open
	ends := map[int]int{} // of the tags that have one, by their start
	for i, s := range spans {
		if s.look&tag == 0 {
			continue
		}
		name, closing := readTag(s.text)
		if !closing {
			stack = append(stack, open{name, i})
			continue
		}
		for k := len(stack) - 1; k >= 0; k-- {
			if stack[k].name == name {
				ends[stack[k].at] = i
				stack = stack[:k]
				break
			}
		}
	}
	if len(ends) == 0 && len(stack) == 0 {
		return withoutTagBit(spans)
	}
	return r.applyPairs(spans, ends, 0, 0)
}

// applyPairs shows spans, the first of which has the number base, with a further look.
func (r *renderer) applyPairs(spans []span, ends map[int]int, base int, more look) []span {
	var out []span
	for i := 0; i < len(spans); i++ {
		s := spans[i]
		s.look |= more
		end, paired := ends[base+i]
		if s.look&tag == 0 || !paired {
			if base+i == 0 && len(spans) > 1 && s.look&tag != 0 && startsFolded(s.text+spans[1].text) {
				continue // it is shown as a quotation
			}
			s.look &^= tag
			add(&out, s)
			continue
		}
		name, _ := readTag(s.text)
		inner := r.applyPairs(spans[i+1:end-base], ends, base+i+1, more|tags[name])
		i = end - base
		switch name {
		case "a":
			if m := hrefPattern.FindStringSubmatch(s.text); m != nil {
				r.addLink(inner, oneLine(unescape(m[1]+m[2]+m[3])), "", s.look&^tag, &out)
				continue
			}
		case "s", "del", "strike":
			inner = r.struck(inner, more|strike)
		case "sub":
			inner = scripted(inner, subscripts, "_")
		case "sup":
			inner = scripted(inner, superscripts, "^")
		case "li":
			inner = append([]span{{"• ", more}}, inner...)
		}
		if onOwnLine(name) {
			breakLine(&out, more)
		}
		out = append(out, inner...)
		if rest := spans[i+1:]; len(rest) > 0 && onOwnLine(name) && !strings.HasPrefix(rest[0].text, "\n") {
			breakLine(&out, more)
		}
	}
	return out
}

// onOwnLine reports whether an element begins and ends a line.
func onOwnLine(name string) bool {
	return strings.Contains(" li p div center ul ol h1 h2 h3 h4 h5 h6 summary ", " "+name+" ")
}

// breakLine begins a new line after text.
func breakLine(out *[]span, l look) {
	if n := len(*out); n > 0 && !strings.HasSuffix((*out)[n-1].text, "\n") {
		*out = append(*out, span{"\n", l})
	}
}

// withoutTagBit makes text of tags.
func withoutTagBit(spans []span) []span {
	for i := range spans {
		spans[i].look &^= tag
	}
	return spans
}

// scripted raises or lowers spans. A text of several words only looks smaller in HTML,
// and the endings of ordinal numbers (19th) are read without a mark.
func scripted(spans []span, s scripts, mark string) []span {
	text := spansText(spans)
	if _, ok := s.of(text); ok {
		for i := range spans {
			spans[i].text, _ = s.of(spans[i].text)
		}
		return spans
	}
	if strings.ContainsAny(text, " \n") || strings.Contains(" st nd rd th TM ", " "+text+" ") {
		return spans
	}
	before, after := mark, ""
	if utf8.RuneCountInString(text) > 1 && atom(text) != text {
		before, after = mark+"(", ")"
	}
	spans = append([]span{{before, spans[0].look}}, spans...)
	if after != "" {
		spans = append(spans, span{after, spans[len(spans)-1].look})
	}
	return spans
}
