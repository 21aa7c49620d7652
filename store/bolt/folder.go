package bolt

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"go.etcd.io/bbolt"

	"legwork/files"
	"legwork/internal/failpoint"
	"legwork/internal/fsutil"
	"legwork/store"
	"legwork/tasks"
)

// FolderName is the name of the folder of contents in the data directory.
const FolderName = "files"

// unnamed begins the names of contents that have no id yet.
const unnamed = ".new-"

// Folder implements store.Contents. A content is a file that is named by its id, in a
// folder that is named by the first two digits: files/ab/abcdef.... Both are readable
// for their owner only.
type Folder struct {
	// Dir is where contents are. It is created when it is needed.
	Dir string
	// Also are folders in which contents are looked for that are not in Dir.
	Also []string
}

// Contents implements store.DB.
func (db *DB) Contents() store.Contents { return db.o.folder(filepath.Dir(db.path)) }

// folder is where the contents of a data directory are.
func (o Options) folder(dir string) Folder {
	return Folder{Dir: filepath.Join(dir, FolderName), Also: o.Contents}
}

func place(dir string, id files.ID) string { return filepath.Join(dir, string(id[:2]), string(id)) }

// Stage implements store.Contents.
func (f Folder) Stage(ctx context.Context, fill func(io.Writer) error) (store.Staged, error) {
	if err := makeDir(f.Dir); err != nil {
		return nil, err
	}
	path := filepath.Join(f.Dir, unnamed+rand.Text())
	if _, err := fsutil.Write(ctx, path, fill); err != nil {
		return nil, noRoom(err)
	}
	return staged{f, path}, nil
}

// makeDir creates a folder durably, unless it exists.
func makeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		err = fsutil.Sync(filepath.Dir(dir))
	}
	if err != nil {
		return fmt.Errorf("making a folder of contents: %w", markFull(err))
	}
	return nil
}

// noRoom adds tasks.ErrFull to the errors of a disk without room.
func noRoom(err error) error {
	if errors.Is(err, fsutil.ErrNoRoom) {
		return fmt.Errorf("%w: %w", tasks.ErrFull, err)
	}
	return markFull(err)
}

// staged is a file without an id.
type staged struct {
	folder Folder
	path   string
}

// Place implements store.Staged.
func (s staged) Place(_ context.Context, id files.ID) error {
	to := place(s.folder.Dir, id)
	err := makeDir(filepath.Dir(to))
	failpoint.Hit("content.before.rename")
	if err == nil {
		err = fsutil.Replace(s.path, to)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("naming a content: %w", markFull(err)), s.Discard())
	}
	return nil
}

// Discard implements store.Staged.
func (s staged) Discard() error {
	if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing a content: %w", err)
	}
	return nil
}

// Open implements store.Contents.
func (f Folder) Open(_ context.Context, id files.ID) (io.ReadSeekCloser, error) {
	file, err := f.find(id)
	if err != nil {
		return nil, err
	}
	return file, nil
}

// find opens the file of a content.
func (f Folder) find(id files.ID) (*os.File, error) {
	if !id.Valid() {
		return nil, fmt.Errorf("%w: %.64q", files.ErrNone, id)
	}
	for _, dir := range append([]string{f.Dir}, f.Also...) {
		file, err := os.Open(place(dir, id))
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
	}
	return nil, fmt.Errorf("%w: %s", files.ErrNone, id)
}

// Remove implements store.Contents.
func (f Folder) Remove(_ context.Context, id files.ID) error {
	if !id.Valid() {
		return nil
	}
	path := place(f.Dir, id)
	err := os.Remove(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return fsutil.Sync(filepath.Dir(path))
}

// IDs implements store.Contents.
func (f Folder) IDs(ctx context.Context) iter.Seq2[files.ID, error] {
	return func(yield func(files.ID, error) bool) {
		dirs, err := readDir(f.Dir)
		for _, d := range dirs {
			if !d.IsDir() {
				continue
			}
			var list []fs.DirEntry
			if err == nil {
				list, err = readDir(filepath.Join(f.Dir, d.Name()))
			}
			err = errors.Join(err, ctx.Err())
			for _, e := range list {
				id := files.ID(e.Name())
				if err == nil && id.Valid() && strings.HasPrefix(e.Name(), d.Name()) && !yield(id, nil) {
					return
				}
			}
		}
		if err != nil {
			yield("", err)
		}
	}
}

// readDir lists a folder, sorted. A missing one is empty.
func readDir(dir string) ([]fs.DirEntry, error) {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return list, err
}

// Clean implements store.Contents.
func (f Folder) Clean(context.Context) error {
	list, err := readDir(f.Dir)
	for _, e := range list {
		// fsutil.Write puts a dot and the rest of a name around it until it is written.
		if strings.HasPrefix(strings.TrimLeft(e.Name(), "."), unnamed[1:]) {
			err = errors.Join(err, os.Remove(filepath.Join(f.Dir, e.Name())))
		}
	}
	return err
}

// Take copies a content from other contents, unless the folder has it. It makes a
// second name for a file where the file system can do that. files.ErrNone,
// tasks.ErrDamaged.
func (f Folder) Take(ctx context.Context, id files.ID, from store.Contents) error {
	if !id.Valid() {
		return nil
	}
	to := place(f.Dir, id)
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	if other, ok := from.(Folder); ok {
		if err := errors.Join(makeDir(f.Dir), makeDir(filepath.Dir(to))); err != nil {
			return err
		}
		for _, dir := range append([]string{other.Dir}, other.Also...) {
			if os.Link(place(dir, id), to) == nil {
				return fsutil.Sync(filepath.Dir(to))
			}
		}
	}
	return store.CopyContent(ctx, id, from, f)
}

// BackupFolders are the folders in which the contents of a backup may be: one beside a
// backup by hand, and one that all backups of a folder share.
func BackupFolders(path string) []string {
	return []string{strings.TrimSuffix(path, filepath.Ext(path)) + "-" + FolderName, filepath.Join(filepath.Dir(path), FolderName)}
}

// ContentIDs lists the contents that a data file refers to, which no process owns.
func ContentIDs(path string) (ids []files.ID, err error) {
	err = read(path, func(btx *bbolt.Tx) error {
		if btx.Bucket([]byte(store.TableContents.String())) == nil {
			return nil // of an earlier version
		}
		for r, err := range newTx(btx).Range(store.TableContents, nil, nil, store.Ascending) {
			if err != nil {
				return err
			}
			ids = append(ids, files.ID(r.Key)) // a copy
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading which contents %s refers to: %w", path, classify(err))
	}
	return ids, nil
}

// TidyFolder deletes the contents from a folder that none of these data files refers to.
func TidyFolder(ctx context.Context, folder string, paths []string) error {
	f, used := Folder{Dir: folder}, map[files.ID]bool{}
	for _, path := range paths {
		ids, err := ContentIDs(path)
		if err != nil {
			return err
		}
		for _, id := range ids {
			used[id] = true
		}
	}
	for id, err := range f.IDs(ctx) {
		if err == nil && !used[id] {
			err = f.Remove(ctx, id)
		}
		if err != nil {
			return err
		}
	}
	return f.Clean(ctx)
}
