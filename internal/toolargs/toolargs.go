// Package toolargs changes the arguments of a tool call to what the tool's schema
// wants, where a model can have meant nothing else.
package toolargs

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Fit returns arguments that fit a JSON schema better, at every depth:
//
//   - a null for a property that is optional and cannot be null is left out, and so
//     is a "" or "null" for one that cannot be a string;
//   - "2" becomes 2 and "true" becomes true where the schema has a number or a boolean
//     and no string, and a list or an object in a string is taken out of it;
//   - 2 becomes "2" where the schema has a string alone.
//
// Where a value has more than one reading, it stays as it is. So do arguments
// without such values, to the byte, and all that is not an object. raw has no key
// twice.
func Fit(schema json.RawMessage, raw string) string {
	f := fitter{}
	args, ok := decode([]byte(raw)).(map[string]any)
	if f.root, _ = decode(schema).(map[string]any); !ok || f.root == nil {
		return raw
	}
	f.object(f.root, args)
	if !f.changed {
		return raw
	}
	return encode(args)
}

// encode writes a value that was decoded from JSON.
func encode(v any) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) //nolint:errchkjson // it was decoded from JSON
	return strings.TrimSpace(out.String())
}

// Unwrap returns the object that arguments are wrapped in or written for, where a
// model can have meant nothing else:
//
//   - an object in a string, and one that is the value of the only key, which the schema
//     does not have: {"arguments": {"city": "Rome"}};
//   - a text, also one under an unknown key alone, is the value of the only required
//     property, which must be the only one that takes a string;
//   - a key that differs from one property alone by its case and its signs between words
//     is that property.
//
// Other arguments stay as they are, to the byte.
func Unwrap(schema json.RawMessage, raw string) string {
	f := fitter{}
	f.root, _ = decode(schema).(map[string]any)
	properties, _ := f.root["properties"].(map[string]any)
	if len(properties) == 0 {
		return raw
	}
	for range maxDepth {
		inner, ok := f.unwrapped(properties, raw)
		if !ok {
			break
		}
		raw = inner
	}
	var args map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &args) != nil {
		return raw
	}
	renamed := map[string]string{}
	for key := range args {
		if _, known := properties[key]; known {
			continue
		}
		if own := alike(key, slices.Sorted(maps.Keys(properties))); len(own) == 1 && args[own[0]] == nil && len(alike(key, slices.Sorted(maps.Keys(args)))) == 1 {
			renamed[key] = own[0]
		}
	}
	if len(renamed) == 0 {
		return raw
	}
	for key, own := range renamed {
		args[own] = args[key]
		delete(args, key)
	}
	return encode(args)
}

// unwrapped takes one wrapper off.
func (f *fitter) unwrapped(properties map[string]any, raw string) (string, bool) {
	var text string
	if json.Unmarshal([]byte(raw), &text) == nil && raw != "null" {
		if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)) {
			return trimmed, true
		}
		return f.asOnly(properties, text)
	}
	var args map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &args) != nil || len(args) != 1 {
		return "", false
	}
	for key, value := range args {
		if properties[key] != nil || len(alike(key, slices.Sorted(maps.Keys(properties)))) > 0 {
			return "", false
		}
		if value[0] == '{' {
			return string(value), true
		}
		if value[0] == '"' && json.Unmarshal(value, &text) == nil {
			if inner := strings.TrimSpace(text); strings.HasPrefix(inner, "{") && json.Valid([]byte(inner)) {
				return inner, true
			}
			return f.asOnly(properties, text)
		}
	}
	return "", false
}

// asOnly are arguments with a text as the only required property.
func (f *fitter) asOnly(properties map[string]any, text string) (string, bool) {
	required, _ := f.root["required"].([]any)
	if len(required) != 1 {
		return "", false
	}
	key, _ := required[0].(string)
	for name, property := range properties {
		if kinds := f.kinds(property, 0); (kinds["string"] || len(kinds) == 0) != (name == key) {
			return "", false
		}
	}
	return encode(map[string]string{key: text}), true
}

// alike are the names that differ from one by case and signs between words alone.
func alike(name string, names []string) []string {
	fold := strings.NewReplacer("_", "", "-", "", " ", "")
	return slices.DeleteFunc(names, func(other string) bool {
		return !strings.EqualFold(fold.Replace(other), fold.Replace(name))
	})
}

type fitter struct {
	root    map[string]any // the whole schema, which references name parts of
	changed bool
}

