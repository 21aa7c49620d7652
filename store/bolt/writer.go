package bolt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"legwork/store"
	"legwork/tasks"
)

// Update implements store.DB.
func (db *DB) Update(ctx context.Context, do func(store.Tx) (done func(), err error)) error {
	return db.noteCorruption(db.updates.Update(ctx, do))
}

// write is the writer. It ends after closing, when the queue is empty.
func (db *DB) write() {
	defer close(db.updates.Ended)
	for {
		select {
		case j := <-db.updates.Jobs:
			db.commit(j)
			continue
		case do := <-db.pauses:
			do()
			continue
		case <-db.updates.Closing:
		}
		select {
		case j := <-db.updates.Jobs:
			db.commit(j)
		default:
			return
		}
	}
}

// commit commits a job with those that are ready, and tells their callers. When the
// disk was full for all of them together, it tries each one alone: a small one may
// still fit.
func (db *DB) commit(first *store.Job) {
	jobs, err := db.transact([]*store.Job{first}, db.updates.Jobs)
	for _, j := range jobs {
		failed := err
		if len(jobs) > 1 && errors.Is(err, tasks.ErrFull) {
			_, failed = db.transact([]*store.Job{j}, nil)
		}
		if failed != nil {
			j.Err = failed
		}
		j.Finish()
	}
}

// transact runs jobs, and those that are ready in more, in one transaction. It
// returns them all. An error means that none of them was committed.
func (db *DB) transact(jobs []*store.Job, more <-chan *store.Job) ([]*store.Job, error) {
	if db.fatal != nil {
		return jobs, db.fatal
	}
	var btx *bbolt.Tx
	err := guard(func() (err error) { btx, err = db.bolt.Load().Begin(true); return err })
	if err != nil {
		return jobs, db.failWrites(err)
	}
	group := &group{tx: newTx(btx), recorder: db.recorder}
	jobs, err = group.run(jobs, more)
	if err == nil && group.bytes > 0 {
		begin := time.Now()
		if err = guard(btx.Commit); err == nil {
			db.o.Metrics.Committed(len(jobs), time.Since(begin))
			db.writeFailure.Store(nil)
		} else {
			db.o.Metrics.NotCommitted()
		}
	}
	if rollback := guard(btx.Rollback); rollback != nil && !errors.Is(rollback, bolterrors.ErrTxClosed) {
		err = errors.Join(err, rollback)
	}
	if err != nil {
		err = db.failWrites(err)
	}
	return jobs, err
}

// group is the work on one transaction.
type group struct {
	tx       *tx
	bytes    int // written
	recorder *recorder
}

// run runs jobs, and those that are ready in more. A job that fails leaves no
// changes. An error means that the transaction cannot be committed.
func (g *group) run(jobs []*store.Job, more <-chan *store.Job) ([]*store.Job, error) {
	for i := 0; i < len(jobs); i++ {
		over := store.NewOverlay(g.tx)
		jobs[i].Err = guardReads(func() error { return jobs[i].Run(over) })
		if jobs[i].Err == nil {
			if err := g.flush(over); err != nil {
				return jobs, err
			}
		}
		if i+1 < len(jobs) || len(jobs) == store.MaxJobs || g.bytes > store.MaxBytes {
			continue
		}
		select {
		case next := <-more:
			jobs = append(jobs, next)
		default:
		}
	}
	return jobs, nil
}

// flush writes the changes of a job.
func (g *group) flush(over *store.Overlay) error {
	for t, r := range over.Changes() {
		g.bytes += len(r.Key) + len(r.Value)
		g.recorder.note(t, r.Key)
	}
	return over.Flush()
}

// failWrites decides what the error of a transaction means for later ones: a full
// disk may have room again; after any other error no write is possible any more,
// because the file's state is unknown.
func (db *DB) failWrites(err error) error {
	err = classify(err)
	defer func() { db.writeFailure.Store(&err) }()
	if !errors.Is(err, tasks.ErrFull) {
		db.fatal = fmt.Errorf("nothing is stored until legwork is restarted: %w", err)
		err = db.fatal
		db.log.Error("data file write failed", "cause", err)
		return err
	}
	db.log.Error("data file cannot grow", "cause", err)
	return err
}

// View implements store.DB.
func (db *DB) View(ctx context.Context, do func(store.Tx) error) error {
	return db.view(ctx, func(x *tx) error { return do(x) })
}

func (db *DB) view(ctx context.Context, do func(*tx) error) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		file := db.bolt.Load()
		err := classify(guardReads(func() error {
			return file.View(func(btx *bbolt.Tx) error { return do(newTx(btx)) })
		}))
		if !errors.Is(err, store.ErrClosed) || db.bolt.Load() == file {
			return db.noteCorruption(err)
		}
		// A compaction replaced the file before the transaction began.
	}
}
