package bolt_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"legwork/files"
	"legwork/internal/test/need"
	"legwork/store"
	"legwork/store/bolt"
	"legwork/store/memory"
	"legwork/tasks"
)

// keep keeps a content, as an upload of somebody.
func keep(t testing.TB, s tasks.Files, content string) files.ID {
	t.Helper()
	f, err := s.KeepFile(t.Context(), strings.NewReader(content), tasks.Keep{Owner: "test:c", Name: "x", Until: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatalf("KeepFile: %v", err)
	}
	return f.ID
}

// verified fails unless a store has exactly n contents, all of them good.
func verified(t testing.TB, s interface {
	VerifyFiles() (store.FilesReport, error)
}, n int,
) {
	t.Helper()
	if r, err := s.VerifyFiles(); err != nil || r.Contents != n || len(r.Problems) > 0 {
		t.Fatalf("got %+v, %v, want %d contents without problems", r, err, n)
	}
}

// verifies is a store for verified.
type verifies struct {
	t testing.TB
	*store.Store
}

func (v verifies) VerifyFiles() (store.FilesReport, error) { return v.Store.VerifyFiles(v.t.Context()) }

// onDisk lists the files below a folder with their modes.
func onDisk(t testing.TB, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if d.IsDir() {
			if info.Mode().Perm() != 0o700 {
				t.Errorf("%s has the mode %v, want 0700", path, info.Mode())
			}
			return err
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v, want 0600", path, info.Mode())
		}
		list = append(list, d.Name())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestFolder: contents are files that are named by their hash; a start removes what does
// not belong there.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, bolt.Options{})
	id := keep(t, s, "content")
	folder := filepath.Join(dir, bolt.FolderName)
	if got := onDisk(t, folder); len(got) != 1 || got[0] != string(id) {
		t.Fatalf("the folder has %v, want %s", got, id)
	}
	closeStore(t, s)
	orphan := files.IDOf([]byte("orphan"))
	for _, name := range []string{".new-killed", "..new-killed.123", string(orphan[:2]) + "/" + string(orphan)} {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("orphan"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, dir, bolt.Options{})
	if got := onDisk(t, folder); len(got) != 1 || got[0] != string(id) {
		t.Errorf("after a start the folder has %v, want %s", got, id)
	}
	verified(t, verifies{t, s.Store}, 1)
	if err := os.WriteFile(filepath.Join(folder, string(id[:2]), string(id)), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := s.Store.VerifyFiles(t.Context())
	if err != nil || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "it is damaged") {
		t.Errorf("a damaged content: got %+v, %v", r, err)
	}
}

// TestPinned: a backup keeps the contents that are deleted while it runs, and brings them
// back.
func TestPinned(t *testing.T) {
	dir, backups := t.TempDir(), t.TempDir()
	s := open(t, dir, bolt.Options{})
	id := keep(t, s, "content")
	unpin := s.PinFiles()
	path := filepath.Join(backups, "b.db")
	var copied bytes.Buffer
	if err := s.Backup(t.Context(), &copied); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, copied.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if d, err := s.Erase(t.Context(), "test:c"); err != nil || d.Contents != 1 {
		t.Fatalf("Erase: got %+v, %v", d, err)
	}
	if r, err := s.OpenFile(t.Context(), id); !errors.Is(err, files.ErrNone) {
		t.Fatalf("a deleted content: got %v, %v, want ErrNone", r, err)
	}
	ids, err := bolt.ContentIDs(path)
	if err != nil || len(ids) != 1 || ids[0] != id {
		t.Fatalf("the backup refers to %v, %v, want %s", ids, err, id)
	}
	if err := (bolt.Folder{Dir: bolt.BackupFolders(path)[0]}).Take(t.Context(), id, s.Contents()); err != nil {
		t.Fatal(err)
	}
	unpin()
	if left := onDisk(t, filepath.Join(dir, bolt.FolderName)); len(left) > 0 {
		t.Errorf("after the backup the folder has %v, want nothing", left)
	}
	closeStore(t, s)
	if loss, err := bolt.Restore(t.Context(), dir, []string{path}, bolt.Options{}); err != nil || loss.Missing != 0 {
		t.Fatalf("Restore: got %+v, %v", loss, err)
	}
	s = open(t, dir, bolt.Options{})
	verified(t, verifies{t, s.Store}, 1)
	if err := bolt.TidyFolder(t.Context(), bolt.BackupFolders(path)[0], []string{path}); err != nil || len(onDisk(t, bolt.BackupFolders(path)[0])) != 1 {
		t.Errorf("a content of a backup: got %v, want it to stay", err)
	}
	if err := bolt.TidyFolder(t.Context(), bolt.BackupFolders(path)[0], nil); err != nil || len(onDisk(t, bolt.BackupFolders(path)[0])) != 0 {
		t.Errorf("a content of no backup: got %v, want it to go", err)
	}
}

// TestCopyContents: contents are copied between a folder and the tables of a database, and
// a missing one is damage.
func TestCopyContents(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, bolt.Options{})
	long := strings.Repeat("long ", 150_000)
	keep(t, s, long)
	id := keep(t, s, "short")
	other := memory.NewDB()
	if r, err := store.Copy(t.Context(), s.DB, other, store.CopyOptions{}); err != nil || r.Contents != 2 {
		t.Fatalf("Copy: got %+v, %v", r, err)
	}
	back := openDB(t, t.TempDir())
	if r, err := store.Copy(t.Context(), other, back, store.CopyOptions{}); err != nil || r.Contents != 2 {
		t.Fatalf("Copy back: got %+v, %v", r, err)
	}
	again, err := store.Open(t.Context(), back, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	verified(t, verifies{t, again}, 2)
	r, err := again.OpenFile(t.Context(), files.IDOf([]byte(long)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil || string(got) != long {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(long))
	}
	if err := os.Remove(filepath.Join(dir, bolt.FolderName, string(id[:2]), string(id))); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Copy(t.Context(), s.DB, memory.NewDB(), store.CopyOptions{}); !errors.Is(err, files.ErrNone) {
		t.Errorf("a missing content: got %v, want ErrNone", err)
	}
	if r, err := store.Copy(t.Context(), s.DB, memory.NewDB(), store.CopyOptions{SkipDamaged: true}); err != nil || r.Contents != 1 || len(r.LeftOut) != 1 {
		t.Errorf("a missing content is left out: got %+v, %v", r, err)
	}
}

// TestKilledKeeping kills a process that keeps and deletes contents, at each moment that
// counts: acknowledged contents are there, and nothing else is on the disk.
func TestKilledKeeping(t *testing.T) {
	need.Check(t) // it builds a binary
	build := withFailpoints(t)
	for _, point := range []string{
		"commit.before.content.noted:2", "commit.after.content.noted:2", "content.before.rename:2", "content.placed:2",
		"commit.before.content.kept:2", "commit.after.content.kept:2", "commit.before.content.released:1", "commit.after.content.released:1", "content.removed:1",
	} {
		t.Run(point, func(t *testing.T) {
			dir := t.TempDir()
			c := build(point, "keep", dir)
			out, err := c.Output()
			killed(t, c, err)
			kept := strings.Fields(string(out))
			s := open(t, dir, bolt.Options{})
			r, err := s.Store.VerifyFiles(t.Context())
			if err != nil || len(r.Problems) > 0 {
				t.Fatalf("got %+v, %v", r, err)
			}
			for _, id := range kept {
				content, err := s.OpenFile(t.Context(), files.ID(id))
				if strings.Contains(point, "released") || strings.Contains(point, "removed") {
					break // deleted, or about to be
				}
				if err != nil {
					t.Fatalf("the acknowledged content %s: %v", id, err)
				}
				if err := content.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if got := onDisk(t, filepath.Join(dir, bolt.FolderName)); len(got) != r.Contents {
				t.Errorf("the folder has %v, want %d contents", got, r.Contents)
			}
		})
	}
}
