package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"legwork/files"
	"legwork/internal/clip"
	"legwork/internal/failpoint"
	"legwork/tasks"
)

// Contents holds the bytes of contents for a database, under their ids. It is safe for
// concurrent use.
type Contents interface {
	// Stage stores what fill writes, durably, but not under an id yet. An error, also
	// that of fill, leaves nothing behind.
	Stage(ctx context.Context, fill func(io.Writer) error) (Staged, error)
	// Open opens a content. ctx bounds all reading. files.ErrNone.
	Open(ctx context.Context, id files.ID) (io.ReadSeekCloser, error)
	// Remove deletes a content, if there is one.
	Remove(ctx context.Context, id files.ID) error
	// IDs returns the ids of all contents, sorted.
	IDs(ctx context.Context) iter.Seq2[files.ID, error]
	// Clean removes what a process left that was killed while it staged contents. It is
	// called before all other methods, or never.
	Clean(ctx context.Context) error
}

// Staged is a content without an id. Exactly one of its methods is called.
type Staged interface {
	// Place makes the content durable under its id. It replaces one with the same id.
	// After an error there is a content with the id, or none.
	Place(ctx context.Context, id files.ID) error
	Discard() error
}

// Files implements tasks.Files.
//
// The records say which contents exist: a content without a row in TableContents is
// never read. Its bytes are placed before its row is written, and deleted after the row
// was deleted. Between both, a row of TableGarbage names the content, so that its bytes
// are deleted after a crash as well. See collect.
type Files struct{ *core }

// shelf is what the goroutines of a process have to agree on about bytes of contents.
type shelf struct {
	// placing is held for reading while bytes are placed and their row is written, and for
	// writing while bytes are deleted.
	placing sync.RWMutex
	pins    int // see PinFiles
}

// maxFileName bounds names and types of files, in bytes.
const maxFileName = 1 << 10

// KeepFile implements tasks.Files.
func (f Files) KeepFile(ctx context.Context, r io.Reader, k tasks.Keep) (files.File, error) {
	if k.Owner == "" || len(k.Owner) > MaxName {
		return files.File{}, fmt.Errorf("keeping a file: the name of its owner has %d bytes, not 1 to %d", len(k.Owner), MaxName)
	}
	clean := func(name string) string { return clip.Bytes(strings.ToValidUTF8(name, "\uFFFD"), maxFileName) }
	file := files.File{Name: clean(k.Name), Type: clean(k.Type)}
	var broken error // what ended the reading
	staged, err := f.contents.Stage(ctx, func(w io.Writer) error {
		file.ID, file.Bytes, broken = copyLimited(w, r, k.Max)
		return broken
	})
	if err == nil {
		err = f.place(ctx, staged, file, k)
	} else if broken != nil && !errors.Is(err, tasks.ErrFull) {
		err = broken // without words of the database around it
	}
	if err != nil {
		return files.File{}, wrap("keeping a file", err)
	}
	return file, nil
}

// copyLimited copies a content of at most limit bytes, and returns its id and size.
func copyLimited(w io.Writer, r io.Reader, limit int64) (files.ID, int64, error) {
	hash, from := sha256.New(), r
	if limit > 0 {
		from = io.LimitReader(r, limit+1)
	}
	n, err := io.Copy(io.MultiWriter(hash, w), from)
	if err == nil && limit > 0 && n > limit {
		err = fmt.Errorf("%w: at most %d bytes are allowed", files.ErrLarge, limit)
	}
	return files.ID(hex.EncodeToString(hash.Sum(nil))), n, err
}

// place gives a staged content its id and its rows, or discards it.
func (f Files) place(ctx context.Context, staged Staged, file files.File, k tasks.Keep) error {
	kept, placed, err := f.placeOnce(ctx, staged, file, k)
	if !placed {
		if failed := staged.Discard(); failed != nil {
			f.log.ErrorContext(ctx, "removing a content failed", "cause", failed)
		}
	}
	if !kept {
		f.tryCollect(ctx)
	}
	return err
}

