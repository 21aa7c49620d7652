package lenient

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Call is a call of a tool that a model wrote into its text.
type Call struct {
	Name      string // without a prefix such as "functions."
	Arguments []byte // valid JSON, an object wherever the model wrote one, or a lone text; {} without any
}

// Calls are the calls in a text.
type Calls struct {
	List []Call
	Rest string // the text without thinking, the calls and the marks around them
	Cut  bool   // the last call is not complete
	// Stray: no call can be read, and yet a line begins with a mark that models put
	// only around calls, or JSON has a key that only calls have.
	Stray bool
}

// FindCalls finds the calls of tools that a model wrote into its text, since it or its
// server does not know the protocol's own form: as JSON of many shapes, bare, in
// a list, fenced or between the marks of its training; as XML elements; or as code.
// docs/models.md shows them. known reports the tools that there are.
//
// JSON of such a shape may also be what a person asked for. It is a call when it names
// a known tool, has marks around it, or is the whole text. The shapes that only
// calls have are calls beside other words, too, unless a code block quotes them.
func FindCalls(text string, known func(name string) bool) Calls {
	f := finder{text: signs.Replace(WithoutThinking(text)), known: known}
	f.blocks = codeBlocks(f.text)
	f.elements()
	f.code()
	f.react()
	truncated := f.values()
	slices.SortStableFunc(f.found, func(a, b candidate) int { return a.start - b.start })
	whole := len(f.found) > 0 && bare(f.without(func(candidate) bool { return true })) == ""
	accepted := func(c candidate) bool { return c.sure || whole || c.shaped && !f.quoted(c.start) }
	out := Calls{Cut: truncated}
	for _, c := range f.found {
		if accepted(c) {
			out.List = append(out.List, c.calls...)
			out.Stray = out.Stray || len(c.calls) == 0
		}
	}
	out.Rest = f.text
	if len(out.List) > 0 {
		out.Rest = bare(f.without(accepted))
	}
	out.Stray = len(out.List) == 0 && (out.Stray || f.strayMark())
	return out
}

// Unreadable reports that the text holds a call, and that it cannot be made.
func (c Calls) Unreadable() bool { return len(c.List) == 0 && (c.Cut || c.Stray) }

// codeBlocks returns where code blocks begin and end. The last one may have no end.
func codeBlocks(text string) (blocks [][]int) {
	const fence = "```"
	for from := 0; ; {
		i := strings.Index(text[from:], fence)
		if i < 0 {
			return blocks
		}
		start, end := from+i, len(text)
		if i = strings.Index(text[start+len(fence):], fence); i >= 0 {
			end = start + len(fence) + i + len(fence)
		}
		blocks, from = append(blocks, []int{start, end}), end
	}
}

// candidate is a part of a text that may be calls.
type candidate struct {
	start, end int
	calls      []Call
	sure       bool // a known tool, or marks around it
	shaped     bool // a shape that only calls have
}

type finder struct {
	text   string
	known  func(name string) bool
	blocks [][]int // code blocks
	found  []candidate
	tried  int // how many times header was matched
}

