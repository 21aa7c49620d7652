package flow

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// known holds the texts that are not new to the receiver of a call.
type known struct {
	raw    []string        // as they are
	spaced []string        // with single spaces
	lower  []string        // in lower case as well
	found  map[string]bool // addresses of search results
}

// knownTexts collects the texts that are known to the receiver of a call: those
// without private data that were read before anything private was, texts of the
// people of the chat, the definition of the tool, and what the server has returned where
// that is not private to it.
func knownTexts(sources []Source, call Call) known {
	k := known{found: map[string]bool{}}
	k.add(call.Schema)
	clean := true
	for _, s := range sources {
		clean = clean && s.Labels&Private == 0
		if s.Search {
			for _, address := range resultAddresses(s.Text) {
				k.found[address] = true
			}
		}
		if s.People || clean || s.known {
			k.add(s.Text)
		}
	}
	return k
}

func (k *known) add(text string) {
	single := spaced(text)
	k.raw, k.spaced, k.lower = append(k.raw, text), append(k.spaced, single), append(k.lower, strings.ToLower(single))
}

// holds reports whether a value stands in a known text, letter by letter. Which letters
// are capital and how wide the spaces are could carry data. So a value has them as the
// text does, or single spaces, or no capital letter but the first.
func (k *known) holds(value string) bool {
	if value == "" || stands(k.raw, value) {
		return true
	}
	if value != spaced(value) {
		return false
	}
	for _, form := range forms(value) {
		first, n := utf8.DecodeRuneInString(form)
		uncapitalised := string(unicode.ToLower(first)) + form[n:]
		if k.found[form] || stands(k.spaced, form) || form != uncapitalised && stands(k.spaced, uncapitalised) ||
			uncapitalised == strings.ToLower(form) && stands(k.lower, uncapitalised) {
			return true
		}
	}
	return false
}

// forms are the ways to write a value that mean the same: with and without the slash
// at its end and the scheme of a web address. An address without its scheme counts
// only if it has a path, so that "report.pdf" names no host.
func forms(value string) []string {
	list := []string{value}
	for _, scheme := range []string{"https://", "http://"} {
		rest, ok := strings.CutPrefix(value, scheme)
		if !ok {
			continue
		}
		short := strings.TrimSuffix(rest, "/")
		list = append(list, "https://"+short, "http://"+short)
		if strings.Contains(short, "/") {
			list = append(list, short)
		}
	}
	return list
}

// spaced writes a text with single spaces. Texts can be large, so it makes one pass
// over those that are all ASCII.
func spaced(text string) string {
	b := make([]byte, 0, len(text))
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= utf8.RuneSelf:
			return strings.Join(strings.Fields(text), " ")
		case c == ' ' || c >= '\t' && c <= '\r':
			if len(b) > 0 && b[len(b)-1] != ' ' {
				b = append(b, ' ')
			}
		default:
			b = append(b, c)
		}
	}
	return strings.TrimSuffix(string(b), " ")
}

// stands reports whether a text holds words as a whole, not as a part of a longer
// word.
func stands(texts []string, words string) bool {
	for _, text := range texts {
		for from := 0; ; {
			i := strings.Index(text[from:], words)
			if i < 0 {
				break
			}
			i += from
			if !joined(text[:i], words) && !joined(words, text[i+len(words):]) {
				return true
			}
			from = i + 1
		}
	}
	return false
}

// joined reports whether a word or a name of a host goes on from one text to the
// next. A full stop at the end of a sentence is not part of a name. In scripts
// without spaces, words stand side by side.
func joined(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	rest := strings.TrimLeft(after, ".")
	first, n := utf8.DecodeRuneInString(rest)
	if before == "" || n == 0 {
		return false
	}
	if last == '.' || last == '@' || last == '+' {
		return inWord(first)
	}
	return inWord(last) && (inWord(first) || first == '@' || first == '+')
}

func inWord(r rune) bool {
	if r == '-' || r == '_' || unicode.IsDigit(r) {
		return true
	}
	return unicode.IsLetter(r) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// resultForm is the head of a search result: its number and title, and its address on
// a line of its own. Titles and snippets are single lines.
var resultForm = regexp.MustCompile(`(?m)^\d+\. .*\n(https?://\S+)$`)

// resultAddresses lists the addresses of search results, without those that stand in
// snippets.
func resultAddresses(text string) (list []string) {
	for _, m := range resultForm.FindAllStringSubmatch(text, -1) {
		list = append(append(list, forms(m[1])...), forms(strings.ToLower(m[1]))...)
	}
	return list
}
