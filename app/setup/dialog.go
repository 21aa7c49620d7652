package setup

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"legwork/i18n"
)

// dialog is one run of the questions.
type dialog struct {
	Options
	ctx      context.Context //nolint:containedctx // a dialog lasts as long as Run
	lines    *lines
	language string
	timezone string // offered as the default
}

// answers to all questions.
type answers struct {
	language, timezone string
	url, model         string
	window             int // of the model, in tokens; 0: not known
	key                credential
	telegram           credential
	slackBot, slackApp credential
	admins             []string
	search             searchChoice
	budget             budget
	token, tokenLine   string // for programs, and its entry in the config; empty: none
}

// credential is a secret and its variable.
type credential struct {
	variable string
	value    string // empty: there is none
	set      bool   // the variable has this value already
}

// skip is the answer for none.
const skip = "-"

// anyway is the answer that accepts a value that does not work.
const anyway = "u"

func (t *dialog) ask() (answers, error) {
	var a answers
	t.say("init.welcome", nil)
	for _, step := range []func(*answers) error{
		t.askLanguage, t.askModel, t.askTelegram, t.askSlack, t.askAdmins, t.askSearch, t.askTimezone, t.askBudget, t.askToken,
	} {
		if err := step(&a); err != nil {
			return answers{}, err
		}
	}
	return a, nil
}

// say writes one text, as a paragraph of its own.
func (t *dialog) say(key string, data map[string]any) {
	t.lines.show("\n" + t.Texts.Text(t.language, key, data) + "\n")
}

// note writes the result of an answer.
func (t *dialog) note(key string, data map[string]any) {
	t.lines.show(t.Texts.Text(t.language, key, data) + "\n")
}

// line asks for a line. An empty answer means usual.
func (t *dialog) line(key string, data map[string]any, usual string) (string, error) {
	return t.lineBelow(key, data, "", usual)
}

// pick is the index of the name that an answer chooses, or -1. outside: the answer is
// a number that the list does not have; pick has said so then.
func (t *dialog) pick(answer string, names []string) (index int, outside bool) {
	index = chosen(answer, names)
	if _, err := strconv.Atoi(answer); err != nil || index >= 0 {
		return index, false
	}
	t.note("init.no_number", map[string]any{"Text": answer, "Max": len(names)})
	return -1, true
}

// lineBelow asks for a line below a list.
func (t *dialog) lineBelow(key string, data map[string]any, list, usual string) (string, error) {
	text := t.Texts.Text(t.language, key, data)
	if usual != "" {
		text += " [" + usual + "]"
	}
	answer, err := t.lines.ask(text + list)
	return cmp.Or(answer, usual), err
}

// secret asks for the value of a variable. c is the value of an earlier round. An
// empty answer keeps the known value, or means none.
func (t *dialog) secret(key string, c credential) (credential, error) {
	return t.secretOf(key, map[string]any{}, c)
}

// secretOf asks for a secret with data for the text of the question.
func (t *dialog) secretOf(key string, data map[string]any, c credential) (credential, error) {
	if c.value == "" {
		c = credential{variable: c.variable, value: t.found(c.variable), set: true}
	}
	if c.value != "" {
		key += "_known"
	}
	data["Name"], data["Typed"] = c.variable, !c.set
	answer, err := t.lines.secret(t.Texts.Text(t.language, key, data))
	switch {
	case err != nil || answer == "":
		return c, err
	case answer == skip:
		return credential{variable: c.variable}, nil
	}
	if other, _ := t.Environment(c.variable); other != "" && other != answer {
		t.note("init.shadowed", map[string]any{"Name": c.variable})
	}
	return credential{variable: c.variable, value: answer}, nil
}

// found looks up a variable as serve does: in the environment first.
func (t *dialog) found(variable string) string {
	value, ok := t.Environment(variable)
	if !ok {
		value, _ = t.Saved(variable)
	}
	return strings.TrimSpace(value)
}

// tryTime bounds one try.
const tryTime = 30 * time.Second

// try tests an answer and prints the result. failed is why the question is to be
// asked again; nil: the answer works, or the person uses it anyway.
func (t *dialog) try(call func(context.Context) (who string, err error)) (failed, err error) {
	t.note("init.trying", nil)
	ctx, cancel := context.WithTimeout(t.ctx, tryTime)
	defer cancel()
	who, failed := call(ctx)
	if t.ctx.Err() != nil {
		return nil, t.ctx.Err()
	}
	if failed == nil {
		t.note("init.works", map[string]any{"Name": who})
		return nil, nil
	}
	t.note("init.failed", map[string]any{"Reason": t.reason(failed)})
	// A person who pastes a new key here must not see it either.
	answer, err := t.lines.secret(t.Texts.Text(t.language, "init.anyway", nil))
	if strings.EqualFold(answer, anyway) {
		failed = nil
	}
	return failed, err
}

func (t *dialog) askLanguage(a *answers) error {
	var codes []string
	for _, l := range i18n.Languages() {
		codes = append(codes, l.Code)
	}
	usual := cmp.Or(t.language, i18n.Default)
	for {
		answer, err := t.line("init.language", map[string]any{"Allowed": strings.Join(codes, ", ")}, usual)
		if err != nil {
			return err
		}
		if a.language = i18n.Match(answer); a.language != "" {
			t.language = a.language
			return nil
		}
		t.note("error.no_language", map[string]any{"Allowed": strings.Join(codes, ", ")})
	}
}

func (t *dialog) askTimezone(a *answers) error {
	for {
		answer, err := t.line("init.timezone", nil, t.timezone)
		if err != nil {
			return err
		}
		if _, err := time.LoadLocation(answer); err == nil && answer != "" && answer != "Local" {
			a.timezone = answer
			return nil
		}
		t.note("init.no_timezone", nil)
	}
}

// askAdmins asks for admins when there is a platform.
func (t *dialog) askAdmins(a *answers) error {
	for a.telegram.value != "" || a.slackBot.value != "" {
		answer, err := t.line("init.admins", nil, "")
		if err != nil {
			return err
		}
		a.admins = nil
		problem := ""
		for key := range strings.SplitSeq(answer, ",") {
			if key = strings.TrimSpace(key); key == "" {
				continue
			}
			if p := t.Admin(key); problem == "" {
				problem = p
			}
			a.admins = append(a.admins, key)
		}
		if problem == "" {
			return nil
		}
		t.note("init.problem", map[string]any{"Reason": problem})
	}
	return nil
}
