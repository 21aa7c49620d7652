package flow

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/publicsuffix"
)

// Linkable returns a test for addresses in what a model writes to people: whether a chat
// may show them as links. An address is known, and may be a link, if a text that the model has read holds it, or a longer one that begins with
// it, or if the model itself wrote it before it read anything private. What the model
// has written since makes no address known, even if a server repeats it. Words that no
// client takes for an address, such as "report.pdf", are known.
//
// One address can be written in several ways (addressKey). A link carries no data in
// them.
func Linkable(sources []Source) func(address string) bool {
	var all []held
	clean := true
	for _, s := range sources {
		clean = clean && s.Labels&Private == 0
		known := clean || s.People || s.Origin != "" || s.Labels != 0
		text := s.Text
		if !known {
			text = withValues(text)
		}
		for _, key := range addressKeys(text) {
			all = append(all, held{key, len(all), known})
		}
	}
	slices.SortFunc(all, func(a, b held) int { return cmp.Or(strings.Compare(a.key, b.key), a.at-b.at) })
	return func(address string) bool {
		return !isAddress(address) || len(address) < maxAddress && earliest(all, addressKey(address)).known
	}
}

// maxAddress is the maximum length of a known address, in bytes.
const maxAddress = 2000

// held is an address that stands in a source.
type held struct {
	key   string
	at    int // how many stand before it
	known bool
}

// earliest returns the earliest of the sorted addresses that is key, or goes on after
// it with another part of an address.
func earliest(all []held, key string) held {
	first := held{at: len(all)}
	search := func(prefix string, whole bool) {
		i, _ := slices.BinarySearchFunc(all, prefix, func(h held, prefix string) int { return strings.Compare(h.key, prefix) })
		for ; i < len(all) && strings.HasPrefix(all[i].key, prefix) && (!whole || all[i].key == prefix); i++ {
			if all[i].at < first.at {
				first = all[i]
			}
		}
	}
	search(key, true)
	for _, c := range "/?#&=" + aroundAddress {
		search(key+string(c), false)
	}
	return first
}

// aroundAddress are characters that may belong to an address, or stand beside it in a
// text.
const aroundAddress = `'()[]{}|,;\*`

// addressKeys lists the keys of what may be addresses in a text. A key goes on up to a
// space or a quote: it may hold more than the address.
func addressKeys(text string) (keys []string) {
	if strings.ContainsAny(text, `\&`) { // JSON and HTML escape these
		text = strings.NewReplacer(`\/`, "/", `\u0026`, "&", "&amp;", "&").Replace(text)
	}
	for word := range strings.FieldsFuncSeq(text, endsAddress) {
		for at, n := 0, 0; at < len(word) && n < maxPerWord; n++ {
			part := word[at:]
			if i := strings.IndexAny(part, "="+aroundAddress); i >= 0 {
				part = part[:i]
			}
			if i := strings.Index(part, ":/"); i > 0 { // words may stand before the scheme, without a space
				scheme := len(strings.TrimRightFunc(part[:i], inScheme))
				keys = append(keys, addressKey(word[at+scheme:min(len(word), at+scheme+maxAddress)]))
			} else if i := strings.IndexByte(part, '.'); i > 0 && i < len(part)-1 {
				keys = append(keys, addressKey(word[at:min(len(word), at+maxAddress)]))
			}
			at += len(part) + 1
		}
	}
	return keys
}

// maxPerWord is how many addresses are looked for in a text without spaces.
const maxPerWord = 20

func endsAddress(r rune) bool {
	return r <= ' ' || r == '"' || r == '<' || r == '>' || r == '`' || r > unicode.MaxASCII && (unicode.IsSpace(r) || unicode.Is(unicode.C, r) || strings.ContainsRune("，。、；：！？（）「」『』《》【】“”«»", r))
}

func inScheme(r rune) bool {
	return r <= unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) || r == '+' || r == '-' || r == '.'
}

// addressKey is the same for all ways to write one address: with http, https or
// neither, with "www." and with a slash at the end or without, in any case of the host,
// and with all characters beyond ASCII and spaces percent-encoded, or none. Where an
// address has only some of them encoded, that may be data.
func addressKey(address string) string {
	address = strings.TrimRight(address, ".,;:!?)]}'*_~|/#")
	scheme, rest, found := strings.Cut(address, ":")
	switch {
	case found && strings.EqualFold(scheme, "mailto"):
		address = rest
	case found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) && strings.HasPrefix(rest, "//"):
		address = rest[2:]
	case found && strings.HasPrefix(rest, "/"):
		return strings.ToLower(scheme) + ":" + rest
	}
	host := address[:strings.IndexAny(address+"/", "/?#")]
	path := address[len(host):]
	if strings.HasPrefix(path, "/?") || strings.HasPrefix(path, "/#") {
		path = path[1:]
	}
	at := strings.LastIndexByte(host, '@') + 1
	user, host := host[:at], strings.ToLower(host[at:])
	if strings.IndexFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
		host = cmp.Or(hostReceiver(host, "").Host, host)
	}
	return user + strings.TrimPrefix(host, "www.") + decodedPath(path)
}

// decodedPath is a path with spaces and characters beyond ASCII as they are, if it has
// all of them percent-encoded in one way.
func decodedPath(path string) string {
	if !strings.Contains(path, "%") {
		return path
	}
	plain := make([]byte, 0, len(path))
	var raw, upper, lower bool
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' && i+2 < len(path) {
			code := path[i+1 : i+3]
			if n, err := strconv.ParseUint(code, 16, 8); err == nil && beyond(byte(n)) {
				upper, lower = upper || strings.ToLower(code) != code, lower || strings.ToUpper(code) != code
				plain = append(plain, byte(n))
				i += 2
				continue
			}
		}
		raw = raw || beyond(c)
		plain = append(plain, c)
	}
	if raw || upper && lower {
		return path
	}
	return string(plain)
}

// beyond reports whether a byte is a space, or of a character beyond ASCII.
func beyond(c byte) bool { return c == ' ' || c >= utf8.RuneSelf }

// withValues is what a model wrote, with the values inside of the arguments of its
// calls as a server gets them.
func withValues(text string) string {
	var all strings.Builder
	all.WriteString(text)
	for line := range strings.SplitSeq(text, "\n") {
		if doc, ok := decoded(line); ok {
			walk("", doc, func(_ string, v item) { all.WriteString("\n" + v.text) })
		}
	}
	return all.String()
}

// isAddress reports whether a word has a scheme, begins with "www.", has an @, or names a host in a domain of the
// internet or by its number.
func isAddress(word string) bool {
	if strings.Contains(word, ":/") || len(word) > 4 && strings.EqualFold(word[:4], "www.") {
		return true
	}
	at := strings.LastIndexByte(word, '@')
	if at > 0 && emailForm.MatchString(word) && !strings.ContainsAny(word[len(word)-1:], "0123456789") {
		return true // unlike "npm@1.2.3"
	}
	host := word[at+1:]
	host = hostReceiver(host[:strings.IndexAny(host+"/", ":/?#")], "").Host
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	suffix, listed := publicsuffix.PublicSuffix(host)
	return listed || strings.Contains(suffix, ".")
}