// placeOnce keeps an upload. placed says that the staged content is used up, kept that
// there is a row for it.
func (f Files) placeOnce(ctx context.Context, staged Staged, file files.File, k tasks.Keep) (kept, placed bool, err error) {
	f.placing.RLock()
	defer f.placing.RUnlock()
	err = f.update(ctx, "noting a content", func(x *txn) {
		if kept = contentRows.has(x, file.ID); kept {
			x.fail(uses{x}.upload(file, k))
			return
		}
		x.fail(uses{x}.checkRoom(file, k))
		garbageRows.put(x, file.ID, struct{}{}) // from here on a crash leaves no bytes behind
		x.step("content.noted")
	})
	if err != nil || kept {
		return true, false, err // nothing to collect
	}
	if err = staged.Place(ctx, file.ID); err != nil {
		return false, true, err
	}
	failpoint.Hit("content.placed")
	err = f.update(ctx, "keeping a content", func(x *txn) {
		x.fail(uses{x}.upload(file, k))
		x.step("content.kept")
	})
	return err == nil, true, err
}

// OpenFile implements tasks.Files.
func (f Files) OpenFile(ctx context.Context, id files.ID) (r io.ReadSeekCloser, err error) {
	err = f.read(ctx, "looking for a content", func(x *txn) {
		if !contentRows.has(x, id) {
			x.fail(noContent(id))
		}
	})
	if err == nil {
		r, err = f.contents.Open(ctx, id)
		err = wrap("opening a content", err)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

func noContent(id files.ID) error { return fmt.Errorf("%w: %.64q", files.ErrNone, id) }

// FileOf implements tasks.Files.
func (f Files) FileOf(ctx context.Context, id files.ID, match func(tasks.FileUse) bool) (use tasks.FileUse, err error) {
	err = f.read(ctx, "looking for a file", func(x *txn) {
		for u := range (uses{x}).of(id) {
			if use = u.public(); !u.over(x.time) && match(use) {
				return
			}
		}
		x.fail(noContent(id))
	})
	return use, err
}

// SweepFiles implements tasks.Files.
func (f Files) SweepFiles(ctx context.Context, endedBefore time.Time) (d tasks.Deleted, err error) {
	k := Deletion(f)
	ended := map[tasks.ID]bool{} // of the tasks that were looked at
	err = k.dropUses(ctx, &d, func(x *txn, u use) bool {
		if u.task == "" {
			return u.over(x.time)
		}
		if endedBefore.IsZero() {
			return false
		}
		old, known := ended[u.task]
		if !known {
			row, found, damaged := x.task(u.task)
			last, _ := journals{x}.event(u.task, row.Last) // a damaged one is old
			old = found && damaged == nil && row.Over && last.At.Before(endedBefore)
			ended[u.task] = old
		}
		return old
	})
	if err == nil {
		err = f.collect(ctx)
	}
	return d, wrap("deleting old files", err)
}

// dropUses deletes the uses of contents that match.
func (k Deletion) dropUses(ctx context.Context, d *tasks.Deleted, match func(*txn, use) bool) error {
	var from []byte
	return deleteFound(ctx, k, d, func(x *txn) (list []useKey, over bool) {
		n := 0
		for e := range useRows.sound(x, from, nil, Ascending) {
			if u, ok := readUse(e); ok && match(x, u) {
				list = append(list, u.useKey)
			}
			if n++; n == deleteAtOnce {
				from = append(slices.Clone(e.key), 0)
				return list, false
			}
		}
		return list, true
	}, func(x *txn, key useKey, d *tasks.Deleted) {
		// Meanwhile an upload may be a newer one.
		if row, found := useRows.load(x, key); found && match(x, use{key, row}) {
			d.Contents += uses{x}.release(key)
		}
	})
}

// collectAtOnce bounds how many contents are deleted while others wait to place one.
const collectAtOnce = 100

// collect deletes the bytes of contents that have no row any more. It does nothing while
// the contents are pinned.
func (f Files) collect(ctx context.Context) error {
	for {
		n, err := f.collectSome(ctx)
		if err != nil || n < collectAtOnce {
			return wrap("deleting contents", err)
		}
	}
}

// collectSome is collect for some contents. It returns how many they were.
func (f Files) collectSome(ctx context.Context) (int, error) {
	f.placing.Lock()
	defer f.placing.Unlock()
	if f.pins > 0 {
		return 0, nil
	}
	var found, gone []files.ID
	err := f.read(ctx, "looking for contents to delete", func(x *txn) {
		found, gone = nil, nil
		for r := range records(x, TableGarbage, nil, nil, Ascending) {
			id := files.ID(r.Key)
			if found = append(found, id); !contentRows.has(x, id) {
				gone = append(gone, id)
			}
			if len(found) == collectAtOnce {
				return
			}
		}
	})
	if err != nil || len(found) == 0 {
		return 0, err
	}
	// No caller can keep one of them again now, because that needs the lock.
	for _, id := range gone {
		if err := f.contents.Remove(ctx, id); err != nil {
			return 0, err
		}
		failpoint.Hit("content.removed")
	}
	err = f.update(ctx, "noting deleted contents", func(x *txn) {
		for _, id := range found {
			garbageRows.drop(x, id)
		}
	})
	return len(found), err
}

// tryCollect is collect for a caller whose own work is done. The garbage stays for the
// next time when it fails.
func (f Files) tryCollect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tasks.StoreTimeout)
	defer cancel()
	if err := f.collect(ctx); err != nil && !errors.Is(err, ErrClosed) {
		f.log.ErrorContext(ctx, "deleting contents failed", "cause", err)
	}
}

