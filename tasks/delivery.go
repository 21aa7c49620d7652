package tasks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"legwork/bot"
	"legwork/failpoint"
	"legwork/planner"
)

// Show brings the outcome to the chat, part by part. A part whose id is stored
// is not sent again; one that was about to be sent before a crash is looked
// for where the platform can, and sent otherwise: twice at worst, never lost.
func (p *Presenter) Show(ctx context.Context, v *View) error {
	if err := p.take(ctx); err != nil {
		return err
	}
	defer p.release()
	if !p.frozen {
		if err := p.drawLast(ctx, v); err != nil {
			p.x.Log.WarnContext(ctx, "the last frame could not be shown", "task", p.id, "cause", err)
		}
		p.frozen = true
	}
	d := outcome(v, p.x.Texts)
	parts := []bot.Draft{d}
	if s, ok := p.platform.(bot.Splitter); ok {
		parts = s.Split(d)
	}
	for i, part := range parts {
		name, last := fmt.Sprintf("answer.%d", i+1), i == len(parts)-1
		slot := v.State.Slot(name)
		if slot.Message != "" && !last {
			continue
		}
		part.Mark = string(p.id) + "." + name
		shown := planner.Event{Type: planner.Shown, Slot: name, Message: "early", Last: last}
		if failpoint.Fault("shown-too-early") {
			if err := p.append(ctx, shown); err != nil {
				return err
			}
		}
		id, err := p.send(ctx, v, slot, name, part)
		if err != nil {
			return p.unshown(ctx, v, err)
		}
		if failpoint.Fault("shown-not-stored") {
			continue
		}
		shown.Message = id
		if err := p.append(ctx, shown); err != nil {
			return err
		}
	}
	return nil
}

// drawLast draws the board as it stays. A plain answer takes its place instead,
// and one that was never posted is not missed.
func (p *Presenter) drawLast(ctx context.Context, v *View) error {
	if v.State.Round == 0 || !p.platform.Limits().Passing && p.boardMessage(ctx, v) == "" {
		return nil
	}
	return p.drawBoard(ctx, v)
}

// boardMessage is the id of the board's message, also when it became known after
// v was taken or never; empty when there is none.
func (p *Presenter) boardMessage(ctx context.Context, v *View) string {
	if p.message == "" {
		p.message = v.State.Slot(planner.SlotBoard).Message
	}
	if p.message == "" {
		p.message = p.find(ctx, planner.SlotBoard, p.boardMark())
	}
	return p.message
}

func (p *Presenter) boardMark() string { return string(p.id) + ".board" }

// send posts one part of the outcome. A plain answer takes the place of its
// board where messages can be changed.
func (p *Presenter) send(ctx context.Context, v *View, slot planner.Slot, name string, d bot.Draft) (string, error) {
	limits := p.platform.Limits()
	place := slot.Message
	if place == "" && name == planner.SlotAnswer && v.State.Round == 0 && limits.Edits && !limits.Passing {
		place = p.boardMessage(ctx, v)
	}
	if slot.Name == "" {
		if err := p.append(ctx, planner.Event{Type: planner.Began, Slot: name}); err != nil {
			return "", err
		}
	}
	if place != "" {
		err := p.edit(ctx, place, d)
		if err == nil || ctx.Err() != nil {
			return place, err
		}
		p.x.Log.WarnContext(ctx, "a message cannot be changed, a new one is sent", "task", p.id, "cause", err)
	}
	return p.post(ctx, name, d)
}

// How often and how long a refused outcome is sent again, and for how long the
// rounds of tries of a chat that lasts are repeated.
const (
	postTries = 8
	postPause = 250 * time.Millisecond
	patience  = 24 * time.Hour
)

// errUnsendable wraps what a platform said when it took no message in any try.
var errUnsendable = errors.New("the chat takes no message")

// edit changes a message; a repeated change is harmless.
func (p *Presenter) edit(ctx context.Context, id string, d bot.Draft) error {
	pause := postPause
	for try := 1; ; try++ {
		err := p.platform.Edit(ctx, p.chat, id, d)
		if err == nil || ctx.Err() != nil || try == postTries || errors.Is(err, bot.ErrGone) {
			return err
		}
		if err := wait(ctx, pause); err != nil {
			return err
		}
		pause *= 2
	}
}

// post sends the message of a slot. What an earlier try may have sent is looked
// for before the next one.
func (p *Presenter) post(ctx context.Context, slot string, d bot.Draft) (string, error) {
	pause := postPause
	for try := 1; ; try++ {
		if id := p.find(ctx, slot, d.Mark); id != "" {
			return id, nil
		}
		p.sending(slot)
		id, err := p.platform.Post(ctx, p.chat, d)
		if err == nil {
			return id, nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if try == postTries || errors.Is(err, bot.ErrGone) {
			return "", fmt.Errorf("%w: %w", errUnsendable, err)
		}
		if err := wait(ctx, pause); err != nil {
			return "", err
		}
		pause *= 2
	}
}

// sending notes that the message of a slot may be out from now on.
func (p *Presenter) sending(slot string) {
	p.mu.Lock()
	p.doubt[slot] = true
	p.mu.Unlock()
}

// find looks for a message that may have been sent before, where the platform
// can; empty when there is none.
func (p *Presenter) find(ctx context.Context, slot, mark string) string {
	p.mu.Lock()
	doubt := p.doubt[slot]
	p.mu.Unlock()
	f, ok := p.platform.(bot.Finder)
	if !doubt || !ok {
		return ""
	}
	id, err := f.Find(ctx, p.chat, mark)
	if err != nil && ctx.Err() == nil {
		p.x.Log.WarnContext(ctx, "a sent message could not be looked for", "task", p.id, "cause", err)
	}
	return id
}

// unshown ends a task whose chat cannot be reached; its answer stays in the
// history. A chat that lasts may come back: the show is tried again for long.
func (p *Presenter) unshown(ctx context.Context, v *View, err error) error {
	if !errors.Is(err, errUnsendable) {
		return err
	}
	since := p.x.Now().Sub(v.State.Last)
	if !errors.Is(err, bot.ErrGone) && !p.platform.Limits().Passing && since < patience {
		return err
	}
	p.x.Log.ErrorContext(ctx, "the outcome could not be shown", "task", p.id, "cause", err)
	return p.append(ctx, planner.Event{Type: planner.Broke, Action: planner.ShowID, Problem: &planner.Problem{Code: "unsendable", Reason: err.Error()}})
}

// wait sleeps, at most until ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
