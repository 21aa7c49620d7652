package bolt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"go.etcd.io/bbolt"

	"legwork/planner"
	"legwork/store/rules"
	"legwork/tasks"
)

// Snapshot writes the data file as it is at the beginning of the call, while
// others read and write. Two of them, and compactions, take turns.
func (s *Store) Snapshot(ctx context.Context, w io.Writer) error {
	s.copying.Lock()
	defer s.copying.Unlock()
	err := s.view(ctx, func(b base) error {
		_, err := b.tx.WriteTo(w)
		return err
	})
	if err != nil {
		return fmt.Errorf("copying the data file: %w", full(err))
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

// repair puts the damaged events of a task's journal in their places again, from
// the newest backup that has them: events never change. It reports whether it is
// worth to read again.
func (s *Store) repair(ctx context.Context, id tasks.ID, cause error) bool {
	if s.o.Backups == nil || !errors.Is(cause, tasks.ErrDamaged) || !s.copying.TryLock() {
		return false
	}
	defer s.copying.Unlock()
	var bad []int
	err := s.view(ctx, func(b base) (err error) {
		bad, err = b.unreadable(id)
		return err
	})
	if err != nil || len(bad) == 0 {
		return false
	}
	for _, path := range s.o.Backups() {
		values, err := eventsOf(path, id, bad)
		if err != nil || len(values) < len(bad) {
			continue
		}
		err = s.between(ctx, func() error { return s.putEvents(values) })
		if err == nil {
			s.log.ErrorContext(ctx, "damaged events of a task were taken from a backup", "task", id, "events", bad, "backup", path)
			if err := s.relist(ctx, id); err != nil {
				s.log.ErrorContext(ctx, "the task's row is not made anew", "task", id, "error", err)
			}
			return true
		}
		s.log.ErrorContext(ctx, "damaged events of a task could not be replaced", "task", id, "events", bad, "cause", err)
	}
	return false
}

// unreadable lists the events of a task whose records are damaged or missing.
func (b base) unreadable(id tasks.ID) (bad []int, err error) {
	task, err := b.existing(id)
	if err != nil {
		return nil, err
	}
	err = guard(func() error {
		for seq := 1; seq <= task.Last; seq++ {
			key := journalKey(id, seq)
			if _, err := event(key, b.bucket(bucketJournal).Get(key)); err != nil {
				bad = append(bad, seq)
			}
		}
		return nil
	})
	return bad, err
}

// eventsOf reads sealed events from a backup, by their keys.
func eventsOf(path string, id tasks.ID, seqs []int) (values map[string][]byte, err error) {
	values = map[string][]byte{}
	err = guard(func() error {
		db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: lockWait})
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }() // it was only read
		return db.View(func(tx *bbolt.Tx) error {
			journal := tx.Bucket([]byte(bucketJournal))
			if journal == nil {
				return tasks.ErrDamaged
			}
			for _, seq := range seqs {
				key := journalKey(id, seq)
				if value := journal.Get(key); value != nil {
					if _, err := event(key, value); err == nil {
						values[string(key)] = append([]byte(nil), value...)
					}
				}
			}
			return nil
		})
	})
	return values, err
}

// putEvents runs in the writer's place.
func (s *Store) putEvents(values map[string][]byte) error {
	if s.lost != nil {
		return s.lost
	}
	return classify(guard(func() error {
		return s.db.Load().Update(func(tx *bbolt.Tx) error {
			for key, value := range values {
				if err := tx.Bucket([]byte(bucketJournal)).Put([]byte(key), value); err != nil {
					return err
				}
			}
			return nil
		})
	}))
}

// fold is the state of a task from its journal; see State.
func (s *Store) fold(ctx context.Context, id tasks.ID) (planner.State, error) {
	var state planner.State
	err := s.submit(ctx, func(stage *rules.Stage) error {
		_, ok, err := stage.Task(id)
		if err == nil && !ok {
			err = fmt.Errorf("task %s: %w", id, tasks.ErrNoTask)
		}
		if err == nil {
			state, err = stage.State(id)
		}
		return err
	})
	if err != nil { // also that of ctx: then state may be written to at this moment
		return planner.State{}, err
	}
	return state, nil
}
