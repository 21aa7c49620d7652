package data

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// stopTime bounds the stop of tasks that are to be deleted.
const stopTime = 15 * time.Second

// ForgetRequest names the person or chat whose data is deleted.
type ForgetRequest struct {
	Who     string `json:"who"`
	Backups bool   `json:"backups,omitempty"` // delete the backups too
}

// Forgotten is what Forget deleted.
type Forgotten struct {
	tasks.Deleted
	Stopped int         `json:"stopped"` // running tasks that were stopped first
	Notes   int         `json:"notes"`
	Input   bool        `json:"input,omitempty"` // the input history of the terminal was deleted
	Files   []Compacted `json:"files"`
	Backups []string    `json:"backups"`         // older backups, which may hold the data
	Gone    bool        `json:"gone,omitempty"`  // the older backups were deleted
	Fresh   string      `json:"fresh,omitempty"` // the backup that replaces them
}

// Forget deletes everything that is stored about a person or a chat, and
// rewrites the files so that no bytes of it remain.
func (a Admin) Forget(ctx context.Context, in ForgetRequest) (out Forgotten, err error) {
	if out.Deleted, err = a.Store.Erase(ctx, in.Who); err != nil {
		return out, err
	}
	if len(out.Live) > 0 {
		out.Stopped = a.stop(ctx, out.Live)
		rest, err := a.Store.Erase(ctx, in.Who)
		out.Deleted = out.plus(rest)
		if err != nil {
			return out, err
		}
	}
	platform, _, _ := strings.Cut(in.Who, ":") // the id itself is to be forgotten
	Record(ctx, a.Store, a.Log, ByHand("data.forget", platform, fmt.Sprintf("%d tasks, %d turns", out.Tasks, out.Turns)))
	if out.Notes, err = memory.Forget(a.Dir, in.Who); err != nil {
		return out, err
	}
	if platform == terminal.Name {
		err := os.Remove(filepath.Join(a.Dir, "input_history"))
		if out.Input = err == nil; err != nil && !errors.Is(err, fs.ErrNotExist) {
			return out, fmt.Errorf("deleting the input history: %w", err)
		}
	}
	if out.Files, err = a.Compact(ctx); err != nil {
		return out, err
	}
	return out, a.forgetBackups(ctx, in.Backups, &out)
}

// plus adds the counts of a second deletion. Live is that of the second one.
func (f Forgotten) plus(d tasks.Deleted) tasks.Deleted {
	a := f.Deleted
	return tasks.Deleted{
		Tasks: a.Tasks + d.Tasks, Turns: a.Turns + d.Turns, Summaries: a.Summaries + d.Summaries,
		Settings: a.Settings + d.Settings, Schedules: a.Schedules + d.Schedules, Spent: a.Spent + d.Spent, Contents: a.Contents + d.Contents, Posts: a.Posts + d.Posts, Connections: a.Connections + d.Connections, Live: d.Live,
	}
}

// stop stops tasks and waits until they have ended. Without an engine it drops
// them, and their chats are not told.
func (a Admin) stop(ctx context.Context, ids []tasks.ID) (ended int) {
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	for _, id := range ids {
		err := a.Store.Append(ctx, id, -1, 0, planner.Event{Type: planner.Stopped})
		if a.Wake == nil {
			err = a.Store.Drop(ctx, id)
		} else if err == nil {
			err = a.Wake(ctx, id)
		}
		if err != nil && !errors.Is(err, tasks.ErrRefused) {
			a.Log.WarnContext(ctx, "stopping a task before its deletion failed", "task", id, "cause", err)
		}
	}
	for _, id := range ids {
		if a.awaitEnd(ctx, id) {
			ended++
		}
	}
	return ended
}

// awaitEnd waits until a task has ended. It returns false when ctx ends first.
func (a Admin) awaitEnd(ctx context.Context, id tasks.ID) bool {
	for a.Wake != nil {
		changed := a.Store.Changed(id)
		s, err := a.Store.State(ctx, id)
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

// forgetBackups lists the older backups in out. When remove is set, it makes a
// new backup and deletes the older ones.
func (a Admin) forgetBackups(ctx context.Context, remove bool, out *Forgotten) error {
	dir := BackupFolder(a.Dir)
	for _, f := range a.Files() {
		out.Backups = append(out.Backups, backup.Paths(backup.List(dir, f.Name))...)
	}
	before := len(out.Backups)
	out.Backups = append(out.Backups, bolt.Asides(a.Dir)...)
	if !remove || len(out.Backups) == 0 {
		return nil
	}
	if before > 0 {
		for _, f := range a.Files() {
			b, err := backup.Make(ctx, dir, f, time.Now())
			switch {
			case err == nil && f.Name == bolt.FileName:
				out.Fresh = b.Path
			case err != nil && !errors.Is(err, backup.ErrNoData):
				return fmt.Errorf("making a new backup: %w", err)
			}
		}
	}
	for _, path := range out.Backups {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("deleting a backup: %w", err)
		}
	}
	for _, f := range a.Files() {
		if err := backup.Tidy(dir, f); err != nil {
			return fmt.Errorf("deleting the files of old backups: %w", err)
		}
	}
	out.Gone = true
	return fsutil.Sync(a.Dir)
}