var (
	// header is the name of a tool before its arguments, with the marks around it.
	header = regexp.MustCompile(`(?:(?P<mark><function(?:=| name=)["']?|<invoke name=["']?|\[TOOL_CALLS\]\s*|<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?|<\|tool_call_begin\|>|<tool_call>\s*|<(?:start_function_call|\|tool_call)>\s*call:|<\|recipient\|>\s*` +
		`|(?:<\|start\|>\s*assistant\s*)?(?:<\|channel\|>\s*\w+\s+)?\bto=functions\.)|>>>\s*|\bto=|(?m:^)Action:\s*)` +
		`([A-Za-z0-9_.-]{1,80})(?:["']?>|:\d+|\s|\[ARGS\]|\[CALL_ID\]\w*|<\|?[^<>\n]{1,40}>|` + "```(?:json)?" + `|json|Action Input:)*$`)

	// lead is all that stands before the arguments: the name of a tool and words that
	// say so, such as "Tool: NAME, Input:".
	lead = regexp.MustCompile(`(?i)^[^\pL\pN]*(?:(?:tool|function|call|calling|use|using)[^\pL\pN]+)*([\w.-]{1,80})[^\pL\pN]*(?:(?:json|with|tool|input|arguments|args|parameters)[^\pL\pN]+)*$`)

	reactText = regexp.MustCompile(`(?m)^Action:[ \t]*([\w.-]{1,80})[ \t]*\n+Action Input:[ \t]*([^\s{\["'` + "`" + `].*)$`)

	element   = regexp.MustCompile(`(?s)<(?:function(?:=| name=)|invoke name=)["']?([\w.-]{1,80})["']?\s*>\s*((?:<parameter.*?</parameter>\s*)*)</(?:function|invoke)>`)
	parameter = regexp.MustCompile(`(?s)<parameter(?:=| name=)["']?([\w.-]+)["']?[^<>]*>(.*?)</parameter>`)
	keyed     = regexp.MustCompile(`(?s)<tool_call>\s*([\w.-]{1,80})\s*((?:<arg_key>.*?</arg_value>\s*)+)</tool_call>`) // GLM
	argument  = regexp.MustCompile(`(?s)<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>`)

	codeStart = regexp.MustCompile("```tool_code|<\\|python_tag\\|>|<\\|tool_call_start\\|>")
	function  = regexp.MustCompile(`([A-Za-z_][\w.]{0,79})\(`)
	wholeCode = regexp.MustCompile(`^\[?\s*[A-Za-z_][\w.]{0,79}\(`)
)

// maxFound is how many calls of one way of writing are found, at least.
const maxFound = 128

// maxHeader is how far before its arguments the name of a tool may begin, in bytes.
const maxHeader = 240

// add notes a candidate, and which of its calls can be made.
func (f *finder) add(c candidate) {
	c.sure = c.sure || slices.ContainsFunc(c.calls, func(c Call) bool { return f.known(c.Name) })
	f.found = append(f.found, c)
}

// inside reports that a place belongs to a candidate.
func (f *finder) inside(at int) bool {
	return slices.ContainsFunc(f.found, func(c candidate) bool { return at >= c.start && at < c.end })
}

// quoted reports that a place is in a code block.
func (f *finder) quoted(at int) bool {
	return slices.ContainsFunc(f.blocks, func(b []int) bool { return at >= b[0] && at < b[1] })
}

// containsAny reports that a text contains one of the parts. Expressions are slow, and
// most texts have none of their parts.
func containsAny(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// elements finds calls written as XML elements.
func (f *finder) elements() {
	if !containsAny(f.text, "<function", "<invoke", "<tool_call>") {
		return
	}
	for _, form := range []struct{ call, argument *regexp.Regexp }{{element, parameter}, {keyed, argument}} {
		for _, at := range form.call.FindAllStringSubmatchIndex(f.text, maxFound) {
			args := map[string]any{}
			for _, p := range form.argument.FindAllStringSubmatch(f.text[at[4]:at[5]], -1) {
				args[strings.TrimSpace(p[1])] = elementValue(p[2])
			}
			raw, err := json.Marshal(args)
			if err == nil && len(args) > 0 || at[4] == at[5] {
				f.add(candidate{start: at[0], end: at[1], sure: !f.quoted(at[0]), calls: []Call{{ToolName(f.text[at[2]:at[3]]), raw}}})
			}
		}
	}
}

// elementValue is the value of a parameter: JSON where it is a list or an object, or
// else a text. The tool's schema says whether a text is meant as a number.
func elementValue(text string) any {
	trimmed := strings.TrimSpace(text)
	if strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		if raw := Whole(trimmed); raw != nil {
			return json.RawMessage(raw)
		}
		if json.Valid([]byte(trimmed)) {
			return json.RawMessage(trimmed)
		}
	}
	return strings.Trim(text, "\n")
}

