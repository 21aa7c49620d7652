package tasks

import (
	"fmt"
	"strings"

	"legwork/i18n"
	"legwork/planner"
)

// apology is what people read of a task without an answer: one honest sentence,
// the beginning of the answer where it was cut off, and what was found so far.
func apology(v *View, texts *i18n.Texts) string {
	s, lang := v.State, v.Opening().Language
	text := problem(texts, lang, v.ID, s, v.Event(s.Broken).Problem)
	if s.Why == planner.WhyBudget {
		text = budgetProblem(v, texts)
	}
	if begun := v.Event(s.Cut).Problem; begun != nil {
		text += "\n\n" + texts.Text(lang, "partial.answer", nil) + "\n\n" + unfinished(begun.Text)
	}
	if found := found(v, texts); found != "" {
		text += "\n\n" + texts.Text(lang, "partial.intro", nil) + "\n\n" + found
	}
	return text
}

// found lists what the sub-tasks found: work that was done is never thrown away,
// and what one had written when it was cut off is marked as incomplete.
func found(v *View, texts *i18n.Texts) string {
	var b strings.Builder
	for _, w := range v.State.Subtasks {
		inside := w.Parent != nil && v.State.Subtasks[w.Parent.Subtask].State == planner.SubDone
		name, e := line(planner.Description(w, v.Event)), v.Event(w.End)
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
	case e.Type == planner.Broke:
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
