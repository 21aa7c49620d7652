package presenter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"legwork/bot"
	"legwork/internal/failpoint"
	"legwork/internal/retry"
	"legwork/planner"
	"legwork/tasks"
)

// How often and how long one message is tried, and for how long Show is repeated in
// a chat whose messages last.
const (
	postTries     = 8
	finalTries    = 5 // of a board's last frame, and of questions that are over: the outcome waits for them
	noticeTries   = 6
	postPause     = 250 * time.Millisecond
	showRetryTime = 24 * time.Hour
)

// errUnsendable wraps the platform's error when no try could send a message.
var errUnsendable = errors.New("the chat takes no message")

// newPauses returns the pauses between tries of one message.
func newPauses() *retry.Pauses { return retry.New(postPause, time.Minute, 0) }

// sender sends and edits the messages of one task, and records their ids. It tries
// each message several times, and before it sends one again it looks for it in the
// chat.
type sender struct {
	ps       *Presenters
	id       tasks.ID
	chat     bot.Chat
	platform bot.Platform

	unconfirmedMu sync.Mutex
	unconfirmed   map[string]bool // slots whose messages may have been sent already
}

// noteUnconfirmed marks the slots whose messages may have been sent before a crash.
func (s *sender) noteUnconfirmed(slots []planner.Slot) {
	s.unconfirmedMu.Lock()
	defer s.unconfirmedMu.Unlock()
	for _, slot := range slots {
		s.unconfirmed[slot.Name] = slot.Message == ""
	}
}

// mayBeSent reports whether the message of a slot may have been sent already.
func (s *sender) mayBeSent(slot string) bool {
	s.unconfirmedMu.Lock()
	defer s.unconfirmedMu.Unlock()
	return s.unconfirmed[slot]
}

// edit edits a message; repeating the same edit is harmless.
func (s *sender) edit(ctx context.Context, to bot.Chat, id string, d bot.Draft, tries int) error {
	return repeat(ctx, tries, func() error {
		failpoint.Hit("edit.before.answer")
		err := s.editOnce(ctx, to, id, d)
		failpoint.Hit("edit.after.answer")
		return err
	})
}

// repeat calls do up to tries times, with pauses, as long as another call may help.
func repeat(ctx context.Context, tries int, do func() error) error {
	pauses := newPauses()
	for try := 1; ; try++ {
		err := do()
		var moved *bot.MovedError
		if err == nil || ctx.Err() != nil || try >= tries || errors.Is(err, bot.ErrGone) || errors.As(err, &moved) {
			return err
		}
		if err := pauses.Sleep(ctx); err != nil {
			return err
		}
	}
}

// editOnce edits a message. If the platform shows the draft in another message, the
// old one is deleted where that is possible: it would go on showing its buttons.
func (s *sender) editOnce(ctx context.Context, to bot.Chat, id string, d bot.Draft) error {
	err := s.platform.Edit(ctx, to, id, d)
	_, moved := errors.AsType[*bot.MovedError](err)
	if r, ok := s.platform.(bot.Remover); ok && moved {
		if failed := r.Remove(ctx, to, id); failed != nil && ctx.Err() == nil {
			s.ps.Log.InfoContext(ctx, "replaced message not deleted", "task", s.id, "cause", failed)
		}
	}
	return err
}

