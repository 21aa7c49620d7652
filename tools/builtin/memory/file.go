package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// noteFile is the file of all notes. It is opened for each use, since others may
// use it as well.
type noteFile struct {
	path    string
	mu      sync.RWMutex                // keeps goroutines of this process from waiting for its own lock
	damaged atomic.Pointer[fs.FileInfo] // the file as it was when it was found damaged
}

var errDamaged = errors.New("the memory file is damaged")

// lockWait is how long a call waits while another process uses the file.
const lockWait = 2 * time.Second

// read calls do with a read transaction. A file that does not exist counts as
// empty.
func (b *noteFile) read(do func(*noteTx) error) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	info, err := os.Stat(b.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return do(&noteTx{})
	} else if err != nil {
		return err
	}
	return b.use(bbolt.Options{ReadOnly: true}, (*bbolt.DB).View, do)
}

// write calls do with a write transaction, which is rolled back when do fails.
func (b *noteFile) write(do func(*noteTx) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(b.path), 0o700); err != nil {
		return err
	}
	if info, err := os.Stat(b.path); err == nil && info.Size() > 0 {
		err := b.use(bbolt.Options{ReadOnly: true}, (*bbolt.DB).View, func(p *noteTx) error { return checkSizes(p.tx, b.path) })
		if err != nil {
			return err
		}
	}
	return b.use(bbolt.Options{FreelistType: bbolt.FreelistMapType}, (*bbolt.DB).Update, do)
}

// use opens the file for one transaction. Damaged pages make bbolt panic, also by
// memory faults, with its locks held. use does not close such a file, and does not
// open it again until another file has its name.
func (b *noteFile) use(o bbolt.Options, transact func(*bbolt.DB, func(*bbolt.Tx) error) error, do func(*noteTx) error) (err error) {
	info, statErr := os.Stat(b.path)
	if was := b.damaged.Load(); was != nil && statErr == nil && sameFile(*was, info) {
		return errDamaged
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errDamaged, p)
			if statErr == nil {
				b.damaged.Store(&info)
			}
		}
	}()
	o.Timeout, o.NoStatistics = lockWait, true
	db, err := open(b.path, o)
	if err != nil && strings.HasPrefix(err.Error(), "file size too small") { // has no error of its own
		return fmt.Errorf("%w: %w", errDamaged, err)
	} else if err != nil {
		return err
	}
	err = transact(db, func(tx *bbolt.Tx) error {
		if info, err := os.Stat(b.path); err == nil && info.Size() < tx.Size() {
			return fmt.Errorf("%w: it has %d bytes of %d", errDamaged, info.Size(), tx.Size())
		}
		return do(&noteTx{tx: tx})
	})
	return errors.Join(err, db.Close())
}

// open opens the file that has the name once it is locked: another file may have
// got the name while open waited for the lock.
func open(path string, o bbolt.Options) (*bbolt.DB, error) {
	for {
		var file *os.File
		o.OpenFile = func(name string, flag int, mode os.FileMode) (f *os.File, err error) {
			f, err = os.OpenFile(name, flag, mode)
			file = f
			return f, err
		}
		db, err := bbolt.Open(path, 0o600, &o)
		if err != nil {
			return nil, err
		}
		named, err := os.Stat(path)
		opened, errOpened := file.Stat()
		if err == nil && errOpened == nil && os.SameFile(named, opened) {
			return db, nil
		}
		if err := errors.Join(err, errOpened, db.Close()); err != nil {
			return nil, err
		}
	}
}

func sameFile(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// modelError turns trouble with the file into a sentence that tells a model what
// to do, without paths of the host. Other errors are such sentences already.
func modelError(err error) error {
	for _, bad := range []error{errDamaged, bolterrors.ErrInvalid, bolterrors.ErrInvalidMapping, bolterrors.ErrChecksum, bolterrors.ErrVersionMismatch} {
		if errors.Is(err, bad) {
			return fmt.Errorf("the memory file %s is damaged and was left as it is; tell the person that an administrator has to restore it from a backup, or move it away to begin anew", FileName)
		}
	}
	var path *fs.PathError
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return errors.New("the memory is in use by another program; try again in a moment")
	case errors.Is(err, syscall.ENOSPC) || strings.HasSuffix(err.Error(), syscall.ENOSPC.Error()):
		return errors.New("the disk is full and nothing was changed; tell the person")
	case errors.As(err, &path):
		return fmt.Errorf("opening the memory file %s: %w; tell the person that an administrator has to look at it", FileName, path.Err)
	}
	return err
}

// Forget deletes all notes of a person, or all that were told in a chat, from
// the file in dir, and returns how many there were. The owner is a key such as
// "telegram:12345". No file is no notes.
func Forget(dir, who string) (notes int, err error) {
	b := &noteFile{path: filepath.Join(dir, FileName)}
	if _, err := os.Stat(b.path); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	err = b.write(func(p *noteTx) error {
		notes, err = p.erase(who)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("forgetting notes of %s: %w", who, modelError(err))
	}
	return notes, nil
}
