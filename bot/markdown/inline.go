package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"

	"legwork/bot"
)

// inlines turns the inline content of a block into spans; newlines in them are
// line breaks. A line break of the source is kept: models mean it.
func (r *renderer) inlines(parent ast.Node, l look) []span {
	var spans []span
	r.inline(parent, l, &spans)
	return r.links.withoutLinks(r.applyTags(spans))
}

func (r *renderer) inline(parent ast.Node, l look, out *[]span) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			r.text(n, l, out)
		case *ast.String:
			add(out, span{bot.Clean(string(n.Value)), l})
		case *ast.CodeSpan:
			add(out, span{r.codeSpan(n), l | code})
		case *ast.Emphasis:
			r.inline(n, l|[]look{italic, bold}[min(n.Level, 2)-1], out)
		case *extast.Strikethrough:
			var inner []span
			r.inline(n, l|strike, &inner)
			*out = append(*out, r.struck(inner, l|strike)...)
		case *ast.RawHTML:
			r.tag(n, l, out)
		case *ast.Link:
			r.link(n, n.Destination, n.Title, r.refs.use(n.Reference), l, out)
		case *ast.Image:
			r.link(n, n.Destination, n.Title, r.refs.use(n.Reference), l, out)
		case *ast.AutoLink:
			r.autoLink(n, l, out)
		case *extast.TaskCheckBox:
			box := "☐ "
			if n.IsChecked {
				box = "☑ "
			}
			add(out, span{box, l})
		default:
			r.inline(n, l, out)
		}
	}
}

// add appends s, and joins it to a span of the same look.
func add(out *[]span, s span) {
	n := len(*out)
	switch {
	case s.text == "":
	case n > 0 && (*out)[n-1].look == s.look && len((*out)[n-1].text) < 1<<10:
		(*out)[n-1].text += s.text
	default:
		*out = append(*out, s)
	}
}

func (r *renderer) text(n *ast.Text, l look, out *[]span) {
	s := string(n.Segment.Value(r.src))
	if n.IsRaw() {
		add(out, span{oneLine(s), l})
	} else {
		add(out, span{oneLine(unescape(s)), l})
	}
	if n.HardLineBreak() || n.SoftLineBreak() {
		add(out, span{"\n", l})
	}
}

// oneLine cleans text and keeps it on its line.
func oneLine(s string) string {
	s = bot.Clean(s)
	if strings.ContainsAny(s, "\n\t") {
		s = strings.NewReplacer("\n", " ", "\t", " ").Replace(s)
	}
	return s
}

func (r *renderer) codeSpan(n *ast.CodeSpan) string {
	var b bytes.Buffer
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(r.src))
		}
	}
	return oneLine(b.String())
}

// struck shows deleted text. Without colours it keeps the marks, because without
// them the text would say the opposite.
func (r *renderer) struck(inner []span, l look) []span {
	if r.color || r.links != nil {
		return inner
	}
	return append(append([]span{{"~~", l}}, inner...), span{"~~", l})
}

// autoLink shows a bare address.
func (r *renderer) autoLink(n *ast.AutoLink, l look, out *[]span) {
	label := oneLine(string(n.Label(r.src)))
	switch {
	case r.links == nil:
		add(out, span{label, l | link | underline})
		return
	case !r.links.isKnown(label):
		add(out, span{label, l}) // withoutLinks makes code of it
		return
	}
	to := oneLine(string(n.URL(r.src)))
	if n.AutoLinkType == ast.AutoLinkEmail {
		to = "mailto:" + label
	}
	r.links.add([]span{{label, l}}, to, "", l, out)
}

// link shows the text and the address of a link or an image.
func (r *renderer) link(n ast.Node, to, title []byte, brackets bool, l look, out *[]span) {
	var inner []span
	r.inline(n, l, &inner)
	if brackets {
		inner = append(append([]span{{"[", l}}, inner...), span{"]", l})
	}
	r.addLink(r.applyTags(inner), oneLine(unescape(string(to))), oneLine(unescape(string(title))), l, out)
}

