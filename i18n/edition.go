package i18n

import (
	"errors"
	"fmt"
	"sync"

	goi18n "github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"
)

// edition is everything in one language. Its texts and each of its prompts are
// parsed when they are first asked for.
type edition struct {
	Language
	owner    *Texts
	replaced []entry           // overrides of texts
	sources  map[string]string // overrides of prompts, by name
	catalog  func() *catalog
	prompts  map[string]func() (*prompt, error)
}

// catalog is the parsed texts of one language.
type catalog struct {
	localizer *goi18n.Localizer
	plural    map[string]bool // keys whose text depends on Count
	parser    parser
}

func newEdition(owner *Texts, l Language) *edition {
	e := &edition{Language: l, owner: owner, sources: map[string]string{}, prompts: map[string]func() (*prompt, error){}}
	e.catalog = sync.OnceValue(e.readTexts)
	for _, name := range promptNames() {
		e.prompts[name] = sync.OnceValues(func() (*prompt, error) { return e.readPrompt(name) })
	}
	return e
}

// embeddedTexts reads the texts that were compiled in.
func embeddedTexts(code string) []entry {
	source, err := embedded.ReadFile(code + "/texts.yaml")
	if err != nil {
		panic("i18n: reading embedded texts: " + err.Error())
	}
	entries, faults := parseTexts(source)
	if len(faults) > 0 {
		panic("i18n: reading embedded texts of " + code + faults[0].Error())
	}
	return entries
}

func (e *edition) readTexts() *catalog {
	tag := language.MustParse(e.Code)
	c := &catalog{plural: map[string]bool{}, parser: newParser(e.owner, e.Code)}
	bundle := goi18n.NewBundle(tag)
	for _, list := range [][]entry{embeddedTexts(e.Code), e.replaced} {
		for _, entry := range list {
			bundle.MustAddMessages(tag, entry.message()) // fails for languages without plural rules only
			c.plural[entry.key] = entry.plural
		}
	}
	c.localizer = goi18n.NewLocalizer(bundle, e.Code)
	return c
}

// text returns false when there is no such text or it cannot be filled in.
func (e *edition) text(key string, fields map[string]any) (string, bool) {
	c := e.catalog()
	config := &goi18n.LocalizeConfig{MessageID: key, TemplateData: fields, TemplateParser: c.parser}
	if count, ok := integer(fields["Count"]); ok && c.plural[key] {
		config.PluralCount = count
	}
	s, err := c.localizer.Localize(config)
	return s, err == nil
}

func (e *edition) prompt(name string, data PromptData) (string, error) {
	read, ok := e.prompts[name]
	if !ok {
		return "", fmt.Errorf("rendering prompt %q: no such prompt", name)
	}
	p, err := read()
	if err != nil {
		return "", err
	}
	if data.Language == "" {
		data.Language = e.Name
	}
	return p.render(data)
}

func (e *edition) readPrompt(name string) (*prompt, error) {
	if source, ok := e.sources[name]; ok {
		return parsePrompt(name, source)
	}
	source, err := embedded.ReadFile(e.Code + "/" + name + ".md")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading embedded prompt %q", name), err)
	}
	return parsePrompt(name, string(source))
}
