package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"legwork/app/cli"
	"legwork/app/data"
	"legwork/conf"
	"legwork/internal/fsutil"
	"legwork/store/backup"
	"legwork/store/bolt"
	"legwork/tasks"
	"legwork/tasks/alerts"
	"legwork/tasks/api"
	"legwork/tools/builtin/memory"
	"legwork/tools/client"
)

// maintain makes backups, deletes old data and checks the data until ctx ends.
func (a *core) maintain(ctx context.Context) error {
	config := a.config
	if loss := a.store.Loss(); loss != nil {
		a.reportLoss(ctx, *loss)
	}
	admin := a.admin()
	return backup.New(backup.Config{
		Low: diskFull(config.DataDir), Corruption: a.corruption, Dir: data.BackupFolder(config.DataDir), Files: admin.Files(), Every: config.Backup.Every, Keep: config.Backup.Keep,
		Retain: func(ctx context.Context) error { return a.retain(ctx, config.Retention) },
		Sweep:  func(ctx context.Context) error { return a.sweepFiles(ctx, time.Time{}) },
		Freed:  func() bool { return a.store.Freed() || a.forgotten.Load() },
		Compact: func(ctx context.Context) error {
			a.forgotten.Store(false)
			list, err := admin.Compact(ctx)
			for _, f := range list {
				a.log.InfoContext(ctx, "data file compacted", "file", f.Name, "before", f.Before, "after", f.After, "took", f.Took.Round(time.Millisecond), "waited", f.Waited.Round(time.Microsecond))
			}
			return err
		},
		Now: time.Now, Log: a.log, Notify: a.reportMaintenance,
	}).Run(ctx)
}

// diskFull reports that the disk of a folder has no room for new work.
func diskFull(dir string) func() bool {
	return func() bool { return fsutil.IsLow(dir) }
}

// corruption returns the data file in which a reader found damage.
func (a *core) corruption() (file string, err error) { return bolt.FileName, a.store.Corruption() }

// admin administers the data while the engine runs.
func (a *core) admin() data.Admin {
	return data.Admin{Dir: a.config.DataDir, Store: a.store, Log: a.log, Wake: a.engine.Wake, Keys: a.keys}
}

// retain deletes data that is older than the config allows.
func (a *core) retain(ctx context.Context, keep conf.Retention) error {
	before := func(age time.Duration) time.Time {
		if age == 0 {
			return time.Time{}
		}
		return time.Now().Add(-age)
	}
	d, err := a.store.Retain(ctx, before(keep.Tasks), before(keep.History))
	if !d.Empty() {
		a.log.InfoContext(ctx, "old data deleted", "tasks", d.Tasks, "turns", d.Turns, "summaries", d.Summaries, "spent", d.Spent, "posts", d.Posts, "files", d.Contents)
	}
	if err == nil {
		err = a.retainConnections(ctx, before(serverGone))
	}
	if err != nil {
		return err
	}
	return a.sweepFiles(ctx, before(keep.Files))
}

// serverGone is how long sign-ins at a server stay unused before legwork deletes them,
// when the server is not in the config. So a server can be taken out for a while.
const serverGone = 30 * 24 * time.Hour

// retainConnections deletes the sign-ins at servers that are not in the config, unless
// they were made or used since a time.
func (a *core) retainConnections(ctx context.Context, since time.Time) error {
	list, err := a.store.Connections(ctx)
	servers := a.tools.Status()
	for _, c := range list {
		if slices.ContainsFunc(servers, func(s client.Status) bool { return s.Name == c.Server }) || c.Since.After(since) || c.Used.After(since) {
			continue
		}
		if err := a.store.DropConnection(ctx, c.ConnectionID); err != nil && !errors.Is(err, tasks.ErrNoConnection) {
			return err
		}
		a.log.InfoContext(ctx, "sign-in at a removed server deleted", "server", c.Server, "person", c.Person)
	}
	return err
}

// sweepFiles deletes uploads that no task uses, and files of tasks that ended before a
// time.
func (a *core) sweepFiles(ctx context.Context, endedBefore time.Time) error {
	d, err := a.store.SweepFiles(ctx, endedBefore)
	if d.Contents > 0 {
		a.log.InfoContext(ctx, "old files deleted", "files", d.Contents)
	}
	return err
}

// fileLimits are the limits of files in the current config.
func (a *core) fileLimits() api.FileLimits {
	f := a.files.Load()
	if f == nil {
		f = &a.config.Files
	}
	return api.FileLimits{File: f.MaxBytes, Message: f.MessageBytes, Chat: f.ChatBytes, Total: f.TotalBytes}
}

// reportMaintenance tells the admins and webhooks about a problem with the data or
// its backups.
func (a *core) reportMaintenance(ctx context.Context, n backup.Notice) {
	about := map[string]struct{ key, kind, summary string }{
		backup.NoticeLow:     {"admin.disk_low", alerts.DiskLow, "The disk of the data is nearly full; new work is refused."},
		backup.NoticeNoRoom:  {"admin.backup_no_room", alerts.BackupFailed, "A backup could not be made."},
		backup.NoticeFailed:  {"admin.backup_failed", alerts.BackupFailed, "A backup could not be made."},
		backup.NoticeDamaged: {"admin.data_damaged", alerts.DataDamaged, "A part of the stored data is damaged."},
	}[n.Kind]
	if n.Kind == backup.NoticeDamaged && n.File == memory.FileName {
		about.key = "admin.notes_damaged"
	}
	problem := cli.FirstLines(n.Text, 5)
	a.inbox.NotifyAdmins(ctx, about.key, map[string]any{"Path": n.File, "Problem": problem})
	a.alerts.Raise(ctx, about.kind, about.summary, n.File, problem)
}

// damaged tells the admins about a damaged task, at most once an hour, because more
// of them may follow.
func (a *core) damaged(ctx context.Context, id tasks.ID, cause error) {
	last, now := a.suspected.Load(), a.clock.Now().Unix()
	if last != 0 && now-last < int64(time.Hour/time.Second) || !a.suspected.CompareAndSwap(last, now) {
		return
	}
	a.inbox.NotifyAdmins(ctx, "admin.task_damaged", map[string]any{"Task": string(id), "Problem": cli.FirstLines(cause.Error(), 3)})
	a.alerts.Raise(ctx, alerts.DataDamaged, "A stored record of task "+string(id)+" is damaged, so the task was dropped.", bolt.FileName, cli.FirstLines(cause.Error(), 3))
}

// reportLoss tells the admins that a backup replaced the data file.
func (a *core) reportLoss(ctx context.Context, l bolt.Loss) {
	about := map[string]any{"Path": l.Aside, "Count": len(l.Dropped), "Text": data.IDList(l.Dropped), "Until": "", "Date": l.From.UTC().Format("2006-01-02 15:04")}
	if !l.To.IsZero() {
		about["Until"] = l.To.UTC().Format("2006-01-02 15:04")
	}
	a.inbox.NotifyAdmins(ctx, "admin.data_restored", about)
	a.alerts.Raise(ctx, alerts.DataDamaged, "The stored data was damaged, and a backup has replaced it. Everything stored after that backup is lost.", l.Aside, "")
}
