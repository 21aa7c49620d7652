package presenter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"legwork/bot"
	"legwork/internal/failpoint"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tools"
)

// drawBoard shows the progress of the task. Where the platform's stream can show
// that work has begun, a task without a plan gets no board.
func (p *Presenter) drawBoard(ctx context.Context, v *tasks.View) error {
	ahead, err := p.ahead(ctx, v)
	if err != nil {
		return err
	}
	board := cards.BoardOf(v, p.ps.Texts, p.ps.Now(), ahead, p.reports())
	board.Link = p.ps.Page.Task(v.ID)
	if _, paused := p.ps.Pause.State(); paused && cards.HeldByPause(v.State) {
		board.Status = p.ps.Texts.Text(v.Opening().Language, "status.paused", nil)
	}
	streamer := p.streamer()
	switch {
	case streamer == nil && v.State.Round == 0 && p.shownText != "":
		return nil // the board's message shows the answer so far
	case !p.Lasts():
	case streamer != nil && v.State.Round == 0 && p.boardID(v) == "":
		return p.drawStart(ctx, streamer, v, board)
	case v.State.Phase == planner.PhaseProposed && p.boardID(v) == "":
		return nil // the question shows the plan
	}
	if p.streamStarted && streamer != nil {
		p.streamStarted = false
		_ = streamer.Stream(ctx, p.chat, bot.Draft{Kind: bot.KindAnswer, Task: string(p.id), Partial: true}) // after an error the status ends by itself
	}
	if p.boardID(v) != "" && cards.SameBoard(board, p.board) && !p.outdated(board) {
		return nil
	}
	d := bot.Draft{
		Kind: bot.KindBoard, Task: string(p.id), Text: board.Status, Board: &board, Mark: cards.MarkOf(p.id, planner.SlotBoard), ReplyTo: v.Opening().Message,
		Partial: p.Lasts() && !v.State.Settled(), Buttons: p.card(v).BoardButtons(), Fixed: p.fixedBoard(v),
	}
	if p.boardMessage == "" {
		if err := p.postBoard(ctx, d); err != nil {
			return err
		}
	} else if err := p.change(ctx, planner.SlotBoard, &p.boardMessage, d); err != nil {
		return fmt.Errorf("changing board: %w", err)
	}
	p.board, p.drawn = board, p.ps.Now()
	return nil
}

// ahead returns how many tasks of the conversation a queued task waits for.
func (p *Presenter) ahead(ctx context.Context, v *tasks.View) (int, error) {
	if !v.State.Queued() {
		return 0, nil
	}
	live, err := p.ps.Store.Live(ctx, v.Opening().Chat.Key())
	if err != nil {
		return 0, fmt.Errorf("listing tasks: %w", err)
	}
	for _, t := range live {
		if t.Task == p.id {
			return t.Ahead, nil
		}
	}
	return 0, nil
}

// fixedBoard is the text of the board in a message that can never be changed. It stays
// true when the task is over.
func (p *Presenter) fixedBoard(v *tasks.View) string {
	stop := "/stop"
	if s, ok := p.platform.(bot.Speller); ok {
		stop = s.Spell(p.chat, "stop")
	}
	return p.ps.Texts.Text(v.Opening().Language, "board.fixed", map[string]any{"Command": stop})
}

// boardID returns the id of the board's message; empty when it is not known.
func (p *Presenter) boardID(v *tasks.View) string {
	p.boardMessage = cmp.Or(p.boardMessage, v.State.Slot(planner.SlotBoard).Message)
	return p.boardMessage
}

// outdated reports whether the running times on the board are too old.
func (p *Presenter) outdated(b bot.Board) bool {
	if !p.Lasts() || p.ps.Now().Sub(p.drawn) < clockGap {
		return false
	}
	for _, item := range b.Items {
		if item.State == string(planner.SubWorking) {
			return true
		}
	}
	return false
}

// drawStart shows in the platform's stream that work has begun, or what the task
// waits for.
func (p *Presenter) drawStart(ctx context.Context, streamer bot.Streamer, v *tasks.View, board bot.Board) error {
	if p.shownText != "" || p.streamStarted && cards.SameBoard(board, p.board) {
		return nil
	}
	d := bot.Draft{Kind: bot.KindBoard, Task: string(p.id), Board: &board, Partial: true}
	if _, paused := p.ps.Pause.State(); paused || v.State.Queued() {
		d.Text = board.Status
	}
	if err := streamer.Stream(ctx, p.chat, d); err != nil {
		return fmt.Errorf("showing that work has begun: %w", err)
	}
	p.board, p.streamStarted = board, true
	return nil
}

// postBoard sends the board's message, unless it finds that it was sent before a
// crash.
func (p *Presenter) postBoard(ctx context.Context, d bot.Draft) error {
	id, err := p.postSlot(ctx, planner.SlotBoard, d)
	if err != nil {
		return fmt.Errorf("posting board: %w", err)
	}
	p.boardMessage = id
	return nil
}

