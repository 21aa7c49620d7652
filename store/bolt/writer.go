package bolt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"legwork/bot"
	"legwork/internal/failpoint"
	"legwork/internal/telemetry"
	"legwork/planner"
	"legwork/store/rules"
	"legwork/tasks"
)

// Bounds of one transaction.
const (
	maxJobs  = 4096
	maxBytes = 32 << 20 // of journal records
)

// job is one caller's part of a transaction. do runs again, in another
// transaction, when the first one could not be committed.
type job struct {
	do   func(*rules.Tx) error
	err  error
	done chan struct{}
}

// Open implements tasks.Store.
func (s *Store) Open(ctx context.Context, batch []tasks.Inbound) ([]tasks.Receipt, error) {
	ctx, span := telemetry.Start(ctx, telemetry.Internal, "store open")
	var receipts []tasks.Receipt
	err := s.submit(ctx, func(tx *rules.Tx) (err error) {
		receipts, err = tx.WithOrigin(tasks.OriginOf(ctx)).Open(batch)
		return err
	})
	span.End(err)
	if err != nil {
		return nil, fmt.Errorf("storing %d messages: %w", len(batch), err)
	}
	return receipts, nil
}

// Append implements tasks.Store.
func (s *Store) Append(ctx context.Context, id tasks.ID, after int, fence int64, e ...planner.Event) error {
	ctx, span := telemetry.Start(ctx, telemetry.Internal, "store append")
	err := s.submit(ctx, func(tx *rules.Tx) error {
		return tx.WithOrigin(tasks.OriginOf(ctx)).Append(id, after, fence, e...)
	})
	span.Number(telemetry.EventsKey, len(e))
	if errors.Is(err, tasks.ErrRefused) || errors.Is(err, tasks.ErrConflict) {
		span.Text(telemetry.OutcomeKey, telemetry.Refused) // the machine refuses it
		span.End(nil)
	} else {
		span.End(err)
	}
	if err != nil {
		return fmt.Errorf("appending events: %w", err)
	}
	return nil
}

// PutSetting implements tasks.Store.
func (s *Store) PutSetting(ctx context.Context, owner, name, value string) error {
	return s.change(ctx, "storing setting", func(tx *rules.Tx) error { return tx.PutSetting(owner, name, value) })
}

// Drop implements tasks.Store.
func (s *Store) Drop(ctx context.Context, id tasks.ID) error {
	return s.change(ctx, "dropping task", func(tx *rules.Tx) error { return tx.Drop(id) })
}

// Forget implements tasks.Store.
func (s *Store) Forget(ctx context.Context, conversation string) (int, error) {
	n, err := rules.ConversationDeletion{Conversation: conversation}.Run(func(do func(*rules.Tx) error) error { return s.submit(ctx, do) })
	if err != nil {
		return n, fmt.Errorf("forgetting conversation: %w", err)
	}
	return n, nil
}

// Move implements tasks.Store.
func (s *Store) Move(ctx context.Context, from string, to bot.Chat) error {
	return s.change(ctx, "moving conversation", func(tx *rules.Tx) error { return tx.Move(from, to) })
}

// State implements tasks.Store. States that are not in the cache are folded by
// the writer, the only one who may fill it.
func (s *Store) State(ctx context.Context, id tasks.ID) (planner.State, error) {
	if state, ok := s.cache.state(id); ok {
		return state, nil
	}
	var state planner.State
	err := s.submit(ctx, func(tx *rules.Tx) error {
		_, ok, err := tx.Task(id)
		if err == nil && !ok {
			err = fmt.Errorf("task %s: %w", id, tasks.ErrNoTask)
		}
		if err == nil {
			state, err = tx.State(id)
		}
		return err
	})
	if err != nil { // also that of ctx: then the writer may be writing to state
		return planner.State{}, fmt.Errorf("folding journal: %w", err)
	}
	return state, nil
}

// change submits do, and says in the error what the store was doing.
func (s *Store) change(ctx context.Context, doing string, do func(*rules.Tx) error) error {
	return wrap(doing, s.submit(ctx, do))
}

