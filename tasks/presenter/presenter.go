// Package presenter shows tasks in their chats: frames of the board while they work,
// their questions, and the outcome, as the journal has them.
package presenter

import (
	"context"
	"errors"
	"sync"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tools"
)

// Presenter shows one task in its chat: the board while it works, the first
// words of its answer, its questions, and the outcome. It draws from the
// journal; only the outcome and the ids of messages are written to it.
type Presenter struct {
	sender
	redraws
	withoutBoard bool          // it shows questions and the outcome alone
	framesEnd    chan struct{} // closed when the outcome is on its way

	mu        sync.Mutex // guards what follows
	view      *tasks.View
	stream    *streamBuffer
	progress  map[planner.ActionID]tools.Progress    // of tool calls, by action
	ephemeral map[planner.ActionID]ephemeralQuestion // questions that do not last, by action

	drawing       chan struct{}   // holds one token, taken while something is drawn; guards what follows
	finishing     bool            // the outcome is on its way, no more frames
	boardFinal    bool            // the board's last frame is shown
	board         bot.Board       // as it was drawn last
	drawn         time.Time       // when that was
	streamStarted bool            // the platform's stream says that work has begun
	boardMessage  string          // id of the board's message
	answerMessage string          // id of the message that the answer grows in
	shownText     string          // text of the answer as it was shown last
	closed        map[string]bool // questions whose message says how they were decided
	closeFailures map[string]int  // and how often that failed
}

// Update gives it the newest snapshot of the task. What the first one tells was
// about to be sent may have been, before a crash.
func (p *Presenter) Update(v *tasks.View) {
	p.mu.Lock()
	if p.view == nil {
		p.noteUnconfirmed(v.State.Slots)
	}
	p.view = v
	p.mu.Unlock()
	p.Redraw()
}

// Run draws frames until the outcome is on its way or ctx ends: the newest one
// each time, no faster than the platform's limits and its pacer allow. One that
// failed is drawn again after a while.
func (p *Presenter) Run(ctx context.Context) {
	limits := p.platform.Limits()
	gap := max(limits.EditGap, 20*time.Millisecond)
	pause := gap
	timer := time.NewTimer(gap)
	defer timer.Stop()
	var clock <-chan time.Time
	if !limits.Ephemeral {
		ticker := time.NewTicker(clockGap)
		defer ticker.Stop()
		clock = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.framesEnd:
			return
		case <-p.signal:
		case <-clock:
		}
		wish := p.requested.Load()
		err := p.draw(ctx)
		p.noteDrawn(wish, err == nil)
		var later *bot.LaterError
		switch {
		case err == nil || ctx.Err() != nil:
			pause = gap
		case errors.As(err, &later):
			pause = max(gap, later.After)
			p.wake()
		default:
			pause = max(gap, min(max(2*pause, firstFramePause), lastFramePause))
			p.ps.Log.WarnContext(ctx, "a frame could not be shown", "task", p.id, "again", pause, "cause", err)
			p.wake()
		}
		timer.Reset(pause)
		select {
		case <-ctx.Done():
			return
		case <-p.framesEnd:
			return
		case <-timer.C:
		}
	}
}

// How long a frame that failed waits before it is drawn again, and how often
// the running times on a board that lasts are brought up to date.
const (
	firstFramePause = time.Second
	lastFramePause  = 30 * time.Second
	clockGap        = 15 * time.Second
)

// beginDrawing waits for the pen; its error is the context's. release gives it back.
func (p *Presenter) beginDrawing(ctx context.Context) error {
	select {
	case p.drawing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Presenter) endDrawing() { <-p.drawing }

func (p *Presenter) draw(ctx context.Context) (err error) {
	defer tasks.Catch(&err)
	if err := p.beginDrawing(ctx); err != nil {
		return err
	}
	defer p.endDrawing()
	p.mu.Lock()
	view, stream := p.view, p.stream
	p.mu.Unlock()
	if p.finishing || view == nil || view.State.Settled() || p.isHeadless() {
		return nil
	}
	p.closeQuestions(ctx, view, 1)
	if p.withoutBoard {
		return nil
	}
	if err := p.drawBoard(ctx, view); err != nil {
		return err
	}
	return p.drawStream(ctx, view, stream)
}

// card is how the task looks in its chat as v shows it.
func (p *Presenter) card(v *tasks.View) cards.Card {
	return cards.Card{View: v, Texts: p.ps.Texts, Lasts: p.lasting(), WithoutBoard: p.withoutBoard, AskerExtends: p.ps.rules.Load().Budget.AskerExtends}
}

// questionCard is card for the questions that are asked in a chat.
func (p *Presenter) questionCard(ctx context.Context, v *tasks.View, to bot.Chat) cards.Card {
	c := p.card(v)
	f, ok := p.platform.(bot.Filer)
	c.Files = ok && f.Files(to)
	c.OfferAlways = !p.chat.Private || tasks.IsAdmin(ctx, p.ps.Store, p.ps.rules.Load().Admins, v.Opening().From.Key())
	return c
}
