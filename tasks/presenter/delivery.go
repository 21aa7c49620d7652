package presenter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"legwork/bot"
	"legwork/internal/clip"
	"legwork/internal/failpoint"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// Show shows the outcome in the chat, part by part. If the id of a part is stored,
// Show edits that message. If a part was about to be sent before a crash, Show looks
// for it where the platform can search, and otherwise sends it again. So a part is
// shown twice at worst, and never lost.
func (p *Presenter) Show(ctx context.Context, v *tasks.View) error {
	if p.isHeadless() {
		return p.showHeadless(ctx, v)
	}
	if err := p.beginDrawing(ctx); err != nil {
		return err
	}
	defer p.endDrawing()
	// From here on the answer counts as shown. A part of the question that was stored
	// before has replaced the answer, and the store refuses this event.
	if v.State.Slot(planner.SlotAnswer).Name == "" {
		if err := p.recordSendStarted(ctx, planner.SlotAnswer); err != nil {
			return err
		}
	}
	if !p.finishing {
		p.closeQuestions(ctx, v, finalTries)
		p.finishing = true
		close(p.framesEnd)
	}
	v, err := p.keepShownText(ctx, v)
	if err != nil {
		return err
	}
	if v.State.Round > 0 || p.remover() == nil { // a board that is deleted stays until the answer is there
		_ = p.finishBoard(ctx, v) // the last part tries again
	}
	parts, late, err := outbox{&p.sender, v}.sendAll(ctx, p.parts(v))
	if err != nil {
		return p.sendFailed(ctx, v, err)
	}
	for i := range parts {
		name := fmt.Sprintf("answer.%d", i+1)
		if late != nil && v.State.Slot(name).Message != "" {
			continue // an earlier Show has shown it
		}
		if err := p.showPart(ctx, v, name, parts[i], late == nil && i == len(parts)-1); err != nil {
			return err
		}
	}
	if late != nil { // the next Show sends the files, and ends the task
		_ = p.finishBoard(ctx, v)
	}
	return late
}

// maxKept is the maximum length, in bytes, of an unfinished answer that is kept.
const maxKept = 48 << 10

// keepShownText stores the text that people saw of an answer when they stopped its
// task, and returns the task with that text. A restart before that loses the text.
func (p *Presenter) keepShownText(ctx context.Context, v *tasks.View) (*tasks.View, error) {
	s := v.State
	if p.shownText == "" || s.Outcome != planner.Halted || s.Answer > 0 || s.CutOffSeq > 0 {
		return v, nil
	}
	err := p.append(ctx, planner.Event{Type: planner.CutOff, Text: clip.Bytes(p.shownText, maxKept)})
	if err != nil && !tasks.Superseded(err) {
		return nil, err
	}
	v = v.Snapshot()
	if err := v.Refresh(ctx); err != nil {
		return nil, fmt.Errorf("reading task %s: %w", p.id, err)
	}
	return v, nil
}

// parts returns the drafts of the outcome's messages.
func (p *Presenter) parts(v *tasks.View) []bot.Draft {
	d := p.card(v).Outcome()
	if s, ok := p.platform.(bot.Splitter); ok {
		return s.Split(d)
	}
	return []bot.Draft{d}
}

// showPart shows one part and records its message.
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
		// Record the answer first: the last frame of the board may wait for the rate
		// limit, and after a kill meanwhile the answer would be sent again.
		if err := p.recordSent(ctx, name, id, slot.Message, false); err != nil {
			return err
		}
		failpoint.Hit("keep.after.answer")
		slot.Message, posted = id, false
	}
	if last {
		// The last chance: nothing of the task is shown after this part. Another Show
		// tries again, so that no board says for ever that the task works. Without edits
		// no board changes, and another Show would send the answer again.
		err := p.finishBoard(ctx, v)
		if err != nil && p.platform.Limits().Edits && p.ps.Now().Sub(v.State.Last) < boardRetryTime {
			return err
		}
	}
	if err := p.recordSent(ctx, name, id, slot.Message, last); err != nil {
		return err
	}
	if posted {
		failpoint.Hit("keep.after.answer")
	}
	return nil
}

// boardRetryTime is for how long after a task's end Show is repeated because the last
// frame of its board cannot be shown.
const boardRetryTime = 10 * time.Minute

