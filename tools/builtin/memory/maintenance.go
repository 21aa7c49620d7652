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

	"legwork/internal/fsutil"
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

// Snapshot writes the file in dir as it is. Writers wait meanwhile, or learn
// that it is in use.
func Snapshot(_ context.Context, dir string, w io.Writer) error {
	b := &noteFile{path: filepath.Join(dir, FileName)}
	err := b.read(func(p *noteTx) error {
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
	b := &noteFile{path: path}
	err := b.read(func(p *noteTx) error {
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

// Compact copies the notes in dir into a new file that replaces the old one, so
// that nothing is left of forgotten notes. A kill leaves the old file or the new
// one.
func Compact(dir string) error {
	b := &noteFile{path: filepath.Join(dir, FileName)}
	if size, err := Size(dir); err != nil || size == 0 {
		return err
	}
	fresh := b.path + ".compact"
	_ = os.Remove(fresh) // left by a kill
	// The old file stays locked until the new one has its name: a program that
	// waits for the lock opens the new file then.
	err := b.write(func(p *noteTx) error {
		to, err := bbolt.Open(fresh, 0o600, &bbolt.Options{FreelistType: bbolt.FreelistMapType, NoStatistics: true})
		if err != nil {
			return err
		}
		if err := errors.Join(bbolt.Compact(to, p.tx.DB(), 0), to.Close()); err != nil {
			return err
		}
		return fsutil.Replace(fresh, b.path)
	})
	if err != nil {
		_ = os.Remove(fresh)
		return fmt.Errorf("compacting %s: %w", FileName, err)
	}
	return nil
}
