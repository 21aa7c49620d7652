package i18n

import "text/template"

// Embedded describes the embedded texts of a language: by key, the fields of
// all forms together and the plural categories (none for a single text).
func Embedded(lang string) (fields, plurals map[string][]string, err error) {
	fields, plurals = map[string][]string{}, map[string][]string{}
	for _, e := range embeddedTexts(lang) {
		seen := map[string]bool{}
		plurals[e.key] = nil
		fields[e.key] = nil
		for _, f := range e.forms {
			t, err := textParser(e.key).parse(f.text)
			if err != nil {
				return nil, nil, err
			}
			for _, name := range fieldsIn(t) {
				if !seen[name] {
					seen[name] = true
					fields[e.key] = append(fields[e.key], name)
				}
			}
			if e.plural {
				plurals[e.key] = append(plurals[e.key], f.category)
			}
		}
	}
	return fields, plurals, nil
}

// PromptFields lists the fields that an embedded prompt reads.
func PromptFields(lang, name string) ([]string, error) {
	source, err := embedded.ReadFile(lang + "/" + name + ".md")
	if err != nil {
		return nil, err
	}
	t, err := template.New(name).Parse(string(source))
	if err != nil {
		return nil, err
	}
	return fieldsIn(t), nil
}

// PromptNames lists the prompts.
func PromptNames() []string { return promptNames() }