// post sends the message of a slot. Before each try it looks for a message that an
// earlier try may have sent.
func (s *sender) post(ctx context.Context, to bot.Chat, slot string, d bot.Draft, tries int) (string, error) {
	pauses := newPauses()
	for try := 1; ; try++ {
		if id := s.find(ctx, to, slot, d.Mark); id != "" {
			return s.completeFound(ctx, to, id, d)
		}
		s.markSending(slot)
		failpoint.Hit("post.before." + messageKind(slot))
		id, err := s.platform.Post(ctx, to, d)
		if err == nil {
			failpoint.Hit("post.after." + messageKind(slot))
			return id, nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if try >= tries || errors.Is(err, bot.ErrGone) || errors.Is(err, bot.ErrNoFiles) {
			return "", fmt.Errorf("%w: %w", errUnsendable, err)
		}
		if err := pauses.Sleep(ctx); err != nil {
			return "", err
		}
	}
}

// messageKind names the kind of a slot's message for failpoints: answer, file or question.
func messageKind(slot string) string {
	switch kind, _, _ := strings.Cut(slot, "."); kind {
	case "answer", "file":
		return kind
	}
	return "question"
}

// completeFound edits a message that was found: it may hold only the beginning of
// the text.
func (s *sender) completeFound(ctx context.Context, to bot.Chat, id string, d bot.Draft) (string, error) {
	err := s.edit(ctx, to, id, d, postTries)
	var moved *bot.MovedError
	switch {
	case errors.As(err, &moved):
		return moved.ID, nil
	case err == nil || ctx.Err() != nil:
		return id, err
	}
	return "", fmt.Errorf("%w: %w", errUnsendable, err)
}

// markSending marks the message of a slot as perhaps sent. undo reverts that when
// the platform has sent nothing.
func (s *sender) markSending(slot string) (undo func()) {
	s.unconfirmedMu.Lock()
	defer s.unconfirmedMu.Unlock()
	before := s.unconfirmed[slot]
	s.unconfirmed[slot] = true
	return func() {
		s.unconfirmedMu.Lock()
		defer s.unconfirmedMu.Unlock()
		s.unconfirmed[slot] = before
	}
}

// find looks for a message that may have been sent before, if the platform can
// search; empty when there is none.
func (s *sender) find(ctx context.Context, to bot.Chat, slot, mark string) string {
	f, ok := s.platform.(bot.Finder)
	if !ok || !s.mayBeSent(slot) {
		return ""
	}
	id, err := f.Find(ctx, to, mark)
	if err != nil && ctx.Err() == nil {
		s.ps.Log.WarnContext(ctx, "looking for sent message failed", "task", s.id, "cause", err)
	}
	return id
}

func (s *sender) append(ctx context.Context, e ...planner.Event) error {
	return s.ps.Append(ctx, s.id, e...)
}

// recordSendStarted records that the message of a slot is about to be sent.
func (s *sender) recordSendStarted(ctx context.Context, slot string) error {
	return s.append(ctx, planner.Event{Type: planner.SendStarted, Slot: slot})
}

// recordSent records the message of a slot, and the message that it replaces. last
// means that nothing of the task is shown after it.
func (s *sender) recordSent(ctx context.Context, slot, message, instead string, last bool) error {
	return s.append(ctx, planner.Event{Type: planner.Sent, Slot: slot, Message: message, Instead: instead, Last: last})
}

// Notice sends a text that is not recorded in the journal. It tries that several times
// where messages last.
func (s *sender) Notice(ctx context.Context, language, key string) {
	d := bot.Draft{Kind: bot.KindNotice, Task: string(s.id), Text: s.ps.Texts.Text(language, key, nil)}
	tries := noticeTries
	if !s.Lasts() {
		tries = 1
	}
	err := repeat(ctx, tries, func() error {
		_, err := s.platform.Post(ctx, s.chat, d)
		return err
	})
	if err != nil && ctx.Err() == nil {
		s.ps.Log.WarnContext(ctx, "notice not shown", "task", s.id, "chat", s.chat.Key(), "cause", err)
	}
}

// streamer returns the platform's stream for text that is not a message; nil if this
// chat has none.
func (s *sender) streamer() bot.Streamer {
	if p, ok := s.platform.(bot.Streamer); ok && p.Streams(s.chat) {
		return p
	}
	return nil
}

// remover returns the platform if answers are messages of their own in this chat, and
// the boards before them are deleted; nil if they are not.
func (s *sender) remover() bot.Remover {
	if p, ok := s.platform.(bot.Remover); ok && p.Removes(s.chat) {
		return p
	}
	return nil
}

// Lasts reports whether messages and their edits stay in the chat.
func (s *sender) Lasts() bool { return !s.platform.Limits().Ephemeral }

// change edits a slot's message.
func (s *sender) change(ctx context.Context, slot string, id *string, d bot.Draft) error {
	return s.moved(ctx, slot, id, s.editOnce(ctx, s.chat, *id, d))
}

// moved handles the error of an edit. If the platform shows the draft in another
// message, that message replaces the slot's.
func (s *sender) moved(ctx context.Context, slot string, id *string, err error) error {
	var moved *bot.MovedError
	if !errors.As(err, &moved) {
		return err
	}
	was := *id
	*id = moved.ID
	return s.recordSent(ctx, slot, moved.ID, was, false)
}

// isHeadless reports whether the task has no chat.
func (s *sender) isHeadless() bool {
	_, none := s.platform.(headless)
	return none
}

// privateChat returns the private chat of the person who asked.
func (s *sender) privateChat(ctx context.Context, v *tasks.View) (bot.Chat, error) {
	director, ok := s.platform.(bot.Director)
	if !ok {
		return bot.Chat{}, errNotPrivate
	}
	chat, err := director.Direct(ctx, v.Opening().From.ID)
	if err != nil {
		return chat, fmt.Errorf("finding the private chat of the asker: %w", err)
	}
	return chat, nil
}

// replace edits the message at place and returns the id of the message that then
// shows the draft; empty when a new message is needed.
func (s *sender) replace(ctx context.Context, place string, d bot.Draft) (string, error) {
	err := s.edit(ctx, s.chat, place, d, postTries)
	var moved *bot.MovedError
	if errors.As(err, &moved) {
		return moved.ID, nil
	}
	if err == nil || ctx.Err() != nil {
		return place, err
	}
	s.ps.Log.WarnContext(ctx, "message cannot be edited, sending a new one", "task", s.id, "cause", err)
	return "", err
}
