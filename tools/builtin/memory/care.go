package memory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// Size is the size of the file in dir; 0 when there is none.
func Size(dir string) (int64, error) {
	info, err := os.Stat(filepath.Join(dir, FileName))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Snapshot writes the file in dir as it is. Who writes notes waits meanwhile, or
// is told that it is in use.
func Snapshot(_ context.Context, dir string, w io.Writer) error {
	b := &book{path: filepath.Join(dir, FileName)}
	err := b.read(func(p *page) error {
		if p.tx == nil {
			return fs.ErrNotExist
		}
		_, err := p.tx.WriteTo(w)
		return err
	})
	if err != nil {
		return fmt.Errorf("copying %s: %w", FileName, err)
	}
	return nil
}

// Verify reads a whole file of notes. A badly damaged one can end the process:
// run it in one of its own.
func Verify(path string) error {
	b := &book{path: path}
	err := b.read(func(p *page) error {
		if p.tx == nil {
			return nil
		}
		for err := range p.tx.Check() {
			return fmt.Errorf("%w: %w", errDamaged, err)
		}
		return p.tx.ForEach(func(_ []byte, all *bbolt.Bucket) error {
			return all.ForEachBucket(func(owner []byte) error {
				return all.Bucket(owner).ForEach(func(k, v []byte) error {
					_, err := decode(k, v)
					return err
				})
			})
		})
	})
	if err != nil {
		return fmt.Errorf("verifying %s: %w", path, err)
	}
	return nil
}

// Compact copies the notes in dir into a new file that takes the place of the
// old one, so that nothing is left of what was forgotten. A kill leaves the old
// file or the new one.
func Compact(dir string) error {
	b := &book{path: filepath.Join(dir, FileName)}
	if size, err := Size(dir); err != nil || size == 0 {
		return err
	}
	fresh := b.path + ".compact"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("compacting %s: %w", FileName, err)
	}
	// The old file stays locked until the new one has its name: who waits for it
	// opens the new one then.
	err := b.write(func(p *page) error {
		to, err := bbolt.Open(fresh, 0o600, &bbolt.Options{FreelistType: bbolt.FreelistMapType, NoStatistics: true})
		if err != nil {
			return err
		}
		if err := errors.Join(copyNotes(to, p.tx), to.Close()); err != nil {
			return err
		}
		return os.Rename(fresh, b.path)
	})
	if err != nil {
		return errors.Join(fmt.Errorf("compacting %s: %w", FileName, err), removed(os.Remove(fresh)))
	}
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("compacting %s: %w", FileName, err)
	}
	_ = d.Sync() // not every file system can; until then the old file may come back
	return d.Close()
}

// copyNotes copies scopes, owners and notes, and the numbers given last.
func copyNotes(to *bbolt.DB, from *bbolt.Tx) error {
	return to.Update(func(tx *bbolt.Tx) error {
		return from.ForEach(func(scope []byte, all *bbolt.Bucket) error {
			owners, err := tx.CreateBucket(scope)
			if err != nil {
				return err
			}
			return all.ForEachBucket(func(owner []byte) error {
				notes := all.Bucket(owner)
				copied, err := owners.CreateBucket(owner)
				if err == nil {
					err = copied.SetSequence(notes.Sequence())
				}
				if err != nil {
					return err
				}
				return notes.ForEach(copied.Put)
			})
		})
	})
}

func removed(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
