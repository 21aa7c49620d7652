// Package backup looks after stored data: backups on a schedule, of which each is
// read again before it counts, old data deleted when its time is over, and the
// bytes of what was deleted taken out of the files.
package backup

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"legwork/internal/fsutil"
)

// How often things are looked at.
const (
	tick       = 10 * time.Second
	settle     = 30 * time.Second // after the start, which has better things to do
	compactGap = 3 * time.Minute  // at least, between two compactions
	retainGap  = 24 * time.Hour
	retryGap   = time.Hour // after a backup that could not be made
	notifyGap  = 24 * time.Hour
)

// Config says what there is to look after.
type Config struct {
	// Dir is the folder of backups; it is made when it is missing.
	Dir string
	// Files are backed up, each under a name of its own.
	Files []File
	// Every is the time between two backups; 0: none are made.
	Every time.Duration
	// Keep is how many good backups of each file are kept; the oldest go first.
	Keep int
	// Retain deletes what is old enough, and is called once a day. Nil: nothing is.
	Retain func(context.Context) error
	// Freed reports that something was deleted whose bytes are still in a file, and
	// Compact takes them out.
	Freed   func() bool
	Compact func(context.Context) error
	// Low reports that the disk has no room for new work. Nil: it always has.
	Low func() bool
	// Corruption tells of a file in which damage was met outside the backups, and what
	// it is. Nil: nobody meets any.
	Corruption func() (file string, err error)
	// Now is the wall clock: backups are named by it.
	Now func() time.Time
	Log *slog.Logger
	// Notify tells the admins, at most once a day of each kind.
	Notify func(context.Context, Notice)
}

// File is a data file.
type File struct {
	Name  string // such as "legwork.db"
	Write func(context.Context, io.Writer) error
	// Size is about how large a copy is; 0 for no data yet, of which there is no
	// backup.
	Size func() (int64, error)
	// Mark notes in a copy that it is one, before it is read again. Nil: nothing is.
	Mark func(path string) error
	// Verify reads a copy and tells what is wrong with it, in a process of its own
	// where reading can end one. ErrUnread.
	Verify func(ctx context.Context, path string) error
}

// Kinds of notices.
const (
	NoticeDamaged = "damaged" // the data is damaged, since a copy is or somebody met it
	NoticeNoRoom  = "no_room" // there is no room for a backup
	NoticeFailed  = "failed"  // a backup could not be made
	NoticeLow     = "low"     // new work is refused until there is room on the disk
)

// Notice is what admins should know.
type Notice struct {
	Kind string
	File string // name of the data file
	Text string // what is wrong, for operators
}

// Maintainer does it.
type Maintainer struct {
	Config
	compacted, retained time.Time
	tried               map[string]time.Time // backups, by file
	notified            map[string]time.Time // notices, by kind and file
}

// New returns a carer; nothing happens before Run.
func New(c Config) *Maintainer {
	return &Maintainer{Config: c, tried: map[string]time.Time{}, notified: map[string]time.Time{}}
}

// Run works until ctx ends.
func (c *Maintainer) Run(ctx context.Context) error {
	timer := time.NewTimer(settle)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		c.runDue(ctx)
		timer.Reset(tick)
	}
}

// runDue does what is due. What was deleted leaves the files before they are
// copied.
func (c *Maintainer) runDue(ctx context.Context) {
	now := c.Now()
	if c.Retain != nil && elapsed(c.retained, now, retainGap) {
		c.retained = now
		if err := c.Retain(ctx); err != nil && ctx.Err() == nil {
			c.Log.ErrorContext(ctx, "old data could not be deleted", "cause", err)
		}
	}
	if c.Freed() && elapsed(c.compacted, now, compactGap) {
		c.compacted = now
		if err := c.Compact(ctx); err != nil && ctx.Err() == nil {
			c.Log.ErrorContext(ctx, "the bytes of deleted data are still in the data file", "cause", err)
		}
	}
	if c.Low != nil && c.Low() {
		c.notifyOnce(ctx, Notice{Kind: NoticeLow, File: c.Dir, Text: "the disk is full"}, "new work is refused until there is room on the disk")
	}
	if c.Corruption != nil {
		if file, err := c.Corruption(); err != nil {
			c.notifyOnce(ctx, Notice{Kind: NoticeDamaged, File: file, Text: err.Error()}, "the data is damaged")
		}
	}
	if c.Every <= 0 {
		return
	}
	for _, f := range c.Files {
		if ctx.Err() == nil && c.due(f, now) {
			c.tried[f.Name] = now
			c.backup(ctx, f)
		}
	}
}

// elapsed reports that a time has passed. A clock that was set back counts as a
// time that has passed, or nothing would happen for as long as it was set back.
func elapsed(since, now time.Time, gap time.Duration) bool {
	return since.IsZero() || now.Sub(since) >= gap || now.Before(since)
}

// due reports that it is time for a backup of a file.
func (c *Maintainer) due(f File, now time.Time) bool {
	if !elapsed(c.tried[f.Name], now, min(retryGap, c.Every)) {
		return false
	}
	list := notAfter(List(c.Dir, f.Name), now)
	return len(list) == 0 || now.Sub(list[0].At) >= c.Every
}

// backup makes a backup of a file and lets the oldest go.
func (c *Maintainer) backup(ctx context.Context, f File) {
	start := c.Now()
	b, err := Make(ctx, c.Dir, f, start)
	switch {
	case ctx.Err() != nil:
		return
	case errors.Is(err, ErrNoData):
		return
	case errors.Is(err, fsutil.ErrNoRoom):
		c.notifyFailed(ctx, NoticeNoRoom, f, err)
		return
	case errors.Is(err, ErrBad):
		c.notifyFailed(ctx, NoticeDamaged, f, err)
		return
	case err != nil:
		c.notifyFailed(ctx, NoticeFailed, f, err)
		return
	}
	c.Log.InfoContext(ctx, "the data was backed up", "file", b.Path, "bytes", b.Size, "took", c.Now().Sub(start).Round(time.Millisecond))
	if err := prune(c.Dir, f.Name, max(1, c.Keep), c.Now()); err != nil {
		c.Log.WarnContext(ctx, "an old backup could not be deleted", "cause", err)
	}
}

// notifyFailed tells that a backup could not be made.
func (c *Maintainer) notifyFailed(ctx context.Context, kind string, f File, err error) {
	c.notifyOnce(ctx, Notice{Kind: kind, File: f.Name, Text: err.Error()}, "the data could not be backed up")
}

// notifyOnce logs what is wrong, and tells the admins, unless that was done today.
func (c *Maintainer) notifyOnce(ctx context.Context, n Notice, what string) {
	if key, now := n.Kind+" "+n.File, c.Now(); elapsed(c.notified[key], now, notifyGap) {
		c.notified[key] = now
		c.Log.ErrorContext(ctx, what, "file", n.File, "cause", n.Text)
		c.Notify(ctx, n)
	}
}

// Path is where a backup of that time belongs.
func Path(dir, name string, at time.Time) string {
	base, ext := split(name)
	return filepath.Join(dir, base+"-"+at.UTC().Format(stamp)+ext)
}

func split(name string) (base, ext string) {
	ext = filepath.Ext(name)
	return name[:len(name)-len(ext)], ext
}

// ErrBad says that a copy was made and is damaged.
var ErrBad = errors.New("the copy is damaged")

// ErrUnread says that nobody could read a copy, so that nothing is known of it.
var ErrUnread = errors.New("the copy could not be read again")

// ErrNoData says that there is nothing to copy.
var ErrNoData = errors.New("there is no data yet")
