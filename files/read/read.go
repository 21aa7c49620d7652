// Package read gets text and pictures out of files of outside formats. Each file is read
// by a process of its own, which has bounds on memory, time and output, sees no file but
// this one, writes none and has no network: a hostile file can crash or fill that
// process, and no other.
package read

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"legwork/files/read/parse"
)

type (
	// Part is a page, a sheet, a slide or another part of a file.
	Part = parse.Part
	// Picture is a picture as models take it.
	Picture = parse.Picture
	// Document says what a file is.
	Document = parse.Document
	// Limits of reading one file; a zero means the default.
	Limits = parse.Limits
	// Error is a reason why a file cannot be read.
	Error = parse.Error
	// KindError is an ErrKind that names the type.
	KindError = parse.KindError
)

// The reasons why a file cannot be read. Any other error is one of this system, or of
// the caller's context.
const (
	ErrEmpty     = parse.ErrEmpty
	ErrLarge     = parse.ErrLarge
	ErrDamaged   = parse.ErrDamaged
	ErrEncrypted = parse.ErrEncrypted
	ErrUnpacked  = parse.ErrUnpacked
	ErrPages     = parse.ErrPages
	ErrPixels    = parse.ErrPixels
	ErrHEIC      = parse.ErrHEIC
	ErrTime      = parse.ErrTime
	ErrMemory    = parse.ErrMemory
	ErrNoMember  = parse.ErrNoMember
	ErrKind      = parse.ErrKind
)

// TypeOf returns the MIME type of a file from its first bytes, 4 KiB at best. Its name
// only decides between kinds of plain text.
func TypeOf(head []byte, name string) string { return parse.TypeOf(head, name) }

// LoadTime is how long the PDF library may take to be compiled, on a slow machine. It
// comes on top of Limits.Time.
const LoadTime = 2 * time.Minute

// Reader reads documents. The zero value compiles the PDF library for each PDF, which
// takes seconds.
type Reader struct {
	// Cache is a folder for the compiled code of the PDF library, about 21 MB. It is
	// made when it is missing. No other user may write to it.
	Cache string
}

// File reads the file at path, whose name for people may be another one. It calls part
// with each part as soon as it is read, in order. When it returns an error after some
// parts, the Document is valid and Cut. An error of part ends the reading and is returned.
func (r Reader) File(ctx context.Context, path, name string, l Limits, part func(Part) error) (Document, error) {
	file, err := openFile(path, l.Defaults())
	if err != nil {
		return Document{}, err
	}
	defer file.Close()
	return r.read(ctx, file, name, l, part)
}

func (r Reader) read(ctx context.Context, file *os.File, name string, l Limits, part func(Part) error) (Document, error) {
	var d Document
	err := runOpen(ctx, file, job{Do: doFile, Name: name, Limits: l.Defaults(), Cache: r.Cache}, func(m message) error {
		if m.Document != nil {
			d = *m.Document
		}
		if m.Part != nil {
			return part(*m.Part)
		}
		return nil
	})
	return d, err
}

// Bytes is like File for a file that is in memory.
func (r Reader) Bytes(ctx context.Context, data []byte, name string, l Limits, part func(Part) error) (Document, error) {
	file, err := os.CreateTemp("", "legwork-read-")
	if err != nil {
		return Document{}, fmt.Errorf("making a file: %w", err)
	}
	_ = os.Remove(file.Name()) // it stays open; a kill leaves nothing
	defer func() {
		_ = file.Close()
		_ = os.Remove(file.Name()) // where an open file cannot be removed
	}()
	if _, err := file.Write(data); err != nil {
		return Document{}, fmt.Errorf("writing a file: %w", err)
	}
	return r.read(ctx, file, name, l, part)
}

// ReadPicture reads the picture at path: upright, scaled down to Limits.Side, as JPEG, or
// as PNG when it is transparent, and without metadata. A moving one is its first frame.
func ReadPicture(ctx context.Context, path string, l Limits) (Picture, error) {
	var p Picture
	err := run(ctx, path, job{Do: doPicture, Limits: l.Defaults()}, func(m message) error {
		if m.Part != nil && m.Part.Picture != nil {
			p = *m.Part.Picture
		}
		return nil
	})
	return p, err
}

// Member writes a member of the ZIP archive at path to w, at most Limits.Bytes of it. It
// is found by the name in the list that File gives. Archives in archives are members like
// others, and can be read again.
func Member(ctx context.Context, path, member string, l Limits, w io.Writer) error {
	return run(ctx, path, job{Do: doMember, Name: member, Limits: l.Defaults()}, func(m message) error {
		_, err := w.Write(m.Data)
		return err
	})
}