// postSlot sends the message of a slot once and records its id.
func (p *Presenter) postSlot(ctx context.Context, slot string, d bot.Draft) (id string, err error) {
	lasting := p.Lasts()
	if lasting && !p.intended(slot) {
		if err := p.recordSendStarted(ctx, slot); err != nil {
			return "", err
		}
	}
	if id = p.find(ctx, p.chat, slot, d.Mark); id == "" {
		undo := p.markSending(slot)
		failpoint.Hit("post.before.board")
		if id, err = p.platform.Post(ctx, p.chat, d); err != nil {
			if _, later := errors.AsType[*bot.LaterError](err); later {
				undo()
			}
			return "", err
		}
		failpoint.Hit("post.after.board")
	}
	if lasting {
		err = p.recordSent(ctx, slot, id, "", false)
		failpoint.Hit("keep.after.board")
	}
	return id, err
}

// intended reports whether the journal says that the message of a slot is about to
// be sent, but not that it was sent.
func (p *Presenter) intended(slot string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.view.State.Slot(slot)
	return s.Name != "" && s.Message == ""
}

// drawStream shows the answer's text so far. It removes the text again if the reply
// turns out not to be an answer.
func (p *Presenter) drawStream(ctx context.Context, v *tasks.View, s *streamBuffer) error {
	var text string
	var action planner.ActionID
	open := false
	if s != nil {
		text, action, open = s.text()
	}
	if !open && v.State.Streamed {
		return nil // the reply is being stored; the outcome follows
	}
	if text == p.shownText || text == "" && p.shownText == "" {
		return nil
	}
	if text != "" && !v.State.Streamed && p.shownText == "" {
		if err := p.append(ctx, planner.Event{Type: planner.SendStarted, Action: action}); err != nil {
			if tasks.Superseded(err) {
				return nil
			}
			return err
		}
	}
	d := bot.Draft{Kind: bot.KindAnswer, Task: string(p.id), Text: cards.Introduced(v, p.ps.Texts, text), Partial: true, ReplyTo: v.Opening().Message}
	if streamer := p.streamer(); streamer != nil {
		if err := streamer.Stream(ctx, p.chat, d); err != nil {
			return err
		}
		p.shownText, p.streamStarted = text, text == "" && p.streamStarted
		return nil
	}
	if !p.platform.Limits().Edits {
		return nil
	}
	if err := p.drawPartial(ctx, v, d); err != nil {
		return err
	}
	p.shownText = text
	return nil
}

// drawPartial shows a growing answer in a message. A task without a plan uses the
// board's message, other tasks use a separate one.
func (p *Presenter) drawPartial(ctx context.Context, v *tasks.View, d bot.Draft) error {
	switch {
	case v.State.Round == 0 && d.Text == "":
		p.board = bot.Board{} // the text had replaced the board
		p.wake()
		return nil
	case v.State.Round == 0:
		if p.boardID(v) == "" {
			return nil
		}
		return p.change(ctx, planner.SlotBoard, &p.boardMessage, d)
	case d.Text == "":
		return nil // the next text replaces this one
	}
	if p.answerMessage == "" {
		p.answerMessage = v.State.Slot(planner.SlotAnswer).Message
	}
	if p.answerMessage != "" {
		return p.change(ctx, planner.SlotAnswer, &p.answerMessage, d)
	}
	d.Mark = cards.MarkOf(p.id, planner.SlotAnswer)
	id, err := p.postSlot(ctx, planner.SlotAnswer, d)
	if err != nil {
		return fmt.Errorf("posting partial answer: %w", err)
	}
	p.answerMessage = id
	return nil
}

// streamBuffer is the text of one model call while it streams.
type streamBuffer struct {
	p      *Presenter
	action planner.ActionID
	known  func(address string) bool // which addresses may be links; nil: all

	mu       sync.Mutex
	received strings.Builder
	closed   bool
}

// Stream shows the text of a model call while it grows, as soon as it is certain
// that the text is an answer and not a plan. Call end when the outcome of the call
// is stored. Addresses that known does not report are no links; nil: all are known.
func (p *Presenter) Stream(a planner.Action, known func(address string) bool) (write func(llm.Delta), end func()) {
	s := &streamBuffer{p: p, action: a.ID, known: known}
	p.mu.Lock()
	p.stream = s
	p.mu.Unlock()
	return s.write, s.close
}

// write adds the next piece.
func (s *streamBuffer) write(d llm.Delta) {
	s.mu.Lock()
	if d.Reset {
		s.received.Reset()
	}
	s.received.WriteString(d.Text)
	s.mu.Unlock()
	s.p.wake()
}

// close ends the stream.
func (s *streamBuffer) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.p.wake()
}

// text returns the text that can be shown now, its action, and whether the buffer is
// still open. A closed buffer returns no text: the outcome is in the journal.
func (s *streamBuffer) text() (text string, action planner.ActionID, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", s.action, false
	}
	return cards.Streamed(planner.StreamablePrefix(s.received.String()), s.known), s.action, true
}

// Progress sets the progress of a running call, for the next frame of the board. It
// replaces the call's last report and is not stored.
func (p *Presenter) Progress(action planner.ActionID, g tools.Progress) {
	p.mu.Lock()
	if p.progress == nil {
		p.progress = map[planner.ActionID]tools.Progress{}
	}
	p.progress[action] = g
	p.mu.Unlock()
	p.wake()
}

// reports returns the newest progress reports by action.
func (p *Presenter) reports() map[planner.ActionID]tools.Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.progress)
}
