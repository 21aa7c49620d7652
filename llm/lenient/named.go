package lenient

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Named is what FindNamed finds in a text.
type Named struct {
	Calls []Call
	// Names: at least half of the objects name a known tool or agent. There are no
	// calls when one of the objects can be read in two ways or in none.
	Names  bool
	Quoted bool // the text is a line of words and a code block
	// Doubtful: the names stand under a key that does not speak of agents or tools. They
	// may be there by coincidence: {"category": "math", "question": "What is 2+2?"}.
	Doubtful bool
}

// callerKey is a key under which a call has the name of its agent or tool.
var callerKey = regexp.MustCompile(`(?i)agent|name|tool|function|action|worker|group|assign|expert|delegate|execut|skill|command|method|call`)

// FindNamed reads a text that is nothing but data or code, and that names tools or
// agents: JSON values, XML elements, a list in YAML, or calls written as code. A line
// before it may end in a colon. It goes by the form and not by names of keys. A call is
//
//   - an object in which exactly one value is a known name: its other values, without a
//     thought, are the arguments, or one of them is, when it is the only object;
//   - the only key of an object, or an XML element, that is a known name: its value is
//     the arguments.
//
// Arguments that are a lone text are a JSON string.
func FindNamed(text string, known func(name string) bool) Named {
	f := finder{text: text, known: known}
	if f.code(); len(f.found) > 0 && bare(f.without(func(candidate) bool { return true })) == "" {
		found := Named{Names: true}
		for _, c := range f.found {
			found.Calls = append(found.Calls, c.calls...)
		}
		return found
	}
	n := namer{known: known}
	values, quoted := data(text)
	for _, v := range values {
		n.walk(v)
	}
	found := Named{Names: n.named > 0 && 2*n.named >= n.records, Quoted: quoted, Doubtful: n.key != "" && !callerKey.MatchString(n.key)}
	if found.Names && !n.unclear {
		found.Calls = n.calls
	}
	return found
}

// namer collects the calls in values.
type namer struct {
	known          func(name string) bool
	key            string // under which the first object has its name
	calls          []Call
	records, named int
	unclear        bool
}

// walk looks for calls in a value, and in the only list or object of a value.
func (n *namer) walk(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n.walk(e)
		}
	case map[string]any:
		n.object(v)
	default:
		n.records, n.unclear = n.records+1, true
		if text, ok := v.(string); ok && n.known(text) {
			n.named++
		}
	}
}

func (n *namer) object(m map[string]any) {
	keys := slices.Sorted(maps.Keys(m))
	if len(keys) > 0 && !slices.ContainsFunc(keys, func(key string) bool { return !n.known(key) }) {
		for _, key := range keys {
			n.add(key, m[key])
		}
		n.unclear = n.unclear || len(keys) > 1 // their order is not known
		return
	}
	var names, containers []string
	for _, key := range keys {
		if text, ok := m[key].(string); ok && n.known(text) {
			names = append(names, key)
		}
		if isContainer(m[key]) {
			containers = append(containers, key)
		}
	}
	if n.key == "" && len(names) == 1 {
		n.key = names[0]
	}
	name, _ := m[n.key].(string)
	switch {
	case name != "" && (len(names) == 0 || slices.Equal(names, []string{n.key})):
		rest := maps.Clone(m)
		delete(rest, n.key)
		delete(rest, "thought")
		if len(containers) == 1 {
			if inner, ok := m[containers[0]].(map[string]any); ok {
				n.unclear = n.unclear || slices.ContainsFunc(keys, func(key string) bool { return key != n.key && key != "thought" && IsPhrase(m[key]) })
				n.add(name, inner)
				return
			}
		}
		n.add(name, rest)
	case len(names) == 0 && len(containers) == 1:
		n.walk(m[containers[0]])
	default:
		n.records, n.unclear = n.records+1, true
		if len(names) > 0 {
			n.named++
		}
	}
}

// add notes a call. A name that is not known may stand where other objects have one.
func (n *namer) add(name string, arguments any) {
	n.records++
	if n.known(name) {
		n.named++
	}
	raw, err := json.Marshal(arguments)
	n.unclear = n.unclear || err != nil
	n.calls = append(n.calls, Call{ToolName(name), raw})
}

