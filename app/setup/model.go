package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"legwork/internal/issue"
	"legwork/llm"
)

// The variables whose values are offered as answers.
const (
	modelKey  = "OPENAI_API_KEY"
	modelURL  = "OPENAI_BASE_URL"
	modelName = "OPENAI_MODEL"
)

// usualModel is offered where the endpoint is OpenAI's.
const usualModel = "gpt-5-mini"

// wrong prints the mistake in one key, if there is one.
func (t *dialog) wrong(key string, mistakes issue.List) bool {
	i := slices.IndexFunc(mistakes, func(i issue.Issue) bool { return i.Path == key })
	if i >= 0 {
		t.note("init.problem", map[string]any{"Reason": mistakes[i].Problem})
	}
	return i >= 0
}

func (a *answers) config() llm.ModelConfig {
	return llm.ModelConfig{BaseURL: a.url, APIKey: a.key.value, Model: a.model}
}

func (a *answers) mistakes() issue.List {
	return llm.Config{Models: map[string]llm.ModelConfig{"main": a.config()}}.Validate()
}

// The questions about the model, in order.
const (
	askAddress = iota
	askKey
	askName
)

// askModel asks for the endpoint, its key and one of its models, and tries each
// answer. After a refused key or an unknown model it does not ask again for what
// came before.
func (t *dialog) askModel(a *answers) error {
	a.url = cmp.Or(t.found(modelURL), presets()[0].url)
	var names []string
	for from := askAddress; ; {
		if from <= askAddress {
			if err := t.askEndpoint(a); err != nil {
				return err
			}
		}
		if from <= askKey {
			if err := t.askModelKey(a, from == askKey); err != nil {
				return err
			}
			var failed, err error
			if names, failed, err = t.listModels(a); err != nil {
				return err
			} else if failed != nil {
				from = next(failed, nil)
				continue
			}
		}
		if err := t.chooseModel(a, names); err != nil {
			return err
		}
		failed, err := t.try(func(ctx context.Context) (string, error) {
			return a.model, t.Try.Model(ctx, a.config())
		})
		if err != nil {
			return err
		}
		if failed == nil {
			a.window = t.Try.Window(t.ctx, a.config())
			return nil
		}
		from = next(failed, names)
	}
}

// next is the question that a failed try leads back to.
func next(failed error, names []string) int {
	var e *llm.Error
	switch {
	case errors.As(failed, &e) && e.Problem == llm.Refused:
		return askKey
	case notFound(failed) && len(names) > 0:
		return askName
	}
	return askAddress
}

// askEndpoint asks for the address: a preset by number or name, or an address.
func (t *dialog) askEndpoint(a *answers) error {
	var names, notes []string
	for _, p := range presets() {
		names, notes = append(names, p.name), append(notes, p.url)
	}
	usual := a.url
	for {
		answer, err := t.lineBelow("init.url", nil, menu(names, notes), usual)
		if err != nil {
			return err
		}
		i, outside := t.pick(answer, names)
		if outside {
			continue
		}
		if i >= 0 {
			a.url = presets()[i].url
			return nil
		}
		a.url = strings.TrimSuffix(answer, "/chat/completions")
		if !t.wrong("models.main.base_url", a.mistakes()) {
			return nil
		}
		usual = presets()[0].url
	}
}

// askModelKey asks for the key of the endpoint, unless it is one that needs none and
// has not refused to work without.
func (t *dialog) askModelKey(a *answers, refused bool) error {
	p := presetAt(a.url)
	variable := cmp.Or(p.key, modelKey)
	if a.key.variable != variable {
		a.key = credential{variable: variable}
	}
	if p.key == "" && !refused {
		a.key = credential{variable: variable}
		return nil
	}
	for first := true; first || t.wrong("models.main.api_key", a.mistakes()); first = false {
		if !first {
			a.key = credential{variable: variable}
		}
		var err error
		if a.key, err = t.secret("init.key", a.key); err != nil {
			return err
		}
	}
	return nil
}

