// Package backup maintains stored data: it makes backups on a schedule and reads
// each one again before it counts, deletes old data, and removes the bytes of
// deleted data from the files.
package backup

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"legwork/internal/fsutil"
)

// How often the parts run.
const (
	tick       = 10 * time.Second
	settle     = 30 * time.Second // after the start, to leave the start alone
	compactGap = 3 * time.Minute  // at least, between two compactions
	retainGap  = 24 * time.Hour
	sweepGap   = time.Hour
	retryGap   = time.Hour // after a backup that could not be made
	notifyGap  = 24 * time.Hour
)

// Config says what to maintain.
type Config struct {
	// Dir is the folder of backups; it is created when it is missing.
	Dir string
	// Files are backed up, each under a name of its own.
	Files []File
	// Every is the time between two backups; 0: no backups.
	Every time.Duration
	// Keep is how many good backups of each file are kept; the oldest are deleted
	// first.
	Keep int
	// Retain deletes old data; it is called once a day.
	Retain func(context.Context) error
	// Sweep deletes files without a use. Run calls it once an hour, unless it is nil.
	Sweep func(context.Context) error
	// Freed reports whether deleted bytes are still in a file, and Compact removes
	// them.
	Freed   func() bool
	Compact func(context.Context) error
	// Low reports that the disk has no room for new work. Nil: never.
	Low func() bool
	// Corruption returns a file in which readers met damage, and the damage.
	Corruption func() (file string, err error)
	// Now is the wall clock: backups are named by it.
	Now func() time.Time
	Log *slog.Logger
	// Notify tells the admins, at most once a day for each kind.
	Notify func(context.Context, Notice)
}

// File is a data file.
type File struct {
	Name  string // such as "legwork.db"
	Write func(context.Context, io.Writer) error
	// Size is the approximate size of a copy; 0 when there is no data to copy yet.
	Size func() (int64, error)
	// Mark notes in a copy that it is a copy, before it is read again. Nil: no mark.
	Mark func(path string) error
	// Verify reads a copy and returns what is wrong with it, in a separate process
	// where reading can end a process. ErrUnread.
	Verify func(ctx context.Context, path string) error
	// Beside is what the file refers to in other files. Nil: nothing.
	Beside *Beside
}

// Beside copies what a data file refers to in other files. These never change, so all
// backups of a folder share one copy of each.
type Beside struct {
	// Pin keeps these files until unpin is called. A copy of the data file begins with it.
	Pin func() (unpin func())
	// Copy copies what a copy of the data file refers to into a folder, as far as it is not
	// there.
	Copy func(ctx context.Context, path, folder string) error
	// Tidy deletes from a folder what none of these copies of the data file refers to.
	Tidy func(folder string, copies []string) error
}

// Kinds of notices.
const (
	NoticeDamaged = "damaged" // a copy is damaged, or a reader met damage
	NoticeNoRoom  = "no_room" // there is no room for a backup
	NoticeFailed  = "failed"  // a backup could not be made
	NoticeLow     = "low"     // new work is refused until there is room on the disk
)

// Notice is a message for admins.
type Notice struct {
	Kind string
	File string // name of the data file
	Text string // the problem, for operators
}

// Maintainer runs the maintenance.
type Maintainer struct {
	Config
	last map[string]time.Time // when something was done; see once
}

// New returns a maintainer; it does nothing before Run.
func New(c Config) *Maintainer {
	return &Maintainer{c, map[string]time.Time{}}
}

// Run works until ctx ends.
func (c *Maintainer) Run(ctx context.Context) error {
	for wait := settle; ; wait = tick {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
			c.runDue(ctx)
		}
	}
}

// runDue runs what is due. It compacts files before it copies them, so that
// backups do not contain deleted data.
func (c *Maintainer) runDue(ctx context.Context) {
	if c.once("retain", retainGap) {
		if err := c.Retain(ctx); err != nil && ctx.Err() == nil {
			c.Log.ErrorContext(ctx, "deleting old data failed", "cause", err)
		}
	}
	if c.Sweep != nil && c.once("sweep", sweepGap) {
		if err := c.Sweep(ctx); err != nil && ctx.Err() == nil {
			c.Log.ErrorContext(ctx, "deleting unused files failed", "cause", err)
		}
	}
	if c.Freed() && c.once("compact", compactGap) {
		if err := c.Compact(ctx); err != nil && ctx.Err() == nil {
			c.Log.ErrorContext(ctx, "compaction failed, deleted data is still in the file", "cause", err)
		}
	}
	if c.Low != nil && c.Low() {
		c.notifyOnce(ctx, Notice{Kind: NoticeLow, File: c.Dir, Text: "the disk is full"}, "disk full, new work refused")
	}
	if file, err := c.Corruption(); err != nil {
		c.notifyOnce(ctx, Notice{Kind: NoticeDamaged, File: file, Text: err.Error()}, "data file damaged")
	}
	for _, f := range c.Files {
		now := c.Now()
		list := notAfter(List(c.Dir, f.Name), now)
		due := c.Every > 0 && (len(list) == 0 || now.Sub(list[0].At) >= c.Every)
		if due && ctx.Err() == nil && c.once("backup "+f.Name, min(retryGap, c.Every)) {
			c.backup(ctx, f)
		}
	}
}

// once reports that something is to be done now, because a time has passed since it
// was done. A clock that was set back counts as such, otherwise nothing would happen
// until it is back.
func (c *Maintainer) once(what string, gap time.Duration) bool {
	now := c.Now()
	if last, found := c.last[what]; found && now.Sub(last) < gap && !now.Before(last) {
		return false
	}
	c.last[what] = now
	return true
}

// backup makes a backup of a file and lets the oldest go.
func (c *Maintainer) backup(ctx context.Context, f File) {
	start := c.Now()
	b, err := Make(ctx, c.Dir, f, start)
	if ctx.Err() != nil || errors.Is(err, ErrNoData) {
		return
	}
	if err != nil {
		kind := NoticeFailed
		switch {
		case errors.Is(err, fsutil.ErrNoRoom):
			kind = NoticeNoRoom
		case errors.Is(err, ErrBad):
			kind = NoticeDamaged
		}
		c.notifyOnce(ctx, Notice{Kind: kind, File: f.Name, Text: err.Error()}, "backup failed")
		return
	}
	c.Log.InfoContext(ctx, "backup made", "file", b.Path, "took", c.Now().Sub(start).Round(time.Millisecond))
	err = prune(c.Dir, f.Name, max(1, c.Keep), c.Now())
	if err == nil {
		err = Tidy(c.Dir, f)
	}
	if err != nil {
		c.Log.WarnContext(ctx, "deleting old backup failed", "cause", err)
	}
}

// notifyOnce logs a problem and tells the admins, unless that was done today.
func (c *Maintainer) notifyOnce(ctx context.Context, n Notice, what string) {
	if c.once(n.Kind+" "+n.File, notifyGap) {
		c.Log.ErrorContext(ctx, what, "file", n.File, "cause", n.Text)
		c.Notify(ctx, n)
	}
}

// The errors of a copy.
var (
	ErrBad    = errors.New("the copy is damaged")
	ErrUnread = errors.New("the copy could not be read again") // nothing is known about it
	ErrNoData = errors.New("there is no data yet")
)
