package confedit

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Entry is what Insert adds to a section of the config file.
type Entry struct {
	Name    string
	Comment string // one line above it; empty: none
	Keys    []Key
}

// Key is a key of an entry with its value, which is YAML in one line.
type Key struct{ Name, Value string }

// errShape is returned for a section whose form Insert does not know.
var errShape = errors.New("the file is written in a form that legwork does not add lines to")

// Insert adds an entry at the end of a section, such as servers, and the section where
// there is none. All other bytes of the text stay as they are.
func Insert(text, section string, e Entry) (string, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return "", fmt.Errorf("reading the config: %w", err)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return "", errShape
	}
	root := doc.Content[0]
	at := -1
	for i := 0; i < len(root.Content); i += 2 {
		if root.Content[i].Value == section {
			at = i
		}
	}
	lines := splitLines(text)
	var added string
	switch {
	case root.Style&yaml.FlowStyle != 0 && at < 0:
		return "", errShape
	case at < 0:
		indent := strings.Repeat(" ", max(0, root.Column-1))
		added = join(lines, len(lines), append([]string{"", indent + section + ":"}, e.block(indent+"  ")...))
	case root.Content[at+1].Kind == yaml.MappingNode && root.Content[at+1].Style&yaml.FlowStyle != 0:
		var err error
		if added, err = intoFlow(lines, root.Content[at+1], e); err != nil {
			return "", err
		}
	default:
		indent := root.Content[at].Column + 1
		node := root.Content[at+1]
		if node.Kind == yaml.MappingNode && len(node.Content) > 0 {
			indent = node.Content[0].Column - 1
		} else if node.Kind != yaml.ScalarNode || node.Value != "" {
			return "", errShape
		}
		end := len(lines)
		if at+2 < len(root.Content) {
			end = root.Content[at+2].Line - 1
		}
		for end > root.Content[at].Line && isBetween(lines[end-1], indent) {
			end--
		}
		added = join(lines, end, e.block(strings.Repeat(" ", indent)))
	}
	if !onlyAdds(text, added, section, e.Name) {
		return "", errShape
	}
	return added, nil
}

// splitLines keeps the ends of lines.
func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// join puts new lines in front of the line with that index. They end as the others do.
func join(lines []string, at int, fresh []string) string {
	end := "\n"
	if len(lines) > 0 && strings.HasSuffix(lines[0], "\r\n") {
		end = "\r\n"
	}
	var b strings.Builder
	for _, line := range lines[:at] {
		b.WriteString(line)
	}
	if at > 0 && !strings.HasSuffix(lines[at-1], "\n") {
		b.WriteString(end)
	}
	for _, line := range fresh {
		b.WriteString(line + end)
	}
	for _, line := range lines[at:] {
		b.WriteString(line)
	}
	return b.String()
}

// isBetween reports whether a line at the end of a section may also stay below what is
// added: an empty one, and a comment that belongs to what follows.
func isBetween(line string, indent int) bool {
	rest := strings.TrimLeft(line, " \t")
	return strings.TrimSpace(line) == "" || strings.HasPrefix(rest, "#") && len(line)-len(rest) < indent
}

// block is the entry in lines of its own.
func (e Entry) block(indent string) []string {
	var lines []string
	if e.Comment != "" {
		lines = append(lines, indent+"# "+e.Comment)
	}
	lines = append(lines, indent+keyText(e.Name)+":")
	for _, k := range e.Keys {
		lines = append(lines, indent+"  "+k.Name+": "+k.Value)
	}
	return lines
}

// Lines are the lines that Insert adds to a section that is written in lines.
func (e Entry) Lines(section string) string {
	return section + ":\n" + strings.Join(e.block("  "), "\n") + "\n"
}

// intoFlow adds the entry behind the brace that opens a section such as {a: {b: c}}.
func intoFlow(lines []string, node *yaml.Node, e Entry) (string, error) {
	var keys []string
	for _, k := range e.Keys {
		keys = append(keys, k.Name+": "+k.Value)
	}
	fresh := keyText(e.Name) + ": {" + strings.Join(keys, ", ") + "}"
	if len(node.Content) > 0 {
		fresh += ", "
	}
	if node.Line < 1 || node.Line > len(lines) {
		return "", errShape
	}
	line := []rune(lines[node.Line-1])
	if node.Column < 1 || node.Column > len(line) || line[node.Column-1] != '{' {
		return "", errShape
	}
	lines[node.Line-1] = string(line[:node.Column]) + fresh + string(line[node.Column:])
	return strings.Join(lines, ""), nil
}

var (
	plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
	wordKey  = regexp.MustCompile(`(?i)^(null|true|false|yes|no|on|off|y|n)$`) // these mean something else
)

func keyText(name string) string {
	if plainKey.MatchString(name) && !wordKey.MatchString(name) {
		return name
	}
	return Quote(name)
}

// Quote is a text as YAML in one line.
func Quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a text always has a form in JSON
	}
	return string(quoted)
}

// onlyAdds reports whether two texts differ in one new entry alone.
func onlyAdds(before, after, section, name string) bool {
	var old, young map[string]any
	if yaml.Unmarshal([]byte(before), &old) != nil || yaml.Unmarshal([]byte(after), &young) != nil {
		return false
	}
	entries, ok := young[section].(map[string]any)
	if !ok || entries[name] == nil {
		return false
	}
	if was, _ := old[section].(map[string]any); was[name] != nil {
		return false
	}
	delete(entries, name)
	if len(entries) == 0 {
		delete(young, section)
		if was, _ := old[section].(map[string]any); len(was) == 0 {
			delete(old, section)
		}
	}
	return reflect.DeepEqual(old, young)
}