// code finds calls written as code, where a mark announces code or the whole
// text is a call: plan(plan=[…]).
func (f *finder) code() {
	from, alone := -1, false
	var at []int
	if containsAny(f.text, "```tool_code", "<|") {
		at = codeStart.FindStringIndex(f.text)
	}
	if at != nil {
		from = at[1]
	} else if begin := strings.TrimLeft(strings.TrimPrefix(f.text, "```python"), " \t\r\n"); wholeCode.MatchString(begin) {
		from, alone = len(f.text)-len(begin), true
	}
	r := reader{text: f.text, dead: map[int]bool{}}
	for budget := 8*len(f.text) + 4096; from >= 0 && budget > 0 && len(f.found) < 3*maxFound; {
		at := function.FindStringSubmatchIndex(f.text[from:])
		if at == nil {
			return
		}
		name, start := ToolName(f.text[from+at[2]:from+at[3]]), from+at[2]
		from += at[1]
		if !f.known(name) || f.inside(start) {
			continue
		}
		read := r.arguments(from - 1)
		if budget -= r.pos - from; read != complete {
			if alone && len(f.found) == 0 && strings.HasSuffix(f.text, ")") { // a call that cannot be read
				f.found = append(f.found, candidate{start: start, end: len(f.text), sure: true})
			}
			continue
		}
		from = r.pos
		c := candidate{start: start, end: from, sure: true, calls: []Call{{name, r.out}}}
		if before, ok := strings.CutSuffix(strings.TrimSuffix(f.text[:start], "default_api."), "print("); ok && strings.HasPrefix(f.text[from:], ")") {
			c.start, c.end = len(before), from+1
		}
		f.found = append(f.found, c)
	}
}

// values finds calls in JSON. cut says that one is not complete.
func (f *finder) values() (cut bool) {
	for _, v := range Values(f.text) {
		if f.inside(v.Start) || len(f.found) >= 4*maxFound {
			continue
		}
		c := candidate{start: v.Start, end: v.End}
		name, marked := f.header(&c)
		switch {
		case v.Truncated:
			cut = name != "" || callKeys(v.Keys) || len(v.Keys) > 0 && f.marked(v.Start)
		case v.Raw == nil:
		case name != "":
			c.sure, c.calls = marked, []Call{{name, v.Raw}}
			f.add(c)
		default:
			c.sure = f.marked(v.Start)
			if c.calls, c.shaped = callsIn(Decode(v.Raw), f.known, 0); len(c.calls) > 0 || c.shaped {
				f.add(c)
			}
		}
	}
	return cut
}

// react finds calls of the form ReAct whose input is a text.
func (f *finder) react() {
	if !strings.Contains(f.text, "Action Input:") {
		return
	}
	for _, at := range reactText.FindAllStringSubmatchIndex(f.text, maxFound) {
		raw, err := json.Marshal(f.text[at[4]:at[5]])
		if name := ToolName(f.text[at[2]:at[3]]); err == nil && f.known(name) && !f.quoted(at[0]) {
			f.add(candidate{start: at[0], end: at[1], calls: []Call{{name, raw}}})
		}
	}
}

// header returns the name of the tool whose arguments a value is, because the
// name stands before it. A mark that prose may have, too, counts for known tools.
func (f *finder) header(c *candidate) (name string, marked bool) {
	if c.start > 0 && c.start < maxHeader && strings.Trim(f.text[c.end:], "` \t\r\n") == "" {
		if at := lead.FindStringSubmatch(f.text[:c.start]); at != nil && f.known(ToolName(at[1])) {
			c.start, c.end = 0, len(f.text)
			return ToolName(at[1]), true
		}
	}
	from := max(0, c.start-maxHeader)
	before := f.text[from:c.start]
	if !containsAny(before, "<", ">>>", "to=", "[TOOL", "Action:") || f.tried >= 4*maxFound {
		return "", false
	}
	f.tried++
	at := header.FindStringSubmatchIndex(before)
	if at == nil {
		return "", false
	}
	name, marked = ToolName(before[at[4]:at[5]]), at[2] >= 0 && !f.quoted(from+at[0])
	if !marked && !f.known(name) {
		return "", false
	}
	c.start = from + at[0]
	return name, marked
}

