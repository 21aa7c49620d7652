package tasks

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"legwork/planner"
)

// What outsiders wrote may try to make a task carry things away: to an address
// or to somebody that only they name. So, once a task has read their words, a call
// that names a place or a recipient which the people of the chat did not name,
// which no search engine of the admin's found and which the task had not turned
// to before, needs a person's agreement, however harmless its tool is.

var (
	urlForm   = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s"'<>\x60]+|//[^\s"'<>\x60/]+\.[^\s"'<>\x60]+`)
	emailForm = regexp.MustCompile(`[^\s"'<>,;:()\[\]\\@]+@[^\s"'<>,;:()\[\]\\@]+\.[^\s"'<>,;:()\[\]\\@.]+`)
	phoneForm = regexp.MustCompile(`\+[0-9][0-9 ().-]{6,}[0-9]`)
	hostForm  = regexp.MustCompile(`(?i)^[\p{L}0-9-]+(\.[\p{L}0-9-]+)+(:[0-9]+)?(/\S*)?$`)
)

// addressing are names of parameters whose whole value says who or where.
var addressing = regexp.MustCompile(`(?i)^(e?mails?|e?mail_?address(es)?|recipients?|cc|bcc|host|host_?name|domain|endpoint|webhook(_url)?|phone(_number)?|chat_?id|channel(_id)?|iban|account(_number)?|uri|url|urls|link|to)$`)

// newcomer finds the first place or recipient in a call that the task has no
// reason to know of; empty when there is none.
func newcomer(v *View, call planner.Call) (reason, detail string) {
	named := addressees(string(arguments(call)))
	if len(named) == 0 {
		return "", ""
	}
	known := acquainted(v)
	for _, a := range named {
		if !known.knows(a) {
			if a.host != "" {
				return ReasonHost, a.host
			}
			return ReasonRecipient, a.text
		}
	}
	return "", ""
}

// addressee is whom or what a call would reach.
type addressee struct {
	host string // of an address on the network; empty for anything else
	text string // in lower case
}

// addressees lists whom the arguments of a call name.
func addressees(arguments string) []addressee {
	var doc any
	if json.Unmarshal([]byte(arguments), &doc) != nil {
		return inText(arguments)
	}
	var list []addressee
	var walk func(key string, v any)
	walk = func(key string, v any) {
		switch v := v.(type) {
		case string:
			found := inText(v)
			if len(found) == 0 && addressing.MatchString(key) {
				found = whole(key, v)
			}
			list = append(list, found...)
		case []any:
			for _, e := range v {
				walk(key, e)
			}
		case map[string]any:
			for k, e := range v {
				list = append(list, inText(k)...)
				walk(k, e)
			}
		}
	}
	walk("", doc)
	slices.SortFunc(list, func(a, b addressee) int { return strings.Compare(a.host+a.text, b.host+b.text) })
	return slices.Compact(list)
}

// whole reads a value whose parameter says that it is whom or what to reach. A
// short word, such as the language of "to", is nobody's address.
func whole(key, value string) []addressee {
	value = strings.ToLower(strings.TrimSpace(value))
	switch {
	case value == "":
		return nil
	case hostForm.MatchString(value):
		host, _, _ := strings.Cut(value, "/")
		host, _, _ = strings.Cut(host, ":")
		return []addressee{{host: host}}
	case strings.EqualFold(key, "to"):
		return nil
	}
	return []addressee{{text: value}}
}

// inText finds the addresses in a text.
func inText(text string) []addressee {
	var list []addressee
	for _, s := range urlForm.FindAllString(text, -1) {
		if u, err := url.Parse(s); err == nil && u.Hostname() != "" {
			list = append(list, addressee{host: strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))})
		} else {
			list = append(list, addressee{text: strings.ToLower(s)}) // what cannot be read is nobody known
		}
	}
	for _, form := range []*regexp.Regexp{emailForm, phoneForm} {
		for _, s := range form.FindAllString(urlForm.ReplaceAllString(text, " "), -1) {
			list = append(list, addressee{text: strings.ToLower(s)})
		}
	}
	return list
}

// acquaintance is what a task has reason to know.
type acquaintance struct {
	words string          // of people who may say what is to be done, in lower case
	hosts map[string]bool // that it turned to, or that a search found
	texts map[string]bool // others that it turned to
}

// acquainted gathers what people of the chat said, what they agreed to, what a
// search of the admin's found, and whom earlier calls reached.
func acquainted(v *View) acquaintance {
	k := acquaintance{hosts: map[string]bool{}, texts: map[string]bool{}}
	var words strings.Builder
	words.WriteString(v.Opening().Goal)
	for _, e := range v.events {
		switch {
		case e.Type == planner.Said:
			words.WriteString(" " + e.Text)
		case e.Type == planner.Decided:
			words.WriteString(" " + e.Decision.Text + " " + string(e.Decision.Value))
		case e.Result != nil && e.Result.Sources:
			k.add(inText(e.Result.Text))
		}
	}
	k.words = strings.ToLower(words.String())
	for i, w := range v.State.Subtasks {
		for t, turn := range w.Turns {
			for c, state := range turn.Calls {
				reached := state.Kind == planner.CallTool && state.Step == planner.StepDone && v.Event(state.Result).Result != nil
				if reached || state.Allowed {
					k.add(addressees(string(arguments(callOf(v, planner.Place{Subtask: i, Turn: t, Call: c})))))
				}
			}
		}
	}
	return k
}

func (k acquaintance) add(list []addressee) {
	for _, a := range list {
		if a.host != "" {
			k.hosts[a.host] = true
		} else {
			k.texts[a.text] = true
		}
	}
}

// knows tells whether somebody named the addressee, or it was turned to before. Who
// named a site named its parts too.
func (k acquaintance) knows(a addressee) bool {
	if a.host == "" {
		return k.texts[a.text] || mentions(k.words, a.text)
	}
	for host := a.host; strings.Contains(host, "."); _, host, _ = strings.Cut(host, ".") {
		if host != a.host && shared(host) {
			break
		}
		if mentions(k.words, host) || k.hosts[host] {
			return true
		}
	}
	return k.hosts[a.host] || mentions(k.words, a.host)
}

// shared reports that the names under a host belong to different people.
func shared(host string) bool {
	suffix, _ := publicsuffix.PublicSuffix(host)
	return suffix == host
}

// mentions reports that a text has the words as a whole, not as a part of others.
func mentions(text, words string) bool {
	for rest := text; words != ""; {
		i := strings.Index(rest, words)
		if i < 0 {
			return false
		}
		before, after := rest[:i], rest[i+len(words):]
		if !joins(before, true) && !joins(after, false) {
			return true
		}
		rest = rest[i+1:]
	}
	return false
}

// joins reports that the end, or the beginning, of a text goes on with a name.
func joins(text string, end bool) bool {
	if text == "" {
		return false
	}
	b := text[0]
	if end {
		b = text[len(text)-1]
	}
	if b == '.' && !end { // the end of a sentence is none of a name
		return len(text) > 1 && joins(text[1:], false)
	}
	return b == '-' || b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z'
}
