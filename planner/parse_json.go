package planner

import (
	"encoding/json"
	"strings"

	"legwork/llm/lenient"
)

// wrapping is how many objects around a plan planIn looks into.
const wrapping = 4

// planIn returns the entries of the plan that a JSON value is or holds. A bare
// list must give one of the groups something to do; groups is nil where any list, and
// a lone entry, will do.
func planIn(v any, groups *groupNames, depth int) (entries []any, ok bool) {
	if depth > wrapping {
		return nil, false
	}
	if list, ok := v.([]any); ok {
		return list, bareList(list, groups)
	}
	f, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	if plan, ok := field(f, "plan"); ok {
		return planValue(plan, len(f) == 1, groups, depth)
	}
	if groups == nil && entryLike(f) {
		return []any{f}, true
	}
	if len(f) == 1 {
		for _, v := range f {
			if inner, ok := v.(map[string]any); ok {
				return planIn(inner, groups, depth+1)
			}
		}
	}
	return nil, false
}

// planValue reads the value of the key "plan".
func planValue(v any, alone bool, groups *groupNames, depth int) (entries []any, ok bool) {
	switch v := unquoted(v).(type) {
	case []any:
		return v, true
	case nil:
		return nil, alone
	case map[string]any:
		if _, nested := field(v, "plan"); nested {
			return planIn(v, groups, depth+1)
		}
		return []any{v}, entryLike(v)
	}
	return nil, false
}

// entryLike says whether a value is meant as an entry of a plan.
func entryLike(v any) bool {
	f, ok := v.(map[string]any)
	if !ok {
		return false
	}
	if _, ok := field(f, "description"); ok {
		return true
	}
	if _, ok := field(f, "name"); !ok {
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

// bareList says whether a list without the key "plan" around it is a plan.
func bareList(list []any, groups *groupNames) bool {
	named := groups == nil
	for _, e := range list {
		if !entryLike(e) {
			return false
		}
		if f := e.(map[string]any); !named && fieldText(f, "description") != "" {
			_, named = groups.find(fieldText(f, "name"))
		}
	}
	return named && len(list) > 0
}

// attempted says whether a whole reply is a JSON value that its model meant as a
// plan, and that is not a plan: empty, an entry, or an object that has only keys
// which models use for plans.
func attempted(text string) bool {
	text = strings.TrimSpace(lenient.Unfence(text))
	if text == "null" || text == "[]" {
		return true
	}
	f, ok := lenient.Decode(lenient.Whole(text)).(map[string]any)
	if !ok {
		return false
	}
	_, named := field(f, "name")
	_, described := field(f, "description")
	if named && described && entryLike(f) && len(f) <= 4 {
		return true
	}
	for key := range f {
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "plan", "plans", "thought", "subtasks", "sub_tasks", "tasks", "steps":
		default:
			return false
		}
	}
	return true
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

// bare says whether a value begins its text, or follows an opened code fence alone.
func bare(before string) bool {
	before = strings.TrimSpace(before)
	return before == "" || strings.HasPrefix(before, "```") && !strings.ContainsAny(before, " \n")
}

// field finds a key, if need be in another case or with blanks around it.
func field(f map[string]any, key string) (any, bool) {
	if v, ok := f[key]; ok {
		return v, true
	}
	best, found := "", false
	for k := range f {
		if strings.EqualFold(strings.TrimSpace(k), key) && (!found || k < best) {
			best, found = k, true
		}
	}
	return f[best], found
}

// fieldText returns a text or a number under a key, trimmed, or "".
func fieldText(f map[string]any, key string) string {
	v, _ := field(f, key)
	s, _ := scalar(v)
	return s
}

// scalar reads a text or a number as text.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v), true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

// unquoted returns the list or object that a text holds, "" for any other text, and
// other values unchanged.
func unquoted(v any) any {
	s, ok := v.(string)
	if !ok {
		return v
	}
	if s = strings.TrimSpace(s); s == "[]" {
		return []any{}
	}
	for _, o := range lenient.Values(s) {
		if o.Start == 0 && o.Raw != nil {
			return lenient.Decode(o.Raw)
		}
	}
	return ""
}
