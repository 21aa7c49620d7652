package flow

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Open are the destinations to which the admin lets tasks send what they like.
type Open struct {
	Hosts      []string // "example.com", or "*.example.com" for everything below it
	Recipients []string // "team@example.com", or "*@example.com"; other recipients as a whole
}

// allows reports whether the arguments of a call name receivers, in a parameter that is
// for receivers, and all of them are open. An open address in a text opens nothing.
func (o Open) allows(arguments any, named []Receiver) (ok bool) {
	if len(named) == 0 || slices.ContainsFunc(named, func(r Receiver) bool { return !o.has(r) }) {
		return false
	}
	walk("", arguments, func(parameter string, v item) { ok = ok || toReceiver(parameter, v) })
	return ok
}

// toReceiver reports whether a parameter is for receivers, and its value is one.
func toReceiver(parameter string, v item) bool {
	return !v.name && forReceivers(fieldName(parameter)) && destination(parameter, v.text) != ""
}

// textParam are usual names of parameters for texts. An open receiver may get any
// text. A parameter with another name may be for a receiver that nothing here
// recognises.
var textParam = regexp.MustCompile(`^(subject|title|body|text|html|markdown|message|content|comment|description|summary|caption|notes?|query|q)$`)

func forText(parameter string) bool { return textParam.MatchString(snake(fieldName(parameter))) }

func (o Open) has(r Receiver) bool {
	if r.Host != "" {
		return slices.ContainsFunc(o.Hosts, func(pattern string) bool { return fits(pattern, "*.", r.Host) })
	}
	return slices.ContainsFunc(o.Recipients, func(pattern string) bool { return fits(pattern, "*@", r.text) })
}

// fits reports whether a name is the pattern, or ends with it after the star.
func fits(pattern, star, name string) bool {
	pattern = strings.ToLower(strings.TrimSpace(pattern))
	if !strings.HasPrefix(pattern, star) {
		return pattern == name
	}
	single := star != "*@" || emailForm.FindString(name) == name
	return single && strings.HasSuffix(name, pattern[1:]) && len(name) >= len(pattern)
}

// destination names the hosts and recipients in the value of a parameter, for people; ""
// when there are none.
func destination(parameter, value string) string {
	var names []string
	for _, r := range inValue(fieldName(parameter), value, 0) {
		if name := cmp.Or(r.Host, r.text); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// fieldName is the last name in the path of a parameter.
func fieldName(parameter string) string {
	names := strings.Split(parameter, ".")
	for len(names) > 1 && strings.Trim(names[len(names)-1], "0123456789") == "" {
		names = names[:len(names)-1]
	}
	return names[len(names)-1]
}
