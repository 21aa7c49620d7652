package lenient

import (
	"regexp"
	"strings"
)

var (
	yamlItem = regexp.MustCompile(`^\s*- +([A-Za-z_]{1,40}): *(.*)$`)
	yamlRef  = regexp.MustCompile(`^\s+- +(.+)$`)
	yamlKey  = regexp.MustCompile(`^\s+([A-Za-z_]{1,40}): *(.*)$`)
)

// YAMLList returns the objects of a text that is a list in YAML, perhaps under a key,
// perhaps fenced; nil for other texts. It reads flat objects of texts and of lists, and
// nothing else of YAML, since models leave out the quotes that texts with colons would
// need. Each object has two keys or more.
func YAMLList(text string) (list []any) {
	if len(text) > maxMarkup {
		return nil
	}
	if i := strings.Index(text, "```"); i >= 0 && (i == 0 || introduces(strings.TrimSpace(text[:i]))) && strings.HasSuffix(text, "```") {
		text = withoutFences(text[i:])
	}
	var entry map[string]any
	last := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		switch item, key := yamlItem.FindStringSubmatch(line), yamlKey.FindStringSubmatch(line); {
		case line == "", strings.HasSuffix(line, ":") && (entry == nil || !strings.HasPrefix(line, " ")): // "plan:", or words before it
		case item != nil:
			entry, last = map[string]any{item[1]: yamlValue(item[2])}, item[1]
			list = append(list, entry)
		case key != nil && entry != nil:
			entry[key[1]], last = yamlValue(key[2]), key[1]
		case entry == nil:
			return nil
		case yamlRef.MatchString(line):
			refs, ok := entry[last].([]any)
			if !ok && entry[last] != "" {
				return nil
			}
			entry[last] = append(refs, yamlValue(yamlRef.FindStringSubmatch(line)[1]))
		case strings.HasPrefix(line, " "):
			before, ok := entry[last].(string)
			if !ok {
				return nil
			}
			entry[last] = strings.TrimSpace(strings.TrimLeft(before, ">|-") + " " + strings.TrimSpace(line))
		default:
			return nil
		}
	}
	for _, e := range list {
		if len(e.(map[string]any)) < 2 {
			return nil
		}
	}
	return list
}

// yamlValue is a text without quotes, or a list in brackets.
func yamlValue(text string) any {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "["); ok && strings.HasSuffix(inner, "]") {
		list := []any{}
		for item := range strings.SplitSeq(strings.TrimSuffix(inner, "]"), ",") {
			if item = unquote(item); item != "" {
				list = append(list, item)
			}
		}
		return list
	}
	return unquote(text)
}

func unquote(s string) string {
	s = strings.TrimSpace(s)
	for _, q := range []string{`"`, "'"} {
		if len(s) > 1 && strings.HasPrefix(s, q) && strings.HasSuffix(s, q) {
			return s[1 : len(s)-1]
		}
	}
	return s
}
