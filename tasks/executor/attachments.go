package executor

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"legwork/bot"
	"legwork/files"
	"legwork/files/read"
	"legwork/internal/clip"
	"legwork/internal/retry"
	"legwork/planner"
	"legwork/tasks"
)

// fetchTries is how often a file is asked for at its platform, and keepTime how long a
// content stays without an event that refers to it.
const (
	fetchTries = 5
	keepTime   = time.Hour
)

// sniffed is how many bytes the type of a file is found from.
const sniffed = 4 << 10

// Bounds of what is kept of one file: bytes of its text, and pictures of its pages.
const (
	maxKeptText = 4 << 20
	maxPictures = 8
)

// fetch reads a file that a message brought along: it fetches the content from the
// platform, keeps it, and finds out what is in it.
func (x *Executor) fetch(ctx context.Context, v *tasks.View, a planner.Action) error {
	list := planner.Attachments(v.Event(a.ID.Seq))
	if a.ID.Field >= len(list) {
		return fmt.Errorf("reading file: event %d has %d files", a.ID.Seq, len(list))
	}
	attached := list[a.ID.Field]
	r := planner.ReadFile{File: files.File{Name: fileName(attached), Type: attached.Type, Bytes: attached.Bytes}}
	err := x.keepAttachment(ctx, v, attached, &r)
	if err == nil {
		err = x.readKept(ctx, v, a.ID, attached, &r)
	}
	if over, reached := errors.AsType[*overdraftError](err); reached {
		asks, failed := x.shouldAsk(ctx, v, a)
		if failed != nil {
			return failed
		}
		if asks {
			return x.askToExtend(ctx, v.ID, over.reserved)
		}
	}
	if err != nil {
		if r.Problem, r.Limit = x.fileProblem(err); r.Problem == "" {
			return err
		}
		x.Log.WarnContext(ctx, "file not read", "task", v.ID, "action", a.ID, "kind", attached.Kind, "cause", err)
	}
	return x.Append(ctx, v.ID, planner.Event{Type: planner.FileRead, Action: a.ID, Read: &r})
}

// fileName is the name of a file as people see it; files without one, such as photos,
// are named by their kind.
func fileName(a bot.Attachment) string {
	return (&bot.File{Name: cmp.Or(a.Name, string(a.Kind))}).BaseName()
}

// errFetch wraps the error of a platform that did not give a file.
var errFetch = errors.New("fetching file from its platform")

// fileProblem returns the key of the sentence about an error, and the limit that it is
// about. The key is empty for an error that another try may mend.
func (x *Executor) fileProblem(err error) (key string, limit int64) {
	limits := x.rules.Load().Files
	for _, p := range []struct {
		err   error
		key   string
		limit int64
	}{
		{bot.ErrFileGone, "gone", 0},
		{files.ErrNone, "gone", 0},
		{bot.ErrFileLarge, "large_there", 0},
		{files.ErrLarge, "large", limits.File},
		{files.ErrTotal, "room_all", limits.All},
		{files.ErrRoom, "room", limits.Chat},
		{tasks.ErrFull, "disk", 0},
		{syscall.ENOSPC, "disk", 0},
		{read.ErrEmpty, "empty", 0},
		{read.ErrEncrypted, "encrypted", 0},
		{read.ErrDamaged, "damaged", 0},
		{read.ErrKind, "unsupported", 0},
		{read.ErrHEIC, "heic", 0},
		{read.ErrLarge, "bounds", 0},
		{read.ErrUnpacked, "bounds", 0},
		{read.ErrPages, "bounds", 0},
		{read.ErrPixels, "pixels", 0},
		{read.ErrTime, "bounds", 0},
		{read.ErrMemory, "bounds", 0},
		{errUnheard, "unheard", 0},
		{errNotHeard, "not_heard", 0},
		{errUnseen, "unseen", 0},
		{tasks.ErrBudget, "budget", 0},
		{errFetch, "unreachable", 0},
	} {
		if errors.Is(err, p.err) {
			return p.key, p.limit
		}
	}
	return "", 0
}

