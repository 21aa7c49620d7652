package i18n

import (
	"maps"
	"reflect"
	"strings"
	"text/template"

	goi18n "github.com/nicksnyder/go-i18n/v2/i18n/template"
)

// parser parses the texts of one language for go-i18n, which keeps the result.
type parser struct{ funcs template.FuncMap }

// newParser makes the functions that texts can use speak lang.
func newParser(t *Texts, lang string) parser {
	return parser{template.FuncMap{
		"languages": codes,
		"number":    func(v any) string { return t.number(lang, v) },
		"tokens":    func(v any) string { return t.tokens(lang, v) },
		"roughly":   func(v any) string { return t.roughly(lang, v) },
		"money":     func(v any) string { return t.money(lang, v) },
		"elapsed":   func(v any) string { return t.elapsed(lang, v) },
		"date":      func(v any) string { return t.date(lang, v) },
		"language":  languageName,
	}}
}

// Cacheable tells go-i18n to parse each text once.
func (p parser) Cacheable() bool { return true }

// Parse is called by go-i18n at the first use of a text.
func (p parser) Parse(source, _, _ string) (goi18n.ParsedTemplate, error) {
	if !strings.Contains(source, "{{") {
		return plainText(source), nil
	}
	t, err := p.parse(source)
	if err != nil {
		return nil, err
	}
	return &filledText{t, fieldsIn(t)}, nil
}

func (p parser) parse(source string) (*template.Template, error) {
	return template.New(textName).Funcs(p.funcs).Parse(source)
}

// textName is what text/template calls a text in its errors.
const textName = "text"

type plainText string

func (s plainText) Execute(any) (string, error) { return string(s), nil }

// filledText is a text with fields.
type filledText struct {
	template *template.Template
	fields   []string
}

// Execute fills a text in. Fields that the data lacks are empty: a gap in a
// sentence is better for a person than no sentence.
func (f *filledText) Execute(data any) (string, error) {
	given, _ := data.(map[string]any)
	fields := maps.Clone(given)
	if fields == nil {
		fields = map[string]any{}
	}
	for _, name := range f.fields {
		if fields[name] == nil {
			fields[name] = ""
		}
	}
	var b strings.Builder
	if err := f.template.Execute(&b, fields); err != nil {
		return "", err
	}
	return b.String(), nil
}

// fieldsOf turns the data of a text into a map. Data of other kinds than Text
// names have no fields.
func fieldsOf(data any) map[string]any {
	if m, ok := data.(map[string]any); ok {
		return m
	}
	v := reflect.Indirect(reflect.ValueOf(data))
	if !v.IsValid() || v.Kind() != reflect.Struct {
		return nil
	}
	fields := map[string]any{}
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			fields[f.Name] = v.Field(i).Interface()
		}
	}
	return fields
}
