package main

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

	"legwork/bot/terminal"
	"legwork/internal/fsutil"
	"legwork/planner"
	"legwork/store/backup"
	"legwork/store/bolt"
	"legwork/tasks"
	"legwork/tools/builtin/memory"
)

// Bounds of what is done with the data by hand.
const (
	endTime    = 15 * time.Second // for tasks that are stopped to be deleted
	verifyTime = 30 * time.Minute
)

// desk does what can be done with the data of a directory for the process that
// holds it.
type desk struct {
	dir   string
	store *bolt.Store
	log   *slog.Logger
	// wake tells of an event of a task. Nil: nothing runs, so that tasks do not end.
	wake func(context.Context, tasks.ID) error
}

// backupsOf is the folder of a data directory's backups.
func backupsOf(dir string) string { return filepath.Join(dir, "backups") }

// files are what is backed up.
func (d desk) files() []backup.File {
	return []backup.File{
		{
			Name: bolt.FileName, Write: d.store.Snapshot, Size: d.store.Size, Verify: verifyInChild,
			Mark: func(path string) error { return bolt.MarkCopy(path, time.Now()) },
		},
		{
			Name:   memory.FileName,
			Write:  func(ctx context.Context, w io.Writer) error { return memory.Snapshot(ctx, d.dir, w) },
			Size:   func() (int64, error) { return memory.Size(d.dir) },
			Verify: verifyInChild,
		},
	}
}

// verifyInChild reads a whole file in a process of its own, which a damaged one
// may end.
func verifyInChild(ctx context.Context, path string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("%w: finding the own program: %w", backup.ErrUnread, err)
	}
	ctx, cancel := context.WithTimeout(ctx, verifyTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, self, "data", "verify", path).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) { // as when the program was replaced by a newer one
		return fmt.Errorf("%w: %w", backup.ErrUnread, err)
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, firstLines(strings.TrimSpace(string(out)), 10))
	}
	return nil
}

// copied is a file that was copied or verified.
type copied struct {
	Name    string `json:"name"`
	Path    string `json:"path,omitempty"`
	Bytes   int64  `json:"bytes"`
	Problem string `json:"problem,omitempty"`
}

// backup copies the data to a file, and the notes to one beside it.
func (d desk) backup(ctx context.Context, path string) (list []copied, err error) {
	var files []backup.File
	var paths []string
	for _, f := range d.files() {
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
		size, err := backup.Copy(ctx, to, f)
		if err != nil {
			return list, err
		}
		list = append(list, copied{Name: f.Name, Path: to, Bytes: size})
	}
	if len(list) > 0 {
		record(ctx, d.store, d.log, byHand("data.backup", path, ""))
	}
	return list, nil
}

// verify reads copies of the data in processes of their own.
func (d desk) verify(ctx context.Context) (list []copied, err error) {
	for _, f := range d.files() {
		path := filepath.Join(d.dir, "."+f.Name+".verify")
		size, err := backup.Copy(ctx, path, f)
		result := copied{Name: f.Name, Bytes: size}
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
	return list, nil
}

// forgetting says whom to forget.
type forgetting struct {
	Who     string `json:"who"`
	Backups bool   `json:"backups,omitempty"` // and delete the backups
}

// forgotten tells what was deleted.
type forgotten struct {
	tasks.Deleted
	Stopped int         `json:"stopped"` // tasks that were stopped for it
	Notes   int         `json:"notes"`
	Input   bool        `json:"input,omitempty"` // what was typed in the terminal
	Files   []compacted `json:"files"`
	Backups []string    `json:"backups"`         // made before
	Gone    bool        `json:"gone,omitempty"`  // and deleted
	Fresh   string      `json:"fresh,omitempty"` // the backup that was made in their place
}

// forget deletes what there is of a person or a chat, down to the bytes.
func (d desk) forget(ctx context.Context, in forgetting) (out forgotten, err error) {
	if out.Deleted, err = d.store.ForgetWho(ctx, in.Who); err != nil {
		return out, err
	}
	if len(out.Live) > 0 {
		out.Stopped = d.end(ctx, out.Live)
		rest, err := d.store.ForgetWho(ctx, in.Who)
		out.Deleted = out.plus(rest)
		if err != nil {
			return out, err
		}
	}
	platform, _, _ := strings.Cut(in.Who, ":") // not whom: that is what is to be forgotten
	record(ctx, d.store, d.log, byHand("data.forget", platform, fmt.Sprintf("%d tasks, %d turns", out.Tasks, out.Turns)))
	if out.Notes, err = memory.Forget(d.dir, in.Who); err != nil {
		return out, err
	}
	if platform == terminal.Name {
		err := os.Remove(filepath.Join(d.dir, "input_history"))
		if out.Input = err == nil; err != nil && !errors.Is(err, fs.ErrNotExist) {
			return out, fmt.Errorf("deleting what was typed: %w", err)
		}
	}
	if out.Files, err = d.compact(ctx); err != nil {
		return out, err
	}
	return out, d.forgetBackups(ctx, in.Backups, &out)
}

// plus adds what another look deleted; what is live now is what it found.
func (f forgotten) plus(d tasks.Deleted) tasks.Deleted {
	a := f.Deleted
	return tasks.Deleted{
		Tasks: a.Tasks + d.Tasks, Turns: a.Turns + d.Turns, Summaries: a.Summaries + d.Summaries,
		Settings: a.Settings + d.Settings, Schedules: a.Schedules + d.Schedules, Spent: a.Spent + d.Spent, Live: d.Live,
	}
}

// end stops tasks and waits for their end. Where nothing runs they are over at
// once, and their chats hear nothing of it.
func (d desk) end(ctx context.Context, ids []tasks.ID) (ended int) {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	for _, id := range ids {
		err := d.store.Append(ctx, id, -1, 0, planner.Event{Type: planner.Stopped})
		if d.wake == nil {
			err = d.store.Drop(ctx, id)
		} else if err == nil {
			err = d.wake(ctx, id)
		}
		if err != nil && !errors.Is(err, tasks.ErrRefused) {
			d.log.WarnContext(ctx, "a task that is to be deleted could not be stopped", "task", id, "cause", err)
		}
	}
	for _, id := range ids {
		if d.over(ctx, id) {
			ended++
		}
	}
	return ended
}

// over waits until a task is over; false when that takes too long.
func (d desk) over(ctx context.Context, id tasks.ID) bool {
	for d.wake != nil {
		changed := d.store.Changed(id)
		s, err := d.store.State(ctx, id)
		if err != nil || s.Finished() {
			return err == nil
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		}
	}
	return true
}

// forgetBackups names what was copied before, and deletes it when that is
// wanted: then there is a new backup first.
func (d desk) forgetBackups(ctx context.Context, remove bool, out *forgotten) error {
	dir := backupsOf(d.dir)
	for _, f := range d.files() {
		out.Backups = append(out.Backups, backup.Paths(backup.List(dir, f.Name))...)
	}
	before := len(out.Backups)
	out.Backups = append(out.Backups, bolt.Asides(d.dir)...)
	if !remove || len(out.Backups) == 0 {
		return nil
	}
	if before > 0 {
		for _, f := range d.files() {
			b, err := backup.Make(ctx, dir, f, time.Now())
			switch {
			case err == nil && f.Name == bolt.FileName:
				out.Fresh = b.Path
			case err != nil && !errors.Is(err, backup.ErrNoData):
				return fmt.Errorf("making a backup in place of the others: %w", err)
			}
		}
	}
	for _, path := range out.Backups {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("deleting a backup: %w", err)
		}
	}
	out.Gone = true
	return fsutil.Sync(d.dir)
}
