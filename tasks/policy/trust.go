// Package policy decides what calls, people and programs may do. Its decisions are
// functions of values.
package policy

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/publicsuffix"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

// A text of outsiders may try to make a task send data to an address or a person
// that only the outsiders name. After a task has read such a text, a call to an
// unknown target needs a person's approval, even if its tool is harmless. A
// target is known if people of the chat named it, if a search engine of the admin
// found it, or if the task called it before.

// UnknownTarget finds the first unknown place or recipient in a call. It returns
// empty strings when there is none.
func UnknownTarget(v *tasks.View, call planner.Call) (reason, detail string) {
	named := targets(string(tasks.Arguments(call)))
	if len(named) == 0 {
		return "", ""
	}
	known := targetsKnownTo(v)
	for _, a := range named {
		if !known.contains(a) {
			if a.Host != "" {
				return ReasonHost, a.Host
			}
			return ReasonRecipient, a.text
		}
	}
	return "", ""
}

// knownTargets holds the targets that a task knows.
type knownTargets struct {
	namedText string          // texts of the chat's people, and of plans from before the task was tainted; in lower case
	hosts     map[string]bool // hosts that the task called or a search found
	others    map[string]bool // other targets that the task called
}

// targetsKnownTo collects the targets that a task knows: those that people of the
// chat named or approved, those that a search of the admin found, and those that
// the task named before it had read a text of outsiders. It does not trust later
// plans and calls of the task, whether they were made or not: outsiders may have
// caused them.
func targetsKnownTo(v *tasks.View) knownTargets {
	k := knownTargets{hosts: map[string]bool{}, others: map[string]bool{}}
	words := []string{v.Opening().Goal}
	pointedAt := func(list []bot.Quoted) {
		for _, q := range list {
			if q.Pointed { // a person who points at a text names what is in it
				words = append(words, q.Text)
			}
		}
	}
	pointedAt(v.Opening().Earlier)
	for _, e := range v.Events {
		switch {
		case e.Type == planner.GuidanceAdded && !planner.ByAgent(e):
			words = append(words, e.Text)
			pointedAt(e.Earlier)
		case e.Type == planner.Decided:
			words = append(words, e.Decision.Text, writtenValue(v, e))
		case e.Reply != nil && e.Seq < v.State.Tainted:
			for _, p := range e.Reply.Plan {
				words = append(words, p.Description)
			}
		case e.Result != nil && e.Result.Sources:
			k.add(slices.DeleteFunc(inText(e.Result.Text), func(a Target) bool { return a.Host == "" }))
		}
	}
	k.namedText = strings.ToLower(strings.Join(words, "\n"))
	for i, w := range v.State.Subtasks {
		for t, turn := range w.Turns {
			for c, state := range turn.Calls {
				reached := state.Kind == planner.CallTool && state.Step == planner.StepDone && v.Event(state.Result).Result != nil
				if reached && turn.Seq < v.State.Tainted || state.Allowed {
					k.add(targets(string(tasks.Arguments(tasks.CallOf(v, planner.Place{Subtask: i, Turn: t, Call: c})))))
				}
			}
		}
	}
	return k
}

// writtenValue is the value that a person typed into a field of a server's form.
// Choices and defaults are not included: the server wrote them, and people see
// only their labels.
func writtenValue(v *tasks.View, e planner.Event) string {
	about := e.Action
	if about.Subject != planner.SubjectForm {
		return ""
	}
	_, field := tasks.FormOf(v.Event(about.Seq), about)
	if field == nil || len(field.Choices) > 0 || string(field.Default) == string(e.Decision.Value) {
		return ""
	}
	return string(e.Decision.Value)
}

func (k knownTargets) add(list []Target) {
	for _, a := range list {
		if a.Host != "" {
			k.hosts[a.Host] = true
		} else {
			k.others[a.text] = true
		}
	}
}

// contains reports whether a person named the target or the task called it before. A
// person who names a site also names its subdomains.
func (k knownTargets) contains(a Target) bool {
	if a.Host == "" {
		return k.others[a.text] || mentions(k.namedText, a.text)
	}
	if k.hosts[a.Host] || k.mentionsHost(a.Host) {
		return true
	}
	if isNumericHost(a.Host) {
		return false
	}
	for _, host, _ := strings.Cut(a.Host, "."); strings.Contains(host, ".") && !isPublicSuffix(host); _, host, _ = strings.Cut(host, ".") {
		if k.hosts[host] || k.mentionsHost(host) {
			return true
		}
	}
	return false
}

// mentionsHost reports whether a person named a host, in any script.
func (k knownTargets) mentionsHost(host string) bool {
	return mentions(k.namedText, host) || strings.Contains(host, "xn--") && mentions(k.namedText, unicodeHost(host))
}

// isPublicSuffix reports whether the subdomains of a host belong to different people.
func isPublicSuffix(host string) bool {
	suffix, _ := publicsuffix.PublicSuffix(host)
	return suffix == host
}

// mentions reports whether a text contains words as a whole, not as a part of a
// longer name.
func mentions(text, words string) bool {
	for rest, from := text, 0; words != ""; {
		i := strings.Index(rest[from:], words)
		if i < 0 {
			return false
		}
		i += from
		if !joinsBefore(rest[:i]) && !joinsAfter(rest[i+len(words):]) {
			return true
		}
		from = i + 1
	}
	return false
}

// joinsBefore reports whether a text ends with the beginning of a longer name. A
// person who names one subdomain has not named the others; "www." does not count
// as a subdomain.
func joinsBefore(text string) bool {
	if rest, www := strings.CutSuffix(text, "www."); www {
		return joinsBefore(rest)
	}
	r, _ := utf8.DecodeLastRuneInString(text)
	return text != "" && (r == '.' || r == '+' || inName(r))
}

// joinsAfter reports whether a text begins with the end of a longer name. A full
// stop at the end of a sentence is not part of a name.
func joinsAfter(text string) bool {
	r, n := utf8.DecodeRuneInString(strings.TrimLeft(text, "."))
	return text != "" && n > 0 && inName(r)
}

// inName reports whether a character may be part of a name. In scripts without
// spaces between words, other words stand directly beside a name, so their letters
// do not count.
func inName(r rune) bool {
	if r == '-' || r == '_' || unicode.IsDigit(r) {
		return true
	}
	return unicode.IsLetter(r) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// Reasons of an Approval besides changes by the tool.
const (
	ReasonHost      = "host"      // the call contacts a host that only an outsider's text names
	ReasonRecipient = "recipient" // the call reaches a recipient that only an outsider's text names
)
