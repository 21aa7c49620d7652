package flow

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// Receiver is a place or a recipient that a call would reach.
type Receiver struct {
	Host string // the host of a network address; empty for other receivers
	text string // any other receiver, in lower case
}

var (
	urlForm   = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s"'<>\x60]+|//[^\s"'<>\x60/]+\.[^\s"'<>\x60]+`)
	webForm   = regexp.MustCompile(`(?i)\b(https?|wss?|ftps?):[/\\]*([^\s"'<>\x60/\\][^\s"'<>\x60]*)`)
	emailForm = regexp.MustCompile(`[^\s"'<>,;:()\[\]\\@]+@[^\s"'<>,;:()\[\]\\@]+\.[^\s"'<>,;:()\[\]\\@.]+`)
	phoneForm = regexp.MustCompile(`\+[0-9][0-9 ().-]{6,}[0-9]`)
	hostForm  = regexp.MustCompile(`(?i)^[\p{L}0-9-]+(\.[\p{L}0-9-]+)+(:[0-9]+)?([/?#]\S*)?$`)
)

// Names of parameters whose whole value is a receiver: receiverParam for any value,
// hostParam for a value that looks like a host. For the name "to", a value that
// looks like an account (accountForm) also counts; other values may be a language
// or a day.
var (
	receiverParam = regexp.MustCompile(`(^|_)(e?_?mails?|e?_?mail_?address(es)?|recipients?(_ids?)?|cc|bcc|hosts?|host_?name|domains?|endpoint|webhook|phone(_number)?|chat_?id|channel(_id)?|iban|account(_number)?|ur[il]s?|href|link)$`)
	hostParam     = regexp.MustCompile(`(^|_)(to|address(es)?|site|website|server)$`)
	accountForm   = regexp.MustCompile(`^[@#]\S+$|^[a-z]+[0-9][a-z0-9]{6,}$`)
)

// maxNesting is the maximum depth to which JSON inside texts inside JSON is read.
const maxNesting = 4

// receivers lists the receivers in the arguments of a call.
func receivers(arguments string) []Receiver {
	doc, ok := decoded(arguments)
	if !ok {
		return inText(arguments)
	}
	list := inValue("", doc, 0)
	slices.SortFunc(list, func(a, b Receiver) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.text, b.text)) })
	return slices.Compact(list)
}

// decoded decodes a text that is JSON as a whole.
func decoded(text string) (doc any, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&doc) != nil {
		return nil, false
	}
	_, err := d.Token()
	return doc, errors.Is(err, io.EOF) // nothing follows
}

