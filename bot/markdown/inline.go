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
// line breaks. A line break of the source stays one: models mean it.
func (r *renderer) inlines(parent ast.Node, l look) []span {
	var spans []span
	r.inline(parent, l, &spans)
	for i := range spans {
		if spans[i].look&code == 0 {
			spans[i].text = breaks(spans[i].text)
		}
	}
	return spans
}

func (r *renderer) inline(parent ast.Node, l look, out *[]span) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			r.text(n, l, out)
		case *ast.String:
			add(out, span{oneLine(string(n.Value)), l})
		case *ast.CodeSpan:
			add(out, span{r.codeSpan(n), l | code})
		case *ast.Emphasis:
			r.inline(n, l|[]look{italic, bold}[min(n.Level, 2)-1], out)
		case *extast.Strikethrough:
			r.struck(n, l|strike, out)
		case *ast.Link:
			r.link(n, n.Destination, n.Title, l, out)
		case *ast.Image:
			r.link(n, n.Destination, n.Title, l, out)
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

// add appends s, joined to what it continues.
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
	value := n.Segment.Value(r.src)
	s := string(value)
	if !n.IsRaw() {
		s = unescape(s)
	}
	add(out, span{oneLine(s), l})
	if n.HardLineBreak() || n.SoftLineBreak() {
		add(out, span{"\n", l})
	}
}

// breaks turns <br> into a line break: models write it in table cells.
func breaks(s string) string {
	for from := 0; ; {
		i := strings.IndexByte(s[from:], '<')
		if i < 0 {
			return s
		}
		from += i + 1
		end := strings.IndexByte(s[from:min(len(s), from+8)], '>')
		if end < 0 {
			continue
		}
		if tag := strings.TrimRight(s[from:from+end], " /"); strings.EqualFold(tag, "br") {
			s = s[:from-1] + "\n" + s[from+end+1:]
		}
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

// struck shows deleted text; without colours its marks stay, because without
// them it would say the opposite.
func (r *renderer) struck(n ast.Node, l look, out *[]span) {
	if !r.color && r.links == nil {
		add(out, span{"~~", l})
		defer add(out, span{"~~", l})
	}
	r.inline(n, l, out)
}

// autoLink shows an address that stands for itself.
func (r *renderer) autoLink(n *ast.AutoLink, l look, out *[]span) {
	label := oneLine(string(n.Label(r.src)))
	if r.links == nil {
		add(out, span{label, l | link | underline})
		return
	}
	to := oneLine(string(n.URL(r.src)))
	if n.AutoLinkType == ast.AutoLinkEmail {
		to = "mailto:" + label
	}
	r.links.add([]span{{label, l}}, to, "", l, out)
}

// link shows a link's text and where it leads; an image likewise.
func (r *renderer) link(n ast.Node, to, title []byte, l look, out *[]span) {
	var inner []span
	if r.links != nil {
		r.inline(n, l, &inner)
		r.links.add(inner, oneLine(unescape(string(to))), oneLine(unescape(string(title))), l, out)
		return
	}
	r.inline(n, l|link, &inner)
	*out = append(*out, inner...)
	var label strings.Builder
	for _, s := range inner {
		label.WriteString(s.text)
	}
	var parts []string
	if dest := oneLine(unescape(string(to))); dest != "" && dest != label.String() && dest != "mailto:"+label.String() {
		parts = append(parts, dest)
	}
	if len(title) > 0 {
		parts = append(parts, `"`+oneLine(unescape(string(title)))+`"`)
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

// entity resolves the entity at the start of s and says how long it was; an
// ampersand that starts none stands for itself.
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
