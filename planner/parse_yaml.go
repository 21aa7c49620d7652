package planner

import (
	"regexp"
	"strings"
)

var (
	yamlItem = regexp.MustCompile(`^(\s*)- +(id|name|description|after): *(.*)$`)
	yamlRef  = regexp.MustCompile(`^\s+- +(.+)$`)
	yamlKey  = regexp.MustCompile(`^\s+(id|name|description|after): *(.*)$`)
)

// yamlPlan reads a plan that a model wrote as a YAML list, perhaps under "plan:", perhaps
// fenced. It reads the few lines of a plan's form and nothing else of YAML, since
// models leave out the quotes that descriptions with colons would need. Every
// entry has a name and a description, and one of them names an allowed group.
func yamlPlan(text string, groups *groupNames) (plan []any, ok bool) {
	if m := fencedYAML.FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	var entry map[string]any
	last := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		switch item, key := yamlItem.FindStringSubmatch(line), yamlKey.FindStringSubmatch(line); {
		case line == "", entry == nil && strings.HasSuffix(line, ":"): // "plan:", or words before it
		case item != nil:
			entry, last = map[string]any{item[2]: yamlValue(item[2], item[3])}, item[2]
			plan = append(plan, entry)
		case key != nil && entry != nil:
			entry[key[1]], last = yamlValue(key[1], key[2]), key[1]
		case entry != nil && last == "after" && yamlRef.MatchString(line):
			ids, _ := readAfter(entry)
			entry["after"] = strings.Join(append(ids, strings.TrimSpace(yamlRef.FindStringSubmatch(line)[1])), ",")
		case entry != nil && last == "description" && strings.HasPrefix(line, " "):
			entry[last] = strings.TrimSpace(strings.TrimLeft(fieldText(entry, last), ">|-") + " " + strings.TrimSpace(line))
		default:
			return nil, false
		}
	}
	named := false
	for _, e := range plan {
		f, _ := e.(map[string]any)
		if fieldText(f, "name") == "" || fieldText(f, "description") == "" {
			return nil, false
		}
		_, one := groups.find(fieldText(f, "name"))
		named = named || one
	}
	return plan, named
}

var fencedYAML = regexp.MustCompile("(?s)^(?:[^\n]*:\\s*)?```(?:ya?ml)?\\s*\n(.*?)\n```$")

// yamlValue is the value of a key: without quotes, and for "after" a list.
func yamlValue(key, text string) any {
	unquote := func(s string) string {
		s = strings.TrimSpace(s)
		for _, q := range []string{`"`, "'"} {
			if len(s) > 1 && strings.HasPrefix(s, q) && strings.HasSuffix(s, q) {
				return s[1 : len(s)-1]
			}
		}
		return s
	}
	if key != "after" || text == "" {
		return unquote(text)
	}
	list := []any{}
	for id := range strings.SplitSeq(strings.Trim(text, "[] "), ",") {
		if id = unquote(id); id != "" {
			list = append(list, id)
		}
	}
	return list
}
