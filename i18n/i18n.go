// Package i18n holds every text that a person reads and every prompt that a
// model reads, in each language that legwork speaks. Both are embedded; a
// folder of the same layout can replace any of them.
package i18n

import (
	"embed"
	"os"
	"strings"

	"golang.org/x/text/language"
)

// Default is the language that stands in where a text, or a language, is
// missing.
const Default = "en"

//go:embed en/*.md en/texts.yaml zh/*.md zh/texts.yaml ru/*.md ru/texts.yaml
var embedded embed.FS

// Language is one that legwork speaks.
type Language struct {
	Code string // "en", "zh" or "ru"
	Name string // in the language itself
}

// Languages lists those that legwork speaks, the default first. The slice is
// the caller's.
func Languages() []Language {
	return []Language{{"en", "English"}, {"zh", "中文"}, {"ru", "Русский"}}
}

// pluralForms are the CLDR plural categories that a text with a count needs in
// a language.
func pluralForms(code string) []string {
	switch code {
	case "zh":
		return []string{"other"}
	case "ru":
		return []string{"one", "few", "many", "other"}
	}
	return []string{"one", "other"}
}

// Match finds the language for a BCP 47 tag ("zh-Hant-TW"), a POSIX locale
// ("ru_RU.UTF-8") or a language's own name ("Русский"). It returns "" when
// there is none.
func Match(tag string) string {
	tag = strings.TrimSpace(tag)
	if end := strings.IndexAny(tag, ".@"); end >= 0 {
		tag = tag[:end]
	}
	parsed, err := language.Parse(tag)
	base, confidence := parsed.Base()
	for _, l := range Languages() {
		if strings.EqualFold(tag, l.Name) {
			return l.Code
		}
		if err == nil && confidence == language.Exact && base.String() == l.Code {
			return l.Code
		}
	}
	return ""
}

// Texts gives out texts and prompts. It never changes after Load and is safe
// for concurrent use. A language costs memory from its first use on.
type Texts struct {
	editions map[string]*edition // by language code
}

// Load prepares the embedded texts and, unless dir is "", replaces those that
// dir holds others for. dir has the layout of this package's folder:
// LANGUAGE/texts.yaml, LANGUAGE/plan.md, review.md, work.md, answer.md and
// summary.md, each of them optional, but at least one language. Everything in it
// is checked at once; the error then joins a *Error for each mistake.
func Load(dir string) (*Texts, error) {
	t := &Texts{editions: map[string]*edition{}}
	for _, l := range Languages() {
		t.editions[l.Code] = newEdition(t, l)
	}
	if dir == "" {
		return t, nil
	}
	if err := t.override(os.DirFS(dir), dir); err != nil {
		return nil, err
	}
	return t, nil
}

// Text returns the text of key with data filled in. It never fails: what lang
// lacks is taken from the default language, and when that lacks it too, or the
// text cannot be filled in, the key itself is returned.
//
// lang is a code or anything that Match understands. data is nil, a
// map[string]any, or a struct (or pointer to one) whose fields the text names;
// what it lacks is left empty. The integer field Count chooses the plural form.
func (t *Texts) Text(lang, key string, data any) string {
	fields := fieldsOf(data)
	if s, ok := t.edition(lang).text(key, fields); ok {
		return s
	}
	if s, ok := t.editions[Default].text(key, fields); ok {
		return s
	}
	return key
}

// Prompt returns the system prompt called name: "plan", "review", "work",
// "answer" or "summary". It depends on its arguments alone, so the model's
// provider can cache the prompts of one task. lang is treated as in Text. The
// error tells that there is no such prompt, or that an override cannot be
// filled in.
func (t *Texts) Prompt(lang, name string, data PromptData) (string, error) {
	return t.edition(lang).prompt(name, data)
}

// edition finds the language for lang, or the default one.
func (t *Texts) edition(lang string) *edition {
	if e, ok := t.editions[lang]; ok {
		return e
	}
	if e, ok := t.editions[Match(lang)]; ok {
		return e
	}
	return t.editions[Default]
}