// value returns a value as the schema wants it.
func (f *fitter) value(schema, v any) any {
	kinds := f.kinds(schema, 0)
	switch v := v.(type) {
	case string:
		if len(kinds) == 0 || kinds["string"] {
			return v
		}
		meant, ok := reading(kinds, strings.TrimSpace(v))
		if !ok {
			return v
		}
		f.changed = true
		return f.value(schema, meant)
	case json.Number:
		if only(kinds, "string") {
			f.changed = true
			return v.String()
		}
	case bool:
		if only(kinds, "string") {
			f.changed = true
			return map[bool]string{true: "true", false: "false"}[v]
		}
	case map[string]any:
		f.object(f.branch(schema, "object"), v)
	case []any:
		items := f.branch(schema, "array")["items"]
		for i := range v {
			v[i] = f.value(items, v[i])
		}
	}
	return v
}

// object changes the values of an object.
func (f *fitter) object(schema, v map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for key := range v {
		property, known := properties[key]
		if !known {
			property = schema["additionalProperties"]
		}
		v[key] = f.value(property, v[key])
		kinds := f.kinds(property, 0)
		if v[key] == nil && known && len(kinds) > 0 && !kinds["null"] && !slices.Contains(required, any(key)) {
			delete(v, key)
			f.changed = true
		}
	}
}

// kinds are the types that a schema allows; none: any, or it cannot be told.
func (f *fitter) kinds(schema any, depth int) map[string]bool {
	s := f.resolved(schema)
	if s == nil || depth > maxDepth {
		return nil
	}
	switch t := s["type"].(type) {
	case string:
		return map[string]bool{t: true}
	case []any:
		all := map[string]bool{}
		for _, name := range t {
			text, _ := name.(string)
			all[text] = true
		}
		return all
	}
	for _, key := range [...]string{"anyOf", "oneOf"} {
		branches, ok := s[key].([]any)
		if !ok {
			continue
		}
		all := map[string]bool{}
		for _, b := range branches {
			kinds := f.kinds(b, depth+1)
			if len(kinds) == 0 {
				return nil
			}
			for kind := range kinds {
				all[kind] = true
			}
		}
		return all
	}
	if all, ok := s["allOf"].([]any); ok && len(all) == 1 {
		return f.kinds(all[0], depth+1)
	}
	return nil
}

// maxDepth is how many schemas in schemas are followed to tell the type of one value.
const maxDepth = 16

// resolved follows references within the schema; nil for what is no object.
func (f *fitter) resolved(schema any) map[string]any {
	s, _ := schema.(map[string]any)
	for range maxDepth {
		ref, ok := s["$ref"].(string)
		if !ok {
			return s
		}
		path, local := strings.CutPrefix(ref, "#")
		if !local {
			return nil
		}
		s = f.root
		for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
			if part != "" {
				s, _ = s[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)].(map[string]any)
			}
		}
	}
	return nil
}

// branch is the schema for values of a kind: the schema itself, or the only one of its
// alternatives that allows the kind; nil where there are several.
func (f *fitter) branch(schema any, kind string) map[string]any {
	s := f.resolved(schema)
	for range maxDepth {
		var fitting []any
		for _, key := range [...]string{"anyOf", "oneOf", "allOf"} {
			alternatives, _ := s[key].([]any)
			for _, b := range alternatives {
				if kinds := f.kinds(b, 0); len(kinds) == 0 || kinds[kind] {
					fitting = append(fitting, b)
				}
			}
		}
		switch {
		case len(fitting) == 0:
			return s
		case len(fitting) > 1 || s["properties"] != nil:
			return nil
		}
		s = f.resolved(fitting[0])
	}
	return nil
}

var number = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// reading is the value that a text stands for, where it cannot be a string.
func reading(kinds map[string]bool, text string) (v any, ok bool) {
	digits := number.FindStringSubmatch(text)
	switch lower := strings.ToLower(text); {
	case digits != nil && (kinds["number"] || kinds["integer"] && digits[1]+digits[2] == ""):
		return json.Number(text), true
	case (lower == "true" || lower == "false") && kinds["boolean"]:
		return lower == "true", true
	case lower == "" || lower == "null" || lower == "none":
		return nil, true
	case strings.HasPrefix(text, "[") && kinds["array"], strings.HasPrefix(text, "{") && kinds["object"]:
		v = decode([]byte(text))
		return v, v != nil
	}
	return nil, false
}

// only reports that values have that kind and, but for null, no other.
func only(kinds map[string]bool, kind string) bool {
	n := len(kinds)
	if kinds["null"] {
		n--
	}
	return n == 1 && kinds[kind]
}

// decode reads JSON with numbers as written; nil for what is not one JSON value.
func decode(raw []byte) any {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil || d.More() {
		return nil
	}
	return v
}