// without is the text without some of the candidates.
func (f *finder) without(leave func(candidate) bool) string {
	var kept strings.Builder
	from := 0
	for _, c := range f.found {
		if c.start >= from && leave(c) {
			kept.WriteString(f.text[from:c.start])
			from = c.end
		}
	}
	kept.WriteString(f.text[from:])
	return kept.String()
}

// callKeys reports that the keys of a value that is cut are those of a call.
func callKeys(keys []string) bool {
	if len(keys) > 0 && slices.Contains([]string{"tool_calls", "tool", "tool_name", "function_call"}, keys[0]) {
		return true
	}
	return slices.Contains(keys, "name") && (slices.Contains(keys, "arguments") || slices.Contains(keys, "parameters"))
}

// maxNested is how many objects around a call callsIn looks into.
const maxNested = 4

// callsIn returns the calls that a JSON value is. shaped says that it has a shape
// that only calls have.
func callsIn(v any, known func(string) bool, depth int) (calls []Call, shaped bool) {
	if depth > maxNested {
		return nil, false
	}
	if list, ok := v.([]any); ok {
		for _, e := range list {
			one, sure := callsIn(e, known, depth+1)
			if len(one) == 0 {
				return nil, false
			}
			calls, shaped = append(calls, one...), shaped || sure
		}
		return calls, shaped
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	for _, key := range [...]string{"tool_calls", "tool_uses", "function_call", "function", "tool_call"} {
		if inner := m[key]; isContainer(inner) {
			calls, _ = callsIn(inner, known, depth+1)
			return calls, len(calls) > 0 || key != "function"
		}
	}
	return oneCall(m, known)
}

func isContainer(v any) bool {
	switch v.(type) {
	case []any, map[string]any:
		return true
	}
	return false
}

// oneCall reads an object with the name of a tool and its arguments.
func oneCall(m map[string]any, known func(string) bool) (calls []Call, shaped bool) {
	name := ""
	for _, key := range [...]string{"tool", "tool_name", "name", "function", "recipient_name", "action"} {
		if text, ok := m[key].(string); ok && name == "" {
			name, shaped = ToolName(text), key == "tool" || key == "tool_name" || key == "recipient_name"
		}
	}
	switch m["type"] {
	case "function", "function_call", "tool_call", "tool_use":
		shaped = true
	}
	if !plainName.MatchString(name) {
		return nil, false
	}
	for _, key := range [...]string{"arguments", "parameters", "input", "args", "params", "action_input", "tool_input"} {
		v, there := m[key]
		if shaped = shaped || there && key == "action_input"; !there {
			continue
		}
		if !known(name) && !shaped && (len(m) > 3 || key != "arguments" && key != "parameters") {
			return nil, false // data that has a name and an input
		}
		if text, ok := v.(string); ok {
			v = nil
			if text = strings.TrimSpace(text); text == "" {
				v = map[string]any{}
			}
			for _, o := range Objects(text) {
				if o.Raw != nil && o.Start == 0 {
					v = json.RawMessage(o.Raw)
				}
			}
		}
		raw, err := json.Marshal(v)
		if v == nil || err != nil || raw[0] != '{' && raw[0] != '[' {
			if !known(name) || m[key] != nil {
				return nil, false
			}
			raw = []byte("{}")
		}
		return []Call{{name, raw}}, shaped
	}
	others := len(m) - 1
	for _, key := range [...]string{"type", "id"} {
		if _, there := m[key]; there {
			others--
		}
	}
	if others == 0 && (shaped || known(name)) {
		return []Call{{name, []byte("{}")}}, shaped
	}
	return nil, false
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,80}$`)

// ToolName is the name of a tool without what templates put around it.
func ToolName(name string) string {
	name, _, _ = strings.Cut(name, "<|") // plan<|channel|>commentary
	name = strings.TrimSuffix(strings.TrimSpace(name), ".call")
	for _, prefix := range [...]string{"functions.", "function.", "default_api.", "tools."} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" {
			return rest
		}
	}
	return name
}

// Decode reads a JSON value, with numbers as written. It returns nil for invalid JSON.
func Decode(raw []byte) any {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}
