package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"legwork/files"
	"legwork/files/read"
	"legwork/internal/clip"
	"legwork/planner"
	"legwork/tasks"
)

// look copies what calls of read_attachment show into the event of a reply: the files
// may be deleted before the next prompt.
func (x *Executor) look(ctx context.Context, v *tasks.View, a planner.Action, e planner.Event) error {
	if e.Reply == nil {
		return nil
	}
	for i := range e.Reply.Calls {
		c := &e.Reply.Calls[i]
		if c.Look == nil {
			continue
		}
		refusal, err := x.lookAt(ctx, v, a, c.Look)
		if err != nil {
			return err
		}
		if refusal != "" {
			c.Look, c.Refusal = nil, refusal
		}
	}
	return nil
}

// lookAt fills in what a call shows, or returns why it shows nothing.
func (x *Executor) lookAt(ctx context.Context, v *tasks.View, a planner.Action, l *planner.Look) (refusal string, err error) {
	r, err := x.fileNamed(ctx, v, a, l.File)
	if err != nil {
		return "", err
	}
	if r == nil {
		return fmt.Sprintf("there is no file %q to be read here", clip.Marked(l.File, 40)), nil
	}
	parts, which := []read.Part{{Text: r.Text}}, l.Parts
	if _, _, numbered := numbers(which); r.Type == "application/zip" && which != "" && !numbered {
		parts, err = x.member(ctx, r, which)
		which = ""
	} else if r.Whole != "" {
		parts, err = x.parts(ctx, r.Whole)
	} else {
		which = "" // the parts of a small file are kept as one text, so each call gets all of it
	}
	if errors.Is(err, files.ErrNone) {
		return fmt.Sprintf("the file %s is no longer kept", l.File), nil
	}
	if unreadable := read.Error(""); errors.As(err, &unreadable) {
		return fmt.Sprintf("%s of %s cannot be read: %v", clip.Marked(l.Parts, 100), l.File, unreadable), nil
	}
	if err != nil {
		return "", err
	}
	text := textOf(choose(parts, which, l.Find))
	part, from := planner.Portion(text, l.Offset)
	if part == "" {
		return fmt.Sprintf("nothing in %s fits; it has %d parts and %d bytes of text", l.File, max(r.Total, 1), max(r.TextBytes, int64(len(r.Text)))), nil
	}
	l.Text, l.Offset, l.Bytes = part, from, len(text)
	return "", nil
}

// fileNamed is the file that the model of an action may read under a name; nil when there
// is none.
func (x *Executor) fileNamed(ctx context.Context, v *tasks.View, a planner.Action, name string) (*planner.ReadFile, error) {
	if !planner.GivenFile(v.State, a, v.Event, name) {
		return nil, nil
	}
	if strings.Contains(name, "/") {
		return x.files.find(ctx, v, name)
	}
	i := planner.FileIndex(name)
	if i < 0 || i >= len(v.State.Files) || v.State.Files[i].Gone {
		return nil, nil
	}
	return v.Event(v.State.Files[i].Read).Read, nil
}

// parts reads the parts of a document that readText has kept.
func (x *Executor) parts(ctx context.Context, id files.ID) (list []read.Part, err error) {
	content, err := x.Store.OpenFile(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("opening text of file: %w", err)
	}
	defer func() { _ = content.Close() }()
	body, err := io.ReadAll(content)
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("reading text of file: %w", err)
	}
	return list, nil
}

// member reads a member of an archive, by its name.
func (x *Executor) member(ctx context.Context, r *planner.ReadFile, name string) (list []read.Part, err error) {
	archive, remove, err := x.copied(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	defer remove()
	f, err := os.CreateTemp(x.Copies, "legwork-file-")
	if err != nil {
		return nil, fmt.Errorf("reading member of file: %w", err)
	}
	defer func() { _ = os.Remove(f.Name()) }()
	done, err := x.startReading(ctx)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	defer done()
	if err := errors.Join(read.Member(ctx, archive, name, read.Limits{}, f), f.Close()); err != nil {
		return nil, err
	}
	size := 0
	_, err = x.Reader.File(ctx, f.Name(), path.Base(name), read.Limits{}, func(p read.Part) error {
		if size += len(p.Text); size <= maxKeptText && p.Picture == nil {
			list = append(list, p)
		}
		return nil
	})
	if len(list) > 0 && ctx.Err() == nil {
		err = nil // the parts before count
	}
	return list, err
}

// choose returns the parts of a range, or with a name, that hold all words. An empty
// range is all parts, and no words fit all.
func choose(parts []read.Part, which, find string) (chosen []read.Part) {
	first, last, isRange := numbers(which)
	words := strings.Fields(strings.ToLower(find))
	for i, p := range parts {
		switch {
		case isRange && (i+1 < first || i+1 > last):
			continue
		case !isRange && which != "" && !strings.Contains(strings.ToLower(p.Name), strings.ToLower(strings.TrimSpace(which))):
			continue
		}
		text, all := strings.ToLower(p.Text), true
		for _, w := range words {
			all = all && strings.Contains(text, w)
		}
		if all {
			chosen = append(chosen, p)
		}
	}
	return chosen
}

// numbers reads "3" or "3-7".
func numbers(text string) (first, last int, ok bool) {
	from, to, ranged := strings.Cut(text, "-")
	if !ranged {
		to = from
	}
	first, err := strconv.Atoi(strings.TrimSpace(from))
	last, err2 := strconv.Atoi(strings.TrimSpace(to))
	return first, last, err == nil && err2 == nil
}
