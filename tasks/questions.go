package tasks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/failpoint"
	"legwork/i18n"
	"legwork/planner"
)

// What the buttons on a task's messages begin with; the task's id follows after
// a colon, and what the button needs beyond it.
const (
	pressStop    = "s"
	pressDetails = "d"
	pressRetry   = "r"
)

// Ask puts a question of the task to its chat, or where it is to be asked in
// private to the person's own. The answer comes by the inbox. Where the chat is
// gone nobody will answer: the task is stopped.
func (p *Presenter) Ask(ctx context.Context, v *View, a planner.Action) error {
	if !p.lasting() {
		d := p.question(ctx, v, a, p.chat)
		id, err := p.post(ctx, &p.chat, a.ID, &d, postTries)
		if err == nil && subjectOf(a.ID).decides() {
			p.mu.Lock()
			p.passing[a.ID] = id
			p.mu.Unlock()
		}
		return err
	}
	err := p.askPrivately(ctx, v, a)
	if errors.Is(err, errNotPrivate) {
		err = p.put(ctx, v, a, &p.chat, a.ID)
	}
	if errors.Is(err, bot.ErrGone) {
		p.x.Log.WarnContext(ctx, "nobody can be asked, the task ends", "task", p.id, "cause", err)
		return p.append(ctx, planner.Event{Type: planner.Stopped})
	}
	return err
}

// put asks in a chat, in as many messages as that takes; the last one has the
// buttons and the slot. What was sent before is not sent again.
func (p *Presenter) put(ctx context.Context, v *View, a planner.Action, to *bot.Chat, slot string) error {
	if v.State.Slot(slot).Message != "" {
		return nil
	}
	d := p.question(ctx, v, a, *to)
	err := p.putParts(ctx, v, to, slot, d)
	if d.File != nil && errors.Is(err, bot.ErrNoFiles) {
		err = p.putParts(ctx, v, to, slot, p.plainQuestion(ctx, v, a))
	}
	return err
}

