package markdown

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxAddress is the longest address that becomes a link, in bytes; a longer one
// is shown as text.
const maxAddress = 1000

// links are the links of one document as chats show them: the text links to the
// address, and the host follows it unless the text shows the host.
type links struct {
	telegram bool // its own addresses can be links
	marks    []mark

	known    func(address string) bool // of Unlinked; nil: every address may be a link
	unlinked bool                      // an address was not known
}

// mark holds facts about a span beside its look. The upper bits of the look are
// its number.
type mark struct {
	to        string // the address that the span links to
	plain     string // replaces the span where links cannot be shown
	isAddress bool   // the span shows that address
	isNote    bool   // the span shows where the previous link leads
}

// of is the mark of a span; nil when it has none.
func (a *links) of(l look) *mark {
	if n := l >> markShift; n > 0 {
		return &a.marks[n-1]
	}
	return nil
}

// mark gives spans a mark.
func (a *links) mark(l look, m mark) look {
	a.marks = append(a.marks, m)
	return l&(1<<markShift-1) | look(len(a.marks))<<markShift
}

// add appends a link. An address that a chat must not offer is shown as text.
func (a *links) add(label []span, to, title string, l look, out *[]span) {
	text, where, note := spansText(label), strings.TrimPrefix(to, "mailto:"), ""
	if title != "" && title != text {
		note = ` "` + title + `"`
	}
	if webAddress.MatchString(to) && !a.isKnown(to) {
		a.addUnlinked(label, to, note, l, out)
		return
	}
	address, host := a.target(to)
	if address == "" {
		if where == text {
			where = ""
		}
		*out = append(*out, label...)
		add(out, span{addNoteText(text, where+note), l})
		return
	}
	if strings.TrimSpace(text) == "" {
		label, text = append(label, span{where, l}), where
	}
	own := a.mark(0, mark{to: address, isAddress: text == address})
	for _, s := range label {
		if s.look>>markShift == 0 {
			s.look |= own
		}
		add(out, s)
	}
	if a.known != nil { // the chat's own form of the text gets the host
		add(out, span{addNoteText(text, note), l})
		return
	}
	var shown, plain string
	switch {
	case text != to && (!strings.HasPrefix(text, "www.") || "http://"+text != to):
		plain = to
		if !showsHost(text, host) {
			shown = host
		}
	case hasFakeHost(address):
		shown, plain = host, host
	}
	a.addNote(text, shown, plain, note, l, out)
}

// addNote appends the text behind a link: the host and a note or, where links
// cannot be shown, the address and the note.
func (a *links) addNote(text, host, address, note string, l look, out *[]span) {
	long := ""
	if len(note) > maxAddress/4 { // the span is never cut
		note, long = "", note
	}
	shown, plain := addNoteText(text, host+note), addNoteText(text, address+note)
	if shown+plain != "" {
		*out = append(*out, span{shown, a.mark(l, mark{plain: plain, isNote: true})})
	}
	add(out, span{long, l})
}

// addNoteText puts a note behind text.
func addNoteText(text, note string) string {
	note = strings.TrimSpace(note)
	switch {
	case note == "":
		return ""
	case text == "":
		return "(" + note + ")"
	}
	return " (" + note + ")"
}

func spansText(spans []span) string {
	if len(spans) == 1 {
		return spans[0].text
	}
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(s.text)
	}
	return b.String()
}

// plainSpans is the text of spans without markup: links are written out, and
// struck text keeps its marks, because without them it would say the opposite.
func (f *flow) plainSpans(spans []span) string {
	var b strings.Builder
	struck := look(0)
	for _, s := range spans {
		struck = f.plainSpan(&b, s, struck)
	}
	if struck != 0 {
		b.WriteString("~~")
	}
	return b.String()
}

// plainSpan writes one span; struck says whether the one before was struck.
func (f *flow) plainSpan(b *strings.Builder, s span, struck look) look {
	if s.look&strike != struck {
		b.WriteString("~~")
	}
	if m := f.links.of(s.look); m != nil && m.isNote {
		b.WriteString(m.plain)
	} else {
		b.WriteString(s.text)
	}
	return s.look & strike
}

// target is the address that a link may have, in its normal form, and the host
// it leads to. An address that is unsafe, or may not work, has none.
func (a *links) target(to string) (address, host string) {
	if len(to) > maxAddress || strings.ContainsAny(to, "\\\"<>`|") {
		return "", ""
	}
	u, err := url.Parse(to)
	if err != nil || u.Opaque != "" || u.Host == "" {
		return "", ""
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		host = u.Hostname()
	case "tg":
		if !a.telegram || strings.EqualFold(u.Host, "user") {
			return "", "" // it would notify that person
		}
		host = "tg://" + u.Host
	default:
		return "", ""
	}
	if address = escapedURL(u); len(address) > maxAddress {
		return "", ""
	}
	return address, host
}

// hasFakeHost reports whether an address begins with a user name, which looks like a
// host: http://go.dev@example.com.
func hasFakeHost(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.User != nil
}

// escapedURL is an address in its escaped form. The host stays as it is, because
// browsers only accept it so.
func escapedURL(u *url.URL) string {
	host := u.Host
	rest := *u
	rest.Scheme, rest.Host, rest.User = "", "", nil
	if u.User != nil {
		host = u.User.String() + "@" + host
	}
	return strings.ToLower(u.Scheme) + "://" + host + rest.String()
}

// showsHost reports whether text names host and no other one.
func showsHost(text, host string) bool {
	found := false
	host = plainHost(host)
	for _, word := range strings.FieldsFunc(text, notInHost) {
		word = strings.Trim(word, ".-")
		dot := strings.LastIndexByte(word, '.')
		if dot <= 0 && word != host {
			continue
		}
		if last := word[dot+1:]; dot > 0 && strings.Trim(last, "0123456789") == "" && word != host {
			continue // a number such as 1.5
		}
		if plainHost(word) != host {
			return false
		}
		found = true
	}
	return found && isASCII(host)
}

// plainHost is a host in the form for comparisons.
func plainHost(host string) string {
	return strings.TrimPrefix(strings.ToLower(host), "www.")
}

func notInHost(c rune) bool {
	return c != '.' && c != '-' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
