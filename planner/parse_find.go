package planner

import (
	"encoding/json"
	"strings"

	"legwork/llm/lenient"
)

// wrapping is how many objects around a plan are looked into.
const wrapping = 4

// planIn returns the entries of the plan that a JSON value is or holds. A bare
// list must give one of the groups something to do; groups is nil where any list
// will do.
func planIn(raw []byte, groups *groupNames, depth int) ([]json.RawMessage, bool) {
	if depth > wrapping || len(raw) == 0 {
		return nil, false
	}
	if raw[0] == '[' {
		return bareList(raw, groups)
	}
	f := fields(raw)
	if f == nil {
		return nil, false
	}
	if plan, ok := f.get("plan"); ok {
		return planValue(plan, len(f) == 1, groups, depth)
	}
	if f.text("name") == "plan" {
		for _, key := range [...]string{"arguments", "parameters", "input"} {
			if v, ok := f.get(key); ok {
				return planIn(unquoted(v), nil, depth+1)
			}
		}
	}
	if len(f) == 1 {
		for _, v := range f {
			if v[0] == '{' {
				return planIn(v, groups, depth+1)
			}
		}
	}
	return nil, false
}

// planValue reads the value of the key "plan".
func planValue(v json.RawMessage, alone bool, groups *groupNames, depth int) ([]json.RawMessage, bool) {
	switch v[0] {
	case '[':
		return elements(v), true
	case 'n':
		return nil, alone
	case '"':
		inner := unquoted(v)
		if len(inner) == 0 || inner[0] == '"' {
			return nil, false
		}
		return planValue(inner, alone, groups, depth)
	case '{':
		f := fields(v)
		if _, nested := f.get("plan"); nested {
			return planIn(v, groups, depth+1)
		}
		if entryLike(f) {
			return []json.RawMessage{v}, true
		}
	}
	return nil, false
}

// entryLike says whether an object is meant as an entry of a plan.
func entryLike(f object) bool {
	if _, ok := f.get("description"); ok {
		return true
	}
	if _, ok := f.get("name"); !ok {
		return false
	}
	for key := range f {
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "id", "name", "after":
		default:
			return false
		}
	}
	return true
}

// bareList accepts a list without the key "plan" around it.
func bareList(raw []byte, groups *groupNames) ([]json.RawMessage, bool) {
	list := elements(raw)
	named := groups == nil
	for _, e := range list {
		f := fields(e)
		if !entryLike(f) {
			return nil, false
		}
		if !named && f.text("description") != "" {
			_, named = groups.find(f.text("name"))
		}
	}
	return list, named && len(list) > 0
}

// planKeys says whether the keys of a damaged value are those of a plan. The
// last one may be cut off.
func planKeys(keys []string) bool {
	name, description := false, false
	for i, key := range keys {
		switch key = strings.ToLower(strings.TrimSpace(key)); key {
		case "name":
			name = true
		case "description":
			description = true
		default:
			if key == "plan" || i == len(keys)-1 && key != "" && strings.HasPrefix("plan", key) {
				return true
			}
		}
	}
	return name && description
}

// bare says whether nothing but an opened code fence stands before a value.
func bare(before string) bool {
	before = strings.TrimSpace(before)
	return before == "" || strings.HasPrefix(before, "```") && !strings.ContainsAny(before, " \n")
}

// object is a JSON object by its keys as written.
type object map[string]json.RawMessage

// fields returns nil for what is no object.
func fields(raw []byte) object {
	var f object
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &f) != nil {
		return nil
	}
	return f
}

// get finds a key, if need be in another case or with blanks around it.
func (f object) get(key string) (json.RawMessage, bool) {
	if v, ok := f[key]; ok {
		return v, true
	}
	best := ""
	for k := range f {
		if strings.EqualFold(strings.TrimSpace(k), key) && (best == "" || k < best) {
			best = k
		}
	}
	v, ok := f[best]
	return v, ok && best != ""
}

// text returns a text or a number under a key, trimmed, or "".
func (f object) text(key string) string {
	v, _ := f.get(key)
	s, _ := scalar(v)
	return s
}

// scalar reads a text or a number as text.
func scalar(v json.RawMessage) (string, bool) {
	if len(v) == 0 {
		return "", false
	}
	if v[0] == '"' {
		var s string
		err := json.Unmarshal(v, &s)
		return strings.TrimSpace(s), err == nil
	}
	if v[0] == '-' || v[0] >= '0' && v[0] <= '9' {
		return string(v), true
	}
	return "", false
}

func elements(raw []byte) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// unquoted returns the JSON value in a JSON string, and any other value as it
// is; nil when there is none in the string.
func unquoted(v json.RawMessage) json.RawMessage {
	var s string
	if v[0] != '"' || json.Unmarshal(v, &s) != nil {
		return v
	}
	if s = strings.TrimSpace(s); s == "[]" {
		return json.RawMessage(s)
	}
	for _, o := range lenient.Values(s) {
		if o.Start == 0 {
			return o.Raw
		}
	}
	return nil
}
