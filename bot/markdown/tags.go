package markdown

import (
	"strings"
	"unicode/utf8"
)

// tags are the elements of HTML that are shown as their writers mean them. Those
// without an end are text.
var tags = map[string]bool{"u": true, "ins": true, "sub": true, "sup": true, "summary": true, "details": true}

// tagAt returns the name and the length of the tag at the start of s; n is 0 when there
// is none.
func tagAt(s string) (name string, closing bool, n int) {
	end := strings.IndexByte(s[:min(len(s), len("</summary>"))], '>')
	if end < 0 {
		return "", false, 0
	}
	name, closing = strings.CutPrefix(s[1:end], "/")
	if name = strings.ToLower(name); !tags[name] {
		return "", false, 0
	}
	return name, closing, end + 1
}

// startsFolded reports whether a text starts with the title of a folded part, as
// prepare writes it.
func startsFolded(s string) bool {
	s = s[:min(len(s), len("<details><summary>"))]
	return strings.EqualFold(s, "<details><summary>")
}

// addText appends text as it is written, with its tags as spans of their own.
func addText(out *[]span, s string, l look, clean func(string) string) {
	from := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '<':
			if _, _, n := tagAt(s[i:]); n > 0 {
				add(out, span{clean(s[from:i]), l})
				*out = append(*out, span{s[i : i+n], l | tag})
				from = i + n
				i = from - 1
			}
		}
	}
	add(out, span{clean(s[from:]), l})
}

// applyTags turns the tags among spans into looks, raised and lowered text.
func applyTags(spans []span) []span {
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
		name, closing, _ := tagAt(s.text)
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
	return applyPairs(spans, ends, 0, 0)
}

// applyPairs shows spans, the first of which has the number base, with a further look.
func applyPairs(spans []span, ends map[int]int, base int, more look) []span {
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
		name, _, _ := tagAt(s.text)
		inner := spans[i+1 : end-base]
		switch name {
		case "u", "ins":
			out = append(out, applyPairs(inner, ends, base+i+1, more|underline)...)
		case "summary":
			out = append(out, applyPairs(inner, ends, base+i+1, more|bold)...)
			if rest := spans[end-base+1:]; len(rest) > 0 && !strings.HasPrefix(rest[0].text, "\n") {
				add(&out, span{"\n", more})
			}
		case "sub":
			out = append(out, scripted(applyPairs(inner, ends, base+i+1, more), subscripts, "_")...)
		case "sup":
			out = append(out, scripted(applyPairs(inner, ends, base+i+1, more), superscripts, "^")...)
		default:
			out = append(out, applyPairs(inner, ends, base+i+1, more)...)
		}
		i = end - base
	}
	return out
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
