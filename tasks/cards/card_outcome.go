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

// maxClosedText is the maximum length, in bytes, of the text that a closed question
// keeps. It fits one message.
const maxClosedText = 2000

// Decision is the text of a closed question's message: the question and how it
// ended.
func (c Card) Decision(action planner.ActionID) string {
	return unlinked(c.View, c.decision(action))
}

func (c Card) decision(action planner.ActionID) string {
	over := OutcomeOf(c.View, c.Texts, c.View.Opening().Language, action)
	switch action.Subject {
	case planner.SubjectCalls:
		return c.decidedCalls(action.Seq) + "\n\n" + over
	case planner.SubjectForm:
		return c.answeredField(action) + "\n\n" + over
	case planner.SubjectReview:
		return reviewWanted(c.View, c.Texts, action.Seq) + "\n\n" + over
	}
	return strings.TrimPrefix(clip.Marked(c.questionText(action), maxClosedText)+"\n\n"+over, "\n\n")
}

// OutcomeOf says how the question of an ask action ended.
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
		return texts.Text(lang, "question.answered", map[string]any{"Text": unlinked(v, e.Decision.Text)})
	}
	return texts.Text(lang, "question.agreed", nil)
}

// Outcome is the draft with the task's outcome. It has buttons where messages
// last.
func (c Card) Outcome() bot.Draft {
	d := outcome(c.View, c.Texts)
	d.Text = c.introduced(d.Text)
	if !c.Lasts {
		return d
	}
	d.Copy = c.Texts.Text(c.View.Opening().Language, "button.copy", nil)
	if started(c.View.State) && !c.ShowsTasks {
		d.Buttons = append(d.Buttons, c.button("button.details", PressDetails))
	}
	if c.View.State.Outcome == planner.Failed && !c.WithoutBoard {
		d.Buttons = append(d.Buttons, c.button("button.retry", PressRetry))
	}
	return d
}

// problemText is the text of a task without an answer: the reason, the beginning of
// the answer if it was cut off, and the results so far.
func problemText(v *tasks.View, texts *i18n.Texts) string {
	s, lang := v.State, v.Opening().Language
	text := Problem(texts, lang, v.ID, s, v.Event(s.FailedSeq).Problem)
	if s.Reason == planner.ReasonBudget {
		text = BudgetProblem(v, texts)
	}
	begun := v.Event(s.CutOffSeq)
	if begun.Type == planner.CutOff { // it stays as people saw it
		return markCutOff(begun.Text) + "\n\n*" + texts.Text(lang, "partial.stopped", nil) + "*"
	}
	if begun := planner.CutOffText(begun); begun != "" {
		text += "\n\n" + texts.Text(lang, "partial.answer", nil) + "\n\n" + markCutOff(begun)
	}
	if found := results(v, texts); found != "" {
		text += "\n\n" + texts.Text(lang, "partial.intro", nil) + "\n\n" + found
	}
	return text
}

// results lists the results of the sub-tasks, so that finished work is not lost. The
// text of a sub-task that was cut off is marked as incomplete.
func results(v *tasks.View, texts *i18n.Texts) string {
	var b strings.Builder
	for _, w := range v.State.Subtasks {
		inside := w.Parent != nil && v.State.Subtasks[w.Parent.Subtask].State == planner.SubDone
		name, e := Line(planner.Description(w, v.Event)), v.Event(w.EndSeq)
		switch {
		case inside:
		case w.State == planner.SubDone && e.Reply != nil:
			addResult(&b, name, e.Reply.Text)
		case w.State == planner.SubFailed && partialText(e) != "":
			addResult(&b, texts.Text(v.Opening().Language, "partial.subtask", map[string]any{"Name": name}), markCutOff(partialText(e)))
		}
	}
	return b.String()
}

// partialText is the text that a sub-task had written when it failed with this event.
func partialText(e planner.Event) string {
	switch {
	case e.Type == planner.CallFailed:
		return e.Problem.Text
	case e.Reply != nil: // with calls, in its last turn
		return e.Reply.Text
	}
	return ""
}

// addResult adds the result of one sub-task to a list.
func addResult(b *strings.Builder, name, text string) {
	fmt.Fprintf(b, "- **%s**\n\n  %s\n", name, strings.ReplaceAll(text, "\n", "\n  "))
}

// markCutOff marks the end of a text that was cut off, and closes its open code
// block.
func markCutOff(text string) string {
	text = strings.TrimRight(text, " \t\r\n")
	if strings.Count("\n"+text, "\n```")%2 == 1 {
		return text + "\n```\n[…]"
	}
	return text + " […]"
}

// Problem says what ended a task early. broken is the last failed model call, or
// nil.
func Problem(texts *i18n.Texts, lang string, id tasks.ID, s planner.State, broken *planner.Problem) string {
	data := map[string]any{"Task": string(id)}
	if broken != nil && broken.Wait > 0 && broken.Code == s.Reason {
		data["Elapsed"] = broken.Wait
	}
	return texts.Text(lang, "problem."+s.Reason, data)
}
