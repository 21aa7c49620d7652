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
	redrawing
	quiet bool          // it shows questions and the outcome alone
	last  chan struct{} // closed when the outcome is on its way

	mu       sync.Mutex // guards what follows
	view     *tasks.View
	stream   *streamBuffer
	progress map[planner.ActionID]tools.Progress // of tool calls, by action
	passing  map[planner.ActionID]passing        // questions that do not last, by action

	pen     chan struct{}   // holds one token, taken while something is drawn; guards what follows
	frozen  bool            // the outcome is on its way, no more frames
	folded  bool            // the board's last frame is shown
	board   bot.Board       // as it was drawn last
	drawn   time.Time       // when that was
	opened  bool            // the platform's stream says that work has begun
	message string          // id of the board's message
	words   string          // id of the message that the answer grows in
	spoken  string          // text of the answer as it was shown last
	closed  map[string]bool // questions whose message says how they were decided
	misses  map[string]int  // and how often that failed
}

// Update gives it the newest snapshot of the task. What the first one tells was
// about to be sent may have been, before a crash.
func (p *Presenter) Update(v *tasks.View) {
	p.mu.Lock()
	if p.view == nil {
		p.expect(v.State.Slots)
	}
	p.view = v
	p.mu.Unlock()
	p.Again()
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
		case <-p.last:
			return
		case <-p.signal:
		case <-clock:
		}
		wish := p.asked.Load()
		err := p.draw(ctx)
		p.drew(wish, err == nil)
		var later *bot.LaterError
		switch {
		case err == nil || ctx.Err() != nil:
			pause = gap
		case errors.As(err, &later):
			pause = max(gap, later.After)
			p.nudge()
		default:
			pause = max(gap, min(max(2*pause, firstFramePause), lastFramePause))
			p.ps.Log.WarnContext(ctx, "a frame could not be shown", "task", p.id, "again", pause, "cause", err)
			p.nudge()
		}
		timer.Reset(pause)
		select {
		case <-ctx.Done():
			return
		case <-p.last:
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

// take waits for the pen; its error is the context's. release gives it back.
func (p *Presenter) take(ctx context.Context) error {
	select {
	case p.pen <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Presenter) release() { <-p.pen }

func (p *Presenter) draw(ctx context.Context) (err error) {
	defer tasks.Catch(&err)
	if err := p.take(ctx); err != nil {
		return err
	}
	defer p.release()
	p.mu.Lock()
	view, stream := p.view, p.stream
	p.mu.Unlock()
	if p.frozen || view == nil || view.State.Settled() || p.unseen() {
		return nil
	}
	p.closeQuestions(ctx, view, 1)
	if p.quiet {
		return nil
	}
	if err := p.drawBoard(ctx, view); err != nil {
		return err
	}
	return p.drawStream(ctx, view, stream)
}

// card is how the task looks in its chat as v shows it.
func (p *Presenter) card(v *tasks.View) cards.Card {
	return cards.Card{View: v, Texts: p.ps.Texts, Lasts: p.lasting(), Quiet: p.quiet, AskerExtends: p.ps.rules.Load().Budget.Asker}
}

// questionCard is card for the questions that are asked in a chat.
func (p *Presenter) questionCard(ctx context.Context, v *tasks.View, to bot.Chat) cards.Card {
	c := p.card(v)
	f, ok := p.platform.(bot.Filer)
	c.Files = ok && f.Files(to)
	c.OfferAlways = !p.chat.Private || tasks.IsAdmin(ctx, p.ps.Store, p.ps.rules.Load().Admins, v.Opening().From.Key())
	return c
}
