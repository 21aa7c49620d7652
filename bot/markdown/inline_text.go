package markdown

import (
	"strings"
)

// inlineWriter writes the spans of one line.
type inlineWriter struct {
	*flow
	cell   bool // of a table, where a pipe would end the text
	b      strings.Builder
	open   []look // what is open, outermost first: one bit, or a mark
	spaces string // to be written behind what is closed next
}

// inlineText writes spans as Markdown. Spaces at either end are dropped.
func (f *flow) inlineText(spans []span, cell bool) string {
	w := inlineWriter{flow: f, cell: cell}
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
			w.b.WriteString(w.codeText(harmless(core)))
		} else {
			w.b.WriteString(w.escape(core))
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
		return "**", "**"
	case italic:
		return "*", "*"
	case strike:
		return "~~", "~~"
	}
	return bracketLink(w.links.of(one))
}

// inLink is the link that is open; nil for none.
func (w *inlineWriter) inLink() *mark {
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
	to := m.to
	if strings.ContainsAny(to, "()|*") {
		to = strings.NewReplacer("(", "%28", ")", "%29", "|", "%7C", "*", "%2A").Replace(to)
	}
	if i := strings.IndexByte(to, '&'); i >= 0 && strings.Contains(to[i:], ";") {
		to = strings.ReplaceAll(to, ";", "%3B") // else "&lt;" would be read as an entity
	}
	return "[", "](" + to + ")"
}
