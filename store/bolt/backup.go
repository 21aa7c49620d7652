package bolt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"go.etcd.io/bbolt"

	"legwork/store"
)

// Backup writes the data file as it is when the call starts, while others read and
// write. Backups and compactions take turns.
func (db *DB) Backup(ctx context.Context, w io.Writer) error {
	db.copying.Lock()
	defer db.copying.Unlock()
	err := db.view(ctx, func(x *tx) error {
		_, err := x.WriteTo(w)
		return err
	})
	if err != nil {
		return fmt.Errorf("copying the data file: %w", markFull(err))
	}
	return nil
}

// Size is the size of the data file in bytes.
func (db *DB) Size() (int64, error) {
	info, err := os.Stat(db.path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// MarkCopy notes in a copy of a data file, which no process uses, when it was
// made. A store that opens such a file drops the tasks that were running at
// that time: it is not known what they did after it, and they could do it
// twice.
func MarkCopy(path string, at time.Time) error {
	var file *bbolt.DB
	err := guard(func() (err error) {
		if file, err = openFileDB(path, 0, 0); err != nil {
			return err
		}
		return file.Update(func(btx *bbolt.Tx) error {
			if btx.Bucket([]byte(store.TableMeta.String())) == nil {
				return errMissing(store.TableMeta)
			}
			return store.MarkCopy(newTx(btx), at)
		})
	})
	if file != nil {
		err = errors.Join(err, guard(file.Close))
	}
	if err != nil {
		return fmt.Errorf("marking %s as a copy: %w", path, classify(err))
	}
	return nil
}
