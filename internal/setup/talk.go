package setup

import (
	"context"
	"fmt"
	"strings"
	"time"

	"legwork/i18n"
)

// talk is one conversation.
type talk struct {
	Options
	ctx      context.Context //nolint:containedctx // a talk lasts as long as Run
	lines    *lines
	language string
	timezone string // offered as the default
}

// answers are what was said.
type answers struct {
	language, timezone string
	url, model         string
	key                credential
	telegram           credential
	slackBot, slackApp credential
	admins             []string
	search             string // address of a search; empty: none
	budget             budget
}

// credential is a secret and the variable that holds it.
type credential struct {
	variable string
	value    string // empty: there is none
	set      bool   // the variable has that value already
}

// skip is the answer that means none where Enter means something else.
const skip = "-"

// anyway is the answer that takes what did not work.
const anyway = "u"

func (t *talk) ask() (answers, error) {
	var a answers
	t.say("init.welcome", nil)
	for _, step := range []func(*answers) error{
		t.askLanguage, t.askModel, t.askTelegram, t.askSlack, t.askAdmins, t.askSearch, t.askTimezone, t.askBudget,
	} {
		if err := step(&a); err != nil {
			return answers{}, err
		}
	}
	return a, nil
}

// say writes one text, as a paragraph of its own.
func (t *talk) say(key string, data map[string]any) {
	fmt.Fprintf(t.Out, "\n%s\n", t.Texts.Text(t.language, key, data))
}

// note writes what came of an answer.
func (t *talk) note(key string, data map[string]any) {
	fmt.Fprintln(t.Out, t.Texts.Text(t.language, key, data))
}

// line asks for a line; an empty one means usual.
func (t *talk) line(key string, data map[string]any, usual string) (string, error) {
	text := t.Texts.Text(t.language, key, data)
	if usual != "" {
		text += " [" + usual + "]"
	}
	answer, err := t.lines.ask("\n" + text + "\n> ")
	if answer == "" {
		answer = usual
	}
	return answer, err
}

// secret asks for the value of a variable. c is what is known of it from an
// earlier round. An empty answer takes what is known, or means that there is
// none.
func (t *talk) secret(key string, c credential) (credential, error) {
	if c.value == "" {
		c = credential{variable: c.variable, value: t.found(c.variable), set: true}
	}
	if c.value != "" {
		key += "_known"
	}
	answer, err := t.lines.secret("\n" + t.Texts.Text(t.language, key, map[string]any{"Name": c.variable}) + "\n> ")
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

// found looks a variable up where serve will: in the environment first.
func (t *talk) found(variable string) string {
	value, ok := t.Environment(variable)
	if !ok {
		value, _ = t.Saved(variable)
	}
	return strings.TrimSpace(value)
}

// tryTime bounds one try.
const tryTime = 30 * time.Second

// try calls what was answered and tells what came of it. again means that the
// question is to be asked once more.
func (t *talk) try(call func(context.Context) (who string, err error)) (again bool, err error) {
	t.note("init.trying", nil)
	ctx, cancel := context.WithTimeout(t.ctx, tryTime)
	defer cancel()
	who, err := call(ctx)
	if t.ctx.Err() != nil {
		return false, t.ctx.Err()
	}
	if err == nil {
		t.note("init.works", map[string]any{"Name": who})
		return false, nil
	}
	t.note("init.failed", map[string]any{"Reason": err.Error()})
	answer, err := t.line("init.anyway", nil, "")
	return !strings.EqualFold(answer, anyway), err
}

func (t *talk) askLanguage(a *answers) error {
	var codes []string
	for _, l := range i18n.Languages() {
		codes = append(codes, l.Code)
	}
	usual := t.language
	if usual == "" {
		usual = i18n.Default
	}
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

func (t *talk) askTimezone(a *answers) error {
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

// askAdmins is left out where there is no platform.
func (t *talk) askAdmins(a *answers) error {
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
