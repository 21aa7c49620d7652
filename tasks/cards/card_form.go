package cards

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"legwork/bot"
	"legwork/i18n"
	"legwork/internal/clip"
	"legwork/internal/form"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/policy/flow"
)

// PressField begins the data of the buttons under a server's question. The task's
// id, the seq of the question and the field follow, then the number of a choice or
// one of the verbs below.
const PressField = "q"

// The verbs of a field's buttons other than its choices.
const (
	VerbYes     = "y" // for a question without a field: the person has done it, or agrees
	VerbOmit    = "l"
	VerbDecline = "n"
	VerbRest    = "r" // leave out this field and all after it
	VerbFields  = "f" // Message.Form has the values of this field and all after it
)

// Limits for choices as buttons. More choices, or longer ones, become a list.
const (
	maxChoices = 7
	maxChoice  = 40 // length of a label, in characters
)

// form is the draft that asks for one field of a server's question. Texts of the
// server are quotations in it.
func (c Card) form(about planner.ActionID) bot.Draft {
	lang, texts := c.View.Opening().Language, c.Texts
	if q := c.View.Event(about.Seq).Question; q != nil && q.SignIn != nil {
		return c.signIn(about, q)
	}
	q, field := tasks.FormOf(c.View.Event(about.Seq), about)
	lines := []string{c.serverHeading(about)}
	if q.Message != "" {
		lines = append(lines, quoted(q.Message))
	}
	switch {
	case q.URL != "":
		lines = append(lines, texts.Text(lang, "form.url", map[string]any{"Text": InCode(hostOf(q.URL))}), strings.TrimSuffix(bot.Fence(bot.Visible(q.URL), ""), "\n"))
	case field != nil:
		lines = append(lines, c.fieldText(lang, *field, about.Field, len(q.Fields)))
		if rest := q.Fields[about.Field:]; len(rest) > 1 && c.Lasts {
			lines = append(lines, texts.Text(lang, c.howKey("form.all"), map[string]any{"Text": namesOf(rest)}))
		}
	}
	foot := []string{c.until(about.Seq), texts.Text(lang, "form.how", c.decidersData())}
	lines = append(lines, strings.TrimPrefix(strings.Join(foot, "\n"), "\n"))
	return bot.Draft{
		Kind: bot.KindQuestion, Task: string(c.View.ID), Text: strings.Join(lines, "\n\n"), ReplyTo: c.View.Opening().Message, Form: c.wholeForm(about, q),
		Mark: c.mark(about.String()), Buttons: c.formButtons(about, q, field), FreeText: field != nil && !pressable(*field, ChoicesOf(texts, lang, *field)),
	}
}

// wholeForm are the open fields of a form; nil when it has none.
func (c Card) wholeForm(about planner.ActionID, q *form.Question) *bot.Form {
	if q.URL != "" || about.Field >= len(q.Fields) {
		return nil
	}
	whole := bot.Form{Data: DecisionData(PressField, c.View.ID, about.Seq, about.Field, VerbFields)}
	for _, f := range q.Fields[about.Field:] {
		field := bot.FormField{
			Name: f.Name, Title: Line(bot.Visible(cmp.Or(f.Title, f.Name))), Description: bot.Visible(f.Description), Schema: f.Schema,
			Many: f.Many, Required: f.Required, Default: f.Default,
		}
		for _, choice := range ChoicesOf(c.Texts, c.View.Opening().Language, f) {
			field.Choices = append(field.Choices, bot.FormChoice{Value: choice.Value, Label: bot.Visible(choice.Label)})
		}
		whole.Fields = append(whole.Fields, field)
	}
	return &whole
}

func (c Card) serverHeading(about planner.ActionID) string {
	server := ""
	if question := c.View.Event(about.Seq).Question; question != nil {
		server = question.Server
	}
	return "**" + c.Texts.Text(c.View.Opening().Language, "form.asks", map[string]any{"Server": InCode(server)}) + "**"
}

// fieldText describes a field and how to answer it.
func (c Card) fieldText(lang string, f form.Field, at, count int) string {
	texts := c.Texts
	name := PlainText(Line(bot.Visible(cmp.Or(f.Title, f.Name))))
	lines := []string{"**" + name + "**"}
	if count > 1 {
		lines[0] = texts.Text(lang, "form.field", map[string]any{"Name": name, "Done": at + 1, "Count": count})
	}
	if f.Description != "" {
		lines = append(lines, quoted(f.Description))
	}
	choices := ChoicesOf(texts, lang, f)
	how := "form.write"
	if listed(f, choices) {
		labels := make([]string, len(choices))
		for i, c := range choices {
			labels[i] = c.Label
		}
		lines = append(lines, numbered(labels))
		if how = "form.number"; f.Many {
			how = "form.numbers"
		}
	} else if pressable(f, choices) {
		how = "form.choose"
	}
	if len(f.Default) > 0 {
		lines = append(lines, texts.Text(lang, "form.default", map[string]any{"Text": InCode(valueText(choices, f.Default))}))
	}
	return strings.Join(append(lines, texts.Text(lang, c.howKey(how), map[string]any{"Text": InCode(NameOfField(f) + ":")})), "\n\n")
}

// howKey is the key of the text that says how to answer: the text of that key speaks of
// a reply to the message.
func (c Card) howKey(key string) string {
	if c.CanReply {
		return key
	}
	return key + "_here"
}

// NameOfField is the name under which people can answer a field: its title, or its
// name where a colon in the title would end the name.
func NameOfField(f form.Field) string {
	if title := strings.TrimSpace(Line(bot.Visible(f.Title))); title != "" && !strings.ContainsAny(title, ":：") {
		return title
	}
	return f.Name
}

