package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"

	"legwork/files"
	"legwork/files/read"
	"legwork/internal/clip"
	"legwork/planner"
	"legwork/tasks"
)

// maxReaders is how many processes read files at once. Each may take all of the memory
// and time that read.Limits allow.
const maxReaders = 2

// maxKeptText is how much of the text of one file is kept, in bytes.
const maxKeptText = 4 << 20

// contents keeps files in the store, and reads them in processes of their own.
type contents struct {
	cfg     *Config
	rules   *atomic.Pointer[tasks.PromptRules]
	reading chan struct{} // holds a token for each process that reads a file
}

// keep keeps a content that was made from files, for the chat of a task.
func (c *contents) keep(ctx context.Context, v *tasks.View, content io.Reader, name, mediaType string) (files.File, error) {
	limits := c.rules.Load().Files
	kept, err := c.cfg.Store.KeepFile(ctx, content, tasks.Keep{
		Owner: v.Opening().Chat.Room(), Name: name, Type: mediaType, Until: c.cfg.Now().Add(keepTime), OwnerMax: limits.Chat, TotalMax: limits.All,
	})
	if err != nil {
		return kept, fmt.Errorf("keeping what was made from a file: %w", err)
	}
	return kept, nil
}

// load reads the beginning of a content into memory, at most most bytes.
func (c *contents) load(ctx context.Context, id files.ID, most int64) ([]byte, error) {
	content, err := c.cfg.Store.OpenFile(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("opening file: %w", err)
	}
	defer func() { _ = content.Close() }()
	return io.ReadAll(io.LimitReader(content, most))
}

// temporary makes an empty file in the folder of copies.
func (c *contents) temporary() (f *os.File, remove func(), err error) {
	if f, err = os.CreateTemp(c.cfg.Copies, "legwork-file-"); err != nil {
		return nil, nil, fmt.Errorf("copying file: %w", err)
	}
	return f, func() { _ = os.Remove(f.Name()) }, nil
}

// copy copies a content to a file of its own, for the process that reads it.
func (c *contents) copy(ctx context.Context, id files.ID) (path string, remove func(), err error) {
	f, remove, err := c.temporary()
	if err != nil {
		return "", nil, err
	}
	if err := c.copyTo(ctx, id, f); err != nil {
		remove()
		return "", nil, err
	}
	return f.Name(), remove, nil
}

// copyTo writes a content to f and closes it.
func (c *contents) copyTo(ctx context.Context, id files.ID, f *os.File) error {
	content, err := c.cfg.Store.OpenFile(ctx, id)
	if err != nil {
		return errors.Join(fmt.Errorf("opening file: %w", err), f.Close())
	}
	defer func() { _ = content.Close() }()
	_, err = io.Copy(f, content)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("copying file: %w", err)
	}
	return nil
}

// copyNamed copies a content to a file with a name, in a new folder of its own.
func (c *contents) copyNamed(ctx context.Context, id files.ID, folder, name string) (path string, err error) {
	if folder, err = os.MkdirTemp(folder, ""); err != nil {
		return "", fmt.Errorf("copying file: %w", err)
	}
	path = filepath.Join(folder, name)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("copying file: %w", err)
	}
	return path, c.copyTo(ctx, id, f)
}

// start waits until one more process may read a file; done ends it.
func (c *contents) start(ctx context.Context) (done func(), err error) {
	select {
	case c.reading <- struct{}{}:
		return func() { <-c.reading }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// picture reads a picture, ready for a model.
func (c *contents) picture(ctx context.Context, path string) (read.Picture, error) {
	done, err := c.start(ctx)
	if err != nil {
		return read.Picture{}, err
	}
	defer done()
	return read.ReadPicture(ctx, path, read.Limits{})
}

// document reads a document part by part, with at most so many pictures of its pages;
// -1: none.
func (c *contents) document(ctx context.Context, path, name string, pictures int, each func(read.Part) error) (read.Document, error) {
	done, err := c.start(ctx)
	if err != nil {
		return read.Document{}, err
	}
	defer done()
	return c.cfg.Reader.File(ctx, path, name, read.Limits{Pictures: pictures}, each)
}

// member reads a member of an archive, by its name. The parts before an error count.
func (c *contents) member(ctx context.Context, archive files.ID, name string) (list []read.Part, err error) {
	from, remove, err := c.copy(ctx, archive)
	if err != nil {
		return nil, err
	}
	defer remove()
	to, remove, err := c.temporary()
	if err != nil {
		return nil, err
	}
	defer remove()
	done, err := c.start(ctx)
	if err != nil {
		return nil, errors.Join(err, to.Close())
	}
	err = errors.Join(read.Member(ctx, from, name, read.Limits{}, to), to.Close())
	if done(); err != nil {
		return nil, err
	}
	size := 0
	_, err = c.document(ctx, to.Name(), path.Base(name), -1, func(p read.Part) error {
		if size += len(p.Text); size <= maxKeptText {
			list = append(list, p)
		}
		return nil
	})
	if len(list) > 0 && ctx.Err() == nil {
		err = nil
	}
	return list, err
}

// parts calls each for the parts of a document that a partWriter has kept.
func (c *contents) parts(ctx context.Context, id files.ID, each func(read.Part)) error {
	content, err := c.cfg.Store.OpenFile(ctx, id)
	if err != nil {
		return fmt.Errorf("opening text of file: %w", err)
	}
	defer func() { _ = content.Close() }()
	for d := json.NewDecoder(content); ; {
		var p read.Part
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading text of file: %w", err)
		}
		each(p)
	}
}

// partWriter notes the text of the parts of a document, and their names. It holds only the
// beginning in memory: the parts go to a file, one JSON object per line.
type partWriter struct {
	file  *os.File
	json  *json.Encoder
	head  strings.Builder // beginning of all parts, each under its name
	names []string        // at most planner.MaxOutline
	count int
	text  int // bytes of the texts of the parts
	size  int // bytes of the texts and the lines with the names
}

func newPartWriter(f *os.File) *partWriter { return &partWriter{file: f, json: json.NewEncoder(f)} }

// add notes a part. More than maxKeptText bytes are cut off.
func (w *partWriter) add(p read.Part) error {
	if w.text += len(p.Text); w.text > maxKeptText {
		p.Text = clip.Marked(p.Text, max(0, len(p.Text)-(w.text-maxKeptText)))
	}
	if len(w.names) < planner.MaxOutline {
		w.names = append(w.names, p.Name)
	}
	entry := partHeader(p.Name) + p.Text + "\n"
	w.head.WriteString(clip.Bytes(entry, 2*planner.MaxFileText-w.head.Len()))
	w.size += len(entry)
	w.count++
	if err := w.json.Encode(p); err != nil {
		return fmt.Errorf("keeping text of file: %w", err)
	}
	return nil
}

// beginning returns the first planner.MaxFileText bytes of the text; whole reports that
// this is all of it. A single part stands there without its name.
func (w *partWriter) beginning() (text string, whole bool) {
	text, whole = w.head.String(), w.size == w.head.Len()
	if w.count == 1 {
		text = strings.TrimPrefix(text, partHeader(w.names[0]))
	}
	text = strings.TrimSpace(text)
	return strings.Clone(clip.Bytes(text, planner.MaxFileText)), whole && len(text) <= planner.MaxFileText
}

func partHeader(name string) string { return "[" + name + "]\n" }

// textOf is the text of parts, each under its name where there are several.
func textOf(parts []read.Part) string {
	if len(parts) == 1 {
		return parts[0].Text
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(partHeader(p.Name) + p.Text + "\n")
	}
	return strings.TrimSpace(b.String())
}
