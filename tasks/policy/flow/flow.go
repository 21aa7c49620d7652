// Package flow decides whether a tool call may carry private data to outsiders. It
// knows no task and no config: it judges values.
//
// The rule:
//
//  1. Every text that a model reads has labels: Outside, if people who are not
//     trusted here may have written it, and Private, if it is not public.
//  2. A call that can carry data out, made by a model that has read Outside and
//     Private texts, runs unasked only if nothing in its arguments can be new to
//     the receiver: each value stands, letter by letter, in a text that holds
//     nothing private. What a server has returned is not private to that server's
//     tools that only read, unless the call names another receiver.
//  3. A person decides about every other call, unless the admin has declared the
//     parameter free or the destination open.
package flow

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Label says what is known about a text.
type Label uint8

// The labels of a text. A text that is made from others has all of their labels.
const (
	Outside Label = 1 << iota // people who are not trusted here may have written it
	Private                   // it is not public
)

// Both are the labels that, together, make a call dangerous.
const Both = Outside | Private

// Source is a text that a model has read, or has written itself.
type Source struct {
	Labels Label
	People bool   // the people of the chat wrote it: it is never private
	Origin string // the server that returned it, or who else wrote it
	Search bool   // a search engine of the admin returned it: the addresses of its results may be opened
	Text   string

	known bool // to the receiver of the call that is judged, whatever was read before
}

// Call is a tool call that can carry data out.
type Call struct {
	Server    string
	ReadOnly  bool // the tool only reads: the server is all that it addresses
	Arguments json.RawMessage
	// Schema is the definition of the tool. Its words are public: names of
	// parameters and the values that it lists.
	Schema string
	Free   func(parameter string) bool // the admin lets the parameter carry anything; nil: none
}

// Leak is a value that may carry private data out.
type Leak struct {
	Parameter string   // "query", or "items.0.to" inside of others
	To        string   // the hosts and recipients in the value; empty: the server of the call
	From      []Origin // where the private texts came from, the likeliest first
}

// Origin is a source of private texts.
type Origin struct {
	Name  string
	Lines int // how many lines of the value stand in its texts; 0: none as it is
}

// Labels returns the labels of all sources together.
func Labels(sources []Source) (all Label) {
	for _, s := range sources {
		all |= s.Labels
	}
	return all
}

// Judge lists the values of a call that may carry private data out. The sources are
// the texts that the model of the call has read, the earliest first.
func Judge(sources []Source, call Call, open Open) []Leak {
	if Labels(sources) != Both {
		return nil
	}
	named := receivers(string(call.Arguments))
	if call.ReadOnly && len(named) == 0 { // the server is the only receiver
		sources = slices.Clone(sources)
		for i, s := range sources {
			if s.Origin == call.Server {
				sources[i].Labels, sources[i].known = s.Labels&^Private, true
			}
		}
	}
	doc, ok := decoded(string(call.Arguments))
	if !ok {
		doc = string(call.Arguments)
	}
	if Labels(sources) != Both {
		return nil
	}
	opened := open.allows(doc, named)
	known := knownTexts(sources, call)
	var leaks []Leak
	values, digits := 0, 0
	walk("", doc, func(parameter string, v item) {
		if call.Free != nil && call.Free(parameter) || opened && (forText(parameter) || toReceiver(parameter, v)) {
			return
		}
		if !v.name {
			values++
		}
		if v.small && v.text != "" && !known.holds(v.text) {
			digits += len(v.text)
		}
		if values <= maxValues && (v.small && digits <= maxDigits || known.holds(v.text)) {
			return
		}
		to := destination(parameter, v.text)
		if values > maxValues+1 && (to == "" || len(leaks) >= maxLeaks || known.holds(v.text)) { // the leak of the one before stands for it
			return
		}
		leaks = append(leaks, Leak{Parameter: parameter, To: to, From: origins(sources, v.text)})
	})
	return leaks
}

// A call with more than maxValues values is new to the receiver even if each of them is
// known: a list of known words can spell anything. So can its small numbers, if those
// that are not known have more than maxDigits digits together. At most maxLeaks values
// are listed.
const (
	maxValues = 12
	maxDigits = 9
	maxLeaks  = 40
)

// item is a part of a document.
type item struct {
	text  string // of a text, the name of a field, or a number
	name  bool   // it is the name of a field
	small bool   // by itself it carries next to nothing: a number of up to three digits, yes, no, nothing, or what holds others
}

// walk calls visit for each part of a document, but not for the whole.
func walk(at string, v any, visit func(parameter string, v item)) {
	if at != "" || !holdsOthers(v) {
		visit(at, itemOf(v))
	}
	join := func(name string) string {
		if strings.Contains(name, ".") {
			name = strconv.Quote(name) // it is not inside of another
		}
		return strings.TrimPrefix(at+"."+name, ".")
	}
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			walk(join(strconv.Itoa(i)), e, visit)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			visit(join(name), item{text: name, name: true})
			walk(join(name), v[name], visit)
		}
	}
}

func holdsOthers(v any) bool {
	switch v.(type) {
	case []any, map[string]any:
		return true
	}
	return false
}

func itemOf(v any) item {
	switch v := v.(type) {
	case string:
		return item{text: v}
	case json.Number:
		n, err := strconv.Atoi(v.String())
		return item{text: v.String(), small: err == nil && n > -1000 && n < 1000}
	}
	return item{small: true}
}

// origins lists where the private texts came from. An origin that holds lines of the
// value comes first.
func origins(sources []Source, value string) []Origin {
	var list []Origin
	lines := strings.Split(value, "\n")
	for _, s := range sources {
		if s.Labels&Private == 0 {
			continue
		}
		i := slices.IndexFunc(list, func(o Origin) bool { return o.Name == s.Origin })
		if i < 0 {
			i, list = len(list), append(list, Origin{Name: s.Origin})
		}
		for _, line := range lines {
			if line = strings.TrimSpace(line); len(line) >= minLine && strings.Contains(s.Text, line) {
				list[i].Lines++
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Origin) int { return b.Lines - a.Lines })
	return list
}

// minLine is the length, in bytes, from which a line is looked for in the sources.
const minLine = 4
