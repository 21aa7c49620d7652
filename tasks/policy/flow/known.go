package flow

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// known holds the texts that are not new to the receiver of a call.
type known struct {
	texts    []string
	searches []string // results of searches
}

// knownTexts collects the texts that are known to the receiver of a call: those
// without private data that were read before anything private was, texts of the
// people of the chat, the definition of the tool, and what the server has returned where
// that is not private to it.
func knownTexts(sources []Source, call Call) known {
	k := known{texts: []string{call.Schema}}
	clean := true
	for _, s := range sources {
		clean = clean && s.Labels&Private == 0
		if s.Search {
			k.searches = append(k.searches, s.Text)
		}
		if s.People || clean || s.known {
			k.texts = append(k.texts, s.Text)
		}
	}
	return k
}

// holds reports whether a value stands in a known text, letter by letter. Which letters
// are capital and how wide the spaces are could carry data. So a value has them as the
// text does, or single spaces, or no capital letter but the first.
func (k *known) holds(value string) bool {
	if value == "" {
		return true
	}
	list := forms(value)
	shared := list[len(list)-1] // each form holds its words
	words := strings.Fields(strings.TrimPrefix(strings.TrimPrefix(shared, "https://"), "http://"))
	isHeld := func(text string) bool { return mayHold(text, words) && holdsForm(text, value, list) }
	isFound := func(text string) bool { return mayHold(text, words) && findsForm(text, list) }
	return slices.ContainsFunc(k.texts, isHeld) || value == spaced(value) && slices.ContainsFunc(k.searches, isFound)
}

// holdsForm reports whether a value, or one of its forms, stands in a text.
func holdsForm(text, value string, forms []string) bool {
	if stands(text, value) {
		return true
	}
	if value != spaced(value) {
		return false
	}
	single := spaced(text)
	for _, form := range forms {
		first, n := utf8.DecodeRuneInString(form)
		uncapitalised := string(unicode.ToLower(first)) + form[n:]
		if stands(single, form) || form != uncapitalised && stands(single, uncapitalised) ||
			uncapitalised == strings.ToLower(form) && stands(strings.ToLower(single), uncapitalised) {
			return true
		}
	}
	return false
}

// findsForm reports whether one of the forms is the address of a search result.
func findsForm(text string, forms []string) bool {
	return slices.ContainsFunc(resultAddresses(text), func(a string) bool { return slices.Contains(forms, a) })
}

// mayHold reports whether words may stand in a text, whatever their capital letters. Texts
// can be large, and most hold no value of a call: this finds out without a copy.
func mayHold(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !mayHoldWord(text, word) })
}

func mayHoldWord(text, word string) bool {
	if strings.ContainsFunc(word, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return true
	}
	rare := 0 // the place of the letter that is seldom in texts
	for i := range len(word) {
		if strings.IndexByte(frequent, word[i]|0x20) < strings.IndexByte(frequent, word[rare]|0x20) {
			rare = i
		}
	}
	letter := word[rare : rare+1]
	for _, form := range []string{strings.ToLower(letter), strings.ToUpper(letter)} {
		for from := rare; from < len(text); from++ {
			i := strings.IndexByte(text[from:], form[0])
			if i < 0 {
				break
			}
			from += i
			if end := from - rare + len(word); end <= len(text) && strings.EqualFold(text[from-rare:end], word) {
				return true
			}
		}
	}
	return false
}

// frequent lists letters, the most frequent last.
const frequent = "zqxjkvbpygfwmucldrhsnioate"

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
func stands(text, words string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], words)
		if i < 0 {
			return false
		}
		i += from
		if !joined(text[:i], words) && !joined(words, text[i+len(words):]) {
			return true
		}
		from = i + 1
	}
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

// resultAddresses lists the addresses of search results, without those that stand in
// snippets. A result begins with its number and title, and its address on a line of its
// own. Titles and snippets are single lines.
func resultAddresses(text string) (list []string) {
	before := ""
	for line := range strings.SplitSeq(text, "\n") {
		if isTitle(before) && isWebAddress(line) {
			list = append(append(list, forms(line)...), forms(strings.ToLower(line))...)
		}
		before = line
	}
	return list
}

// isTitle reports whether a line begins with a number, such as "1. Title".
func isTitle(line string) bool {
	rest := strings.TrimLeft(line, "0123456789")
	return len(rest) < len(line) && strings.HasPrefix(rest, ". ")
}

func isWebAddress(line string) bool {
	return (strings.HasPrefix(line, "https://") || strings.HasPrefix(line, "http://")) && !strings.ContainsAny(line, " \t\f\r")
}
