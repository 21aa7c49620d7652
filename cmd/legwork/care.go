package main

import (
	"context"
	"time"

	"legwork/conf"
	"legwork/internal/fsutil"
	"legwork/store/backup"
	"legwork/store/bolt"
	"legwork/tasks"
	"legwork/tasks/alerts"
	"legwork/tools/builtin/memory"
)

// care looks after the data until ctx ends.
func (a *app) care(ctx context.Context, config *conf.Config) error {
	if loss := a.store.Loss(); loss != nil {
		a.tellLoss(ctx, *loss)
	}
	d := a.desk(config.DataDir)
	return backup.New(backup.Config{
		Low: a.full(config.DataDir), Unsound: a.unsound, Dir: backupsOf(d.dir), Files: d.files(), Every: config.Backup.Every, Keep: config.Backup.Keep,
		Retain: func(ctx context.Context) error { return a.retain(ctx, config.Retention) },
		Freed:  func() bool { return a.store.Freed() || a.forgotten.Load() },
		Compact: func(ctx context.Context) error {
			a.forgotten.Store(false)
			list, err := d.compact(ctx)
			for _, f := range list {
				a.log.InfoContext(ctx, "the bytes of deleted data are gone", "file", f.Name, "before", f.Before, "after", f.After, "took", f.Took.Round(time.Millisecond), "waited", f.Waited.Round(time.Microsecond))
			}
			return err
		},
		Now: time.Now, Log: a.log, Tell: a.tellCare,
	}).Run(ctx)
}

// full reports that the disk of the data has no room for new work.
func (a *app) full(dir string) func() bool {
	return func() bool { return fsutil.Low(dir) }
}

// unsound tells which data file was found to be damaged by who needed it.
func (a *app) unsound() (file string, err error) { return bolt.FileName, a.store.Unsound() }

// desk works on the data of a running app.
func (a *app) desk(dir string) desk {
	return desk{dir: dir, store: a.store, log: a.log, wake: a.engine.Wake}
}

// retain deletes what is older than the config wants.
func (a *app) retain(ctx context.Context, keep conf.Retention) error {
	before := func(age time.Duration) time.Time {
		if age == 0 {
			return time.Time{}
		}
		return time.Now().Add(-age)
	}
	d, err := a.store.Retain(ctx, before(keep.Tasks), before(keep.History))
	if !d.Empty() {
		a.log.InfoContext(ctx, "old data was deleted", "tasks", d.Tasks, "turns", d.Turns, "summaries", d.Summaries, "spent", d.Spent)
	}
	return err
}

// tellCare tells the admins what is wrong with the data or its backups.
func (a *app) tellCare(ctx context.Context, n backup.Notice) {
	key := "admin.backup_failed"
	switch {
	case n.Kind == backup.NoticeLow:
		key = "admin.disk_low"
	case n.Kind == backup.NoticeNoRoom:
		key = "admin.backup_no_room"
	case n.Kind == backup.NoticeDamaged && n.File == memory.FileName:
		key = "admin.notes_damaged"
	case n.Kind == backup.NoticeDamaged:
		key = "admin.data_damaged"
	}
	a.inbox.TellAdmins(ctx, key, map[string]any{"Path": n.File, "Problem": firstLines(n.Text, 5)})
	a.raiseCare(ctx, n)
}

// damaged tells the admins about a damaged task, once an hour at most, because
// more of them may follow.
func (a *app) damaged(ctx context.Context, id tasks.ID, cause error) {
	last, now := a.suspected.Load(), a.clock.Now().Unix()
	if last != 0 && now-last < int64(time.Hour/time.Second) || !a.suspected.CompareAndSwap(last, now) {
		return
	}
	a.inbox.TellAdmins(ctx, "admin.task_damaged", map[string]any{"Task": string(id), "Problem": firstLines(cause.Error(), 3)})
	a.alerts.Raise(ctx, alerts.DataDamaged, "A stored record of task "+string(id)+" is damaged, so the task was dropped.", bolt.FileName, firstLines(cause.Error(), 3))
}

// tellLoss tells the admins that a backup replaced the data file.
func (a *app) tellLoss(ctx context.Context, l bolt.Loss) {
	data := map[string]any{"Path": l.Aside, "Count": len(l.Dropped), "Text": idList(l.Dropped), "Until": "", "Date": l.From.UTC().Format("2006-01-02 15:04")}
	if !l.To.IsZero() {
		data["Until"] = l.To.UTC().Format("2006-01-02 15:04")
	}
	a.inbox.TellAdmins(ctx, "admin.data_restored", data)
	a.alerts.Raise(ctx, alerts.DataDamaged, "The stored data was damaged, and a backup has replaced it. Everything stored after that backup is lost.", l.Aside, "")
}
