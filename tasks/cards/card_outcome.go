package cards

import (
	"fmt"
	"strings"

	"legwork/bot"
	"legwork/i18n"
	"legwork/internal/clip"
	"legwork/planner"
	"legwork/tasks"
)

// closedText is how much is left of a question when it is over, in bytes: little
// enough for one message.
const closedText = 2000

// Decision is what a question's message says when it is over: what it asked and
// how it ended.
func (c Card) Decision(action planner.ActionID) string {
	over := OutcomeOf(c.View, c.Texts, c.View.Opening().Language, action)
	switch action.Subject {
	case planner.SubjectCalls:
		return c.decidedCalls(action.Seq) + "\n\n" + over
	case planner.SubjectForm:
		return c.answeredField(action) + "\n\n" + over
	case planner.SubjectReview:
		return reviewWanted(c.View, c.Texts, action.Seq) + "\n\n" + over
	}
	return strings.TrimPrefix(clip.Marked(c.asks(action), closedText)+"\n\n"+over, "\n\n")
}

// OutcomeOf tells how the question of an ask action ended.
func OutcomeOf(v *tasks.View, texts *i18n.Texts, lang string, about planner.ActionID) string {
	e := v.Decided(about)
	switch {
	case about.Subject == planner.SubjectBudget:
		return overdraftOver(v, texts, lang, about)
	case e == nil && about.Subject == planner.SubjectReview && v.DecisionExpired(about):
		return texts.Text(lang, "review.expired", nil)
	case e == nil && (tasks.Decides(about) && v.DecisionExpired(about) || v.QuestionExpired(about)):
		return texts.Text(lang, "question.expired", nil)
	case e == nil:
		return texts.Text(lang, "question.over", nil)
	case tasks.Decides(about):
		return decidedLine(v, texts, lang, about, e)
	case !e.Decision.Approve:
		return texts.Text(lang, "question.denied", map[string]any{"Reason": PlainText(Line(e.Decision.Text))})
	case e.Decision.Text != "":
		return texts.Text(lang, "question.answered", map[string]any{"Text": e.Decision.Text})
	}
	return texts.Text(lang, "question.agreed", nil)
}

// Outcome is the draft of the task's outcome, with what can be done about it
// where messages last.
func (c Card) Outcome() bot.Draft {
	d := outcome(c.View, c.Texts)
	d.Text = c.introduced(d.Text)
	if !c.Lasts {
		return d
	}
	if tried(c.View.State) {
		d.Buttons = append(d.Buttons, c.button("button.details", PressDetails))
	}
	if c.View.State.Outcome == planner.Failed && !c.WithoutBoard {
		d.Buttons = append(d.Buttons, c.button("button.retry", PressRetry))
	}
	return d
}

// apology is what people read of a task without an answer: one honest sentence,
// the beginning of the answer where it was cut off, and what was found so far.
func apology(v *tasks.View, texts *i18n.Texts) string {
	s, lang := v.State, v.Opening().Language
	text := Problem(texts, lang, v.ID, s, v.Event(s.FailedSeq).Problem)
	if s.Reason == planner.ReasonBudget {
		text = BudgetProblem(v, texts)
	}
	if begun := v.Event(s.CutOffSeq).Problem; begun != nil {
		text += "\n\n" + texts.Text(lang, "partial.answer", nil) + "\n\n" + unfinished(begun.Text)
	}
	if found := found(v, texts); found != "" {
		text += "\n\n" + texts.Text(lang, "partial.intro", nil) + "\n\n" + found
	}
	return text
}

// found lists what the sub-tasks found: work that was done is never thrown away,
// and what one had written when it was cut off is marked as incomplete.
func found(v *tasks.View, texts *i18n.Texts) string {
	var b strings.Builder
	for _, w := range v.State.Subtasks {
		inside := w.Parent != nil && v.State.Subtasks[w.Parent.Subtask].State == planner.SubDone
		name, e := Line(planner.Description(w, v.Event)), v.Event(w.EndSeq)
		switch {
		case inside:
		case w.State == planner.SubDone && e.Reply != nil:
			tell(&b, name, e.Reply.Text)
		case w.State == planner.SubFailed && begun(e) != "":
			tell(&b, texts.Text(v.Opening().Language, "partial.subtask", map[string]any{"Name": name}), unfinished(begun(e)))
		}
	}
	return b.String()
}

// begun is what a sub-task that failed with this event had written.
func begun(e planner.Event) string {
	switch {
	case e.Type == planner.CallFailed:
		return e.Problem.Text
	case e.Reply != nil: // with calls, in its last turn
		return e.Reply.Text
	}
	return ""
}

// tell adds what one sub-task found to a list.
func tell(b *strings.Builder, name, text string) {
	fmt.Fprintf(b, "- **%s**\n\n  %s\n", name, strings.ReplaceAll(text, "\n", "\n  "))
}

// unfinished is a text that was cut off, with code that it began closed and a
// mark at its end.
func unfinished(text string) string {
	text = strings.TrimRight(text, " \t\r\n")
	if strings.Count("\n"+text, "\n```")%2 == 1 {
		return text + "\n```\n[…]"
	}
	return text + " […]"
}

// Problem says what cut a task short; broken is the last model call that failed,
// if any did.
func Problem(texts *i18n.Texts, lang string, id tasks.ID, s planner.State, broken *planner.Problem) string {
	data := map[string]any{"Task": string(id)}
	if broken != nil && broken.Wait > 0 && broken.Code == s.Reason {
		data["Elapsed"] = broken.Wait
	}
	return texts.Text(lang, "problem."+s.Reason, data)
}
