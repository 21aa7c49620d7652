package bolt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"legwork/store/rules"
	"legwork/tasks"
)

// Backup writes the data file as it is when the call starts, while others read and
// write. Backups and compactions take turns.
func (s *Store) Backup(ctx context.Context, w io.Writer) error {
	s.copying.Lock()
	defer s.copying.Unlock()
	err := s.view(ctx, func(b snapshot) error {
		_, err := b.tx.WriteTo(w)
		return err
	})
	if err != nil {
		return fmt.Errorf("copying the data file: %w", markFull(err))
	}
	return nil
}

// Size is the size of the data file in bytes.
func (s *Store) Size() (int64, error) {
	info, err := os.Stat(s.path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// metaCopied holds, in a copy of a data file, the time of the copy.
const metaCopied = "copied"

// dropAtOnce bounds how many tasks one transaction drops.
const dropAtOnce = 500

// MarkCopy notes in a copy of a data file, which no process uses, when it was
// made. A store that opens such a file drops the tasks that were running at
// that time: it is not known what they did after it, and they could do it
// twice.
func MarkCopy(path string, at time.Time) error {
	var db *bbolt.DB
	err := guard(func() (err error) {
		if db, err = openDB(path, 0, 0); err != nil {
			return err
		}
		return db.Update(func(tx *bbolt.Tx) error {
			if tx.Bucket([]byte(bucketMeta)) == nil {
				return checkMissing(tx, bucketMeta)
			}
			return putJSON(tx, bucketMeta, []byte(metaCopied), at.UTC())
		})
	})
	if db != nil {
		err = errors.Join(err, guard(db.Close))
	}
	if err != nil {
		return fmt.Errorf("marking %s as a copy: %w", path, classify(err))
	}
	return nil
}

// dropCopiedTasks drops the tasks that were running when the file was copied, if
// it is a copy. The mark stays until all of them are dropped, also after a kill.
func (s *Store) dropCopiedTasks(ctx context.Context) error {
	var at time.Time
	var copied bool
	err := s.view(ctx, func(b snapshot) (err error) {
		copied, err = b.row(bucketMeta, []byte(metaCopied), &at)
		return err
	})
	if !copied {
		return err
	}
	// The drops below are entries of the feed. Events that were stored after the copy
	// may have had the next numbers, so the feed skips them first.
	if err := s.skipFeedNumbers(ctx); err != nil {
		return err
	}
	live, err := s.Live(ctx, "")
	if err != nil {
		return err
	}
	ids := make([]tasks.ID, 0, len(live))
	for _, l := range live {
		ids = append(ids, l.Task)
	}
	for list := range slices.Chunk(ids, dropAtOnce) {
		err := s.submit(ctx, func(tx *rules.Tx) error {
			for _, id := range list {
				if err := tx.Drop(id); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("dropping tasks of a copy: %w", err)
		}
	}
	if s.loss != nil {
		s.loss.Dropped = ids
	}
	s.log.ErrorContext(ctx, "backup in use, tasks that were running dropped", "made", at, "tasks", ids)
	return s.update(ctx, func(b snapshot) error { return b.bucket(bucketMeta).Delete([]byte(metaCopied)) })
}

// skipFeedNumbers lets the feed continue with numbers that were never given.
func (s *Store) skipFeedNumbers(ctx context.Context) error {
	return s.update(ctx, func(b snapshot) error {
		fed, err := b.skipFeedNumbers()
		if err == nil {
			s.cache.setFeedEnd(fed)
		}
		return err
	})
}

// update changes the file while the writer waits.
func (s *Store) update(ctx context.Context, do func(snapshot) error) error {
	return s.pauseWriter(ctx, func() error {
		return classify(guard(func() error {
			return s.db.Load().Update(func(tx *bbolt.Tx) error { return do(snapshot{tx: tx, log: s.log}) })
		}))
	})
}