func (r *renderer) addLink(inner []span, to, title string, l look, out *[]span) {
	if r.links != nil {
		r.links.add(inner, to, title, l, out)
		return
	}
	for i := range inner {
		inner[i].look |= link
	}
	*out = append(*out, inner...)
	var label strings.Builder
	for _, s := range inner {
		label.WriteString(s.text)
	}
	var parts []string
	if to != "" && to != label.String() && to != "mailto:"+label.String() {
		parts = append(parts, to)
	}
	if title != "" {
		parts = append(parts, `"`+title+`"`)
	}
	if len(parts) == 0 {
		return
	}
	where := "(" + strings.Join(parts, " ") + ")"
	if label.Len() > 0 {
		add(out, span{" ", l})
	}
	add(out, span{where, l | dim})
}

// unescape resolves backslash escapes and entities of raw Markdown text.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]):
			i++
			b.WriteByte(s[i])
		case s[i] == '&':
			n, resolved := entity(s[i:])
			b.WriteString(resolved)
			i += n - 1
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// entity resolves the entity at the start of s and returns its length; an
// ampersand that does not start one is literal.
func entity(s string) (n int, resolved string) {
	end := strings.IndexByte(s[:min(len(s), 40)], ';')
	if end < 0 {
		return 1, "&"
	}
	raw := []byte(s[:end+1])
	out := util.ResolveEntityNames(util.ResolveNumericReferences(raw))
	if bytes.Equal(out, raw) {
		return 1, "&"
	}
	return end + 1, string(out)
}

// inlineWriter writes the spans of one line.
type inlineWriter struct {
	*flow
	cell   bool // of a table, where a pipe would end the text
	b      strings.Builder
	open   []look // the open looks, outermost first: each one bit or one mark
	spaces string // to be written after the next closing mark
}

// inlineText writes spans as Markdown. Spaces at either end are dropped.
func (f *flow) inlineText(spans []span, cell bool) string {
	w := inlineWriter{flow: f, cell: cell}
	spans = readable(spans)
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
		w.adjustMarks(spans[i:])
		if s.look&code != 0 {
			w.b.WriteString(w.codeText(f.breakMentions(core)))
		} else {
			w.b.WriteString(w.escape(core))
		}
		w.spaces = after
	}
	w.spaces = ""
	w.adjustMarks(nil)
	return w.b.String()
}

// adjustMarks closes and opens marks as the first of spans needs. The look that
// lasts longest is opened first.
func (w *inlineWriter) adjustMarks(spans []span) {
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
		for _, l := range [...]look{want >> markShift << markShift, want & strike, want & bold, want & italic, want & underline} {
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
	if l&underline != 0 && !w.style.rich {
		want |= italic // the nearest that Slack has
	} else {
		want |= l & underline
	}
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

// marks open and close one part of a look.
func (w *inlineWriter) marks(one look) (start, end string) {
	switch one {
	case bold:
		return "**", "**"
	case italic:
		return "*", "*"
	case strike:
		return "~~", "~~"
	case underline:
		return "<u>", "</u>"
	}
	m := w.links.of(one)
	if w.bare(m) {
		return "<", ">"
	}
	return "[", "](" + bracketAddress(m.to) + ")"
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

// bare reports whether a link is written as its address alone. In a rich message of
// Telegram that could be read as a tag.
func (w *inlineWriter) bare(m *mark) bool { return m.isAddress && !w.style.rich }

// bracketAddress is the address of a link whose text is in brackets.
func bracketAddress(to string) string {
	if strings.ContainsAny(to, "()|*") {
		to = strings.NewReplacer("(", "%28", ")", "%29", "|", "%7C", "*", "%2A").Replace(to)
	}
	if i := strings.IndexByte(to, '&'); i >= 0 && strings.Contains(to[i:], ";") {
		to = strings.ReplaceAll(to, ";", "%3B") // otherwise "&lt;" would be read as an entity
	}
	return to
}
