package input

import (
	"strings"

	"legwork/tools"
)

// ReadArguments reads "key=value key=several words". Text before the first key
// belongs to the first argument that has no key in the text.
func ReadArguments(text string, known []tools.PromptArgument) map[string]string {
	given := map[string]string{}
	name, from := "", 0
	take := func(to int) {
		if value := unquoted(strings.TrimSpace(text[from:to])); value != "" {
			given[name] = value
		}
	}
	for i := range len(text) {
		if i > 0 && text[i-1] != ' ' && text[i-1] != '\n' && text[i-1] != '\t' {
			continue
		}
		for _, a := range known {
			if a.Name != "" && strings.HasPrefix(text[i:], a.Name+"=") {
				take(i)
				name, from = a.Name, i+len(a.Name)+1
				break
			}
		}
	}
	take(len(text))
	if value, ok := given[""]; ok {
		delete(given, "")
		for _, a := range known {
			if _, taken := given[a.Name]; !taken {
				given[a.Name] = value
				break
			}
		}
	}
	return given
}

// unquoted removes the quotes around a whole value.
func unquoted(value string) string {
	for _, q := range []string{`"`, "'"} {
		if len(value) >= 2 && strings.HasPrefix(value, q) && strings.HasSuffix(value, q) {
			return value[1 : len(value)-1]
		}
	}
	return value
}
