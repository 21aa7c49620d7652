package markdown

import (
	"strings"
)

// syntax is how a kind of Markdown marks spans.
type syntax struct {
	bold, italic, strike string
	link                 func(m *mark) (open, end string)
	text                 func(s string, w *inlineWriter) string
	code                 func(s string) string
}

var (
	addressText = strings.NewReplacer("(", "%28", ")", "%29", "|", "%7C", "*", "%2A")

	standardMarkdown = syntax{
		bold: "**", italic: "*", strike: "~~",
		link: bracketLink, text: escapeText, code: codeText,
	}
	cellMarkdown = syntax{
		bold: "**", italic: "*", strike: "~~",
		link: bracketLink,
		text: func(s string, w *inlineWriter) string {
			return strings.ReplaceAll(escapeText(s, w), "|", `\|`)
		},
		code: func(s string) string { return strings.ReplaceAll(codeText(s), "|", `\|`) },
	}
	slackMarkup = syntax{
		bold: "*", italic: "_", strike: "~",
		link: func(m *mark) (string, string) {
			return "<" + strings.ReplaceAll(htmlText.Replace(m.to), "|", "%7C") + "|", ">"
		},
		text: func(s string, _ *inlineWriter) string { return htmlText.Replace(s) },
		code: func(s string) string { return "`" + htmlText.Replace(strings.ReplaceAll(s, "`", "'")) + "`" },
	}
)

// inlineWriter writes the spans of one line.
type inlineWriter struct {
	*flow
	*syntax
	b      strings.Builder
	open   []look // what is open, outermost first: one bit, or a mark
	spaces string // to be written behind what is closed next
}

// inlineText writes spans in a syntax. Spaces at either end are dropped.
func (f *flow) inlineText(spans []span, how *syntax) string {
	w := inlineWriter{flow: f, syntax: how}
	for i, s := range spans {
		core := strings.Trim(s.text, " ")
		if core == "" {
			w.spaces += s.text
			continue
		}
		if s.look&code != 0 {
			core = s.text
		}
		before, after, _ := strings.Cut(s.text, core)
		w.spaces += before
		w.turn(spans[i:])
		if s.look&code != 0 {
			w.b.WriteString(how.code(harmless(core)))
		} else {
			w.b.WriteString(how.text(core, &w))
		}
		w.spaces = after
	}
	w.spaces = ""
	w.turn(nil)
	return w.b.String()
}

// turn closes and opens what the first of spans asks for. What lasts longest
// is opened first.
func (w *inlineWriter) turn(spans []span) {
	want := look(0)
	if len(spans) > 0 {
		want = w.wanted(spans[0].look)
	}
	keep := 0
	for keep < len(w.open) && has(want, w.open[keep]) {
		want = without(want, w.open[keep])
		keep++
	}
	for i := len(w.open) - 1; i >= keep; i-- {
		_, end := w.marks(w.open[i])
		w.b.WriteString(end)
	}
	w.open = w.open[:keep]
	if w.b.Len() > 0 {
		w.b.WriteString(w.spaces)
	}
	w.spaces = ""
	for want != 0 {
		next, longest := look(0), -1
		for _, l := range [...]look{want >> markShift << markShift, want & strike, want & bold, want & italic} {
			if l == 0 {
				continue
			}
			lasts := 0
			for lasts < min(len(spans), 16) && has(w.wanted(spans[lasts].look), l) {
				lasts++
			}
			if lasts > longest {
				next, longest = l, lasts
			}
		}
		start, _ := w.marks(next)
		w.b.WriteString(start)
		w.open = append(w.open, next)
		want = without(want, next)
	}
}

// wanted are the parts of a look that are opened and closed.
func (w *inlineWriter) wanted(l look) look {
	want := l & (bold | italic | strike)
	if m := w.links.of(l); m != nil && m.to != "" {
		want |= l >> markShift << markShift
	}
	return want
}

// has reports whether l holds the bit or the mark one.
func has(l, one look) bool {
	if one>>markShift != 0 {
		return l>>markShift == one>>markShift
	}
	return l&one != 0
}

func without(l, one look) look {
	if one>>markShift != 0 {
		return l & (1<<markShift - 1)
	}
	return l &^ one
}

// marks are what opens and closes one part of a look.
func (w *inlineWriter) marks(one look) (start, end string) {
	switch one {
	case bold:
		return w.bold, w.bold
	case italic:
		return w.italic, w.italic
	case strike:
		return w.strike, w.strike
	}
	return w.link(w.links.of(one))
}

// inLink is the link that is open; nil for none.
func (w *inlineWriter) inLink() *mark {
	if w == nil {
		return nil
	}
	for _, l := range w.open {
		if l>>markShift != 0 {
			return w.links.of(l)
		}
	}
	return nil
}

func bracketLink(m *mark) (start, end string) {
	if m.self {
		return "<", ">"
	}
	to := addressText.Replace(m.to)
	if i := strings.IndexByte(to, '&'); i >= 0 && strings.Contains(to[i:], ";") {
		to = strings.ReplaceAll(to, ";", "%3B") // else "&lt;" would be read as an entity
	}
	return "[", "](" + to + ")"
}
