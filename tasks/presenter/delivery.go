package presenter

import (
	"context"
	"errors"
	"fmt"

	"legwork/bot"
	"legwork/internal/failpoint"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// Show brings the outcome to the chat, part by part. A part whose id is stored
// is not sent again but changed to what it has to be; one that was about to be
// sent before a crash is looked for where the platform can, and sent otherwise:
// twice at worst, never lost.
func (p *Presenter) Show(ctx context.Context, v *tasks.View) error {
	if p.isHeadless() {
		return p.showHeadless(ctx, v)
	}
	if err := p.beginDrawing(ctx); err != nil {
		return err
	}
	defer p.endDrawing()
	if !p.finishing {
		p.closeQuestions(ctx, v, finalTries)
		p.finishing = true
		close(p.framesEnd)
	}
	p.finishBoard(ctx, v)
	parts := p.parts(v)
	for i := range parts {
		if err := p.showPart(ctx, v, fmt.Sprintf("answer.%d", i+1), parts[i], i == len(parts)-1); err != nil {
			return err
		}
	}
	return nil
}

// parts are the drafts of the messages that the outcome takes.
func (p *Presenter) parts(v *tasks.View) []bot.Draft {
	d := p.card(v).Outcome()
	if s, ok := p.platform.(bot.Splitter); ok {
		return s.Split(d)
	}
	return []bot.Draft{d}
}

// showPart brings one part to the chat and stores that.
func (p *Presenter) showPart(ctx context.Context, v *tasks.View, name string, part bot.Draft, last bool) error {
	slot := v.State.Slot(name)
	if name == planner.SlotAnswer && slot.Message == "" {
		slot.Message = p.answerMessage
	}
	if slot.Message != "" && !last && !p.platform.Limits().Edits {
		return nil
	}
	part.Mark = cards.MarkOf(p.id, name)
	id, err := p.send(ctx, v, slot, name, part)
	if err != nil {
		return p.sendFailed(ctx, v, err)
	}
	if id == slot.Message && !last {
		return nil
	}
	posted := id != slot.Message && id != p.boardMessage
	if last && posted && !p.boardFinal && p.platform.Limits().Edits {
		// The board may have to wait for its turn, and a kill meanwhile would have
		// the answer sent again.
		if err := p.recordSent(ctx, name, id, slot.Message, false); err != nil {
			return err
		}
		failpoint.Hit("keep.after.answer")
		slot.Message, posted = id, false
	}
	if last {
		p.finishBoard(ctx, v) // the chat is up, and after this nothing of the task is shown again
	}
	if err := p.recordSent(ctx, name, id, slot.Message, last); err != nil {
		return err
	}
	if posted {
		failpoint.Hit("keep.after.answer")
	}
	return nil
}

// finishBoard brings the board to what stays of it, unless it is so already.
func (p *Presenter) finishBoard(ctx context.Context, v *tasks.View) {
	if p.boardFinal {
		return
	}
	err := p.drawLast(ctx, v)
	if p.boardFinal = err == nil || errors.Is(err, bot.ErrGone); err != nil {
		p.ps.Log.WarnContext(ctx, "showing last frame failed", "task", p.id, "cause", err)
	}
}

// drawLast draws the board as it stays: in one line where messages last, since
// the answer is a message of its own. A plain answer takes its place instead,
// and one that was never posted is not missed.
func (p *Presenter) drawLast(ctx context.Context, v *tasks.View) error {
	switch {
	case v.State.Round == 0:
		return nil
	case !p.lasting():
		return p.drawBoard(ctx, v)
	case p.findBoard(ctx, v) == "":
		return nil
	}
	board := cards.Folded(v, p.ps.Texts)
	d := bot.Draft{
		Kind: bot.KindBoard, Task: string(p.id), Text: board.Status, Board: &board, Mark: cards.MarkOf(p.id, planner.SlotBoard), ReplyTo: v.Opening().Message,
	}
	err := p.edit(ctx, p.chat, p.boardMessage, d, finalTries)
	return p.moved(ctx, planner.SlotBoard, &p.boardMessage, err)
}

// findBoard is the id of the board's message, also when it became known after
// v was taken or never; empty when there is none.
func (p *Presenter) findBoard(ctx context.Context, v *tasks.View) string {
	if p.boardID(v) == "" {
		p.boardMessage = p.find(ctx, p.chat, planner.SlotBoard, cards.MarkOf(p.id, planner.SlotBoard))
	}
	return p.boardMessage
}

// send posts one part of the outcome, or changes the message that is there for
// it. A plain answer takes the place of its board where messages can be changed.
func (p *Presenter) send(ctx context.Context, v *tasks.View, slot planner.Slot, name string, d bot.Draft) (string, error) {
	limits := p.platform.Limits()
	place, changed := slot.Message, p.boardFinal
	if place == "" && name == planner.SlotAnswer && v.State.Round == 0 && limits.Edits && !limits.Ephemeral {
		place = p.findBoard(ctx, v)
	}
	if slot.Name == "" {
		if err := p.recordSendStarted(ctx, name); err != nil {
			return "", err
		}
	}
	if place != "" {
		id, err := p.replace(ctx, place, d)
		if id != "" {
			return id, err
		}
		changed = errors.Is(err, bot.ErrGone)
	}
	tries := postTries
	if !changed && p.lasting() {
		tries = 1 // the chat may be down: what could not be changed comes first when it is back
	}
	return p.post(ctx, p.chat, name, d, tries)
}

// sendFailed ends a task whose chat cannot be reached; its answer stays in the
// history. A chat that lasts may come back: the show is tried again for long.
func (s *sender) sendFailed(ctx context.Context, v *tasks.View, err error) error {
	if !errors.Is(err, errUnsendable) {
		return err
	}
	since := s.ps.Now().Sub(v.State.Last)
	if !errors.Is(err, bot.ErrGone) && !s.platform.Limits().Ephemeral && since < showRetryTime {
		return err
	}
	s.ps.Log.ErrorContext(ctx, "the outcome could not be shown", "task", s.id, "cause", err)
	return s.append(ctx, planner.Event{Type: planner.CallFailed, Action: planner.ShowID(), Problem: &planner.Problem{Code: "unsendable", Reason: err.Error()}})
}
