package executor

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"legwork/bot"
	"legwork/files"
	"legwork/files/read"
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

// maxPictures is how many pictures of its pages are kept of one file: as many as a prompt
// shows.
const maxPictures = planner.MaxSeen

// fetching reads one file that a message brought along.
type fetching struct {
	x    *Executor
	v    *tasks.View
	a    planner.Action
	from bot.Attachment
	r    *planner.ReadFile // contents of the file, as far as they are known
}

// fetch reads a file that a message brought along: it fetches the content from the
// platform, keeps it, and finds out what is in it.
func (x *Executor) fetch(ctx context.Context, v *tasks.View, a planner.Action) error {
	list := planner.Attachments(v.Event(a.ID.Seq))
	if a.ID.Field >= len(list) {
		return fmt.Errorf("reading file: event %d has %d files", a.ID.Seq, len(list))
	}
	attached := list[a.ID.Field]
	r := planner.ReadFile{File: files.File{Name: fileName(attached), Type: attached.Type, Bytes: attached.Bytes}}
	f := fetching{x, v, a, attached, &r}
	err := f.keep(ctx)
	if err == nil {
		err = f.readKept(ctx)
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
		if r.Problem, r.Limit = fileProblem(err, x.rules.Load().Files); r.Problem == "" {
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
func fileProblem(err error, limits tasks.FileLimits) (key string, limit int64) {
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

// keep keeps the content of the file.
func (f fetching) keep(ctx context.Context) error {
	if id, kept := f.from.Kept(); kept {
		f.r.ID = files.ID(id)
		return nil
	}
	limits := f.x.rules.Load().Files
	if limits.File > 0 && f.from.Bytes > limits.File {
		return files.ErrLarge
	}
	keep := tasks.Keep{
		Owner: f.v.Opening().Chat.Room(), Name: f.r.Name, Until: f.x.Now().Add(keepTime),
		Max: limits.File, OwnerMax: limits.Chat, TotalMax: limits.All,
	}
	pauses := retry.New(500*time.Millisecond, 20*time.Second, 0)
	for try := 1; ; try++ {
		kept, err := f.keepFromPlatform(ctx, keep)
		if err == nil {
			f.r.ID, f.r.Bytes = kept.ID, kept.Bytes
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

// keepFromPlatform copies the file from its platform to the store.
func (f fetching) keepFromPlatform(ctx context.Context, keep tasks.Keep) (files.File, error) {
	chat := f.v.Opening().Chat
	platform, err := f.x.Chats.Platform(chat)
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
		err := fetcher.Fetch(ctx, chat, f.from, in)
		if err != nil {
			err = fmt.Errorf("%w: %w", errFetch, err)
		}
		in.CloseWithError(err)
	}()
	content := bufio.NewReaderSize(out, sniffed)
	head, _ := content.Peek(sniffed) // KeepFile gets the error, too
	keep.Type = read.TypeOf(head, keep.Name)
	kept, err := f.x.Store.KeepFile(ctx, content, keep)
	out.CloseWithError(err)
	cancel()
	<-done
	return kept, err
}

// readKept finds out what is in the kept file.
func (f fetching) readKept(ctx context.Context) error {
	head, err := f.x.contents.load(ctx, f.r.ID, sniffed)
	if err != nil {
		return err
	}
	if len(head) == 0 {
		return read.ErrEmpty
	}
	f.r.Type = read.TypeOf(head, f.r.Name)
	path, remove, err := f.x.contents.copy(ctx, f.r.ID)
	if err != nil {
		return err
	}
	defer remove()
	switch kind, _, _ := strings.Cut(f.r.Type, "/"); {
	case kind == "image":
		return f.readPicture(ctx, path)
	case kind == "audio", kind == "video", f.r.Type == "application/ogg":
		return f.listen(ctx, path)
	}
	return f.readText(ctx, path)
}

// errUnseen means that no model is configured that looks at pictures.
var errUnseen = errors.New("no model has the role vision")

func (f fetching) readPicture(ctx context.Context, path string) error {
	if f.r.Kind = "picture"; !f.x.rules.Load().HasVision {
		return errUnseen
	}
	p, err := f.x.contents.picture(ctx, path)
	if err != nil {
		return err
	}
	return f.keepPicture(ctx, p, "")
}

// keepPicture keeps a picture of the file, or of the page with that name.
func (f fetching) keepPicture(ctx context.Context, p read.Picture, name string) error {
	kept, err := f.x.contents.keep(ctx, f.v, bytes.NewReader(p.Data), f.r.Name, p.Type)
	if err == nil {
		f.r.Pictures = append(f.r.Pictures, planner.Picture{ID: kept.ID, Type: p.Type, Name: name})
	}
	return err
}

// readText reads a document: its text, with the names of its parts, and pictures of
// pages without text.
func (f fetching) readText(ctx context.Context, path string) error {
	return f.keepParts(ctx, func(parts *partWriter) error {
		unseen := false
		document, err := f.x.contents.document(ctx, path, f.r.Name, maxPictures, func(p read.Part) error {
			if p.Picture == nil {
				return parts.add(p)
			}
			if unseen = !f.x.rules.Load().HasVision; unseen {
				return nil
			}
			return f.keepPicture(ctx, *p.Picture, p.Name)
		})
		if err != nil && parts.count == 0 && len(f.r.Pictures) == 0 {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		f.r.Kind, f.r.Type, f.r.Total = document.Kind, cmp.Or(document.Type, f.r.Type), max(document.Total, parts.count)
		if err != nil || document.Cut {
			f.r.Problem = "cut"
			f.x.Log.InfoContext(ctx, "file read in part", "task", f.v.ID, "parts", parts.count, "cause", err)
		}
		if unseen && f.r.Problem == "" {
			f.r.Problem = "unseen"
		}
		return nil
	})
}

// keepParts notes the text of the parts that write adds. The whole of a long text is kept
// apart.
func (f fetching) keepParts(ctx context.Context, write func(*partWriter) error) error {
	file, remove, err := f.x.contents.temporary()
	if err != nil {
		return err
	}
	defer remove()
	defer func() { _ = file.Close() }()
	parts := newPartWriter(file)
	if err := write(parts); err != nil {
		return err
	}
	f.r.Parts = parts.names
	text, whole := parts.beginning()
	if f.r.Text = text; whole {
		return nil
	}
	f.r.TextBytes = int64(parts.size)
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("keeping text of file: %w", err)
	}
	kept, err := f.x.contents.keep(ctx, f.v, file, f.r.Name, "application/json")
	f.r.Whole = kept.ID
	return err
}
