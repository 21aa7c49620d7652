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
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"legwork/internal/telemetry"
	"legwork/store"
	"legwork/tasks"
)

// FileName is the data file's name in the data directory.
const FileName = "legwork.db"

// Options configure a store. The zero value is usable.
type Options struct {
	// Command is the command that a second process names when the directory is in
	// use, such as "legwork chat". Empty: the name of the program.
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

// openOrRestore opens the data file. It restores a backup first when the file is
// damaged or missing.
func openOrRestore(ctx context.Context, path string, suspect bool, o Options) (db *bbolt.DB, loss *Loss, err error) {
	if err = missingWithBackups(path, o); err == nil {
		db, err = openFile(ctx, path, suspect, o)
	}
	if !errors.Is(err, tasks.ErrDamaged) || o.Backups == nil {
		return db, nil, err
	}
	loss, failed := restore(ctx, path, o.Backups(), err, o)
	switch {
	case failed == nil:
		db, err = openFile(ctx, path, false, o)
		return db, loss, err
	case errors.Is(failed, errNoBackup) && usable(ctx, path, o):
		o.Log.ErrorContext(ctx, "data file damaged, no good backup", "cause", err)
		db, err = openFile(ctx, path, false, o)
		return db, nil, err
	}
	return nil, nil, errors.Join(err, failed)
}

// usable reports whether a file in which damage was met opens all the same,
// because the damage is somewhere in the middle. Without a backup that is better
// than a refusal.
func usable(ctx context.Context, path string, o Options) bool {
	if _, err := os.Stat(path + suspectSuffix); err != nil || len(o.CheckCommand) == 0 {
		return false
	}
	return checkQuickly(ctx, path, o.CheckCommand) == nil && os.Remove(path+suspectSuffix) == nil
}

// missingWithBackups returns ErrDamaged when there is no data, but backups of it.
// Without this check a start would create an empty file, and the loss would be
// silent.
func missingWithBackups(path string, o Options) error {
	info, err := os.Stat(path)
	if o.Backups == nil || err == nil && info.Size() > 0 || err != nil && !errors.Is(err, os.ErrNotExist) || len(o.Backups()) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s is missing or empty, and there are backups of it", tasks.ErrDamaged, path)
}

// openFile opens the data file. A child process checks a suspect file first.
func openFile(ctx context.Context, path string, suspect bool, o Options) (*bbolt.DB, error) {
	if err := verifySuspect(ctx, path, suspect, o); err != nil {
		return nil, err
	}
	var db *bbolt.DB
	err := guard(func() error {
		removeCopies(path)
		var err error
		if db, err = openFileDB(path, o.MaxSize, 0); err != nil {
			return err
		}
		if err := checkLength(db); err != nil {
			return err
		}
		return prepare(db)
	})
	if err == nil {
		return db, nil
	}
	if db != nil {
		err = errors.Join(err, guard(db.Close))
	}
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, &LockedError{Dir: filepath.Dir(path)}
	}
	return nil, fmt.Errorf("opening %s: %w", path, classify(err))
}

// suspectSuffix ends the name of an empty file that marks the data file as
// damaged. The next start verifies all of it, and restores a backup if it is.
const suspectSuffix = ".suspect"

// Corruption returns the damage of the file itself, beyond single records, that
// was met since it was opened. Work that needs the damaged place fails until a
// restart, which restores a backup. Nil: none.
func (db *DB) Corruption() error {
	if met := db.corruption.Load(); met != nil {
		return *met
	}
	return nil
}

// WriteFailure returns why the newest change could not be written; nil when it was
// written, or nothing was changed yet. On a full disk smaller changes may still
// fit.
func (db *DB) WriteFailure() error {
	if err := db.writeFailure.Load(); err != nil {
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

// verifySuspect verifies a file that may be damaged: all of it when damage was met,
// its most important parts after an unclean end.
func verifySuspect(ctx context.Context, path string, suspect bool, o Options) error {
	if _, err := os.Stat(path + suspectSuffix); err == nil {
		if err := Examine(ctx, path, o.VerifyCommand); err != nil {
			return err
		}
		return os.Remove(path + suspectSuffix)
	}
	if suspect && len(o.CheckCommand) > 0 {
		return checkQuickly(ctx, path, o.CheckCommand)
	}
	return nil
}

// headroom is how much a large file may grow before bbolt has to map it again.
// Mapping waits for all readers, such as a backup, and all writers wait for the
// mapping. A small file is read in a moment.
const (
	headroom = 1 << 30
	large    = 64 << 20
)

// openFileDB opens a file, or creates one for about size bytes.
func openFileDB(path string, maxSize int, size int64) (*bbolt.DB, error) {
	o := &bbolt.Options{Timeout: lockWait, FreelistType: bbolt.FreelistMapType, MaxSize: maxSize, NoStatistics: true}
	if info, err := os.Stat(path); err == nil {
		size = info.Size()
	}
	if size >= large && runtime.GOOS != "windows" && math.MaxInt > math.MaxInt32 {
		o.InitialMmapSize = int(size) + headroom // addresses only, no memory
	}
	return bbolt.Open(path, 0o600, o)
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

// Compact makes the data file anew, see DB.Compact.
func (s *Store) Compact(ctx context.Context) (Compacted, error) {
	freed := s.SetFreed(false)
	c, err := s.DB.Compact(ctx)
	if err != nil && freed {
		s.SetFreed(true)
	}
	return c, err
}