// namesOf lists the names under which fields can be answered.
func namesOf(fields []form.Field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = InCode(NameOfField(f))
	}
	return strings.Join(names, ", ")
}

// ChoicesOf returns the choices of a field, or nil when its values cannot be
// listed.
func ChoicesOf(texts *i18n.Texts, lang string, f form.Field) []form.Choice {
	if len(f.Choices) > 0 || !isBool(f) {
		return f.Choices
	}
	return []form.Choice{
		{Value: json.RawMessage("true"), Label: texts.Text(lang, "form.yes", nil)},
		{Value: json.RawMessage("false"), Label: texts.Text(lang, "form.no", nil)},
	}
}

// listed reports whether choices are shown as a list to be answered by number, and
// not as buttons.
func listed(f form.Field, choices []form.Choice) bool {
	if f.Many || len(choices) > maxChoices {
		return len(choices) > 0
	}
	return slices.ContainsFunc(choices, func(c form.Choice) bool { return isLong(c.Label) })
}

// isLong reports whether a platform may cut a label.
func isLong(label string) bool { return utf8.RuneCountInString(bot.Visible(label)) > maxChoice }

// numbered lists choices whole, with their numbers.
func numbered(labels []string) string {
	lines := make([]string, len(labels))
	for i, label := range labels {
		lines[i] = fmt.Sprintf("%d. %s", i+1, PlainText(strings.Join(strings.Fields(bot.Visible(label)), " ")))
	}
	return strings.Join(lines, "\n")
}

// pressable reports whether the choices of a field are buttons.
func pressable(f form.Field, choices []form.Choice) bool {
	return len(choices) > 0 && !listed(f, choices)
}

func (c Card) formButtons(about planner.ActionID, q *form.Question, field *form.Field) []bot.Button {
	lang, texts := c.View.Opening().Language, c.Texts
	var list []bot.Button
	add := func(label, verb, style string) {
		list = append(list, bot.Button{Label: label, Data: DecisionData(PressField, c.View.ID, about.Seq, about.Field, verb), Style: style})
	}
	switch {
	case q.URL != "":
		add(texts.Text(lang, "button.visited", nil), VerbYes, bot.StylePrimary)
	case field == nil:
		add(texts.Text(lang, "button.agree", nil), VerbYes, bot.StylePrimary)
	default:
		if choices := ChoicesOf(texts, lang, *field); pressable(*field, choices) {
			for i, c := range choices {
				add(cmp.Or(strings.Join(strings.Fields(bot.Visible(c.Label)), " "), strconv.Itoa(i+1)), strconv.Itoa(i), "")
			}
		}
		if MayOmit(*field) {
			add(texts.Text(lang, "button.omit", nil), VerbOmit, "")
		}
		if rest := q.Fields[about.Field:]; c.Lasts && len(rest) > 1 && !slices.ContainsFunc(rest, func(f form.Field) bool { return !MayOmit(f) }) {
			add(texts.Text(lang, "button.omit_rest", nil), VerbRest, "")
		}
	}
	add(texts.Text(lang, "button.decline", nil), VerbDecline, bot.StyleDanger)
	return list
}

// answeredField is the text of a server's question that is closed.
func (c Card) answeredField(about planner.ActionID) string {
	if q := c.View.Event(about.Seq).Question; q != nil && q.SignIn != nil {
		return c.signInText(q)
	}
	q, field := tasks.FormOf(c.View.Event(about.Seq), about)
	lines := []string{c.serverHeading(about)}
	switch {
	case q.URL != "":
		lines = append(lines, strings.TrimSuffix(bot.Fence(clip.Marked(bot.Visible(q.URL), maxClosedText/2), ""), "\n"))
	case field != nil:
		lines = append(lines, quoted(Line(cmp.Or(field.Title, field.Name))))
	default:
		lines = append(lines, quoted(clip.Marked(q.Message, maxClosedText/2)))
	}
	return strings.Join(lines, "\n\n")
}

// filledLine says who answered a server's question, and how.
func filledLine(v *tasks.View, texts *i18n.Texts, lang string, about planner.ActionID, e *planner.Event, data map[string]any) string {
	_, field := tasks.FormOf(v.Event(about.Seq), about)
	key := "form.filled"
	signIn := v.Event(about.Seq).Question.SignIn != nil
	switch {
	case signIn && e.Decision.Approve:
		key = "sign_in.done"
	case signIn:
		key = "sign_in.declined"
	case !e.Decision.Approve:
		key = "form.declined"
	case field == nil:
		key = "form.agreed"
	case len(e.Decision.Value) == 0 || string(e.Decision.Value) == "null":
		key = "form.omitted"
	default:
		data["Text"] = InCode(clip.Bytes(valueText(ChoicesOf(texts, lang, *field), e.Decision.Value), maxClosedText/4))
	}
	return texts.Text(lang, key, data)
}

// valueText is a value as people read it: the label of its choice, or a text
// without quotes.
func valueText(choices []form.Choice, value json.RawMessage) string {
	for _, c := range choices {
		if string(c.Value) == string(value) {
			return c.Label
		}
	}
	var many []json.RawMessage
	if json.Unmarshal(value, &many) == nil {
		parts := make([]string, len(many))
		for i, one := range many {
			parts[i] = valueText(choices, one)
		}
		return strings.Join(parts, ", ")
	}
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// hostOf is the host of an address in ASCII, so that no character can pass for
// another.
func hostOf(address string) string { return cmp.Or(flow.InAddress(address).Host, "?") }

// MayOmit reports whether a field can be left out.
func MayOmit(f form.Field) bool { return !f.Required || len(f.Default) > 0 }

// isBool reports whether a field's value is true or false.
func isBool(f form.Field) bool {
	var schema struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(f.Schema, &schema) == nil && schema.Type == "boolean"
}