// submit gives do to the writer and waits until its changes are durable.
func (s *Store) submit(ctx context.Context, do func(*rules.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{do: do, done: make(chan struct{})}
	select {
	case s.jobs <- j:
	case <-s.closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-j.done:
		return s.noteCorruption(j.err)
	case <-s.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-j.done: // it was in the writer's last transaction
		return s.noteCorruption(j.err)
	default:
		return ErrClosed
	}
}

// write is the writer. It ends after closing, when the queue is empty.
func (s *Store) write() {
	defer close(s.done)
	for {
		select {
		case j := <-s.jobs:
			s.finish(s.commitJobs([]*job{j}, s.jobs))
			continue
		case do := <-s.pauses:
			do()
			continue
		case <-s.closing:
		}
		select {
		case j := <-s.jobs:
			s.finish(s.commitJobs([]*job{j}, s.jobs))
		default:
			return
		}
	}
}

// finish tells the callers of the jobs. When the disk was full for all of them
// together, it tries each one alone: a small one may still fit.
func (s *Store) finish(jobs []*job) {
	for _, j := range jobs {
		if len(jobs) > 1 && errors.Is(j.err, tasks.ErrFull) {
			j.err = nil
			s.commitJobs([]*job{j}, nil)
		}
		close(j.done)
	}
}

// commitJobs commits jobs, and those that are ready in more. It returns them all,
// each with its outcome.
func (s *Store) commitJobs(jobs []*job, more <-chan *job) []*job {
	if s.fatal != nil {
		return fail(jobs, s.fatal)
	}
	var btx *bbolt.Tx
	err := guard(func() (err error) { btx, err = s.db.Load().Begin(true); return err })
	if err != nil {
		return fail(jobs, s.failWrites(err))
	}
	b := snapshot{btx, s.cache, s.log}
	now := s.now()
	tx := rules.NewTx(b, now)
	jobs = collect(tx, jobs, more)
	changes, err := tx.Finish()
	if err != nil {
		return fail(jobs, errors.Join(classify(err), guard(btx.Rollback))) // no change was written
	}
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	var lanes map[string][]liveRow
	if !changes.Empty() {
		lanes, err = s.commitMeasured(b, changes, now, len(jobs))
	}
	if rollback := guard(btx.Rollback); rollback != nil && !errors.Is(rollback, bolterrors.ErrTxClosed) {
		err = errors.Join(err, rollback)
	}
	if err != nil {
		return fail(jobs, s.failWrites(err))
	}
	if !changes.Empty() {
		s.writeFailure.Store(nil)
	}
	s.cache.committed(changes, lanes)
	s.noteChanges(changes, now)
	s.watch.Notify(changes)
	return jobs
}

// waitCached waits until the cache contains everything that can be read now.
func (s *Store) waitCached() {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
}

// collect runs jobs, and those that are ready in more. A refused job leaves no
// changes.
func collect(tx *rules.Tx, jobs []*job, more <-chan *job) []*job {
	for i := 0; i < len(jobs); i++ {
		jobs[i].err = tx.Savepoint(jobs[i].do)
		if i+1 < len(jobs) || len(jobs) == maxJobs || tx.Bytes() > maxBytes {
			continue
		}
		select {
		case next := <-more:
			jobs = append(jobs, next)
		default:
		}
	}
	return jobs
}

// commitMeasured is commit with metrics.
func (s *Store) commitMeasured(b snapshot, changes *rules.Changes, now time.Time, jobs int) (map[string][]liveRow, error) {
	m, begin := s.o.Metrics, time.Now()
	lanes, err := s.commit(b, changes, now)
	if err != nil {
		m.NotCommitted()
		return nil, err
	}
	m.Committed(jobs, time.Since(begin))
	changes.Measure(m, s.cache.state)
	return lanes, nil
}

// commit writes the changes of the jobs and makes them durable. It returns the
// changed lanes as they are stored.
func (s *Store) commit(b snapshot, changes *rules.Changes, now time.Time) (lanes map[string][]liveRow, err error) {
	err = guard(func() (err error) { lanes, err = put(b, changes, now); return err })
	if err != nil {
		return nil, err
	}
	for _, step := range changes.Steps() {
		failpoint.Hit("commit.before." + step)
	}
	if err := guard(b.tx.Commit); err != nil {
		return nil, err
	}
	for _, step := range changes.Steps() {
		failpoint.Hit("commit.after." + step)
	}
	return lanes, nil
}

// failWrites decides what the error of a transaction means for later ones: a full
// disk may have room again; after any other error no write is possible any more,
// because the file's state is unknown.
func (s *Store) failWrites(err error) error {
	err = classify(err)
	defer func() { s.writeFailure.Store(&err) }()
	if !errors.Is(err, tasks.ErrFull) {
		s.fatal = fmt.Errorf("nothing is stored until legwork is restarted: %w", err)
		err = s.fatal
		s.log.Error("data file write failed", "cause", err)
		return err
	}
	s.log.Error("data file cannot grow", "cause", err)
	return err
}

// fail gives all jobs the same outcome, except those that were refused already.
func fail(jobs []*job, err error) []*job {
	for _, j := range jobs {
		if j.err == nil {
			j.err = err
		}
	}
	return jobs
}
