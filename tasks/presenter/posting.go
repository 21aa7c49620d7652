package presenter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"legwork/bot"
	"legwork/internal/failpoint"
	"legwork/internal/retry"
)

// How one message gets to its chat, whatever it is: tried again, and looked for
// where an earlier try may have sent it.

// How often and how long a refused outcome is sent again, and for how long the
// rounds of tries of a chat that lasts are repeated.
const (
	postTries = 8
	foldTries = 5 // of a board's last frame, and of questions that are over: the outcome waits for them
	postPause = 250 * time.Millisecond
	patience  = 24 * time.Hour
)

// errUnsendable wraps what a platform said when it took no message in any try.
var errUnsendable = errors.New("the chat takes no message")

// newPauses returns the pauses between tries of one message.
func newPauses() *retry.Pauses { return retry.New(postPause, time.Minute, 0) }

// edit changes a message; a repeated change is harmless.
func (p *Presenter) edit(ctx context.Context, to *bot.Chat, id string, d *bot.Draft, tries int) error {
	pauses := newPauses()
	for try := 1; ; try++ {
		failpoint.Hit("edit.before.answer")
		err := p.platform.Edit(ctx, *to, id, *d)
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
func (p *Presenter) post(ctx context.Context, to *bot.Chat, slot string, d *bot.Draft, tries int) (string, error) {
	pauses := newPauses()
	for try := 1; ; try++ {
		if id := p.find(ctx, to, slot, d.Mark); id != "" {
			return p.complete(ctx, to, id, d)
		}
		p.sending(slot)
		failpoint.Hit("post.before." + nature(slot))
		id, err := p.platform.Post(ctx, *to, *d)
		if err == nil {
			failpoint.Hit("post.after." + nature(slot))
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

// nature is what the message of a slot is: an answer, or a question.
func nature(slot string) string {
	if strings.HasPrefix(slot, "answer.") {
		return "answer"
	}
	return "question"
}

// complete brings a message that was found to what it has to be: it may hold the
// first words only.
func (p *Presenter) complete(ctx context.Context, to *bot.Chat, id string, d *bot.Draft) (string, error) {
	err := p.edit(ctx, to, id, d, postTries)
	var moved *bot.MovedError
	switch {
	case errors.As(err, &moved):
		return moved.ID, nil
	case err == nil || ctx.Err() != nil:
		return id, err
	}
	return "", fmt.Errorf("%w: %w", errUnsendable, err)
}

// sending notes that the message of a slot may be out from now on. undo takes
// that back, for when the platform sent nothing.
func (p *Presenter) sending(slot string) (undo func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.doubt[slot]
	p.doubt[slot] = true
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.doubt[slot] = before
	}
}

// find looks for a message that may have been sent before, where the platform
// can; empty when there is none.
func (p *Presenter) find(ctx context.Context, to *bot.Chat, slot, mark string) string {
	p.mu.Lock()
	doubt := p.doubt[slot]
	p.mu.Unlock()
	f, ok := p.platform.(bot.Finder)
	if !doubt || !ok {
		return ""
	}
	id, err := f.Find(ctx, *to, mark)
	if err != nil && ctx.Err() == nil {
		p.ps.Log.WarnContext(ctx, "a sent message could not be looked for", "task", p.id, "cause", err)
	}
	return id
}
