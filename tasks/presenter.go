package tasks

import (
	"context"
	"fmt"
	"sync"
	"time"

	"legwork/bot"
	"legwork/failpoint"
	"legwork/planner"
)

// Presenter shows one task in its chat: the board while it works, the first
// words of its answer, its questions, and the outcome. It draws from the
// journal; only the outcome and the ids of messages are written to it.
type Presenter struct {
	x        *Executor
	id       ID
	chat     bot.Chat
	platform bot.Platform

	poke chan struct{}

	mu     sync.Mutex // guards what follows
	view   *View
	speech *Speech
	doubt  map[string]bool // slots whose message may have been sent already

	pen     chan struct{} // holds one token, taken while something is drawn; guards what follows
	frozen  bool          // the outcome is on its way, no more frames
	board   bot.Board     // as it was drawn last
	message string        // id of the board's message
	spoken  string        // text of the answer as it was shown last
}

// Present makes the presenter of a task. chat must be one of a platform that
// is connected.
func (x *Executor) Present(id ID, chat bot.Chat) (*Presenter, error) {
	platform, err := x.Chats.Platform(chat)
	if err != nil {
		return nil, err
	}
	if failpoint.Fault("wrong-chat") {
		chat.ID += "-other"
	}
	return &Presenter{
		x: x, id: id, chat: chat, platform: platform, doubt: map[string]bool{},
		poke: make(chan struct{}, 1), pen: make(chan struct{}, 1),
	}, nil
}

// Update gives it the newest snapshot of the task. What the first one tells was
// about to be sent may have been, before a crash.
func (p *Presenter) Update(v *View) {
	p.mu.Lock()
	if p.view == nil {
		for _, slot := range v.State.Slots {
			p.doubt[slot.Name] = slot.Message == ""
		}
	}
	p.view = v
	p.mu.Unlock()
	p.nudge()
}

func (p *Presenter) nudge() {
	select {
	case p.poke <- struct{}{}:
	default:
	}
}

// Run draws frames until ctx ends, the newest one each time, no faster than
// the platform's limits allow. One that failed is drawn again after a while.
func (p *Presenter) Run(ctx context.Context) {
	gap := max(p.platform.Limits().EditGap, 20*time.Millisecond)
	pause := gap
	timer := time.NewTimer(gap)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.poke:
		}
		if err := p.draw(ctx); err != nil && ctx.Err() == nil {
			pause = max(gap, min(max(2*pause, firstFramePause), lastFramePause))
			p.x.Log.WarnContext(ctx, "a frame could not be shown", "task", p.id, "again", pause, "cause", err)
			p.nudge()
		} else {
			pause = gap
		}
		timer.Reset(pause)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
	}
}

// How long a frame that failed waits before it is drawn again.
const (
	firstFramePause = time.Second
	lastFramePause  = 30 * time.Second
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

func (p *Presenter) draw(ctx context.Context) error {
	if err := p.take(ctx); err != nil {
		return err
	}
	defer p.release()
	p.mu.Lock()
	view, speech := p.view, p.speech
	p.mu.Unlock()
	if p.frozen || view == nil || view.State.Settled() {
		return nil
	}
	if err := p.drawBoard(ctx, view); err != nil {
		return err
	}
	return p.drawSpeech(ctx, view, speech)
}

func (p *Presenter) drawBoard(ctx context.Context, v *View) error {
	board := Board(v, p.x.Texts, p.x.Now())
	if p.message != "" && sameBoard(board, p.board) {
		return nil
	}
	d := bot.Draft{Kind: bot.KindBoard, Task: string(p.id), Text: board.Status, Board: &board, Mark: p.boardMark(), ReplyTo: v.Opening().Message}
	if p.message == "" {
		p.message = v.State.Slot(planner.SlotBoard).Message
	}
	if p.message == "" {
		if err := p.postBoard(ctx, d); err != nil {
			return err
		}
	} else if err := p.platform.Edit(ctx, p.chat, p.message, d); err != nil {
		return fmt.Errorf("changing board: %w", err)
	}
	p.board = board
	return nil
}

// postBoard sends the board's message, unless it was sent before a crash.
func (p *Presenter) postBoard(ctx context.Context, d bot.Draft) error {
	lasting := !p.platform.Limits().Passing
	if lasting {
		if err := p.append(ctx, planner.Event{Type: planner.Began, Slot: planner.SlotBoard}); err != nil {
			return err
		}
	}
	id := p.find(ctx, planner.SlotBoard, d.Mark)
	if id == "" {
		p.sending(planner.SlotBoard)
		var err error
		if id, err = p.platform.Post(ctx, p.chat, d); err != nil {
			return fmt.Errorf("posting board: %w", err)
		}
	}
	p.message = id
	if lasting {
		return p.append(ctx, planner.Event{Type: planner.Shown, Slot: planner.SlotBoard, Message: id})
	}
	return nil
}

// drawSpeech shows the answer's text so far, and takes it back when it turned
// out to be none.
func (p *Presenter) drawSpeech(ctx context.Context, v *View, s *Speech) error {
	text, action, open := "", "", false
	if s != nil {
		text, action, open = s.text()
	}
	if !open && v.State.Begun {
		return nil // the reply is being stored; the outcome follows
	}
	if text == p.spoken || text == "" && p.spoken == "" {
		return nil
	}
	if text != "" && !v.State.Begun && p.spoken == "" {
		if err := p.append(ctx, planner.Event{Type: planner.Began, Action: action}); err != nil {
			if superseded(err) {
				return nil
			}
			return err
		}
	}
	p.spoken = text
	d := bot.Draft{Kind: bot.KindAnswer, Task: string(p.id), Text: text, Partial: true}
	if streamer, ok := p.platform.(bot.Streamer); ok && streamer.Streams(p.chat) {
		return streamer.Stream(ctx, p.chat, d)
	}
	if text == "" {
		p.board = bot.Board{} // the words stood in its place
		p.nudge()
		return nil
	}
	if v.State.Round == 0 && p.message != "" && p.platform.Limits().Edits {
		return p.platform.Edit(ctx, p.chat, p.message, d)
	}
	return nil
}

func (p *Presenter) append(ctx context.Context, e ...planner.Event) error {
	return p.x.append(ctx, p.id, e...)
}

// Notice posts a sentence that is not part of the journal.
func (p *Presenter) Notice(ctx context.Context, language, key string) {
	d := bot.Draft{Kind: bot.KindNotice, Task: string(p.id), Text: p.x.Texts.Text(language, key, nil)}
	if _, err := p.platform.Post(ctx, p.chat, d); err != nil && ctx.Err() == nil {
		p.x.Log.WarnContext(ctx, "a notice could not be shown", "task", p.id, "cause", err)
	}
}