// inValue lists the receivers in the value of a parameter.
func inValue(key string, v any, depth int) (list []Receiver) {
	switch v := v.(type) {
	case string:
		if list = append(inText(v), inText(joinedAddress(v))...); len(list) == 0 {
			list = wholeValue(key, v)
		} else if forReceivers(key) && !allRead(v) {
			list = append(list, Receiver{text: strings.ToLower(strings.TrimSpace(v))})
		}
		if t := strings.TrimSpace(v); depth < maxNesting && t != "" && (t[0] == '{' || t[0] == '[') {
			if doc, ok := decoded(t); ok {
				list = append(list, inValue(key, doc, depth+1)...)
			}
		}
	case json.Number:
		if receiverParam.MatchString(snake(key)) {
			list = []Receiver{{text: strings.ToLower(v.String())}}
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

// forReceivers reports whether a parameter of that name is for receivers.
func forReceivers(key string) bool {
	key = snake(key)
	return receiverParam.MatchString(key) || hostParam.MatchString(key)
}

// allRead reports whether a value is nothing but addresses, each perhaps behind a name:
// inText has found all receivers in it then.
func allRead(value string) bool {
	if rest := urlForm.ReplaceAllString(webForm.ReplaceAllString(value, ""), ""); rest != value {
		return !strings.ContainsAny(rest, "@＠#")
	}
	for _, part := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(",;\r\n", r) }) {
		part = strings.TrimSpace(part)
		if name, address, ok := strings.Cut(part, "<"); ok && strings.HasSuffix(address, ">") && !strings.ContainsAny(name, "@＠#") {
			part = strings.TrimSuffix(address, ">")
		}
		if part != "" && emailForm.FindString(part) != part && phoneForm.FindString(part) != part {
			return false
		}
	}
	return true
}

// joinedAddress returns an address without the tabs and line breaks inside it, since
// browsers ignore them. It returns "" for any other text, and for a list of
// addresses.
func joinedAddress(text string) string {
	if !strings.ContainsAny(text, "\t\r\n") {
		return ""
	}
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

// wholeValue reads a value as a receiver if the parameter's name says that it is one.
func wholeValue(key, value string) []Receiver {
	key, value = snake(key), strings.ToLower(strings.TrimSpace(value))
	strict := hostParam.MatchString(key)
	switch {
	case value == "" || strings.Contains(value, "://") || !strict && !receiverParam.MatchString(key):
		return nil
	case hostForm.MatchString(value):
		return []Receiver{hostReceiver(value[:strings.IndexAny(value+":", ":/?#")], value)}
	case strict && (key != "to" || !accountForm.MatchString(value)):
		return nil
	}
	return []Receiver{{text: value}}
}

// snake converts the name of a parameter to snake_case.
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

// inText lists the addresses in a text. Most texts lack a character of each form.
func inText(text string) (list []Receiver) {
	text = strings.ReplaceAll(text, `\/`, "/") // JSON inside a text may escape the slash
	if strings.Contains(text, ":") {
		text = webForm.ReplaceAllStringFunc(text, func(s string) string {
			scheme, place, _ := strings.Cut(s, ":")
			list = append(list, InAddress(scheme+"://"+strings.TrimLeft(place, `/\`)))
			return " "
		})
	}
	if strings.Contains(text, "//") {
		text = urlForm.ReplaceAllStringFunc(text, func(s string) string {
			a := InAddress(s)
			if within := strings.Contains(s, ":///") || a.Host != "" && !strings.ContainsAny(a.Host, ".:"); !within { // such as note://7
				list = append(list, a)
			}
			return " "
		})
	}
	if strings.Contains(text, "@") {
		list = append(list, others(emailForm.FindAllString(text, -1))...)
	}
	if strings.Contains(text, "+") {
		list = append(list, others(phoneForm.FindAllString(text, -1))...)
	}
	return list
}

func others(names []string) (list []Receiver) {
	for _, s := range names {
		list = append(list, Receiver{text: strings.ToLower(s)})
	}
	return list
}

// InAddress is the receiver of an address. If an address can be read in several
// ways, the receiver has no host.
func InAddress(address string) Receiver {
	_, place, _ := strings.Cut(address, "//")
	place = place[:strings.IndexAny(place+"/", "/?#")]
	u, err := url.Parse(address)
	if err != nil || strings.Contains(place, `\`) || u.Hostname() == "" {
		return Receiver{text: strings.ToLower(address)}
	}
	return hostReceiver(u.Hostname(), address)
}

// domains normalises host names of any script and with any form of dots, so that
// they can be compared.
var domains = idna.New(idna.MapForLookup(), idna.StrictDomainName(false), idna.VerifyDNSLength(false))

var notHost = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// hostReceiver is the receiver for the host of an address.
func hostReceiver(host, address string) Receiver {
	if at, err := netip.ParseAddr(host); err == nil {
		return Receiver{Host: at.String()}
	}
	name, err := domains.ToASCII(strings.TrimRight(host, "."))
	if err != nil || name == "" || notHost.MatchString(name) { // such as "evil.example/.open.example", of a wide slash
		return Receiver{text: strings.ToLower(address)}
	}
	return Receiver{Host: strings.ToLower(name)}
}
