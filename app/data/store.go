package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"legwork/files"
	"legwork/internal/clock"
	"legwork/internal/fsutil"
	"legwork/store"
	"legwork/store/backup"
	"legwork/store/bolt"
	"legwork/store/postgres"
	"legwork/tasks"
)

// Store is a store with the care that its database needs: a data file, or a database
// on a Postgres server.
type Store struct {
	*store.Store

	file   *bolt.Store  // nil on a server
	server *postgres.DB // nil in a folder
}

// openServerStore opens the store on a Postgres server.
func openServerStore(ctx context.Context, url string, o bolt.Options, standby func(holder string)) (*Store, error) {
	db, err := postgres.Open(ctx, postgres.Options{URL: url, Command: o.Command, Standby: standby, Log: o.Log, Metrics: o.Metrics})
	if err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, db, store.Options{Now: o.Now, Log: o.Log, Metrics: o.Metrics})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Store{Store: s, server: db}, nil
}

// Loss returns what opening the data file has cost; nil when no backup had to
// replace it.
func (s *Store) Loss() *bolt.Loss {
	if s.file == nil {
		return nil
	}
	return s.file.Loss()
}

// Corruption returns damage of the data file itself; nil for none.
func (s *Store) Corruption() error {
	if s.file == nil {
		return nil
	}
	return s.file.Corruption()
}

// WriteFailure returns why the newest change could not be written; nil when it was
// written.
func (s *Store) WriteFailure() error {
	if s.file == nil {
		return s.server.WriteFailure()
	}
	return s.file.WriteFailure()
}

// Size is the size of the data in bytes.
func (s *Store) Size(ctx context.Context) (int64, error) {
	if s.file == nil {
		return s.server.Size(ctx)
	}
	return s.file.Size()
}

// Lost is closed when another process has taken over the database, so that this one
// must end. It is nil for a data file.
func (s *Store) Lost() <-chan struct{} {
	if s.file != nil {
		return nil
	}
	return s.server.Lost()
}

// backupFile describes the data for backups. A backup is always a data file: that of
// a server's database is a copy.
func (s *Store) backupFile(log *slog.Logger) backup.File {
	f := backup.File{
		Name: bolt.FileName, Verify: verifyInChild,
		Mark: func(path string) error { return bolt.MarkCopy(path, time.Now()) },
	}
	f.Beside = &backup.Beside{
		Pin: s.PinFiles, Copy: func(ctx context.Context, path, folder string) error { return s.copyContents(ctx, path, folder, log) },
		Tidy: func(folder string, copies []string) error {
			return bolt.TidyFolder(context.Background(), folder, copies)
		},
	}
	if s.file != nil {
		f.Write, f.Size = s.file.Backup, s.file.Size
		return f
	}
	f.Write = s.writeCopy
	f.Size = func() (int64, error) { return s.server.Size(context.Background()) }
	return f
}

// copyContents copies the contents that a backup refers to into a folder. It leaves out
// contents that are missing or damaged: the backup of everything else is worth more.
func (s *Store) copyContents(ctx context.Context, path, folder string, log *slog.Logger) error {
	ids, err := bolt.ContentIDs(path)
	if err != nil {
		return err
	}
	var from store.Contents
	if s.file != nil {
		from = s.file.Contents()
	} else {
		from = s.server.Contents()
	}
	for _, id := range ids {
		if err := fsutil.CheckFree(filepath.Dir(path), 0); err != nil {
			return err
		}
		err := (bolt.Folder{Dir: folder}).Take(ctx, id, from)
		if errors.Is(err, files.ErrNone) || errors.Is(err, tasks.ErrDamaged) {
			log.ErrorContext(ctx, "content of a file missing in backup", "content", id, "cause", err)
			continue
		}
		if err != nil {
			return fmt.Errorf("copying the content of a file: %w", err)
		}
	}
	return nil
}

// writeCopy writes the database of a server as a data file.
func (s *Store) writeCopy(ctx context.Context, w io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "legwork-backup-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	to, err := bolt.OpenDB(ctx, dir, bolt.Options{Now: clock.New().Now})
	if err != nil {
		return err
	}
	_, err = store.Copy(ctx, s.server, to, store.CopyOptions{Source: "the database", NoContents: true})
	if err = errors.Join(err, to.Close()); err != nil {
		return fmt.Errorf("copying the database: %w", err)
	}
	file, err := os.Open(filepath.Join(dir, bolt.FileName))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	_, err = io.Copy(w, file)
	return err
}

// compact removes deleted data from where the database keeps it.
func (s *Store) compact(ctx context.Context) (Compacted, error) {
	if s.file != nil {
		c, err := s.file.Compact(ctx)
		return Compacted{bolt.FileName, c.Before, c.After, c.Took, c.Waited}, err
	}
	freed, start := s.SetFreed(false), time.Now()
	before, err := s.server.Size(ctx)
	if err == nil {
		err = s.server.Vacuum(ctx)
	}
	if err != nil {
		s.SetFreed(freed)
		return Compacted{}, err
	}
	after, err := s.server.Size(ctx)
	return Compacted{"postgres", before, after, time.Since(start), 0}, err
}
