package i18n

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

// known is what an override of a text must fit.
type known struct {
	fields []string
	plural bool
}

// knownTexts describes the embedded texts by key.
func knownTexts() map[string]known {
	all := map[string]known{}
	for _, e := range embeddedTexts(Default) {
		k := known{plural: e.plural}
		for _, f := range e.forms {
			t, err := textParser(e.key).parse(f.text)
			if err != nil {
				panic("i18n: parsing embedded text " + e.key + ": " + err.Error())
			}
			k.fields = append(k.fields, fieldsIn(t)...)
		}
		slices.Sort(k.fields)
		k.fields = slices.Compact(k.fields)
		all[e.key] = k
	}
	return all
}

// textParser parses the text of key for a check. The texts that the functions
// themselves are made of must not call them back.
func textParser(key string) parser {
	p := newParser(nil, "")
	if strings.HasPrefix(key, "unit.") || strings.HasPrefix(key, "date.") {
		maps.DeleteFunc(p.funcs, func(name string, _ any) bool { return key != "unit.tokens" || name != "number" })
	}
	return p
}

// checkEntry finds what is wrong with an override of a known text.
func checkEntry(lang string, e entry, original known) []*Error {
	var faults []*Error
	fault := func(line, column int, problem string) {
		faults = append(faults, &Error{Line: line, Column: column, Key: e.key, Problem: problem})
	}
	if e.plural && !original.plural {
		fault(e.line, e.column, "has no plural forms; it must be one text")
		return faults
	}
	needed := pluralForms(lang)
	if e.plural {
		for _, category := range needed {
			if !slices.ContainsFunc(e.forms, func(f form) bool { return f.category == category }) {
				fault(e.line, e.column, fmt.Sprintf("lacks the plural form %q; needed are %s", category, strings.Join(needed, ", ")))
			}
		}
	}
	for _, f := range e.forms {
		if e.plural && !slices.Contains(needed, f.category) {
			fault(f.line, f.column, fmt.Sprintf("has no plural form %q in this language; needed are %s", f.category, strings.Join(needed, ", ")))
		}
		t, err := textParser(e.key).parse(f.text)
		if err != nil {
			line, problem := parseProblem(err)
			fault(f.line+line-1, f.column, problem)
			continue
		}
		for _, w := range wrongIn(t, f.text, leaves(original.fields)) {
			fault(f.line+w.line-1, f.column, w.problem)
		}
	}
	return faults
}

// checkPrompt finds what is wrong with an override of a prompt: first what the
// template itself tells, then what shows when it is filled in.
func checkPrompt(source string) []*Error {
	if strings.TrimSpace(source) == "" {
		return []*Error{{Problem: "is empty"}}
	}
	t, err := template.New(textName).Parse(source)
	if err != nil {
		line, problem := parseProblem(err)
		return []*Error{{Line: line, Problem: problem}}
	}
	var faults []*Error
	for _, w := range wrongIn(t, source, shapeOf(reflect.TypeFor[PromptData]())) {
		faults = append(faults, &Error{Line: w.line, Column: w.column, Problem: w.problem})
	}
	if len(faults) > 0 {
		return faults
	}
	full := PromptData{
		Groups: []Group{{"web", "Reads pages.", true}}, MaxSubtasks: 12, Instructions: "x", ChatInstructions: "x",
		GroupInstructions: "x", Final: true, Language: "English",
	}
	for _, data := range []PromptData{{}, full} {
		text, err := (&prompt{t}).render(data)
		if err != nil {
			line, problem := parseProblem(err)
			return []*Error{{Line: line, Problem: problem}}
		}
		if data.Final && strings.TrimSpace(text) == "" {
			return []*Error{{Problem: "gives an empty prompt"}}
		}
	}
	return nil
}

// parseProblem takes the line out of an error of text/template, whose text is
// "template: NAME:LINE: PROBLEM" or "template: NAME:LINE:COLUMN: PROBLEM", after
// what was put before it.
func parseProblem(err error) (line int, problem string) {
	_, rest, ok := strings.Cut(err.Error(), "template: "+textName+":")
	place, problem, found := strings.Cut(rest, ": ")
	number, _, _ := strings.Cut(place, ":")
	line, bad := strconv.Atoi(number)
	if !ok || !found || bad != nil {
		return 1, "is not a valid template: " + err.Error()
	}
	return line, "is not a valid template: " + problem
}
