package conf

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"legwork/internal/nearest"
	"legwork/llm"
)

// decoder reads YAML nodes into Go values and collects every mistake with its
// place. Unlike the YAML library's own decoder it continues after a mistake, expands
// references, knows columns, suggests the nearest key, is strict about types and
// never quotes an expanded value.
type decoder struct {
	file     string
	expander expander
	errors   Errors
	failed   map[string]bool  // keys with a mistake
	misspelt map[string]bool  // keys around one that is probably misspelt
	places   map[string]place // of each key of the config
	secrets  []secret
	visits   int          // of nodes and their contents
	spent    bool         // maxVisits was exceeded
	open     []*yaml.Node // aliases that are being followed
	imported Errors       // in files of import_servers
}

// place is a position in the config file, or in an imported file, where the key has
// another name.
type place struct {
	line, column int
	file, key    string // empty: the config file, and the key as it is
}

// secret is an expanded value and the key it was expanded in.
type secret struct {
	key string
	expanded
}

// maxVisits bounds the work for aliases of aliases.
const maxVisits = 1 << 18

// fail adds a mistake at a node.
func (d *decoder) fail(n *yaml.Node, key, format string, values ...any) {
	d.failed[key] = true
	d.errors = append(d.errors, Error{d.file, n.Line, n.Column, key, fmt.Sprintf(format, values...)})
}

// decode reads a node into v, which must be settable. An empty value leaves v as it
// is, so that a key without a value keeps its default.
func (d *decoder) decode(n *yaml.Node, key string, v reflect.Value) {
	n, leave := d.follow(n, key)
	if n == nil {
		return
	}
	defer leave()
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		if v.Kind() == reflect.Slice && strings.HasPrefix(key, "http.tokens[") { // perhaps all of its entries were removed
			d.fail(n, key, "has no value; leave the key out for its default, or write [] for none")
		}
		return
	}
	if own, ok := v.Addr().Interface().(json.Unmarshaler); ok {
		d.unmarshal(n, key, own)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		value := reflect.New(v.Type().Elem())
		d.decode(n, key, value.Elem())
		v.Set(value)
	case reflect.Struct:
		d.structure(n, key, v)
	case reflect.Map:
		d.mapping(n, key, v)
	case reflect.Slice:
		d.sequence(n, key, v)
	case reflect.Interface:
		if value := d.free(n, key); value != nil {
			v.Set(reflect.ValueOf(value))
		}
	default:
		d.scalar(n, key, v)
	}
}

// follow returns the node of an alias; nil when it cannot be followed.
func (d *decoder) follow(n *yaml.Node, key string) (*yaml.Node, func()) {
	d.visits += 1 + len(n.Content)
	if d.visits > maxVisits {
		if !d.spent {
			d.fail(n, key, "too many values; aliases of aliases multiply them")
		}
		d.spent = true
		return nil, nil
	}
	if n.Kind != yaml.AliasNode {
		return n, func() {}
	}
	if slices.Contains(d.open, n.Alias) {
		d.fail(n, key, "the anchor %q contains itself", n.Value)
		return nil, nil
	}
	d.open = append(d.open, n.Alias)
	d.visits += len(n.Alias.Content)
	return n.Alias, func() { d.open = d.open[:len(d.open)-1] }
}

func (d *decoder) structure(n *yaml.Node, key string, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, key, "want keys and values below it, not %s", kindName(n))
		return
	}
	fields := fieldsOf(v)
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	var missing []string // keys that were probably meant by misspelt ones
	defer func() {
		for _, at := range missing {
			if _, given := d.places[at]; !given {
				d.failed[at] = true // one mistake is enough
			}
		}
	}()
	for _, e := range d.entries(n, key) {
		name := e.key.Value
		field, ok := fields[name]
		if ok {
			at := join(key, name)
			d.entry(e, at, field.value)
			if !d.failed[at] {
				d.checkTag(at, field)
			}
			continue
		}
		if right := belongs(v.Type(), name, names); right != "" {
			d.fail(e.key, join(key, name), "unknown key; write %s", right)
			continue
		}
		if near := nearest.Typo(name, names); near != "" {
			missing = append(missing, join(key, near))
			d.misspelt[key] = true
		}
		d.fail(e.key, join(key, name), "unknown key, the nearest known one is %s; allowed: %s", nearest.Of(name, names), list(names))
	}
}

