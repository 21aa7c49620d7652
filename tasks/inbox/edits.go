package inbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/input"
)

// editHandler handles the new text of an edited message. When a running task has
// read the old text, the new text is guidance for it. Otherwise the text goes to
// the handlers of plain texts.
func editHandler(ctx context.Context, in *Inbox, r *Request) (Outcome, error) {
	m := r.Message
	if m.Kind != bot.MessageEdit {
		return Outcome{}, nil
	}
	text := m.Text
	if name, rest, ok := input.SplitCommand(m.Text); ok && (name == "task" || name == "plan") {
		text = rest
	} else if ok {
		return Outcome{Taken: m.Overheard}, nil
	}
	if text == "" || len(text) > MaxGoal {
		return Outcome{Taken: true}, nil // the earlier question stays as it was
	}
	for _, t := range slices.Backward(r.Live) {
		heard, err := receivedEvents(ctx, in, t, m.ID)
		if err != nil {
			return Outcome{}, err
		}
		if len(heard) == 0 || t.From.Key() != m.From.Key() && !r.Admin {
			continue
		}
		return took(correctGuidance(ctx, in, r, t, heard, input.WithUnread(in.Texts, r.Lang, r.Message, text)))
	}
	text = input.WithUnread(in.Texts, r.Lang, r.Message, text)
	var before *planner.Opening
	err := EachEarlierTurn(ctx, in, r, func(_ tasks.Turn, o *planner.Opening) bool {
		if o.Message == m.ID || isPart(o, m.ID) {
			before = o
		}
		return before == nil
	})
	switch {
	case err != nil || before == nil:
		// A message that was no question before becomes a question only when it is
		// addressed to the bot.
		return Outcome{Taken: m.Overheard}, err
	case !isPart(before, m.ID):
		r.Message.Earlier = withEarlier(before.Earlier, m.Earlier)
		return Outcome{Taken: before.Goal == text}, nil
	}
	parts := correctedParts(before, map[string]string{m.ID: text})
	whole := planner.QuestionText(parts)
	if whole == before.Goal {
		return Outcome{Taken: true}, nil
	}
	own := *r
	own.Message.Media, own.Message.Earlier, own.Message.Files = "", before.Earlier, before.Files
	reply, err := OpenQuestion(ctx, in, &own, whole)
	for _, item := range reply.Store {
		if item.Open != nil {
			item.Open.Opening.Parts = parts
		}
	}
	return took(reply, err)
}

// withEarlier is what a message brought along before it was edited, and what only the
// edited message brings along. A platform may not bring the same again.
func withEarlier(before, now []bot.Quoted) []bot.Quoted {
	all := slices.Clip(before)
	for _, q := range now {
		if !slices.ContainsFunc(before, func(b bot.Quoted) bool { return b.From == q.From && b.Text == q.Text }) {
			all = append(all, q)
		}
	}
	return all
}

// isPart reports whether a question has several messages, and the one of that id is
// among them.
func isPart(o *planner.Opening, message string) bool {
	return slices.ContainsFunc(o.Parts, func(p planner.Part) bool { return p.Message == message })
}

// correctedParts are the messages of a question of which some have a new text, by their
// ids.
func correctedParts(o *planner.Opening, texts map[string]string) []planner.Part {
	parts := slices.Clone(o.Parts)
	for i := range parts {
		if text, ok := texts[parts[i].Message]; ok {
			parts[i].Text = text
		}
	}
	return parts
}

// partTexts are the new texts of the messages of a task's question that were
// edited, by their ids.
func partTexts(ctx context.Context, in *Inbox, t LiveTask) (map[string]string, error) {
	texts := map[string]string{}
	for _, seq := range t.State.Guidance {
		e, err := in.Store.Event(ctx, t.Task, seq)
		if err != nil {
			return nil, fmt.Errorf("reading task %s: %w", t.Task, err)
		}
		if e.Part != "" {
			texts[e.Message] = e.Part
		}
	}
	return texts, nil
}

