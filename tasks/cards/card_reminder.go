package cards

import (
	"slices"
	"strings"

	"legwork/bot"
	"legwork/i18n"
	"legwork/planner"
)

// ReminderSlot is the slot of the reminder of a question whose card has that slot. A
// form has one reminder for all its fields.
func ReminderSlot(about planner.ActionID, private bool) string {
	about.Field = 0
	if private {
		return "again " + PrivateSlot + about.String()
	}
	return "again " + about.String()
}

// Reminder is the draft of the message that reminds people of an open question.
func (c Card) Reminder(a planner.Action) bot.Draft {
	o := c.View.Opening()
	lines := []string{
		c.Texts.Text(o.Language, "approval.again", map[string]any{"Tool": Wanted(c.Texts, o.Language, a.ID, c.View.Event(a.ID.Seq))}),
		c.Texts.Text(o.Language, "approval.for", map[string]any{"Name": PlainText(NameOf(o.From.Name, o.From.Key())), "Goal": PlainText(Title(o.Goal))}),
		c.Texts.Text(o.Language, "approval.until", map[string]any{"Date": InZone(planner.ExpiryOf(c.View.State, a), o.Timezone)}),
	}
	return bot.Draft{Kind: bot.KindNotice, Task: string(c.View.ID), Text: strings.Join(lines, "\n")}
}

// Wanted names in a few words what a question is about. asked is the event that asks.
func Wanted(texts *i18n.Texts, lang string, about planner.ActionID, asked planner.Event) string {
	switch q := asked.Question; {
	case about.Subject == planner.SubjectReview:
		return texts.Text(lang, "review.waits", nil)
	case q != nil && q.Form != nil:
		return texts.Text(lang, "approvals.asks", map[string]any{"Server": InCode(q.Server)})
	case q != nil:
		return toolNames(q.Calls)
	}
	return texts.Text(lang, "approvals.question", nil)
}

// toolNames lists the tools of calls, each once.
func toolNames(calls []planner.Approval) string {
	var names []string
	for _, c := range calls {
		if name := InCode(c.Tool); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