// IsPhrase reports that a value is a text of several words.
func IsPhrase(v any) bool {
	text, _ := v.(string)
	text = strings.TrimSpace(text)
	return strings.ContainsAny(text, " \t\n") || strings.ContainsFunc(text, func(c rune) bool { return c >= '\u2e80' })
}

// data returns the values that a text is and nothing else; nil for other texts. quoted
// says that they are in a code block below a line of words.
func data(text string) (list []any, quoted bool) {
	lead, rest, lines := strings.Cut(text, "\n")
	element := strings.HasPrefix(strings.TrimSpace(rest), "<") // needs no colon before it
	if lines = lines && (introduces(lead) || element && introduces(lead+":")); lines {
		text = strings.TrimSpace(rest)
	}
	if strings.HasPrefix(text, "```") && strings.HasSuffix(text, "```") {
		text, quoted = withoutFences(text), lines
	}
	if strings.HasPrefix(text, "<") && strings.HasSuffix(text, ">") {
		return elementsIn(text), quoted
	}
	if list = YAMLList(text); list == nil {
		list = jsonIn(text)
	}
	return list, quoted
}

// introduces reports that a line announces what follows it.
func introduces(line string) bool {
	line = strings.TrimSpace(line)
	return (strings.HasSuffix(line, ":") || strings.HasSuffix(line, "：")) && len(line) < 200 && !strings.ContainsAny(line, "{[<`")
}

// withoutFences leaves out the lines that begin and end code blocks.
func withoutFences(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimLeft(line, " \t"), "```") {
			kept.WriteString(line)
		}
	}
	return strings.TrimSpace(kept.String())
}

// jsonIn returns the JSON values of a text that holds nothing else but marks of a list
// and, before the first value, words that end in a colon.
func jsonIn(text string) (list []any) {
	from := 0
	for _, v := range Values(text) {
		between := strings.TrimSpace(text[from:v.Start])
		if v.Raw == nil || strings.Trim(between, "-*•,;.)( \t\r\n0123456789") != "" && (from > 0 || !introduces(between)) {
			return nil
		}
		list, from = append(list, Decode(v.Raw)), v.End
	}
	if strings.Trim(text[from:], ",;. \t\r\n") != "" {
		return nil
	}
	return list
}

const (
	maxMarkup       = 32 << 10 // bytes of a text in XML or YAML
	maxElementDepth = 32
)

// elementsIn returns the elements of a text in XML as JSON values: an element that holds
// text alone is that text; attributes and inner elements are the keys of an object, and
// its text has the key "text". An element whose name another one beside it has is an item
// of a list.
func elementsIn(text string) []any {
	if len(text) > maxMarkup {
		return nil
	}
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict = false
	open := []*xmlElement{{}}
	for {
		token, err := d.Token()
		top := open[len(open)-1]
		if err != nil {
			if !errors.Is(err, io.EOF) || len(open) > 1 || strings.TrimSpace(top.text) != "" {
				return nil
			}
			return top.list
		}
		switch token := token.(type) {
		case xml.StartElement:
			if len(open) > maxElementDepth {
				return nil
			}
			e := &xmlElement{name: token.Name.Local}
			for _, a := range token.Attr {
				e.put(a.Name.Local, a.Value)
			}
			open = append(open, e)
		case xml.EndElement:
			if top.inner && strings.TrimSpace(top.text) != "" {
				return nil // a text with marks in it
			}
			open = open[:len(open)-1]
			open[len(open)-1].put(top.name, top.value())
			open[len(open)-1].inner = true
		case xml.CharData:
			top.text += string(token)
		}
	}
}

// xmlElement is an element while it is read.
type xmlElement struct {
	name, text string
	keys       map[string]any
	list       []any // each of its elements alone
	inner      bool  // it has elements
}

func (e *xmlElement) put(key string, v any) {
	if e.keys == nil {
		e.keys = map[string]any{}
	}
	e.list = append(e.list, map[string]any{key: v})
	e.keys[key] = v
}

// value is the element as a JSON value.
func (e *xmlElement) value() any {
	text := strings.TrimSpace(e.text)
	switch {
	case e.keys == nil:
		return text
	case len(e.keys) < len(e.list):
		return e.list
	case text != "":
		e.keys["text"] = text
	}
	return e.keys
}
