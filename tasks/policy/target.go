package policy

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// Target is whom or what a call would reach.
type Target struct {
	Host string // of an address on the network; empty for anything else
	text string // in lower case
}

var (
	urlForm   = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s"'<>\x60]+|//[^\s"'<>\x60/]+\.[^\s"'<>\x60]+`)
	webForm   = regexp.MustCompile(`(?i)\b(https?|wss?|ftps?):[/\\]*([^\s"'<>\x60/\\][^\s"'<>\x60]*)`)
	emailForm = regexp.MustCompile(`[^\s"'<>,;:()\[\]\\@]+@[^\s"'<>,;:()\[\]\\@]+\.[^\s"'<>,;:()\[\]\\@.]+`)
	phoneForm = regexp.MustCompile(`\+[0-9][0-9 ().-]{6,}[0-9]`)
	hostForm  = regexp.MustCompile(`(?i)^[\p{L}0-9-]+(\.[\p{L}0-9-]+)+(:[0-9]+)?([/?#]\S*)?$`)
)

// What parameters are called whose whole value says who or where: such a value
// counts, or only where it looks like a host, or only where it looks like a host
// or the name of an account, since "to" may be a language or a day.
var (
	addressing = regexp.MustCompile(`(^|_)(e?_?mails?|e?_?mail_?address(es)?|recipients?(_ids?)?|cc|bcc|hosts?|host_?name|domains?|endpoint|webhook|phone(_number)?|chat_?id|channel(_id)?|iban|account(_number)?|ur[il]s?|href|link)$`)
	hosting    = regexp.MustCompile(`(^|_)(to|address(es)?|site|website|server)$`)
	accounting = regexp.MustCompile(`^[@#]\S+$|^[a-z]+[0-9][a-z0-9]{6,}$`)
)

// maxNesting is how deep JSON in texts in JSON is looked into.
const maxNesting = 4

// targets lists whom the arguments of a call name.
func targets(arguments string) []Target {
	doc, ok := decoded(arguments)
	if !ok {
		return inText(arguments)
	}
	list := inValue("", doc, 0)
	slices.SortFunc(list, func(a, b Target) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.text, b.text)) })
	return slices.Compact(list)
}

// decoded reads a text that is JSON as a whole.
func decoded(text string) (doc any, ok bool) {
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	err := d.Decode(&doc)
	return doc, err == nil
}

// inValue finds targets in the value of a parameter.
func inValue(key string, v any, depth int) (list []Target) {
	switch v := v.(type) {
	case string:
		if list = append(inText(v), inText(unbroken(v))...); len(list) == 0 {
			list = whole(key, v)
		}
		if t := strings.TrimSpace(v); depth < maxNesting && t != "" && (t[0] == '{' || t[0] == '[') {
			if doc, ok := decoded(t); ok {
				list = append(list, inValue(key, doc, depth+1)...)
			}
		}
	case json.Number:
		if addressing.MatchString(snake(key)) {
			list = []Target{{text: strings.ToLower(v.String())}}
		}
	case []any:
		for _, e := range v {
			list = append(list, inValue(key, e, depth)...)
		}
	case map[string]any:
		for k, e := range v {
			list = append(list, inText(k)...)
			list = append(list, inValue(k, e, depth)...)
		}
	}
	return list
}

// unbroken is an address that tabs or new lines break, without them, as browsers
// read it; empty for any other text, and for a list of addresses.
func unbroken(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("\t\r\n", r) })
	begins := func(s string) bool {
		at := webForm.FindStringIndex(s)
		return at != nil && at[0] == 0
	}
	whole := strings.TrimSpace(strings.Join(lines, ""))
	if strings.Contains(whole, " ") || !begins(whole) || !slices.ContainsFunc(lines[1:], func(s string) bool { return !begins(s) }) {
		return ""
	}
	return whole
}

// whole reads a value whose parameter says that it is whom or what to reach.
func whole(key, value string) []Target {
	key, value = snake(key), strings.ToLower(strings.TrimSpace(value))
	strict := hosting.MatchString(key)
	switch {
	case value == "" || strings.Contains(value, "://") || !strict && !addressing.MatchString(key):
		return nil
	case hostForm.MatchString(value):
		return []Target{hosted(value[:strings.IndexAny(value+":", ":/?#")], value)}
	case strict && (key != "to" || !accounting.MatchString(value)):
		return nil
	}
	return []Target{{text: value}}
}

// snake writes the name of a parameter as some_name.
func snake(key string) string {
	var b strings.Builder
	before := ' '
	for _, c := range key {
		if unicode.IsUpper(c) && unicode.IsLower(before) || c == '-' || c == '.' {
			b.WriteByte('_')
		}
		if c != '-' && c != '.' {
			b.WriteRune(unicode.ToLower(c))
		}
		before = c
	}
	return b.String()
}

// inText finds the addresses in a text.
func inText(text string) (list []Target) {
	text = strings.ReplaceAll(text, `\/`, "/") // as JSON in a text may have it
	for _, m := range webForm.FindAllStringSubmatch(text, -1) {
		list = append(list, InAddress(m[1]+"://"+m[2]))
	}
	text = webForm.ReplaceAllString(text, " ")
	for _, s := range urlForm.FindAllString(text, -1) {
		a := InAddress(s)
		if strings.Contains(s, ":///") || a.Host != "" && !strings.ContainsAny(a.Host, ".:") {
			continue // a name within the server, such as note://7
		}
		list = append(list, a)
	}
	text = urlForm.ReplaceAllString(text, " ")
	for _, form := range []*regexp.Regexp{emailForm, phoneForm} {
		for _, s := range form.FindAllString(text, -1) {
			list = append(list, Target{text: strings.ToLower(s)})
		}
	}
	return list
}

// InAddress is where an address leads. A target that can be read in several
// ways is unknown.
func InAddress(address string) Target {
	_, place, _ := strings.Cut(address, "//")
	place = place[:strings.IndexAny(place+"/", "/?#")]
	u, err := url.Parse(address)
	if err != nil || strings.Contains(place, `\`) || u.Hostname() == "" {
		return Target{text: strings.ToLower(address)}
	}
	return hosted(u.Hostname(), address)
}

// domains makes names of hosts comparable, in whatever script and with whatever
// dots they are written.
var domains = idna.New(idna.MapForLookup(), idna.StrictDomainName(false), idna.VerifyDNSLength(false))

// hosted is a host that an address names.
func hosted(host, address string) Target {
	if at, err := netip.ParseAddr(host); err == nil {
		return Target{Host: at.String()}
	}
	name, err := domains.ToASCII(strings.TrimRight(host, "."))
	if err != nil || name == "" {
		return Target{text: strings.ToLower(address)}
	}
	return Target{Host: strings.ToLower(name)}
}

// inScript is a host as people write it.
func inScript(host string) string {
	name, err := domains.ToUnicode(host)
	if err != nil {
		return host
	}
	return name
}

// numeric reports that a host is the number of one, in whatever writing, and so
// has no parts: no name ends in digits.
func numeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	return strings.Contains(host, ":") || last != "" && last[0] >= '0' && last[0] <= '9'
}
