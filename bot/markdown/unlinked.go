package markdown

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// webAddress finds what clients may show as a link: an address with a scheme, and the
// name or number of a host with what stands before an @ and what follows.
var webAddress = regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*:/` + addressRest + `|([\p{L}\p{N}_.+-]+@)?[\p{L}\p{N}_-]+(\.[\p{L}\p{N}_-]+)+(:[0-9]+)?([/?#]` + addressRest + `)?`)

// addressRest is the rest of an address up to a space, a quote, or a mark of East Asian
// sentences.
const addressRest = "[^\\s\\p{Z}\\p{C}\"<>`，。、；：！？（）「」『』《》【】]*"

// Unlinked is Markdown in which every web address that known does not report stands as
// inline code, with the words of its link before it. No client makes a link of inline
// code. A text whose addresses are all known, as with a nil known, stays byte for byte.
func Unlinked(markdown string, known func(address string) bool) string {
	if known == nil || !strings.ContainsAny(markdown, ".:&") {
		return markdown
	}
	l := links{telegram: true, known: known}
	out := richMarkdown(markdown, &l)
	if !l.unlinked {
		return markdown
	}
	return out
}

// Addresses lists the addresses that clients may show as links of a Markdown text.
func Addresses(markdown string) (list []string) {
	Unlinked(markdown, func(address string) bool {
		list = append(list, address)
		return true
	})
	return list
}

// WithoutAddresses is a plain text with an ellipsis in place of every web address that
// known does not report.
func WithoutAddresses(text string, known func(address string) bool) string {
	if known == nil {
		return text
	}
	var b strings.Builder
	at := 0
	for _, m := range webAddress.FindAllStringIndex(text, -1) {
		address := strings.TrimRight(text[m[0]:m[1]], afterAddress)
		end := m[0] + len(address)
		if address != "" && (!known(address) || goesOn(address, text[end:])) {
			b.WriteString(text[at:m[0]] + "…")
			at = end
		}
	}
	return b.String() + text[at:]
}

// afterAddress are marks that end a sentence or markup, and no address.
const afterAddress = ".,;:!?)]}'*_~|"

// goesOn reports whether a client may take the word behind an address for a part of its
// path: no space, quote or angle bracket stands between them.
func goesOn(address, after string) bool {
	if !strings.ContainsAny(address, "/?#") || after == "" || strings.ContainsRune("\"<>`", rune(after[0])) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(after, unicode.IsPunct))
	return unicode.IsLetter(next) || unicode.IsDigit(next) || unicode.Is(unicode.Cf, next)
}

// isKnown reports whether an address may be a link.
func (a *links) isKnown(address string) bool { return a.known == nil || a.known(address) }

// addUnlinked appends the words of a link and its address as code.
func (a *links) addUnlinked(label []span, to, note string, l look, out *[]span) {
	a.unlinked = true
	if spansText(label) != to {
		*out = append(*out, label...)
		add(out, span{" ", l})
	}
	add(out, span{strings.NewReplacer("`", "%60", " ", "%20").Replace(to), code})
	add(out, span{note, l})
}

// withoutLinks makes code of the addresses in text that are not known. Words of links
// are no links of their own. Code in which a platform could show a link becomes text first.
func (a *links) withoutLinks(spans []span) []span {
	if a == nil || a.known == nil {
		return spans
	}
	var out []span
	for i := 0; i < len(spans); {
		if !mayLink(spans[i]) {
			out = append(out, spans[i])
			i++
			continue
		}
		end := i
		for end < len(spans) && mayLink(spans[end]) {
			end++
		}
		a.cutAddresses(spans[i:end], &out)
		i = end
	}
	return out
}

// mayLink reports whether a client may find addresses in a span. Telegram shows struck
// code as text, and Slack code with many backticks.
func mayLink(s span) bool {
	return s.look>>markShift == 0 && (s.look&code == 0 || s.look&strike != 0 || strings.Contains(s.text, "`"))
}

// cutAddresses appends spans. An address may go over several of them.
func (a *links) cutAddresses(spans []span, out *[]span) {
	text := spansText(spans)
	at := 0 // of the text, where spans[0] begins
	copyTo := func(end int) {
		for len(spans) > 0 && at < end {
			n := min(len(spans[0].text), end-at)
			*out = append(*out, span{spans[0].text[:n], spans[0].look})
			at += n
			if spans[0].text = spans[0].text[n:]; spans[0].text == "" {
				spans = spans[1:]
			}
		}
	}
	for _, m := range webAddress.FindAllStringIndex(text, -1) {
		address := strings.TrimRight(text[m[0]:m[1]], afterAddress)
		known := address != "" && a.isKnown(address)
		if address == "" || known && !goesOn(address, text[m[0]+len(address):]) {
			continue
		}
		a.unlinked = true
		copyTo(m[0])
		kept := len(*out)
		copyTo(m[0] + len(address))
		*out = (*out)[:kept]
		if to, _ := a.target(address); known && to != "" { // the link ends where the address does
			a.add([]span{{address, 0}}, address, "", 0, out)
		} else {
			*out = append(*out, span{address, code})
		}
	}
	copyTo(len(text))
}
