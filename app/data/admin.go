// Package data administers the stored data of a data directory: it opens the
// store, and backs up, verifies, compacts, deletes and restores what is in it.
// Call does this from a second process.
package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"legwork/app/cli"
	"legwork/store/backup"
	"legwork/store/bolt"
	"legwork/tasks"
	"legwork/tools/builtin/memory"
)

// verifyTime bounds the reading of a whole file.
const verifyTime = 30 * time.Minute

// Admin works on the data of a directory, in the process that holds them. All
// fields but Wake are needed.
type Admin struct {
	Dir   string
	Store *Store
	Log   *slog.Logger
	// Wake tells the engine about a new event of a task. When it is nil, no engine
	// runs, so that tasks do not end by themselves.
	Wake func(context.Context, tasks.ID) error
	// Keys seal the sign-ins at servers. Only rekey and sealed need them.
	Keys *Keys
}

// BackupFolder is where the backups of a data directory are.
func BackupFolder(dir string) string { return filepath.Join(dir, "backups") }

// Files are the files that a backup consists of.
func (a Admin) Files() []backup.File {
	return []backup.File{
		a.Store.backupFile(a.Log),
		{
			Name:   memory.FileName,
			Write:  func(ctx context.Context, w io.Writer) error { return memory.Snapshot(ctx, a.Dir, w) },
			Size:   func() (int64, error) { return memory.Size(a.Dir) },
			Verify: verifyInChild,
		},
	}
}

// verifyInChild reads a whole file in a child process, because reading a damaged
// file can crash the process.
func verifyInChild(ctx context.Context, path string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("%w: finding the path of this program: %w", backup.ErrUnread, err)
	}
	ctx, cancel := context.WithTimeout(ctx, verifyTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, self, "data", "verify", path).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) { // for example because a newer program was installed meanwhile
		return fmt.Errorf("%w: %w", backup.ErrUnread, err)
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, cli.FirstLines(strings.TrimSpace(string(out)), 10))
	}
	return nil
}

// File is a file that was copied or verified. Problem says how it is damaged.
type File struct {
	Name    string `json:"name"`
	Path    string `json:"path,omitempty"`
	Bytes   int64  `json:"bytes"`
	Problem string `json:"problem,omitempty"`
}

// Backup copies the data to a file, and the notes of the memory server to a
// second one beside it. The contents of files go into a folder beside it.
func (a Admin) Backup(ctx context.Context, path string) (list []File, err error) {
	var files []backup.File
	var paths []string
	for _, f := range a.Files() {
		to := path
		if f.Name != bolt.FileName {
			ext := filepath.Ext(path)
			to = strings.TrimSuffix(path, ext) + "-" + strings.TrimSuffix(f.Name, filepath.Ext(f.Name)) + ext
		}
		if size, err := f.Size(); err != nil {
			return nil, err
		} else if size == 0 {
			continue
		}
		if _, err := os.Lstat(to); err == nil {
			return nil, fmt.Errorf("%s exists already; choose another name", to)
		}
		files, paths = append(files, f), append(paths, to)
	}
	for n, f := range files {
		to := paths[n]
		size, err := backup.Copy(ctx, to, f, bolt.BackupFolders(to)[0])
		if err != nil {
			return list, err
		}
		list = append(list, File{Name: f.Name, Path: to, Bytes: size})
	}
	if len(list) > 0 {
		Record(ctx, a.Store, a.Log, ByHand("data.backup", path, ""))
	}
	return list, nil
}

// verify copies the data and reads the copies in child processes.
func (a Admin) verify(ctx context.Context, _ struct{}) (list []File, err error) {
	for _, f := range a.Files() {
		path := filepath.Join(a.Dir, "."+f.Name+".verify")
		size, err := backup.Copy(ctx, path, f, "")
		result := File{Name: f.Name, Bytes: size}
		switch {
		case errors.Is(err, backup.ErrNoData):
			continue
		case errors.Is(err, backup.ErrBad):
			result.Problem = err.Error()
		case err != nil:
			return list, err
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return list, fmt.Errorf("removing a copy: %w", err)
		}
		list = append(list, result)
	}
	report, err := a.Store.VerifyFiles(ctx)
	if report.Contents > 0 || len(report.Problems) > 0 {
		list = append(list, File{Name: bolt.FolderName, Bytes: report.Bytes, Problem: cli.FirstLines(strings.Join(report.Problems, "\n"), 10)})
	}
	return list, err
}

// Compacted is the result for one file: its size in bytes before and after, how
// long it took, and how long nothing could be written meanwhile.
type Compacted struct {
	Name   string        `json:"name"`
	Before int64         `json:"before"`
	After  int64         `json:"after"`
	Took   time.Duration `json:"took"`
	Waited time.Duration `json:"waited"`
}

// compactByHand is Compact for a person; it adds an entry to the audit log.
func (a Admin) compactByHand(ctx context.Context, _ struct{}) ([]Compacted, error) {
	list, err := a.Compact(ctx)
	if err == nil {
		Record(ctx, a.Store, a.Log, ByHand("data.compact", "", ""))
	}
	return list, err
}

// Compact rewrites the files without the bytes of deleted data.
func (a Admin) Compact(ctx context.Context) ([]Compacted, error) {
	c, err := a.Store.compact(ctx)
	if err != nil {
		return nil, err
	}
	list := []Compacted{c}
	before, err := memory.Size(a.Dir)
	if err != nil || before == 0 {
		return list, err
	}
	start := time.Now()
	if err := memory.Compact(a.Dir); err != nil {
		return list, err
	}
	after, err := memory.Size(a.Dir)
	return append(list, Compacted{memory.FileName, before, after, time.Since(start), 0}), err
}