// samplingKeys are fields of a request to an endpoint that people write as keys of a
// model (platform.openai.com/docs/api-reference/chat, and those of local servers).
var samplingKeys = []string{
	"chat_template_kwargs", "enable_thinking", "frequency_penalty", "grammar", "keep_alive", "logit_bias", "logprobs", "min_p", "n", "num_ctx",
	"options", "presence_penalty", "repeat_penalty", "repetition_penalty", "seed", "service_tier", "stop", "temperature", "thinking", "think", "top_k", "top_p", "typical_p", "verbosity",
}

// belongs says where a key that a type does not have, or a misspelt one, is to be
// written; empty when it is not known. names are the keys that the type has.
func belongs(in reflect.Type, key string, names []string) string {
	switch {
	case in != reflect.TypeFor[llm.ModelConfig]():
		return ""
	case key == "max_tokens" || key == "max_completion_tokens":
		return "max_output_tokens: NUMBER"
	case !slices.Contains(samplingKeys, key) && nearest.Typo(key, names) != "":
		return ""
	}
	if key = nearest.Typo(key, samplingKeys); key == "" {
		return ""
	}
	return "extra_body: {" + key + ": VALUE}, whose fields go into each request"
}

// entry decodes one value of a mapping and stores its place.
func (d *decoder) entry(e entry, key string, v reflect.Value) {
	at := e.value
	if at.Kind == yaml.MappingNode || at.Kind == yaml.SequenceNode || at.Line == 0 {
		at = e.key
	}
	d.places[key] = place{line: at.Line, column: at.Column}
	d.decode(e.value, key, v)
}

// field is a field of a struct. rules are the rules of its jsonschema tag.
type field struct {
	value reflect.Value
	rules string
}

// fieldsOf lists the fields of a struct by their YAML names. It includes those of
// inlined structs.
func fieldsOf(v reflect.Value) map[string]field {
	fields := map[string]field{}
	for i := range v.NumField() {
		of := v.Type().Field(i)
		f := field{value: v.Field(i)}
		if v.Type().PkgPath() == reflect.TypeFor[Config]().PkgPath() { // others check their own
			f.rules = of.Tag.Get("jsonschema")
		}
		name, options, _ := strings.Cut(of.Tag.Get("yaml"), ",")
		switch {
		case !of.IsExported() || name == "-":
		case strings.Contains(options, "inline"):
			for name, inner := range fieldsOf(v.Field(i)) {
				fields[name] = inner
			}
		case name == "":
			fields[strings.ToLower(of.Name)] = f
		default:
			fields[name] = f
		}
	}
	return fields
}

// checkTag checks a value against enum, minimum and maximum of its field's
// jsonschema tag, so that the schema and the checks are one set of rules. An empty
// text means its default.
func (d *decoder) checkTag(key string, f field) {
	var allowed []string
	least, most := math.Inf(-1), math.Inf(1)
	for rule := range strings.SplitSeq(f.rules, ",") {
		name, value, _ := strings.Cut(rule, "=")
		number, _ := strconv.ParseFloat(value, 64)
		switch name {
		case "enum":
			allowed = append(allowed, value)
		case "minimum":
			least = number
		case "maximum":
			most = number
		}
	}
	v := f.value
	switch {
	case v.Kind() == reflect.String && len(allowed) > 0 && v.String() != "" && !slices.Contains(allowed, v.String()):
		d.issue(key, fmt.Sprintf("unknown value %s; allowed: %s", shown(v.String()), list(allowed)))
		d.failed[key] = true
	case v.CanInt() || v.CanFloat():
		got := v.Convert(reflect.TypeFor[float64]()).Float()
		if got >= least && got <= most {
			return
		}
		d.issue(key, fmt.Sprintf("%s is out of range; allowed: %s to %s", plain(got), plain(least), plain(most)))
		d.failed[key] = true
	}
}

