package cards

import (
	"cmp"
	"strings"

	"legwork/bot"
	"legwork/i18n"
	"legwork/planner"
	"legwork/tasks"
)

// PressReview begins the data of the buttons under a review. The task's id and the
// seq of the event that asked for it follow, then VerbYes or VerbDecline.
const PressReview = "w"

// review is the draft that asks a person to look at the shared state. It shows the
// whole state, or the beginning of each value with the whole in a file where the
// platform accepts files.
func (c Card) review(seq int, files bool) bot.Draft {
	lang, texts := c.View.Opening().Language, c.Texts
	d := bot.Draft{Kind: bot.KindQuestion, Task: string(c.View.ID), ReplyTo: c.View.Opening().Message, Mark: c.mark(planner.AskID(planner.SubjectReview, seq).String())}
	for _, b := range []struct{ key, verb, style string }{
		{"button.approve", VerbYes, bot.StylePrimary}, {"button.changes", VerbDecline, bot.StyleDanger},
	} {
		d.Buttons = append(d.Buttons, bot.Button{
			Label: texts.Text(lang, b.key, nil), Data: DecisionData(PressReview, c.View.ID, seq, 0, b.verb), Style: b.style,
		})
	}
	lines := []string{"**" + texts.Text(lang, "review.ask", nil) + "**", reviewWanted(c.View, texts, seq)}
	values := stateToReview(c.View, seq)
	if files {
		d.File = stateFile(values, seq)
	}
	var left []string
	if d.File != nil {
		values, left = beginnings(values)
	}
	for _, s := range values {
		lines = append(lines, s.markdown())
	}
	if len(left) > maxNamedKeys {
		left = append(left[:maxNamedKeys], texts.Text(lang, "board.more", map[string]any{"Count": len(left) - maxNamedKeys}))
	}
	if len(left) > 0 {
		lines = append(lines, texts.Text(lang, "review.left", map[string]any{"Keys": strings.Join(left, ", ")}))
	}
	if d.File != nil {
		lines = append(lines, texts.Text(lang, "review.file", map[string]any{"Path": d.File.Name, "Bytes": len(d.File.Content)}))
	}
	d.Text = strings.Join(append(lines, c.reviewFoot(seq)), "\n\n")
	return d
}

// reviewFoot names the asker and the goal, who can decide and how, and until when.
func (c Card) reviewFoot(seq int) string {
	o, texts := c.View.Opening(), c.Texts
	name := PlainText(NameOf(o.From.Name, o.From.Key()))
	lines := []string{texts.Text(o.Language, "approval.for", map[string]any{"Name": name, "Goal": PlainText(Title(o.Goal))})}
	if until := c.until(seq); until != "" {
		lines = append(lines, until)
	}
	how := "review.how"
	if !c.Lasts {
		how = "review.how_here"
	}
	return strings.Join(append(lines, texts.Text(o.Language, how, c.decidersData())), "\n")
}

// reviewWanted says who asks for the review of that seq.
func reviewWanted(v *tasks.View, texts *i18n.Texts, seq int) string {
	lang, e := v.Opening().Language, v.Event(seq)
	if e.Action.Subject == planner.SubjectWork {
		for _, w := range v.State.Subtasks {
			if w.ID == e.Action.Subtask {
				return texts.Text(lang, "review.by_subtask", map[string]any{"Text": PlainText(Line(planner.Description(w, v.Event)))})
			}
		}
	}
	name := e.By
	if from := v.Opening().From; from.Key() == e.By {
		name = NameOf(from.Name, e.By)
	}
	return texts.Text(lang, "review.by", map[string]any{"Name": PlainText(cmp.Or(name, "legwork"))})
}

// reviewedLine says who decided about a review, when, and what they said.
func reviewedLine(texts *i18n.Texts, lang string, e *planner.Event, data map[string]any) string {
	key := "review.changes"
	if e.Decision.Approve {
		key = "review.approved"
	}
	return texts.Text(lang, key, data)
}
