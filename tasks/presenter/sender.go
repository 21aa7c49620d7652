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

// How one message gets to its chat, whatever it is: tried again, and looked for
// where an earlier try may have sent it.

// How often and how long a refused outcome is sent again, and for how long the
// rounds of tries of a chat that lasts are repeated.
const (
	postTries     = 8
	finalTries    = 5 // of a board's last frame, and of questions that are over: the outcome waits for them
	postPause     = 250 * time.Millisecond
	showRetryTime = 24 * time.Hour
)

// errUnsendable wraps what a platform said when it took no message in any try.
var errUnsendable = errors.New("the chat takes no message")

// newPauses returns the pauses between tries of one message.
func newPauses() *retry.Pauses { return retry.New(postPause, time.Minute, 0) }

// sender sends and changes the messages of one task, and stores their ids.
type sender struct {
	ps       *Presenters
	id       tasks.ID
	chat     bot.Chat
	platform bot.Platform

	unconfirmedMu sync.Mutex
	unconfirmed   map[string]bool // slots whose message may have been sent already
}

// noteUnconfirmed notes which messages may have been sent before a crash.
func (s *sender) noteUnconfirmed(slots []planner.Slot) {
	s.unconfirmedMu.Lock()
	defer s.unconfirmedMu.Unlock()
	for _, slot := range slots {
		s.unconfirmed[slot.Name] = slot.Message == ""
	}
}

// mayBeSent reports that the message of a slot may have been sent already.
func (s *sender) mayBeSent(slot string) bool {
	s.unconfirmedMu.Lock()
	defer s.unconfirmedMu.Unlock()
	return s.unconfirmed[slot]
}

// edit changes a message; a repeated change is harmless.
func (s *sender) edit(ctx context.Context, to bot.Chat, id string, d bot.Draft, tries int) error {
	pauses := newPauses()
	for try := 1; ; try++ {
		failpoint.Hit("edit.before.answer")
		err := s.platform.Edit(ctx, to, id, d)
		failpoint.Hit("edit.after.answer")
		var moved *bot.MovedError
		if err == nil || ctx.Err() != nil || try >= tries || errors.Is(err, bot.ErrGone) || errors.As(err, &moved) {
			return err
		}
		if err := pauses.Sleep(ctx); err != nil {
			return err
		}
	}
}

// post sends the message of a slot. What an earlier try may have sent is looked
// for before the next one.
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

// messageKind is what the message of a slot is: an answer, or a question.
func messageKind(slot string) string {
	if strings.HasPrefix(slot, "answer.") {
		return "answer"
	}
	return "question"
}

// completeFound brings a message that was found to what it has to be: it may hold the
// first words only.
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

// markSending notes that the message of a slot may be out from now on. undo takes
// that back, for when the platform sent nothing.
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

// find looks for a message that may have been sent before, where the platform
// can; empty when there is none.
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

// recordSendStarted notes that the message of a slot is about to go out.
func (s *sender) recordSendStarted(ctx context.Context, slot string) error {
	return s.append(ctx, planner.Event{Type: planner.SendStarted, Slot: slot})
}

// recordSent notes which message shows a slot, and which one it takes the place of;
// last says that nothing of the task is shown after it.
func (s *sender) recordSent(ctx context.Context, slot, message, instead string, last bool) error {
	return s.append(ctx, planner.Event{Type: planner.Sent, Slot: slot, Message: message, Instead: instead, Last: last})
}

// Notice posts a sentence that is not part of the journal.
func (s *sender) Notice(ctx context.Context, language, key string) {
	d := bot.Draft{Kind: bot.KindNotice, Task: string(s.id), Text: s.ps.Texts.Text(language, key, nil)}
	if _, err := s.platform.Post(ctx, s.chat, d); err != nil && ctx.Err() == nil {
		s.ps.Log.WarnContext(ctx, "a notice could not be shown", "task", s.id, "cause", err)
	}
}

// streamer is the platform's ability to show text that is no message; nil where
// it has none in this chat.
func (s *sender) streamer() bot.Streamer {
	if p, ok := s.platform.(bot.Streamer); ok && p.Streams(s.chat) {
		return p
	}
	return nil
}

// lasting reports that messages stay, and with them what is done to them.
func (s *sender) lasting() bool { return !s.platform.Limits().Ephemeral }

// change edits a slot's message.
func (s *sender) change(ctx context.Context, slot string, id *string, d bot.Draft) error {
	return s.moved(ctx, slot, id, s.platform.Edit(ctx, s.chat, *id, d))
}

// moved takes what an edit returned: where the platform shows the draft in
// another message, that takes the slot.
func (s *sender) moved(ctx context.Context, slot string, id *string, err error) error {
	var moved *bot.MovedError
	if !errors.As(err, &moved) {
		return err
	}
	was := *id
	*id = moved.ID
	return s.recordSent(ctx, slot, moved.ID, was, false)
}

// isHeadless reports that the task is shown nowhere.
func (s *sender) isHeadless() bool {
	_, none := s.platform.(headless)
	return none
}

// privateChat is the private chat of the task's person.
func (s *sender) privateChat(ctx context.Context, v *tasks.View) (bot.Chat, error) {
	director, ok := s.platform.(bot.Director)
	if !ok {
		return bot.Chat{}, errNotPrivate
	}
	chat, err := director.Direct(ctx, v.Opening().From.ID)
	if err != nil {
		return chat, fmt.Errorf("finding the private chat of who asked: %w", err)
	}
	return chat, nil
}

// replace changes the message at place and returns the id of what shows the
// draft then; empty when a new message has to.
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

// Lasts reports that the task's chat keeps its messages.
func (s *sender) Lasts() bool { return s.lasting() }
