package cards

import (
	"strings"

	"legwork/bot"
	"legwork/planner"
)

// VerbConnect is the verb of the button that begins the sign-in of a question.
const VerbConnect = "c"

// PressConnect begins the data of the buttons that begin a sign-in without a task. The
// name of the server follows.
const PressConnect = "cn:"

// signIn is the draft that asks for a sign-in.
func (c Card) signIn(about planner.ActionID, q *planner.Question) bot.Draft {
	lang := c.View.Opening().Language
	how := c.Texts.Text(lang, "sign_in.how", map[string]any{"Name": c.signer(q)})
	button := func(key, verb, style string) bot.Button {
		return bot.Button{Label: c.Texts.Text(lang, key, nil), Data: DecisionData(PressField, c.View.ID, about.Seq, 0, verb), Style: style}
	}
	return bot.Draft{
		Kind: bot.KindQuestion, Task: string(c.View.ID), ReplyTo: c.View.Opening().Message, Mark: c.mark(about.String()),
		Text:    c.signInText(q) + "\n\n" + strings.TrimPrefix(c.until(about.Seq)+"\n"+how, "\n"),
		Buttons: []bot.Button{button("button.connect", VerbConnect, bot.StylePrimary), button("button.go_without", VerbDecline, "")},
	}
}

// signInText says which sign-in a task waits for.
func (c Card) signInText(q *planner.Question) string {
	data := map[string]any{"Server": InCode(q.Server), "Scopes": InCode(strings.Join(q.SignIn.Scopes, " ")), "Shared": q.SignIn.Person == ""}
	if len(q.SignIn.Scopes) == 0 {
		data["Scopes"] = ""
	}
	return c.Texts.Text(c.View.Opening().Language, "sign_in.card", data)
}

// signer is the name of the person who can sign in; empty for an admin.
func (c Card) signer(q *planner.Question) string {
	if q.SignIn.Person == "" {
		return ""
	}
	return c.asker()
}
