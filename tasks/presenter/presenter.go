// Package presenter shows tasks in their chats, as the journal has them: the board
// while a task works, its questions, and its outcome.
package presenter

import (
	"context"
	"errors"
	"sync"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tools"
)

// Presenter shows one task in its chat: the board while it works, its growing
// answer, its questions, and the outcome. It draws them from the journal. It writes
// to the journal only the ids of messages and whether the outcome was shown.
type Presenter struct {
	asker
	redraws
	framesEnd chan struct{} // closed when Show begins: no more frames

	mu       sync.Mutex // guards the fields up to progress
	view     *tasks.View
	stream   *streamBuffer
	progress map[planner.ActionID]tools.Progress // of tool calls, by action

	drawing       chan struct{} // holds a token while something is drawn; guards the fields below
	finishing     bool          // Show has begun: no more frames
	boardFinal    bool          // the board shows its last frame
	board         bot.Board     // as last drawn
	drawn         time.Time     // when the board was last drawn
	streamStarted bool          // the platform's stream shows that work has begun
	boardMessage  string        // id of the board's message
	answerMessage string        // id of the message with the growing answer
	shownText     string        // text of the answer as last shown
}

// Update sets the newest snapshot of the task. With the first snapshot, messages
// that were about to be sent count as perhaps sent, since the process may have
// crashed after sending them.
func (p *Presenter) Update(v *tasks.View) {
	p.mu.Lock()
	if p.view == nil {
		p.noteUnconfirmed(v.State.Slots)
	}
	p.view = v
	p.mu.Unlock()
	p.Redraw()
}

// Run draws frames until Show begins or ctx ends. Each time it draws the newest
// frame, no faster than the platform's limits and its pacer allow. After a failure
// it draws again later.
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
		request := p.requested.Load()
		err := p.draw(ctx)
		p.noteDrawn(request, err == nil)
		var later *bot.LaterError
		switch {
		case err == nil || ctx.Err() != nil:
			pause = gap
		case errors.As(err, &later):
			pause = max(gap, later.After)
			p.wake()
		default:
			pause = max(gap, min(max(2*pause, firstFramePause), lastFramePause))
			p.ps.Log.WarnContext(ctx, "frame not shown", "task", p.id, "again", pause, "cause", err)
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

// The wait before a failed frame is drawn again, first and at most, and the interval
// at which running times on a lasting board are updated.
const (
	firstFramePause = time.Second
	lastFramePause  = 30 * time.Second
	clockGap        = 15 * time.Second
)

// beginDrawing waits until nothing else is drawn; its error is the context's.
// endDrawing ends the drawing.
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
