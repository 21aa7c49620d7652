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

// Bounds of one transaction.
const (
	maxJobs  = 4096
	maxBytes = 32 << 20 // of changed records
)

// job is one caller's part of a transaction. do runs again, in another transaction,
// when the first one could not be committed.
type job struct {
	do   func(store.Tx) (done func(), err error)
	done func() // of the last run of do; may be nil
	err  error
	over chan struct{}
}

// Update implements store.DB.
func (db *DB) Update(ctx context.Context, do func(store.Tx) (done func(), err error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{do: do, over: make(chan struct{})}
	select {
	case db.jobs <- j:
	case <-db.closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-j.over:
		return db.noteCorruption(j.err)
	case <-db.ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-j.over: // it was in the writer's last transaction
		return db.noteCorruption(j.err)
	default:
		return ErrClosed
	}
}

// write is the writer. It ends after closing, when the queue is empty.
func (db *DB) write() {
	defer close(db.ended)
	for {
		select {
		case j := <-db.jobs:
			db.finish(db.commitJobs([]*job{j}, db.jobs))
			continue
		case do := <-db.pauses:
			do()
			continue
		case <-db.closing:
		}
		select {
		case j := <-db.jobs:
			db.finish(db.commitJobs([]*job{j}, db.jobs))
		default:
			return
		}
	}
}

// finish tells the callers of the jobs. When the disk was full for all of them
// together, it tries each one alone: a small one may still fit.
func (db *DB) finish(jobs []*job) {
	for _, j := range jobs {
		if len(jobs) > 1 && errors.Is(j.err, tasks.ErrFull) {
			j.err = nil
			db.commitJobs([]*job{j}, nil)
		}
		close(j.over)
	}
}

// commitJobs commits jobs, and those that are ready in more. It returns them all,
// each with its outcome.
func (db *DB) commitJobs(jobs []*job, more <-chan *job) []*job {
	if db.fatal != nil {
		return fail(jobs, db.fatal)
	}
	var btx *bbolt.Tx
	err := guard(func() (err error) { btx, err = db.bolt.Load().Begin(true); return err })
	if err != nil {
		return fail(jobs, db.failWrites(err))
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
		return fail(jobs, db.failWrites(err))
	}
	for _, j := range jobs {
		if j.err == nil && j.done != nil {
			j.done()
		}
	}
	return jobs
}

// group is the work on one transaction.
type group struct {
	tx       *tx
	bytes    int // written
	recorder *recorder
}

// run runs jobs, and those that are ready in more. A job that fails leaves no
// changes. An error means that the transaction cannot be committed.
func (g *group) run(jobs []*job, more <-chan *job) ([]*job, error) {
	for i := 0; i < len(jobs); i++ {
		over := store.NewOverlay(g.tx)
		jobs[i].err = guardReads(func() (err error) { jobs[i].done, err = jobs[i].do(over); return err })
		if jobs[i].err == nil {
			if err := g.flush(over); err != nil {
				return jobs, err
			}
		}
		if i+1 < len(jobs) || len(jobs) == maxJobs || g.bytes > maxBytes {
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

// fail gives all jobs the same outcome, except those that failed already.
func fail(jobs []*job, err error) []*job {
	for _, j := range jobs {
		if j.err == nil {
			j.err = err
		}
	}
	return jobs
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
		if !errors.Is(err, ErrClosed) || db.bolt.Load() == file {
			return db.noteCorruption(err)
		}
		// A compaction replaced the file before the transaction began.
	}
}