// receivedEvents lists the events by which a task received a message: the opening, a
// part of the question, guidance that was not taken back, or the answer to a question.
func receivedEvents(ctx context.Context, in *Inbox, t LiveTask, message string) ([]planner.Event, error) {
	if message == "" {
		return nil, nil
	}
	var list []planner.Event
	for _, seq := range slices.Concat([]int{1}, t.State.Parts, t.State.Guidance) {
		e, err := in.Store.Event(ctx, t.Task, seq)
		if err != nil {
			return nil, fmt.Errorf("reading task %s: %w", t.Task, err)
		}
		if e.Message == message || e.Opening != nil && (e.Opening.Message == message || isPart(e.Opening, message)) {
			list = append(list, e)
		}
	}
	if len(list) > 0 {
		return list, nil
	}
	all, err := in.Store.Load(ctx, t.Task, 0)
	if err != nil {
		return nil, fmt.Errorf("reading task %s: %w", t.Task, err)
	}
	return slices.DeleteFunc(all, func(e planner.Event) bool { return e.Type != planner.Decided || e.Message != message }), nil
}

// correctGuidance sends the new text of an edited message to the running task that has
// read the old one. If the task has ended by the time the text is stored, the text
// opens a task of its own.
func correctGuidance(ctx context.Context, in *Inbox, r *Request, t LiveTask, heard []planner.Event, text string) (Reply, error) {
	m := r.Message
	last := heard[len(heard)-1]
	before := cmp.Or(last.Part, last.Text)
	switch last.Type {
	case planner.Opened:
		before = last.Opening.Goal
	case planner.Decided:
		before = last.Decision.Text
	}
	asked, err := openingOf(ctx, in, t.Task)
	if err != nil {
		return Reply{}, err
	}
	part, parts := "", []planner.Part(nil)
	if asked != nil && isPart(asked, m.ID) {
		if before == text {
			return Reply{}, nil
		}
		corrected, err := partTexts(ctx, in, t)
		if err != nil {
			return Reply{}, err
		}
		part, corrected[m.ID] = text, text
		parts = correctedParts(asked, corrected)
		text = planner.QuestionText(parts)
	}
	now := in.Texts.Text(r.Lang, "prompt.corrected", map[string]any{"Text": text})
	if before == text || before == now {
		return Reply{}, nil
	}
	o, err := in.opening(ctx, r, text)
	if err != nil {
		return Reply{}, err
	}
	if asked != nil {
		o.Earlier, o.Files, o.Parts = withEarlier(asked.Earlier, m.Earlier), asked.Files, parts
	}
	item := in.OpeningDelivery(m.Key, m.Chat, o)
	item.To = t.Task
	item.Event = planner.Event{Type: planner.GuidanceAdded, At: in.Now(), By: m.From.Key(), Text: now, Message: m.ID, Of: last.Seq, Part: part}
	reply := Reply{Store: []tasks.Inbound{item}}
	if last.Type == planner.GuidanceAdded {
		reply.Add(r, t.Task, planner.Event{Type: planner.GuidanceRemoved, At: in.Now(), By: m.From.Key(), Of: last.Seq})
	}
	if t.State.Round > 0 {
		reply.Say = func(_ context.Context, receipts []tasks.Receipt) Notice {
			return addedNotice(in, r, item.To, receipts[0])
		}
	}
	return reply, nil
}

// deletedMessage stops the task that a deleted message opened, and removes
// guidance of that message that the task has not used yet.
func deletedMessage(ctx context.Context, in *Inbox, r *Request) (Reply, error) {
	m := r.Message
	var reply Reply
	for _, t := range r.Live {
		heard, err := receivedEvents(ctx, in, t, m.ID)
		if err != nil {
			return Reply{}, err
		}
		for _, e := range heard {
			switch {
			case t.State.Settled() || m.From.ID != "" && e.By != m.From.Key():
			case e.Type == planner.Opened && e.Opening.Message == m.ID:
				reply.Add(r, t.Task, planner.Event{Type: planner.Stopped, At: in.Now(), By: m.From.Key()})
			case e.Type == planner.GuidanceAdded, e.Type == planner.Joined:
				reply.Add(r, t.Task, planner.Event{Type: planner.GuidanceRemoved, At: in.Now(), By: m.From.Key(), Of: e.Seq})
			}
		}
	}
	return reply, nil
}
