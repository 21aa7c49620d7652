package i18n

import (
	"fmt"
	"strings"

	goi18n "github.com/nicksnyder/go-i18n/v2/i18n"
	"go.yaml.in/yaml/v3"
)

// entry is one text of a texts.yaml.
type entry struct {
	key          string
	line, column int
	plural       bool // the value was a map of plural forms, not one text
	forms        []form
}

// form is the text of one plural category.
type form struct {
	category     string // "one", "few", "many", "other" in a valid file
	text         string
	line, column int // where the text begins; column 0 when unknown
}

// parseTexts reads a texts.yaml: a flat map of keys to texts or to maps of
// plural forms. It checks shape only. The mistakes it
// returns have no File; the entries that could be read come with them.
func parseTexts(source []byte) ([]entry, []*Error) {
	var document yaml.Node
	if err := yaml.Unmarshal(source, &document); err != nil {
		return nil, []*Error{yamlFault(err)}
	}
	if len(document.Content) == 0 {
		return nil, nil
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, []*Error{faultAt(root, "", "must be a map of keys to texts")}
	}
	var entries []entry
	var faults []*Error
	seen := map[string]int{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if first, again := seen[key.Value]; again {
			faults = append(faults, faultAt(key, key.Value, fmt.Sprintf("is there already on line %d", first)))
			continue
		}
		seen[key.Value] = key.Line
		e, fault := parseEntry(key, value)
		if fault != nil {
			faults = append(faults, fault)
			continue
		}
		entries = append(entries, e)
	}
	return entries, faults
}

func parseEntry(key, value *yaml.Node) (entry, *Error) {
	e := entry{key: key.Value, line: key.Line, column: key.Column}
	switch {
	case isText(value):
		e.forms = []form{formOf("other", value)}
		return e, nil
	case value.Kind != yaml.MappingNode:
		return e, faultAt(value, e.key, "must be a text or a map of plural forms")
	}
	e.plural = true
	for i := 0; i+1 < len(value.Content); i += 2 {
		category, text := value.Content[i], value.Content[i+1]
		if !isText(text) {
			return e, faultAt(text, e.key, fmt.Sprintf("plural form %q must be a text", category.Value))
		}
		for _, f := range e.forms {
			if f.category == category.Value {
				return e, faultAt(category, e.key, fmt.Sprintf("plural form %q is there twice", f.category))
			}
		}
		e.forms = append(e.forms, formOf(category.Value, text))
	}
	return e, nil
}

// isText tells whether a node is a string that is not empty.
func isText(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" && n.Value != ""
}

func formOf(category string, n *yaml.Node) form {
	f := form{category: category, text: n.Value, line: n.Line, column: n.Column}
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		f.line, f.column = f.line+1, 0 // the text of a block begins below its mark
	}
	return f
}

// message turns an entry into what go-i18n keeps.
func (e entry) message() *goi18n.Message {
	m := &goi18n.Message{ID: e.key}
	for _, f := range e.forms {
		switch f.category {
		case "one":
			m.One = f.text
		case "few":
			m.Few = f.text
		case "many":
			m.Many = f.text
		case "other":
			m.Other = f.text
		}
	}
	return m
}

func faultAt(n *yaml.Node, key, problem string) *Error {
	return &Error{Line: n.Line, Column: n.Column, Key: key, Problem: problem}
}

// yamlFault takes the line out of a YAML error, which has it in its text only.
func yamlFault(err error) *Error {
	f := &Error{Problem: strings.TrimPrefix(err.Error(), "yaml: ")}
	var line int
	if n, _ := fmt.Sscanf(f.Problem, "line %d:", &line); n == 1 {
		f.Line = line
		_, f.Problem, _ = strings.Cut(f.Problem, ": ")
	}
	f.Problem = "is not valid YAML: " + f.Problem
	return f
}