// keepAttachment keeps the content of a file, and notes it in r.
func (x *Executor) keepAttachment(ctx context.Context, v *tasks.View, a bot.Attachment, r *planner.ReadFile) error {
	if id, kept := a.Kept(); kept {
		r.ID = files.ID(id)
		return nil
	}
	limits := x.rules.Load().Files
	if limits.File > 0 && a.Bytes > limits.File {
		return files.ErrLarge
	}
	chat := v.Opening().Chat
	keep := tasks.Keep{Owner: chat.Room(), Name: r.Name, Until: x.Now().Add(keepTime), Max: limits.File, OwnerMax: limits.Chat, TotalMax: limits.All}
	pauses := retry.New(500*time.Millisecond, 20*time.Second, 0)
	for try := 1; ; try++ {
		kept, err := x.keepFrom(ctx, chat, a, keep)
		if err == nil {
			r.ID, r.Bytes = kept.ID, kept.Bytes
			return nil
		}
		passes := errors.Is(err, errFetch) && !errors.Is(err, bot.ErrFileGone) && !errors.Is(err, bot.ErrFileLarge)
		if ctx.Err() != nil || !passes || try >= fetchTries {
			return cmp.Or(ctx.Err(), err)
		}
		if err := pauses.Sleep(ctx); err != nil {
			return err
		}
	}
}

// keepFrom copies a file from its platform to the store.
func (x *Executor) keepFrom(ctx context.Context, chat bot.Chat, a bot.Attachment, keep tasks.Keep) (files.File, error) {
	platform, err := x.Chats.Platform(chat)
	if err != nil {
		return files.File{}, fmt.Errorf("%w: %w", errFetch, err)
	}
	fetcher, ok := platform.(bot.Fetcher)
	if !ok {
		return files.File{}, fmt.Errorf("%w: %w", errFetch, bot.ErrFileGone)
	}
	ctx, cancel := context.WithCancel(ctx)
	out, in := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := fetcher.Fetch(ctx, chat, a, in)
		if err != nil {
			err = fmt.Errorf("%w: %w", errFetch, err)
		}
		in.CloseWithError(err)
	}()
	content := bufio.NewReaderSize(out, sniffed)
	head, _ := content.Peek(sniffed) // KeepFile gets the error, too
	keep.Type = read.TypeOf(head, keep.Name)
	kept, err := x.Store.KeepFile(ctx, content, keep)
	out.CloseWithError(err)
	cancel()
	<-done
	return kept, err
}

// readKept finds out what is in a kept file.
func (x *Executor) readKept(ctx context.Context, v *tasks.View, action planner.ActionID, a bot.Attachment, r *planner.ReadFile) error {
	path, remove, err := x.copied(ctx, r.ID)
	if err != nil {
		return err
	}
	defer remove()
	head := make([]byte, sniffed)
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening copy of file: %w", err)
	}
	n, _ := io.ReadFull(f, head)
	_ = f.Close()
	if n == 0 {
		return read.ErrEmpty
	}
	r.Type = read.TypeOf(head[:n], r.Name)
	switch kind, _, _ := strings.Cut(r.Type, "/"); {
	case kind == "image":
		return x.readPicture(ctx, v, path, r)
	case kind == "audio", kind == "video", r.Type == "application/ogg":
		return x.listen(ctx, v, action, path, a, r)
	}
	return x.readText(ctx, v, path, r)
}

// maxReaders is how many processes read files at once. Each may take all of the memory
// and time that read.Limits allow, and the text of a file is in memory until it is kept.
const maxReaders = 2