// listModels asks the endpoint for its models. An endpoint without such a list is no
// mistake: the name is typed then. failed is as in try.
func (t *dialog) listModels(a *answers) (names []string, failed, err error) {
	missing := false
	failed, err = t.try(func(ctx context.Context) (string, error) {
		var err error
		if names, err = t.Try.Models(ctx, a.config()); notFound(err) && !strings.HasSuffix(strings.TrimRight(a.url, "/"), "/v1") {
			below := a.config()
			below.BaseURL = strings.TrimRight(a.url, "/") + "/v1"
			if found, e := t.Try.Models(ctx, below); e == nil {
				a.url, names, err = below.BaseURL, found, nil
			}
		}
		if missing = notFound(err); missing {
			err = nil
		}
		return a.url, err
	})
	switch {
	case failed != nil || err != nil:
	case missing:
		t.note("init.no_list", map[string]any{"URL": a.url})
	case names != nil && len(names) == 0:
		t.note("init.no_models", nil)
	}
	return names, failed, err
}

func notFound(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && e.Problem == llm.NotFound
}

// chooseModel asks for one of the endpoint's models: by number, by name or by a part
// of a name that only one model has. A name that is not listed is taken as typed.
func (t *dialog) chooseModel(a *answers, names []string) error {
	p := presetAt(a.url)
	known := t.found(modelName)
	if len(names) == 0 {
		if p.url == presets()[0].url {
			known = cmp.Or(known, usualModel)
		}
		return t.typeModel(a, cmp.Or(a.model, known))
	}
	list := chatModels(names)
	usual := ""
	for _, candidate := range []string{a.model, known} {
		if slices.Contains(names, candidate) {
			usual = cmp.Or(usual, candidate)
		}
	}
	if like := containing(list, p.model); usual == "" && p.model != "" && len(like) > 0 {
		usual = like[0]
		if slices.Contains(list, p.model) {
			usual = p.model
		}
	} else if usual == "" && len(list) == 1 {
		usual = list[0]
	}
	for shown := list; ; {
		listed := shown[:min(len(shown), shownModels)]
		below := menu(listed, nil)
		if more := len(shown) - shownModels; more > 0 {
			below += "\n" + t.Texts.Text(t.language, "init.more_models", map[string]any{"Count": more})
		}
		answer, err := t.lineBelow("init.models", nil, below, usual)
		if err != nil {
			return err
		}
		like := containing(list, answer)
		if answer == "" {
			t.note("init.no_choice", nil)
			continue
		}
		if slices.Contains(names, answer) {
			a.model = answer
			return nil
		}
		i, outside := t.pick(answer, listed)
		switch {
		case outside:
			continue
		case i >= 0:
			a.model = listed[i]
		case len(like) == 1:
			a.model = like[0]
		case len(like) > 1:
			shown, usual = like, ""
			continue
		default:
			a.model = answer
		}
		if !t.wrong("models.main.model", a.mistakes()) {
			return nil
		}
	}
}

// typeModel asks for the name of a model where there is no list.
func (t *dialog) typeModel(a *answers, usual string) (err error) {
	for first := true; first || a.model == "" || t.wrong("models.main.model", a.mistakes()); first = false {
		if a.model, err = t.line("init.model", nil, usual); err != nil {
			return err
		}
		if a.model == "" {
			t.note("init.no_choice", nil)
		}
	}
	return nil
}

// section is the model's part of the config. A window that is larger than the default
// is not written: long prompts cost money.
func (a *answers) section() string {
	window := ""
	if a.window > 0 && a.window < llm.DefaultContext {
		window = fmt.Sprintf("    context_tokens: %d\n", a.window)
	}
	return fmt.Sprintf("models:\n  main:\n    base_url: %s\n%s    model: %s\n%s%s", quote(a.url), a.key.line("    api_key"), quote(a.model), window, a.budget.price)
}
