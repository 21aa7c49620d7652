package cards

import (
	"fmt"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/i18n"
	"legwork/internal/clip"
	"legwork/planner"
	"legwork/tasks"
)

// Question is the draft of a question, with a file where the chat accepts files.
func (c Card) Question(a planner.Action) bot.Draft {
	d := c.question(a)
	d.Text = unlinked(c.View, d.Text)
	if address := c.Page.Task(c.View.ID); address != "" {
		d.Text += "\n\n[" + c.Texts.Text(c.View.Opening().Language, "page.open", nil) + "](" + address + ")"
	}
	return d
}

// PlainQuestion is the draft of a question without a file.
func (c Card) PlainQuestion(a planner.Action) bot.Draft {
	c.Files = false
	return c.Question(a)
}

func (c Card) question(a planner.Action) bot.Draft {
	switch about := a.ID; about.Subject {
	case planner.SubjectCalls:
		return c.approval(about.Seq, c.Files)
	case planner.SubjectForm:
		return c.form(about)
	case planner.SubjectReview:
		return c.review(about.Seq, c.Files)
	case planner.SubjectBudget:
		return c.overdraft(a)
	}
	opening := c.View.Opening()
	d := bot.Draft{Kind: bot.KindQuestion, Task: string(c.View.ID), Text: c.introduced(c.questionText(a.ID)), ReplyTo: opening.Message, Mark: c.mark(a.ID.String())}
	if about := a.ID; about.Subject == planner.SubjectPlan {
		d.Plan = c.editablePlan(about)
	}
	choices := c.choices(a)
	if slices.ContainsFunc(choices, isLong) { // a platform may cut the label
		d.Text += "\n\n" + numbered(choices)
		for i := range choices {
			choices[i] = fmt.Sprintf("%d. %s", i+1, choices[i])
		}
	}
	if a.ID.Subject == planner.SubjectQuestion && fromOutside(c.View, a.ID.Seq) {
		d.Text += "\n\n" + c.Texts.Text(opening.Language, "question.how", c.decidersData())
	}
	for i, choice := range choices {
		if a.ID.Subject == planner.SubjectPlan && i == ChoiceEdit && c.WithoutBoard {
			continue // a text about a program's plan would be a question of its own
		}
		b := bot.Button{Label: choice, Data: pressData(c.View.ID, a.ID, i), Words: a.ID.Subject == planner.SubjectPlan && i == ChoiceEdit}
		if a.ID.Subject == planner.SubjectPlan && i == choiceCancel {
			b.Style = bot.StyleDanger // a terminal without a person declines with this text
		}
		d.Buttons = append(d.Buttons, b)
	}
	return d
}

// choices are the labels of the buttons of a question by legwork or by a model.
func (c Card) choices(a planner.Action) []string {
	if a.ID.Subject == planner.SubjectQuestion {
		choices := slices.Clone(planner.QuestionOf(c.View.Event(a.ID.Seq), a.ID).Choices)
		for i, choice := range choices {
			if choices[i] = bot.Visible(choice); fromOutside(c.View, a.ID.Seq) || c.decidesLike(choices[i]) {
				choices[i] = c.Texts.Text(c.View.Opening().Language, "question.choice", map[string]any{"Text": choices[i]})
			}
		}
		return choices
	}
	if a.ID.Subject == planner.SubjectGoal {
		return GoalChoices(c.Texts, c.View.Opening().Language, readFiles(c.View))
	}
	keys := []string{"button.run", "button.edit", "button.cancel"}
	for i, key := range keys {
		keys[i] = c.Texts.Text(c.View.Opening().Language, key, nil)
	}
	return keys
}

// decidesLike reports whether a label looks like one of legwork's own decision
// buttons, in any language.
func (c Card) decidesLike(label string) bool {
	own := []string{"button.allow_once", "button.allow_task", "button.allow_chat", "button.deny", "button.deny_why", "button.approve", "button.changes"}
	return slices.ContainsFunc(i18n.Languages(), func(l i18n.Language) bool {
		return slices.ContainsFunc(own, func(key string) bool {
			return strings.EqualFold(strings.TrimSpace(label), c.Texts.Text(l.Code, key, nil))
		})
	})
}

// questionText is the text of an open or closed question.
func (c Card) questionText(action planner.ActionID) string {
	lang := c.View.Opening().Language
	switch action.Subject {
	case planner.SubjectPlan:
		if d := c.View.Decided(action); d != nil && d.Reply != nil { // the person has changed it
			return c.Texts.Text(lang, "question.plan", nil) + "\n\n" + planLines(c.View, d.Seq)
		}
		return c.Texts.Text(lang, "question.plan", nil) + "\n\n" + planLines(c.View, action.Seq) + planCost(c.View, c.Texts, action.Seq)
	case planner.SubjectBudget:
		return c.overdraftText(overdraftOf(c.View, action.Seq))
	case planner.SubjectQuestion:
		return c.modelQuestion(action)
	case planner.SubjectGoal:
		return c.goalText()
	}
	return ""
}

// modelQuestion is the question of a sub-task's model. After the task has read texts
// of outsiders, the question may come from them, so it is shown as a quotation.
func (c Card) modelQuestion(action planner.ActionID) string {
	e := c.View.Event(action.Seq)
	text := planner.QuestionOf(e, action).Text
	i := slices.IndexFunc(c.View.State.Subtasks, func(w planner.Work) bool { return w.ID == e.Action.Subtask })
	if i < 0 || !fromOutside(c.View, e.Seq) {
		return text
	}
	about := map[string]any{"Text": strings.TrimRight(PlainText(Line(planner.Description(c.View.State.Subtasks[i], c.View.Event))), ".")}
	return c.Texts.Text(c.View.Opening().Language, "question.by_model", about) + "\n\n" + quoted(text)
}

// fromOutside reports whether texts of outsiders may have influenced the event of
// that seq.
func fromOutside(v *tasks.View, seq int) bool { return v.State.Tainted > 0 && v.State.Tainted <= seq }

// editablePlan is the plan of a question, for people who can change it as a list.
func (c Card) editablePlan(about planner.ActionID) *bot.Plan {
	plan := bot.Plan{Items: []bot.PlanItem{}, Data: pressData(c.View.ID, about, ChoiceRun)}
	for _, s := range c.View.Event(about.Seq).Reply.Plan {
		plan.Items = append(plan.Items, bot.PlanItem{ID: s.ID, Name: s.Name, Description: s.Description, After: append([]string{}, s.After...)})
	}
	return &plan
}

// maxPlanLine is the maximum length, in bytes, of a sub-task's description in the
// question about a plan. With it, a whole plan takes only a few messages, even if
// a description contains a long text.
const maxPlanLine = 1000

// planLines lists the sub-tasks of a plan.
func planLines(v *tasks.View, seq int) string {
	var b strings.Builder
	plan := v.Event(seq).Reply.Plan
	number := map[string]int{}
	for i, s := range plan {
		number[s.ID] = i + 1
		fmt.Fprintf(&b, "%d. **%s**: %s", i+1, s.Name, clip.Marked(strings.Join(strings.Fields(s.Description), " "), maxPlanLine))
		var after []string
		for _, id := range s.After {
			if n := number[id]; n > 0 {
				after = append(after, fmt.Sprint(n))
			}
		}
		if len(after) > 0 {
			fmt.Fprintf(&b, " (← %s)", strings.Join(after, ", "))
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}
