package tasks

import (
	"context"
	"errors"
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
	return &Presenter{x: x, id: id, chat: chat, platform: platform, poke: make(chan struct{}, 1), pen: make(chan struct{}, 1)}, nil
}

// Update gives it the newest snapshot of the task.
func (p *Presenter) Update(v *View) {
	p.mu.Lock()
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
// the platform's limits allow.
func (p *Presenter) Run(ctx context.Context) {
	gap := max(p.platform.Limits().EditGap, 20*time.Millisecond)
	timer := time.NewTimer(gap)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.poke:
		}
		if err := p.draw(ctx); err != nil && ctx.Err() == nil {
			p.x.Log.WarnContext(ctx, "a frame could not be shown", "task", p.id, "cause", err)
		}
		timer.Reset(gap)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
	}
}

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
	d := bot.Draft{Kind: bot.KindBoard, Task: string(p.id), Text: board.Status, Board: &board, Mark: string(p.id) + ".board", ReplyTo: v.Opening().Message}
	if p.message == "" {
		p.message = v.State.Slot(planner.SlotBoard).Message
	}
	p.board = board
	if p.message != "" {
		return p.platform.Edit(ctx, p.chat, p.message, d)
	}
	lasting := !p.platform.Limits().Passing
	if lasting {
		if err := p.append(ctx, planner.Event{Type: planner.Began, Slot: planner.SlotBoard}); err != nil {
			return err
		}
	}
	id, err := p.platform.Post(ctx, p.chat, d)
	if err != nil {
		return fmt.Errorf("posting board: %w", err)
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
	if streamer, ok := p.platform.(bot.Streamer); ok {
		return streamer.Stream(ctx, p.chat, d)
	}
	if v.State.Round == 0 && p.message != "" && text != "" && p.platform.Limits().Edits {
		return p.platform.Edit(ctx, p.chat, p.message, d)
	}
	return nil
}

func (p *Presenter) append(ctx context.Context, e ...planner.Event) error {
	return p.x.append(ctx, p.id, e...)
}

// Show brings the outcome to the chat, part by part. A part whose id is stored
// is not sent again; one that was about to be sent before a crash is looked
// for where the platform can, and sent otherwise: twice at worst, never lost.
func (p *Presenter) Show(ctx context.Context, v *View) error {
	if err := p.take(ctx); err != nil {
		return err
	}
	defer p.release()
	if !p.frozen {
		if err := p.drawBoard(ctx, v); err != nil {
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
			return p.unshown(ctx, err)
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

// send posts one part of the outcome. A plain answer takes the place of its
// board where messages can be changed.
func (p *Presenter) send(ctx context.Context, v *View, slot planner.Slot, name string, d bot.Draft) (string, error) {
	limits := p.platform.Limits()
	board := v.State.Slot(planner.SlotBoard).Message
	switch {
	case slot.Message != "":
		return slot.Message, p.platform.Edit(ctx, p.chat, slot.Message, d)
	case name == planner.SlotAnswer && v.State.Round == 0 && board != "" && limits.Edits && !limits.Passing:
		return board, p.platform.Edit(ctx, p.chat, board, d)
	case slot.Name == "":
		if err := p.append(ctx, planner.Event{Type: planner.Began, Slot: name}); err != nil {
			return "", err
		}
	default:
		if f, ok := p.platform.(bot.Finder); ok {
			if id, err := f.Find(ctx, p.chat, d.Mark); err == nil && id != "" {
				return id, nil
			}
		}
	}
	return p.post(ctx, d)
}

// How often and how long a refused outcome is sent again.
const (
	postTries = 8
	postPause = 250 * time.Millisecond
)

// errUnsendable wraps what a platform said when it took no message in any try.
var errUnsendable = errors.New("the chat takes no message")

func (p *Presenter) post(ctx context.Context, d bot.Draft) (string, error) {
	pause := postPause
	for try := 1; ; try++ {
		id, err := p.platform.Post(ctx, p.chat, d)
		if err == nil {
			return id, nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if try == postTries {
			return "", fmt.Errorf("%w: %w", errUnsendable, err)
		}
		if err := wait(ctx, pause); err != nil {
			return "", err
		}
		pause *= 2
	}
}

// unshown ends a task whose chat cannot be reached; its answer stays in the
// history.
func (p *Presenter) unshown(ctx context.Context, err error) error {
	if !errors.Is(err, errUnsendable) {
		return err
	}
	p.x.Log.ErrorContext(ctx, "the outcome could not be shown", "task", p.id, "cause", err)
	return p.append(ctx, planner.Event{Type: planner.Broke, Action: planner.ShowID, Problem: &planner.Problem{Code: "unsendable", Reason: err.Error()}})
}

// Notice posts a sentence that is not part of the journal.
func (p *Presenter) Notice(ctx context.Context, language, key string) {
	d := bot.Draft{Kind: bot.KindNotice, Task: string(p.id), Text: p.x.Texts.Text(language, key, nil)}
	if _, err := p.platform.Post(ctx, p.chat, d); err != nil && ctx.Err() == nil {
		p.x.Log.WarnContext(ctx, "a notice could not be shown", "task", p.id, "cause", err)
	}
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
