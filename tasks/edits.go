package tasks

import (
	"context"
	"fmt"
	"slices"

	"legwork/planner"
)

// edited takes the new text of a message that was sent before: for a running
// task that heard the old one, it is guidance. It reports false when the text is
// to be taken like any other.
func (in *Inbox) edited(ctx context.Context, r *routed) (bool, error) {
	m := r.message
	text := m.Text
	if name, rest, ok := splitCommand(m.Text); ok && (name == "task" || name == "plan") {
		text = rest
	} else if ok {
		return m.Overheard, nil
	}
	if text == "" || len(text) > MaxGoal {
		return true, nil // what was asked before stands
	}
	for _, t := range slices.Backward(r.live) {
		heard, err := in.heardBy(ctx, t, m.ID)
		if err != nil {
			return true, err
		}
		if len(heard) == 0 || t.From.Key() != m.From.Key() && !r.admin {
			continue
		}
		return true, in.corrected(ctx, r, t, heard, text)
	}
	asked := ""
	err := in.eachPast(ctx, r, func(_ Turn, o *planner.Opening) bool {
		if o.Message == m.ID {
			asked = o.Goal
		}
		return asked == ""
	})
	// A message that was never asked is nobody's question unless it is meant so.
	r.message.Standalone = true
	same := asked == text || asked == "" && m.Overheard
	return same, err
}

// heardBy lists the events by which a task heard the message of that id: its
// opening, guidance that was not taken back, or the answer to a question.
func (in *Inbox) heardBy(ctx context.Context, t liveTask, message string) ([]planner.Event, error) {
	if message == "" {
		return nil, nil
	}
	var list []planner.Event
	for _, seq := range slices.Concat([]int{1}, t.state.Heard) {
		e, err := in.Store.Event(ctx, t.Task, seq)
		if err != nil {
			return nil, fmt.Errorf("reading task %s: %w", t.Task, err)
		}
		if e.Message == message || e.Opening != nil && e.Opening.Message == message {
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

// corrected tells a running task that a message it has heard reads otherwise
// now; when it takes nothing any more, that is a question of its own.
func (in *Inbox) corrected(ctx context.Context, r *routed, t liveTask, heard []planner.Event, text string) error {
	m := r.message
	now := in.Texts.Text(r.lang, "prompt.corrected", map[string]any{"Text": text})
	last := heard[len(heard)-1]
	before := last.Text
	switch last.Type {
	case planner.Opened:
		before = last.Opening.Goal
	case planner.Decided:
		before = last.Decision.Text
	}
	if before == text || before == now {
		return nil
	}
	o, err := in.opening(ctx, r, text)
	if err != nil {
		return err
	}
	item := in.opens(m.Key, m.Chat, o)
	item.To = t.Task
	item.Event = planner.Event{Type: planner.Said, At: in.Now(), By: m.From.Key(), Text: now, Message: m.ID}
	r.store = []Inbound{item}
	if last.Type == planner.Said {
		r.add(t.Task, planner.Event{Type: planner.Unsaid, At: in.Now(), By: m.From.Key(), Of: last.Seq})
	}
	if t.state.Round > 0 {
		r.reply = func(_ context.Context, receipts []Receipt) said { return in.added(*r, item.To, receipts[0]) }
	}
	return nil
}

// deleted ends the task that a message opened which is gone, and takes back
// guidance that nothing has heeded.
func (in *Inbox) deleted(ctx context.Context, r *routed) error {
	m := r.message
	for _, t := range r.live {
		heard, err := in.heardBy(ctx, t, m.ID)
		if err != nil {
			return err
		}
		for _, e := range heard {
			switch {
			case t.state.Settled() || m.From.ID != "" && e.By != m.From.Key():
			case e.Type == planner.Opened:
				r.add(t.Task, planner.Event{Type: planner.Stopped, At: in.Now(), By: m.From.Key()})
			case e.Type == planner.Said:
				r.add(t.Task, planner.Event{Type: planner.Unsaid, At: in.Now(), By: m.From.Key(), Of: e.Seq})
			}
		}
	}
	return nil
}
