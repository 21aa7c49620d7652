package tasks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/planner"
)

// What the buttons on a task's messages begin with; the task's id follows after
// a colon, and what the button needs beyond it.
const (
	pressStop    = "s"
	pressDetails = "d"
	pressRetry   = "r"
)

// Ask puts a question of the task to its chat. The answer comes by the inbox.
// Where the chat is gone nobody will answer: the task is stopped.
func (p *Presenter) Ask(ctx context.Context, v *View, a planner.Action) error {
	d := p.question(v, a)
	if !p.lasting() {
		_, err := p.post(ctx, a.ID, &d, postTries)
		return err
	}
	slot := v.State.Slot(a.ID)
	if slot.Message != "" {
		return nil
	}
	if slot.Name == "" {
		if err := p.began(ctx, a.ID); err != nil {
			return err
		}
	}
	id, err := p.post(ctx, a.ID, &d, postTries)
	if errors.Is(err, bot.ErrGone) {
		p.x.Log.WarnContext(ctx, "nobody can be asked, the task ends", "task", p.id, "cause", err)
		return p.append(ctx, planner.Event{Type: planner.Stopped})
	}
	if err != nil {
		return err
	}
	return p.shown(ctx, a.ID, id, "", false)
}

// question is the draft that asks.
func (p *Presenter) question(v *View, a planner.Action) bot.Draft {
	opening, texts := v.Opening(), p.x.Texts
	d := bot.Draft{
		Kind: bot.KindQuestion, Task: string(p.id), Text: p.asks(v, a.ID), ReplyTo: opening.Message, Mark: p.mark(a.ID),
	}
	var choices []string
	switch {
	case a.Place.Subtask == planner.AtPlan:
		for _, key := range []string{"button.run", "button.edit", "button.cancel"} {
			choices = append(choices, texts.Text(opening.Language, key, nil))
		}
	case a.Place.Subtask < 0:
		for _, key := range []string{"question.yes", "question.no"} {
			choices = append(choices, texts.Text(opening.Language, key, nil))
		}
	default:
		choices = planner.QuestionOf(v.Event(a.Asked), a.Place).Choices
	}
	for i, choice := range choices {
		d.Buttons = append(d.Buttons, bot.Button{Label: choice, Data: pressData(p.id, spot(v.State, a), i)})
	}
	return d
}

// asks is the text of an ask action, open or over.
func (p *Presenter) asks(v *View, action string) string {
	lang := v.Opening().Language
	var subtask string
	var seq, turn, call int
	if _, err := fmt.Sscanf(action, "ask plan %d", &seq); err == nil {
		return p.x.Texts.Text(lang, "question.plan", nil) + "\n\n" + planLines(v, seq)
	}
	if _, err := fmt.Sscanf(action, "ask %s turn %d call %d.", &subtask, &turn, &call); err != nil {
		return p.x.Texts.Text(lang, "question.budget", nil)
	}
	asked := "tool " + strings.TrimPrefix(action, "ask ")
	for _, e := range slices.Backward(v.events) {
		if e.Type == planner.Asked && e.Action == asked {
			return e.Question.Text
		}
	}
	for _, w := range v.State.Subtasks {
		if w.ID == subtask && turn <= len(w.Turns) {
			at := planner.Place{Turn: turn - 1, Call: call - 1}
			return planner.QuestionOf(v.Event(w.Turns[turn-1].Seq), at).Text
		}
	}
	return ""
}

// planLine is how much of a sub-task's description a person reads before Run, in
// bytes: a whole plan takes a few messages then, also where a long text is to be
// worked on.
const planLine = 1000

// planLines lists a plan as a person reads it.
func planLines(v *View, seq int) string {
	var b strings.Builder
	plan := v.Event(seq).Reply.Plan
	number := map[string]int{}
	for i, s := range plan {
		number[s.ID] = i + 1
		fmt.Fprintf(&b, "%d. **%s**: %s", i+1, s.Name, clipped(strings.Join(strings.Fields(s.Description), " "), planLine))
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

// closeTries is how often the message of a question that is over is tried to be
// closed.
const closeTries = 5

// closeQuestions takes the buttons off questions that are over and says how
// they were decided. What fails is tried again with the next frames, and left in
// the end: a late press is refused anyway.
func (p *Presenter) closeQuestions(ctx context.Context, v *View) {
	if !p.lasting() || !p.platform.Limits().Edits {
		return
	}
	open := map[string]bool{}
	for _, a := range planner.Todo(v.State) {
		open[a.ID] = true
	}
	for _, slot := range v.State.Slots {
		if !strings.HasPrefix(slot.Name, "ask ") || slot.Message == "" || open[slot.Name] || p.closed[slot.Name] >= closeTries {
			continue
		}
		d := bot.Draft{Kind: bot.KindNotice, Task: string(p.id), Text: p.decision(v, slot.Name), ReplyTo: v.Opening().Message}
		err := p.platform.Edit(ctx, p.chat, slot.Message, d)
		if ctx.Err() != nil {
			return
		}
		var moved *bot.MovedError
		if p.closed[slot.Name]++; err == nil || errors.As(err, &moved) || errors.Is(err, bot.ErrGone) {
			p.closed[slot.Name] = closeTries
			continue
		}
		p.x.Log.WarnContext(ctx, "a question's message could not be closed", "task", p.id, "cause", err)
	}
}

// closedText is how much is left of a question when it is over, in bytes: little
// enough for one message.
const closedText = 2000

// decision is what a question's message says when it is over: what it asked and
// how it ended.
func (p *Presenter) decision(v *View, action string) string {
	lang := v.Opening().Language
	decision := v.decided(action)
	text := p.x.Texts.Text(lang, "question.over", nil)
	switch {
	case decision == nil:
	case decision.Text != "":
		text = p.x.Texts.Text(lang, "question.answered", map[string]any{"Text": decision.Text})
	case decision.Approve:
		text = p.x.Texts.Text(lang, "question.agreed", nil)
	default:
		text = p.x.Texts.Text(lang, "question.denied", nil)
	}
	return strings.TrimPrefix(clipped(p.asks(v, action), closedText)+"\n\n"+text, "\n\n")
}

// decided finds what a person decided about an ask action; nil for nothing.
func (v *View) decided(action string) *planner.Decision {
	for _, e := range slices.Backward(v.events) {
		if e.Type == planner.Decided && e.Action == action {
			return e.Decision
		}
	}
	return nil
}