// PinFiles keeps the bytes of all contents until unpin is called, also of those that are
// deleted meanwhile. A backup does that: it copies the records first.
func (f Files) PinFiles() (unpin func()) {
	f.placing.Lock()
	f.pins++
	f.placing.Unlock()
	return func() {
		f.placing.Lock()
		f.pins--
		f.placing.Unlock()
		f.tryCollect(context.Background())
	}
}

// clean removes what a killed process left, and bytes without a row: those of contents
// that are newer than a restored backup.
func (f Files) clean(ctx context.Context) error {
	if err := f.contents.Clean(ctx); err != nil {
		return err
	}
	var orphans []files.ID
	err := f.read(ctx, "looking for contents without a row", func(x *txn) {
		orphans = nil
		rows, stop := iter.Pull(records(x, TableContents, nil, nil, Ascending))
		defer stop()
		row, more := rows()
		for id, err := range f.contents.IDs(ctx) {
			if x.fail(err); x.failed != nil {
				return
			}
			for more && string(row.Key) < string(id) {
				row, more = rows()
			}
			if !more || string(row.Key) != string(id) {
				orphans = append(orphans, id)
			}
		}
	})
	if err != nil {
		return err
	}
	for _, id := range orphans {
		if err := f.contents.Remove(ctx, id); err != nil {
			return err
		}
	}
	return f.collect(ctx)
}

// FileBytes is the size of all contents together.
func (f Files) FileBytes(ctx context.Context) (n int64, err error) {
	err = f.read(ctx, "reading the size of all files", func(x *txn) { n = uses{x}.total() })
	return n, err
}

// FilesReport is what VerifyFiles found.
type FilesReport struct {
	Contents int
	Bytes    int64
	Problems []string // at most maxProblems
}

// maxProblems bounds the problems of a report.
const maxProblems = 100

func (r *FilesReport) add(format string, args ...any) {
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}

// VerifyFiles reads all contents and compares them with their ids and with the records
// about them.
func (f Files) VerifyFiles(ctx context.Context) (r FilesReport, err error) {
	defer f.PinFiles()()
	var sizes map[files.ID]int64
	if err := f.read(ctx, "verifying the records of files", func(x *txn) { r, sizes = uses{x}.verify() }); err != nil {
		return r, err
	}
	for id, size := range sizes {
		found, n, err := f.sum(ctx, id)
		switch {
		case ctx.Err() != nil:
			return r, ctx.Err()
		case err != nil:
			r.add("content %s: %v", id, err)
		case found != id || n != size:
			r.add("content %s: it is damaged: %d of %d bytes, with the hash %s", id, n, size, found)
		}
	}
	return r, nil
}

// sum reads a content, and returns the hash and the size of what is there.
func (f Files) sum(ctx context.Context, id files.ID) (files.ID, int64, error) {
	r, err := f.contents.Open(ctx, id)
	if err != nil {
		return "", 0, err
	}
	found, n, err := copyLimited(io.Discard, r, 0)
	return found, n, errors.Join(err, r.Close())
}
