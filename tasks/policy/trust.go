// Package policy answers what a call, a person or a program may do, by values alone.
package policy

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/publicsuffix"

	"legwork/planner"
	"legwork/tasks"
)

// What outsiders wrote may try to make a task carry things away: to an address
// or to somebody that only they name. So, once a task has read their words, a call
// that names a place or a recipient which the people of the chat did not name,
// which no search engine of the admin's found and which the task had not turned
// to before, needs a person's agreement, however harmless its tool is.

// UnknownTarget finds the first place or recipient in a call that the task has no
// reason to know of; empty when there is none.
func UnknownTarget(v *tasks.View, call planner.Call) (reason, detail string) {
	named := targets(string(tasks.Arguments(call)))
	if len(named) == 0 {
		return "", ""
	}
	known := targetsKnownTo(v)
	for _, a := range named {
		if !known.knows(a) {
			if a.Host != "" {
				return ReasonHost, a.Host
			}
			return ReasonRecipient, a.text
		}
	}
	return "", ""
}

// knownTargets is what a task has reason to know.
type knownTargets struct {
	words string          // of people who may say what is to be done, and of plans that no outsider could influence; in lower case
	hosts map[string]bool // that it turned to, or that a search found
	texts map[string]bool // others that it turned to
}

// targetsKnownTo gathers what people of the chat said, what they agreed to, what a
// search of the admin's found, and what the task wanted by itself before it had
// read anything of outsiders. What it wanted since may be theirs, whether a call
// came of it or not.
func targetsKnownTo(v *tasks.View) knownTargets {
	k := knownTargets{hosts: map[string]bool{}, texts: map[string]bool{}}
	words := []string{v.Opening().Goal}
	for _, e := range v.Events {
		switch {
		case e.Type == planner.GuidanceAdded && !planner.ByAgent(e):
			words = append(words, e.Text)
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
	k.words = strings.ToLower(strings.Join(words, "\n"))
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

// writtenValue is what a person wrote into a field of a server's form. Choices
// and what is used for a field that is left out are the server's words: people
// read but a label of them.
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
			k.texts[a.text] = true
		}
	}
}

// knows tells whether somebody named the target, or it was turned to before. Who
// named a site named its parts too.
func (k knownTargets) knows(a Target) bool {
	if a.Host == "" {
		return k.texts[a.text] || mentions(k.words, a.text)
	}
	if k.hosts[a.Host] || k.named(a.Host) {
		return true
	}
	if numeric(a.Host) {
		return false
	}
	for _, host, _ := strings.Cut(a.Host, "."); strings.Contains(host, ".") && !shared(host); _, host, _ = strings.Cut(host, ".") {
		if k.hosts[host] || k.named(host) {
			return true
		}
	}
	return false
}

// named reports that somebody wrote a host, in whatever script.
func (k knownTargets) named(host string) bool {
	return mentions(k.words, host) || strings.Contains(host, "xn--") && mentions(k.words, inScript(host))
}

// shared reports that the names under a host belong to different people.
func shared(host string) bool {
	suffix, _ := publicsuffix.PublicSuffix(host)
	return suffix == host
}

// mentions reports that a text has the words as a whole, not as a part of others.
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

// joinsBefore reports that a text ends in the beginning of a longer name. Who
// names one part of a site did not name its others; "www." is no part.
func joinsBefore(text string) bool {
	if rest, www := strings.CutSuffix(text, "www."); www {
		return joinsBefore(rest)
	}
	r, _ := utf8.DecodeLastRuneInString(text)
	return text != "" && (r == '.' || r == '+' || inName(r))
}

// joinsAfter reports that a text begins with the end of a longer name. The end of
// a sentence is none of a name.
func joinsAfter(text string) bool {
	r, n := utf8.DecodeRuneInString(strings.TrimLeft(text, "."))
	return text != "" && n > 0 && inName(r)
}

// inName reports that a character may be part of a name. Scripts that part no
// words stand right beside one.
func inName(r rune) bool {
	if r == '-' || r == '_' || unicode.IsDigit(r) {
		return true
	}
	return unicode.IsLetter(r) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// Reasons of an Approval, beyond that the call may change things.
const (
	ReasonHost      = "host"      // it would contact a place that only an outsider's words name
	ReasonRecipient = "recipient" // it would reach somebody whom only an outsider's words name
)