func plain(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func (d *decoder) mapping(n *yaml.Node, key string, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, key, "want names with values below it, not %s", kindName(n))
		return
	}
	entries := d.entries(n, key)
	out := reflect.MakeMapWithSize(v.Type(), len(entries))
	for _, e := range entries {
		name := e.key.Value
		if name == "" {
			d.fail(e.key, key, "a name is empty")
			continue
		}
		value := reflect.New(v.Type().Elem()).Elem()
		d.entry(e, join(key, name), value)
		out.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), value)
	}
	v.Set(out)
}

func (d *decoder) sequence(n *yaml.Node, key string, v reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		d.fail(n, key, "want a list such as [a, b], not %s", kindName(n))
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		at := key + "[" + strconv.Itoa(i) + "]"
		d.places[at] = place{line: item.Line, column: item.Column}
		if item.Kind == yaml.ScalarNode && item.ShortTag() == "!!null" {
			d.fail(item, at, "an entry of the list is empty")
			continue
		}
		if v.Type() == idsType {
			item = idText(item)
		}
		d.decode(item, at, out.Index(i))
	}
	v.Set(out)
}

// join makes the dotted key of a name inside another key.
func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

// kindName names the kind of a node.
func kindName(n *yaml.Node) string {
	return cmp.Or(
		map[yaml.Kind]string{yaml.MappingNode: "keys and values", yaml.SequenceNode: "a list"}[n.Kind],
		map[string]string{"!!int": "a number", "!!float": "a number", "!!bool": "true or false"}[n.ShortTag()],
		"a text")
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	idsType      = reflect.TypeFor[IDs]()
)

// idText turns an id that is a number without quotes into a text.
func idText(n *yaml.Node) *yaml.Node {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || !wholeNumber.MatchString(n.Value) {
		return n
	}
	text := *n
	text.Tag = "!!str"
	return &text
}

// entry is one key of a mapping with its value.
type entry struct{ key, value *yaml.Node }

// entries lists a mapping in the order of the file. A key that is set twice is a
// mistake. The keys of a merge key (<<) come after the mapping's own keys, which win.
func (d *decoder) entries(n *yaml.Node, key string) []entry {
	var own []entry
	var merges []*yaml.Node
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if name.Kind == yaml.AliasNode {
			name = name.Alias
		}
		switch {
		case name.ShortTag() == "!!merge":
			merges = append(merges, value)
		case name.Kind != yaml.ScalarNode:
			d.fail(name, key, "a key must be a text, not %s", kindName(name))
		case seen[name.Value] != nil:
			d.fail(name, join(key, name.Value), "is set twice; the first time on line %d", seen[name.Value].Line)
		default:
			seen[name.Value] = name
			own = append(own, entry{name, value})
		}
	}
	for _, merge := range merges {
		for _, e := range d.merged(merge, key) {
			if seen[e.key.Value] == nil {
				seen[e.key.Value] = e.key
				own = append(own, e)
			}
		}
	}
	return own
}

// merged lists the keys of a merge key: those of one mapping, or of several, of
// which the first wins.
func (d *decoder) merged(n *yaml.Node, key string) []entry {
	n, leave := d.follow(n, key)
	if n == nil {
		return nil
	}
	defer leave()
	switch n.Kind {
	case yaml.MappingNode:
		return d.entries(n, key)
	case yaml.SequenceNode:
		var all []entry
		for _, item := range n.Content {
			if item.Kind == yaml.SequenceNode {
				d.fail(item, key, "<< takes anchored keys and values, or a list of them")
				continue
			}
			for _, e := range d.merged(item, key) {
				known := func(o entry) bool { return o.key.Value == e.key.Value }
				if !slices.ContainsFunc(all, known) {
					all = append(all, e)
				}
			}
		}
		return all
	}
	d.fail(n, key, "<< takes anchored keys and values, not %s", kindName(n))
	return nil
}