// startReading waits until one more process may read a file; done ends it.
func (x *Executor) startReading(ctx context.Context) (done func(), err error) {
	select {
	case x.reading <- struct{}{}:
		return func() { <-x.reading }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// errUnseen means that no model is configured that looks at pictures.
var errUnseen = errors.New("no model has the role vision")

// copied copies a content to a file of its own, for the process that reads it.
func (x *Executor) copied(ctx context.Context, id files.ID) (path string, remove func(), err error) {
	content, err := x.Store.OpenFile(ctx, id)
	if err != nil {
		return "", nil, fmt.Errorf("opening file: %w", err)
	}
	defer func() { _ = content.Close() }()
	f, err := os.CreateTemp(x.Copies, "legwork-file-")
	if err != nil {
		return "", nil, fmt.Errorf("copying file: %w", err)
	}
	remove = func() { _ = os.Remove(f.Name()) }
	_, err = io.Copy(f, content)
	if err = errors.Join(err, f.Close()); err != nil {
		remove()
		return "", nil, fmt.Errorf("copying file: %w", err)
	}
	return f.Name(), remove, nil
}

func (x *Executor) readPicture(ctx context.Context, v *tasks.View, path string, r *planner.ReadFile) error {
	if r.Kind = "picture"; !x.rules.Load().HasVision {
		return errUnseen
	}
	done, err := x.startReading(ctx)
	if err != nil {
		return err
	}
	p, err := read.ReadPicture(ctx, path, read.Limits{})
	done()
	if err != nil {
		return err
	}
	return x.keepPicture(ctx, v, p, r)
}

func (x *Executor) keepPicture(ctx context.Context, v *tasks.View, p read.Picture, r *planner.ReadFile) error {
	kept, err := x.keepMade(ctx, v, p.Data, r.Name, p.Type)
	if err == nil {
		r.Pictures = append(r.Pictures, planner.Picture{ID: kept.ID, Type: p.Type})
	}
	return err
}

// keepMade keeps a content that was made from files.
func (x *Executor) keepMade(ctx context.Context, v *tasks.View, content []byte, name, kind string) (files.File, error) {
	limits := x.rules.Load().Files
	kept, err := x.Store.KeepFile(ctx, bytes.NewReader(content), tasks.Keep{
		Owner: v.Opening().Chat.Room(), Name: name, Type: kind, Until: x.Now().Add(keepTime), OwnerMax: limits.Chat, TotalMax: limits.All,
	})
	if err != nil {
		return kept, fmt.Errorf("keeping what was read from a file: %w", err)
	}
	return kept, nil
}

// readText reads a document: its text, with the names of its parts, and pictures of
// pages without text.
func (x *Executor) readText(ctx context.Context, v *tasks.View, path string, r *planner.ReadFile) error {
	done, err := x.startReading(ctx)
	if err != nil {
		return err
	}
	defer done()
	var parts []read.Part
	size, unseen := 0, false
	document, err := x.Reader.File(ctx, path, r.Name, read.Limits{}, func(p read.Part) error {
		if p.Picture != nil {
			if unseen = !x.rules.Load().HasVision; unseen || len(r.Pictures) >= maxPictures {
				return nil
			}
			return x.keepPicture(ctx, v, *p.Picture, r)
		}
		if size += len(p.Text); size > maxKeptText {
			p.Text = clip.Marked(p.Text, max(0, len(p.Text)-(size-maxKeptText)))
		}
		parts = append(parts, p)
		return nil
	})
	if err != nil && len(parts) == 0 && len(r.Pictures) == 0 {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.Kind, r.Type, r.Total = document.Kind, cmp.Or(document.Type, r.Type), max(document.Total, len(parts))
	if err != nil || document.Cut {
		r.Problem = "cut"
		x.Log.InfoContext(ctx, "file read in part", "task", v.ID, "parts", len(parts), "cause", err)
	}
	if unseen && r.Problem == "" {
		r.Problem = "unseen"
	}
	return x.keepParts(ctx, v, parts, r)
}

// keepParts notes the text of the parts of a file, and their names. The whole of a long
// text is kept apart.
func (x *Executor) keepParts(ctx context.Context, v *tasks.View, parts []read.Part, r *planner.ReadFile) error {
	for _, p := range parts[:min(len(parts), planner.MaxOutline)] {
		r.Parts = append(r.Parts, p.Name)
	}
	whole := textOf(parts)
	r.TextBytes = int64(len(whole))
	r.Text = strings.Clone(clip.Bytes(whole, planner.MaxFileText)) // the event must not hold the whole in memory
	if int64(len(r.Text)) == r.TextBytes {
		r.TextBytes = 0
		return nil
	}
	body, err := json.Marshal(parts)
	if err != nil {
		return fmt.Errorf("keeping text of file: %w", err)
	}
	kept, err := x.keepMade(ctx, v, body, r.Name, "application/json")
	r.Whole = kept.ID
	return err
}

// textOf is the text of parts, each under its name where there are several.
func textOf(parts []read.Part) string {
	if len(parts) == 1 {
		return parts[0].Text
	}
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "[%s]\n%s\n", p.Name, p.Text)
	}
	return strings.TrimSpace(b.String())
}
