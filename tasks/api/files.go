package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"legwork/bot"
	"legwork/files"
	"legwork/files/read"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/policy"
)

// File is a file of a task, or an upload.
type File struct {
	ID    files.ID `json:"id" doc:"For 'files' of a task or message, and for '/v1/files/{id}': the SHA-256 of the content."`
	Name  string   `json:"name" doc:"Its name without folders and control characters."`
	Type  string   `json:"type" doc:"MIME type, found from the content."`
	Bytes int64    `json:"bytes" doc:"Size of the content."`
}

// FileLimits are limits in bytes. 0: no limit.
type FileLimits struct {
	File    int64 // one file
	Message int64 // all files of a task's question or of a message
	Chat    int64 // everything that is kept for a chat or token
	Total   int64 // everything that is kept
}

// fileLimits are the current limits.
func (s *Service) fileLimits() FileLimits {
	if s.Files == nil {
		return FileLimits{}
	}
	return s.Files()
}

// Bounds of uploads.
const (
	keepUpload = 24 * time.Hour // until a task uses it
	maxFiles   = 20             // of one question or message
	sniffed    = 4 << 10        // bytes that the type is found from
)

// Upload keeps a file for tasks of the principal. It returns when the file is durable.
// *InvalidError, files.ErrLarge, files.ErrRoom, tasks.ErrFull, or the error of r.
func (s *Service) Upload(ctx context.Context, p Principal, name string, r io.Reader) (File, error) {
	if err := p.Allowed(policy.OpAdd); err != nil {
		return File{}, err
	}
	in := bufio.NewReaderSize(r, sniffed)
	head, err := in.Peek(sniffed)
	switch {
	case len(head) == 0 && errors.Is(err, io.EOF):
		return File{}, &InvalidError{"file", "is empty"}
	case err != nil && !errors.Is(err, io.EOF):
		return File{}, err
	}
	limits := s.fileLimits()
	f, err := s.Store.KeepFile(ctx, in, tasks.Keep{
		Owner: p.Room().Room(), Name: bot.BaseName(name), Type: read.TypeOf(head, name), Until: s.Now().Add(keepUpload),
		Max: limits.File, OwnerMax: limits.Chat, TotalMax: limits.Total,
	})
	return File(f), err
}

// OpenFile opens a file of a task that the principal may see, or an upload of its own.
// The caller closes it. ErrNotFound.
func (s *Service) OpenFile(ctx context.Context, p Principal, id files.ID) (File, io.ReadSeekCloser, error) {
	f, err := s.file(ctx, p, id)
	if err != nil {
		return File{}, nil, err
	}
	content, err := s.Store.OpenFile(ctx, id)
	if err != nil {
		return File{}, nil, fileError(err)
	}
	return f, content, nil
}

// file finds a file that a principal may see. ErrNotFound.
func (s *Service) file(ctx context.Context, p Principal, id files.ID) (File, error) {
	if err := p.Allowed(policy.OpRead); err != nil {
		return File{}, err
	}
	var asked []tasks.FileUse // by tasks of which the asker decides
	use, err := s.Store.FileOf(ctx, id, func(u tasks.FileUse) bool {
		if u.Task != "" {
			asked = append(asked, u)
		}
		return u.Owner == p.Room().Room() || u.Task != "" && p.Sees(parseRoom(u.Owner))
	})
	if errors.Is(err, files.ErrNone) && p.Role.May(policy.OpRead) == policy.Own {
		for _, u := range asked {
			if row, missing := s.Store.Row(ctx, u.Task); missing == nil && p.Owns(row.From) {
				return File(u.File), nil
			}
		}
	}
	if err != nil {
		return File{}, fileError(err)
	}
	return File(use.File), nil
}

// fileError makes ErrNotFound of the store's error for an unknown file.
func fileError(err error) error {
	if errors.Is(err, files.ErrNone) {
		return notFoundError("no such file, or not one that this token may see")
	}
	return fmt.Errorf("reading a file: %w", err)
}

// Attachments are the files of a question or message, by their ids.
func (s *Service) Attachments(ctx context.Context, p Principal, ids []files.ID) (list []bot.Attachment, err error) {
	if len(ids) > maxFiles {
		return nil, &InvalidError{"files", fmt.Sprintf("has %d files; at most %d are allowed", len(ids), maxFiles)}
	}
	var total int64
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue
		}
		f, err := s.file(ctx, p, id)
		switch {
		case errors.Is(err, ErrNotFound):
			return nil, unknownFile(id)
		case err != nil:
			return nil, err
		}
		total += f.Bytes
		list = append(list, bot.Attachment{Ref: bot.KeptRef + string(id), Kind: bot.AttachDocument, Name: f.Name, Type: f.Type, Bytes: f.Bytes})
	}
	if most := s.fileLimits().Message; most > 0 && total > most {
		return nil, &InvalidError{"files", fmt.Sprintf("have %d bytes together; at most %d are allowed (files.message_bytes of the config)", total, most)}
	}
	return list, nil
}

// unknownFile is the mistake of an id that names no file.
func unknownFile(id files.ID) error {
	return &InvalidError{"files", fmt.Sprintf("%.64q is no file that this token may see; an upload that no task uses is deleted after %d hours", id, int(keepUpload.Hours()))}
}

// filesOf are the kept files that an event brings along: those of a message, and those
// that a call has made or returned.
func filesOf(e planner.Event) (list []File) {
	all := e.Files
	if e.Opening != nil {
		all = e.Opening.Files
	}
	if r := e.Read; r != nil && r.ID != "" {
		list = append(list, File(r.File))
	}
	for _, a := range all {
		if id, kept := a.Kept(); kept {
			list = append(list, File{ID: files.ID(id), Name: a.Name, Type: a.Type, Bytes: a.Bytes})
		}
	}
	if r := e.Result; r != nil {
		for _, f := range slices.Concat(r.Files, r.Returned) {
			list = append(list, File(f))
		}
	}
	return list
}