func (p *Presenter) putParts(ctx context.Context, v *View, to *bot.Chat, slot string, d bot.Draft) error {
	if to.Key() != p.chat.Key() {
		d.ReplyTo = "" // that message is in another chat
	}
	parts := []bot.Draft{d}
	if s, ok := p.platform.(bot.Splitter); ok {
		parts = s.Split(d)
	}
	for i := range parts {
		name := slot
		if i < len(parts)-1 {
			name = fmt.Sprintf("part %d of %s", i+1, slot)
		}
		if err := p.putPart(ctx, v, to, name, &parts[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *Presenter) putPart(ctx context.Context, v *View, to *bot.Chat, name string, part *bot.Draft) error {
	slot := v.State.Slot(name)
	if slot.Message != "" {
		return nil
	}
	if slot.Name == "" {
		if err := p.began(ctx, name); err != nil && !superseded(err) { // begun by a try before this one
			return err
		}
	}
	part.Mark = p.mark(name)
	id, err := p.post(ctx, to, name, part, postTries)
	if err != nil {
		return err
	}
	if err := p.shown(ctx, name, id, "", false); err != nil {
		return err
	}
	failpoint.Hit("keep.after.question")
	return nil
}

// question is the draft that asks in a chat.
func (p *Presenter) question(ctx context.Context, v *View, a planner.Action, to bot.Chat) bot.Draft {
	if about := subjectOf(a.ID); about.kind == aboutApproval {
		f, ok := p.platform.(bot.Filer)
		return p.approval(ctx, v, about.seq, ok && f.Files(to))
	}
	return p.plainQuestion(ctx, v, a)
}

// plainQuestion is the draft that asks without a file.
func (p *Presenter) plainQuestion(ctx context.Context, v *View, a planner.Action) bot.Draft {
	about := subjectOf(a.ID)
	switch about.kind {
	case aboutApproval:
		return p.approval(ctx, v, about.seq, false)
	case aboutForm:
		return p.form(v, about)
	}
	opening := v.Opening()
	d := bot.Draft{Kind: bot.KindQuestion, Task: string(p.id), Text: p.asks(v, a.ID), ReplyTo: opening.Message, Mark: p.mark(a.ID)}
	for i, choice := range p.choices(v, a) {
		d.Buttons = append(d.Buttons, bot.Button{Label: choice, Data: pressData(p.id, spot(v.State, a), i)})
	}
	return d
}

// choices are what the buttons of a question of legwork or of a model say.
func (p *Presenter) choices(v *View, a planner.Action) []string {
	keys := []string{"question.yes", "question.no"}
	switch {
	case a.Place.Subtask >= 0:
		return planner.QuestionOf(v.Event(a.Asked), a.Place).Choices
	case a.Place.Subtask == planner.AtPlan:
		keys = []string{"button.run", "button.edit", "button.cancel"}
	}
	for i, key := range keys {
		keys[i] = p.x.Texts.Text(v.Opening().Language, key, nil)
	}
	return keys
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
	if !p.platform.Limits().Edits {
		return
	}
	open := map[string]bool{}
	for _, a := range planner.Todo(v.State) {
		open[a.ID] = true
	}
	if !p.lasting() {
		p.settlePassing(ctx, v, open)
		return
	}
	for _, slot := range v.State.Slots {
		action, private := strings.CutPrefix(slot.Name, privately)
		if !strings.HasPrefix(action, "ask ") || slot.Message == "" || open[action] || p.closed[slot.Name] >= closeTries || failpoint.Fault("card-left") {
			continue
		}
		d := bot.Draft{Kind: bot.KindNotice, Task: string(p.id), Text: p.decision(v, action)}
		err := p.closeQuestion(ctx, v, private, slot.Message, d)
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

// settlePassing says of questions that are over how they ended, where they do
// not last.
func (p *Presenter) settlePassing(ctx context.Context, v *View, open map[string]bool) {
	p.mu.Lock()
	over := map[string]string{}
	for action, id := range p.passing {
		if !open[action] {
			over[action] = id
			delete(p.passing, action)
		}
	}
	p.mu.Unlock()
	for _, action := range slices.Sorted(maps.Keys(over)) {
		d := bot.Draft{Kind: bot.KindNotice, Task: string(p.id), Text: outcomeOf(v, p.x.Texts, v.Opening().Language, action)}
		if err := p.platform.Edit(ctx, p.chat, over[action], d); err != nil && ctx.Err() == nil {
			p.x.Log.WarnContext(ctx, "a question's message could not be closed", "task", p.id, "cause", err)
		}
	}
}

func (p *Presenter) closeQuestion(ctx context.Context, v *View, private bool, message string, d bot.Draft) error {
	to := p.chat
	if private {
		var err error
		if to, err = p.direct(ctx, v); err != nil {
			return err
		}
	} else {
		d.ReplyTo = v.Opening().Message
	}
	return p.platform.Edit(ctx, to, message, d)
}

// closedText is how much is left of a question when it is over, in bytes: little
// enough for one message.
const closedText = 2000

// decision is what a question's message says when it is over: what it asked and
// how it ended.
func (p *Presenter) decision(v *View, action string) string {
	over := outcomeOf(v, p.x.Texts, v.Opening().Language, action)
	switch about := subjectOf(action); about.kind {
	case aboutApproval:
		return p.decidedCalls(v, about.seq) + "\n\n" + over
	case aboutForm:
		return p.answeredField(v, about) + "\n\n" + over
	}
	return strings.TrimPrefix(clipped(p.asks(v, action), closedText)+"\n\n"+over, "\n\n")
}

// outcomeOf tells how the question of an ask action ended.
func outcomeOf(v *View, texts *i18n.Texts, lang, action string) string {
	about, e := subjectOf(action), v.decided(action)
	switch {
	case e == nil && about.decides() && v.lapsed(about.seq):
		return texts.Text(lang, "question.expired", nil)
	case e == nil:
		return texts.Text(lang, "question.over", nil)
	case about.decides():
		return decidedLine(v, texts, lang, about, e)
	case e.Decision.Text != "":
		return texts.Text(lang, "question.answered", map[string]any{"Text": e.Decision.Text})
	case e.Decision.Approve:
		return texts.Text(lang, "question.agreed", nil)
	}
	return texts.Text(lang, "question.denied", nil)
}
