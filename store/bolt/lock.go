package bolt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"legwork/tasks"
)

// lockName is the file that the owner of a data directory holds locked. It says
// who owns the directory, and is empty after a clean end.
const lockName = "lock.json"

// lockWait is how long a locked directory is tried again, because its owner may be
// ending.
const lockWait = 300 * time.Millisecond

// Holder is the process that owns a data directory.
type Holder struct {
	PID     int       `json:"pid"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
	Host    string    `json:"host,omitempty"`
}

// LockedError means that another process owns the data directory.
type LockedError struct {
	Dir    string
	Holder Holder // zero when the other process is unknown
}

func (e *LockedError) Error() string {
	who := "another process"
	if h := e.Holder; h.PID != 0 {
		form := "15:04"
		if time.Since(h.Since) > 12*time.Hour {
			form = "2006-01-02 15:04"
		}
		who = fmt.Sprintf("pid %d", h.PID)
		if here, _ := os.Hostname(); h.Host != "" && h.Host != here {
			who += " on " + h.Host
		}
		who += fmt.Sprintf(" (%s, since %s)", h.Command, h.Since.Local().Format(form))
	}
	return fmt.Sprintf("data directory %s is in use by %s; stop it or choose another data_dir", e.Dir, who)
}

// lock is the ownership of a data directory. The lock itself is the kernel's
// and ends with the process; the file's content only informs.
type lock struct {
	file    *flock.Flock
	suspect bool // the last owner did not end cleanly
}

// acquire locks the directory and writes down who holds it.
func acquire(ctx context.Context, dir string, o Options) (*lock, error) {
	path := filepath.Join(dir, lockName)
	f := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	ok, err := f.TryLock() // on a busy machine the wait may be over before its first try
	wait, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	if !ok && err == nil {
		ok, err = f.TryLockContext(wait, lockWait/10)
	}
	last, errRead := os.ReadFile(path)
	if !ok && wait.Err() != nil && ctx.Err() == nil {
		locked := &LockedError{Dir: dir}
		_ = json.Unmarshal(last, &locked.Holder) // unknown while the owner writes it
		return nil, locked
	}
	if err = cmp.Or(err, errRead); err == nil {
		err = writeHolder(path, o)
	}
	// On a full disk the owner must still be able to read its data. Then the lock
	// holds, but does not say who owns it.
	if err = markFull(err); err != nil && (!ok || !errors.Is(err, tasks.ErrFull)) {
		return nil, errors.Join(fmt.Errorf("locking data directory: %w", err), f.Close())
	}
	return &lock{f, len(last) > 0}, nil
}

// writeHolder writes this process into the locked file and syncs it: after a power
// cut it must still show that the end was not clean.
func writeHolder(path string, o Options) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	host, _ := os.Hostname()
	h := Holder{os.Getpid(), o.Command, o.Now().UTC().Round(time.Second), host}
	return errors.Join(json.NewEncoder(f).Encode(h), f.Sync(), f.Close())
}

// release frees the directory. A lock file that is not empty tells the next owner
// that the data file may be damaged.
func (l *lock) release(suspect bool) (err error) {
	if !suspect {
		err = os.Truncate(l.file.Path(), 0)
	}
	return errors.Join(err, l.file.Close())
}
