// Package bolt is the database of a store in one file of a data directory, with
// bbolt. One process at a time owns the directory. One goroutine writes: it commits
// all queued changes in one transaction, so that many senders share one sync to
// disk.
//
// Deleted and replaced records cannot be read through the store, but bbolt leaves
// the bytes of freed pages in the file until a later transaction reuses them, and
// the file never shrinks. Overwriting the values before deleting them would not
// help: bbolt never writes to a page that is in use, so the old page keeps its
// bytes. Compact copies the remaining records into a new file.
package bolt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"legwork/internal/telemetry"
	"legwork/store"
	"legwork/tasks"
)

// FileName is the data file's name in the data directory.
const FileName = "legwork.db"

// Options configure a store. The zero value is usable.
type Options struct {
	// Command is the command that a second process names when the directory is in
	// use, such as "legwork chat".
	Command string
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
	// MaxSize bounds the data file in bytes; a write beyond it is ErrFull. Zero:
	// only the disk bounds it.
	MaxSize int
	// CheckCommand runs in a child process, with the data file's path appended, when
	// the last owner did not close the store: reading a damaged file can end a
	// process. Exit code 0 means sound; the command should call VerifyQuick. Empty:
	// the file is not checked.
	CheckCommand []string
	// VerifyCommand does the same for whole files; it should call Verify. Empty:
	// this process reads them.
	VerifyCommand []string
	// Backups lists backups of the data file, the newest first. A file that cannot
	// be used is moved aside and replaced by the first good backup; see Loss. Nil:
	// such a file is an error of Open.
	Backups func() []string
	// Contents are folders in which contents are looked for that are not in the data
	// directory, such as those of a backup.
	Contents []string
	// Agree is called by Restore before it replaces the data file, while the directory
	// is locked. Its error ends Restore. Nil: Restore goes on.
	Agree func(Loss) error
	// Log gets a message for damage that the store works around. Nil: no log.
	Log *slog.Logger
	// Metrics count transactions and their effects on tasks; may be nil.
	Metrics *telemetry.Metrics
}

// Store implements tasks.Store on a data directory.
type Store struct {
	*store.Store
	*DB
}

var _ tasks.Store = (*Store)(nil)

// Open opens the store of a data directory. It creates both when they are missing,
// readable for their owner only. A directory in use is a *LockedError; an unusable
// file is tasks.ErrDamaged. ctx bounds the opening only.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	db, err := OpenDB(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, db, store.Options{Now: o.Now, Log: o.Log, Metrics: o.Metrics})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if db.loss != nil {
		db.loss.Dropped = s.Dropped()
	}
	return &Store{s, db}, nil
}

// Close commits the queued changes, closes the file and frees the directory. It
// waits for running reads.
func (s *Store) Close() error { return s.DB.Close() }

// DB implements store.DB.
type DB struct {
	bolt atomic.Pointer[bbolt.DB] // replaced by a compaction
	path string
	lock *lock
	loss *Loss
	o    Options
	log  *slog.Logger

	updates *store.Queue
	pauses  chan func() // run by the writer between two transactions
	close   sync.Once
	closed  error

	fatal    error     // the writer's: why no write is possible any more
	recorder *recorder // the writer's: changes during a compaction; nil: no compaction

	corruption   atomic.Pointer[error] // the first damage of the file itself
	writeFailure atomic.Pointer[error] // why the newest write failed

	copying sync.Mutex // held by a compaction
}

// OpenDB opens the database of a data directory, as Open does, without the rules of
// a store.
func OpenDB(ctx context.Context, dir string, o Options) (*DB, error) {
	o = o.filled()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating data directory: %w", markFull(err))
	}
	l, err := acquire(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, FileName)
	file, loss, err := openOrRestore(ctx, path, l.suspect, o)
	if err != nil {
		return nil, errors.Join(err, l.release(l.suspect || errors.Is(err, tasks.ErrDamaged)))
	}
	db := &DB{
		path: path, lock: l, loss: loss, o: o, log: o.Log,
		updates: store.NewQueue(), pauses: make(chan func()),
	}
	db.bolt.Store(file)
	go db.write()
	return db, nil
}

// filled returns the options with their defaults.
func (o Options) filled() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Backup writes the data file as it is when the call starts, while others read and
// write. Backups and compactions take turns.
func (db *DB) Backup(ctx context.Context, w io.Writer) error {
	db.copying.Lock()
	defer db.copying.Unlock()
	return db.view(ctx, func(x *tx) error { _, err := x.WriteTo(w); return err })
}

// Size is the size of the data file in bytes.
func (db *DB) Size() (int64, error) {
	info, err := os.Stat(db.path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Corruption returns the damage of the file itself, beyond single records, that
// was met since it was opened. Work that needs the damaged place fails until a
// restart, which restores a backup. Nil: none.
func (db *DB) Corruption() error { return load(&db.corruption) }

// WriteFailure returns why the newest change could not be written; nil when it was
// written, or nothing was changed yet. On a full disk smaller changes may still
// fit.
func (db *DB) WriteFailure() error { return load(&db.writeFailure) }

func load(p *atomic.Pointer[error]) error {
	if err := p.Load(); err != nil {
		return *err
	}
	return nil
}

// noteCorruption remembers damage of the file itself, and leaves a mark that lets
// the next start verify the whole file before it uses it.
func (db *DB) noteCorruption(err error) error {
	if err == nil || !errors.Is(err, errPage) || !db.corruption.CompareAndSwap(nil, &err) {
		return err
	}
	db.log.Error("data file damaged, restart needed", "cause", err)
	if marked := os.WriteFile(db.path+suspectSuffix, nil, 0o600); marked != nil {
		db.log.Error("damage not marked for the next start", "cause", markFull(marked))
	}
	return err
}

// Close implements store.DB.
func (db *DB) Close() error {
	db.close.Do(func() {
		close(db.updates.Closing)
		<-db.updates.Ended
		db.closed = errors.Join(guard(db.bolt.Load().Close), db.lock.release(db.fatal != nil))
		if db.closed != nil {
			db.closed = fmt.Errorf("closing store: %w", db.closed)
		}
	})
	return db.closed
}
