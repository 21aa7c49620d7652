package presenter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"legwork/bot"
	"legwork/files"
	"legwork/internal/failpoint"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// outbox sends the files of an outcome, each as a message of its own with a slot of its
// own. They come before the answer. A file that the chat does not take at the first try
// comes after it, so that no upload delays the words.
type outbox struct {
	*sender
	view *tasks.View
}

// outFile is a file of an outcome.
type outFile struct {
	planner.MadeFile
	content []byte // nil: it is kept
}

// fileRetryTime is for how long after a task's end a file is tried that the chat does not
// take, although it may take other messages.
const fileRetryTime = 10 * time.Minute

// errNoFile means that a file cannot be sent in this chat, and errLater that a later try
// may send it.
var (
	errNoFile = errors.New("the chat does not get the file")
	errLater  = errors.New("the chat did not take the file")
)

// takesFiles reports whether files can be sent in the task's chat, as far as is known.
func (o outbox) takesFiles() bool {
	f, ok := o.platform.(bot.Filer)
	return ok && f.Files(o.chat)
}

// sendAll sends the files of an outcome. It returns the messages that follow, of those that
// the answer has. late is the error of files that another sendAll may send.
func (o outbox) sendAll(ctx context.Context, parts []bot.Draft) (follow []bot.Draft, late, err error) {
	if late, err = o.sendMade(ctx); err != nil {
		return nil, nil, err
	}
	large := outsize{outbox: o, rules: o.ps.rules.Load(), next: len(planner.Made(o.view.State, o.view.Event))}
	follow, err = large.fit(ctx, parts)
	return follow, late, err
}

// sendMade sends the files that the task has made. The person is told about a file that
// cannot be sent.
func (o outbox) sendMade(ctx context.Context) (late, err error) {
	for i, f := range planner.Made(o.view.State, o.view.Event) {
		slot := planner.FileSlot(i + 1)
		err := o.send(ctx, slot, outFile{MadeFile: f})
		if errors.Is(err, errNoFile) {
			err = o.tell(ctx, slot, f, err)
		}
		switch {
		case errors.Is(err, errLater):
			late = err
		case err != nil:
			return nil, err
		}
	}
	return late, nil
}

// send sends one file, unless its message is recorded already. The intent to send is
// stored before, and the id of the message after.
func (o outbox) send(ctx context.Context, slot string, f outFile) error {
	state := o.view.State.Slot(slot)
	if state.Message != "" {
		return nil
	}
	if !o.takesFiles() {
		return errNoFile
	}
	content, err := o.read(ctx, f)
	if err != nil {
		return err
	}
	if state.Name == "" {
		if err := o.recordSendStarted(ctx, slot); err != nil {
			return err
		}
	}
	d := bot.Draft{
		Kind: bot.KindAnswer, Task: string(o.id), Text: f.Caption, ReplyTo: o.view.Opening().Message, Mark: cards.MarkOf(o.id, slot),
		File: &bot.File{Name: f.Name, Type: f.Type, As: lookOf(f.Type), Content: content},
	}
	if d.Text == "" && d.File.As != bot.AsDocument && o.Lasts() { // where chats do not show the name
		d.Text = cards.PlainText(d.File.BaseName())
	}
	tries := postTries
	if o.Lasts() {
		tries = 1 // Show is repeated
	}
	id, err := o.post(ctx, o.chat, slot, d, tries)
	if err != nil {
		return o.failed(ctx, f, err)
	}
	err = o.recordSent(ctx, slot, id, "", false)
	failpoint.Hit("keep.after.file")
	return err
}

// failed is the error of a file that was not sent: errLater, or errNoFile when no further
// try helps, or when the file was tried for long enough.
func (o outbox) failed(ctx context.Context, f outFile, err error) error {
	if ctx.Err() != nil || errors.Is(err, bot.ErrGone) || !errors.Is(err, errUnsendable) {
		return err
	}
	if !errors.Is(err, bot.ErrNoFiles) && o.Lasts() && o.ps.Now().Sub(o.view.State.Last) < fileRetryTime {
		return fmt.Errorf("%w: %w", errLater, err)
	}
	o.ps.Log.WarnContext(ctx, "file not sent", "task", o.id, "bytes", f.Bytes, "cause", err)
	return fmt.Errorf("%w: %w", errNoFile, err)
}

// read returns the content of a file.
func (o outbox) read(ctx context.Context, f outFile) ([]byte, error) {
	if f.content != nil {
		return f.content, nil
	}
	if f.Bytes > bot.MaxFile {
		return nil, fmt.Errorf("%w: %w", errNoFile, files.ErrLarge)
	}
	kept, err := o.ps.Store.OpenFile(ctx, f.ID)
	if err == nil {
		defer func() { _ = kept.Close() }()
		var content []byte
		if content, err = io.ReadAll(io.LimitReader(kept, bot.MaxFile+1)); err == nil {
			return content, nil
		}
	}
	if errors.Is(err, files.ErrNone) {
		return nil, fmt.Errorf("%w: %w", errNoFile, err)
	}
	return nil, fmt.Errorf("reading file: %w", err)
}

// tell says, in place of a file, why it does not come.
func (o outbox) tell(ctx context.Context, slot string, f planner.MadeFile, why error) error {
	if state := o.view.State.Slot(slot); state.Name == "" {
		if err := o.recordSendStarted(ctx, slot); err != nil && !tasks.Superseded(err) { // superseded: send has recorded it
			return err
		}
	}
	key := "made.failed"
	switch {
	case errors.Is(why, files.ErrNone):
		key = "made.gone"
	case errors.Is(why, files.ErrLarge), errors.Is(why, bot.ErrTooLarge):
		key = "made.large"
	case errors.Is(why, bot.ErrNoFiles), !o.takesFiles():
		key = "made.refused"
	}
	opening := o.view.Opening()
	d := bot.Draft{
		Kind: bot.KindNotice, Task: string(o.id), ReplyTo: opening.Message, Mark: cards.MarkOf(o.id, slot+" notice"),
		Text: o.ps.Texts.Text(opening.Language, key, map[string]any{"Name": cards.PlainText(bot.BaseName(f.Name)), "Max": files.Size(bot.MaxFile)}),
	}
	id, err := o.post(ctx, o.chat, slot, d, postTries)
	if err != nil {
		return err
	}
	return o.recordSent(ctx, slot, id, "", false)
}

// lookOf says how a file of a type is shown.
func lookOf(mediaType string) bot.FileAs {
	switch {
	case mediaType == "image/png", mediaType == "image/jpeg":
		return bot.AsPhoto
	case strings.HasPrefix(mediaType, "audio/"):
		return bot.AsVoice
	}
	return bot.AsDocument
}
