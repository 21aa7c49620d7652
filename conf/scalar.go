package conf

import (
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// text is a scalar with its references expanded.
type text struct {
	*yaml.Node
	value  string // after expansion
	filled bool   // something was expanded, so value must not be shown
}

// expand resolves the references in a scalar; ok is false when that is not possible.
func (d *decoder) expand(n *yaml.Node, key string) (t text, ok bool) {
	x := &d.expander
	x.put, x.problems = nil, nil
	t = text{Node: n, value: n.Value}
	if strings.Contains(n.Value, "$") {
		t.value = x.expand(n.Value, 0)
		t.filled = t.value != n.Value
	}
	for _, put := range x.put {
		d.secrets = append(d.secrets, secret{key, put})
	}
	for _, problem := range x.problems {
		d.fail(n, key, "%s", problem)
	}
	return t, len(x.problems) == 0
}

// written is the value for messages: as in the file, never expanded.
func (t text) written() string { return shown(t.Node.Value) }

// shown quotes a text for a message, shortened.
func shown(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return strconv.Quote(s)
}

// tag is the YAML type of the value. The type of an expanded value without quotes
// follows from its text.
func (t text) tag() string {
	if !t.filled || t.quoted() {
		return t.ShortTag()
	}
	return t.plain().ShortTag()
}

// quoted reports whether the value can only be a text.
func (t text) quoted() bool {
	return t.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

// plain is the expanded value as if the file had it without quotes.
func (t text) plain() *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: t.value}
}

// scalar reads a node into a text, number, switch or duration.
func (d *decoder) scalar(n *yaml.Node, key string, v reflect.Value) {
	want := wanted(v)
	if n.Kind != yaml.ScalarNode {
		d.fail(n, key, "want %s, not %s", want, kindName(n))
		return
	}
	t, ok := d.expand(n, key)
	if !ok {
		return
	}
	hint, fits := assign(t, v)
	switch {
	case fits:
	case !t.filled && strings.HasSuffix(key, "listen"): // a number, as only a port is
		_, problem := listenProblem(t.value)
		d.fail(n, key, "%s", problem)
	case t.filled:
		d.fail(n, key, "want %s, which %s does not give", want, t.written())
	default:
		d.fail(n, key, "want %s, not %s%s", want, t.written(), hint)
	}
}

// wanted names the type of v and gives an example.
func wanted(v reflect.Value) string {
	switch {
	case v.Type() == durationType:
		return "a duration with a unit (ms, s, m, h or d), such as 60s, 5m, 1h30m or 7d"
	case v.Kind() == reflect.String:
		return "a text"
	case v.Kind() == reflect.Bool:
		return "true or false"
	case v.Kind() == reflect.Float64, v.Kind() == reflect.Float32:
		return "a number"
	}
	return "a whole number"
}

// assign sets v. When t does not fit, hint may complete the message.
func assign(t text, v reflect.Value) (hint string, fits bool) {
	node := t.Node
	if t.filled {
		node = t.plain()
	}
	tag := node.ShortTag()
	isNumber := tag == "!!int" || tag == "!!float"
	switch {
	case v.Type() == durationType:
		length, err := time.ParseDuration(inHours(t.value))
		if err == nil {
			v.SetInt(int64(length))
		} else if isNumber {
			hint = "; the unit is missing"
		}
		return hint, err == nil
	case v.Kind() == reflect.String:
		if !t.filled && tag != "!!str" && tag != "!!timestamp" {
			return "; put it in quotes", false
		}
		v.SetString(t.value)
		return "", true
	case v.Kind() == reflect.Bool && tag != "!!bool", v.CanInt() && tag != "!!int", v.CanFloat() && !isNumber:
		if t.quoted() {
			hint = " in quotes"
		}
		return hint, false
	}
	if node.Decode(v.Addr().Interface()) != nil {
		return ", which is too large", false
	}
	return "", !v.CanFloat() || finite(v.Float())
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// free reads a node of any shape, such as extra_body, into maps, slices and the
// JSON types.
func (d *decoder) free(n *yaml.Node, key string) any {
	switch n.Kind {
	case yaml.MappingNode:
		var m map[string]any
		d.mapping(n, key, reflect.ValueOf(&m).Elem())
		return m
	case yaml.SequenceNode:
		var s []any
		d.sequence(n, key, reflect.ValueOf(&s).Elem())
		return s
	}
	t, ok := d.expand(n, key)
	if !ok {
		return nil
	}
	tag := t.tag()
	if tag != "!!int" && tag != "!!float" && tag != "!!bool" {
		return t.value
	}
	node := t.Node
	if t.filled {
		node = t.plain()
	}
	var value any
	err := node.Decode(&value)
	if f, isFloat := value.(float64); err != nil || isFloat && !finite(f) {
		d.fail(n, key, "%s is not a number that can be sent", t.written())
		return nil
	}
	return value
}

// unmarshal gives a type that reads itself, such as tools.Approve, the JSON of a
// node. Expanded values are hidden in its error.
func (d *decoder) unmarshal(n *yaml.Node, key string, v json.Unmarshaler) {
	before := len(d.errors)
	value := d.free(n, key)
	if len(d.errors) > before {
		return
	}
	raw, err := json.Marshal(value)
	if err == nil {
		err = v.UnmarshalJSON(raw)
	}
	if err != nil {
		d.fail(n, key, "%s", d.redact(key, err.Error()))
	}
}

// days are days in a duration. The standard library does not know them.
var days = regexp.MustCompile(`([0-9]+(?:\.[0-9]*)?|\.[0-9]+)d`)

// inHours replaces the days of a duration by 24 hours each.
func inHours(duration string) string {
	return days.ReplaceAllStringFunc(duration, func(d string) string {
		n, err := strconv.ParseFloat(d[:len(d)-1], 64)
		if err != nil {
			return d
		}
		return strconv.FormatFloat(24*n, 'f', -1, 64) + "h"
	})
}