// finishBoard shows the last frame of the board, unless it is shown already. The error
// means that another try may show it.
func (p *Presenter) finishBoard(ctx context.Context, v *tasks.View) error {
	if p.boardFinal {
		return nil
	}
	err := p.drawLast(ctx, v)
	if err != nil {
		p.ps.Log.WarnContext(ctx, "last frame not shown", "task", p.id, "cause", err)
	}
	if p.boardFinal = err == nil || errors.Is(err, bot.ErrGone); p.boardFinal {
		return nil
	}
	return err
}

// drawLast draws the last frame of the board. Where messages last it is one line,
// since the answer has a message of its own. A task without a plan has no last
// frame: the answer replaces its board, or the board is deleted. A board that cannot
// be deleted is changed instead, and one that cannot be changed is deleted. A board
// that was never sent is not sent now.
func (p *Presenter) drawLast(ctx context.Context, v *tasks.View) error {
	r, planned := p.remover(), v.State.Round > 0
	switch {
	case p.withoutBoard || !planned && r == nil:
		return nil
	case !p.Lasts():
		return p.drawBoard(ctx, v)
	case p.findBoard(ctx, v) == "":
		return nil
	case !planned:
		err := p.removeBoard(ctx, r)
		if err == nil || ctx.Err() != nil {
			return err
		}
		p.ps.Log.WarnContext(ctx, "board not deleted, changing it", "task", p.id, "cause", err)
	}
	board := cards.FinalBoard(v, p.ps.Texts)
	board.Link = p.ps.Page.Task(v.ID)
	d := bot.Draft{
		Kind: bot.KindBoard, Task: string(p.id), Text: board.Status, Board: &board, Mark: cards.MarkOf(p.id, planner.SlotBoard), ReplyTo: v.Opening().Message,
	}
	err := p.edit(ctx, p.chat, p.boardMessage, d, finalTries)
	if err = p.moved(ctx, planner.SlotBoard, &p.boardMessage, err); err != nil && planned && r != nil && ctx.Err() == nil && !errors.Is(err, bot.ErrGone) {
		p.ps.Log.WarnContext(ctx, "board cannot be changed, deleting it", "task", p.id, "cause", err)
		return p.removeBoard(ctx, r)
	}
	return err
}

// removeBoard deletes the board's message.
func (p *Presenter) removeBoard(ctx context.Context, r bot.Remover) error {
	return repeat(ctx, finalTries, func() error { return r.Remove(ctx, p.chat, p.boardMessage) })
}

// findBoard returns the id of the board's message, and looks for the message in the
// chat if the id is not stored; empty when there is none.
func (p *Presenter) findBoard(ctx context.Context, v *tasks.View) string {
	if p.boardID(v) == "" {
		p.boardMessage = p.find(ctx, p.chat, planner.SlotBoard, cards.MarkOf(p.id, planner.SlotBoard))
	}
	return p.boardMessage
}

// send sends one part of the outcome, or edits its message. The answer of a task
// without a plan replaces the board where messages can be edited, but not deleted.
func (p *Presenter) send(ctx context.Context, v *tasks.View, slot planner.Slot, name string, d bot.Draft) (string, error) {
	limits := p.platform.Limits()
	place, changed := slot.Message, p.boardFinal
	if place == "" && name == planner.SlotAnswer && v.State.Round == 0 && limits.Edits && !limits.Ephemeral && p.remover() == nil {
		place = p.findBoard(ctx, v)
	}
	if slot.Name == "" && name != planner.SlotAnswer {
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
	if !changed && p.Lasts() {
		tries = 1 // the chat may be down: when it is back, the next Show edits the message first
	}
	return p.post(ctx, p.chat, name, d, tries)
}

// sendFailed ends a task whose chat cannot be reached; its answer stays in the
// history. A chat whose messages last may come back, so Show is repeated for
// showRetryTime before.
func (p *Presenter) sendFailed(ctx context.Context, v *tasks.View, err error) error {
	if !errors.Is(err, errUnsendable) {
		return err
	}
	since := p.ps.Now().Sub(v.State.Last)
	if !errors.Is(err, bot.ErrGone) && !p.platform.Limits().Ephemeral && since < showRetryTime {
		return err
	}
	if !errors.Is(err, bot.ErrGone) {
		_ = p.finishBoard(ctx, v) // it logs its failure
	}
	p.ps.Log.ErrorContext(ctx, "outcome not shown", "task", p.id, "cause", err)
	return p.append(ctx, planner.Event{Type: planner.CallFailed, Action: planner.ShowID(), Problem: &planner.Problem{Code: "unsendable", Reason: err.Error()}})
}
