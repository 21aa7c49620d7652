package store

import (
	"context"
	"errors"
	"sync"
)

// Errors of databases.
var (
	// ErrClosed is returned by every method after Close.
	ErrClosed = errors.New("the store is closed")
	// ErrReadOnly is returned for changes in a view.
	ErrReadOnly = errors.New("this transaction only reads")
	// ErrBroken is returned for a view whose connection broke in the middle.
	ErrBroken = errors.New("the connection to the database broke")
)

// Bounds of the jobs that a database commits in one transaction.
const (
	MaxJobs  = 4096
	MaxBytes = 32 << 20 // of changed records
)

// Queue holds updates of many goroutines for the one that commits them, the writer.
type Queue struct {
	Jobs    chan *Job
	Closing chan struct{} // the database closes it: no more jobs are taken
	Ended   chan struct{} // the writer closes it at its end
}

// NewQueue returns an empty queue.
func NewQueue() *Queue {
	return &Queue{Jobs: make(chan *Job, MaxJobs), Closing: make(chan struct{}), Ended: make(chan struct{})}
}

// Job is an update in a queue.
type Job struct {
	Err error // its outcome, or that of the last run

	do   func(Tx) (done func(), err error)
	done func() // of the last run; may be nil
	over chan struct{}

	mu   sync.Mutex // held while do runs
	left bool       // the caller no longer waits, and may use what do wrote
}

// Update does an update as DB.Update does.
func (q *Queue) Update(ctx context.Context, do func(Tx) (done func(), err error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &Job{do: do, over: make(chan struct{})}
	select {
	case q.Jobs <- j:
	case <-q.Closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-j.over:
		return j.Err
	case <-q.Ended:
	case <-ctx.Done():
		j.leave()
		return ctx.Err()
	}
	select {
	case <-j.over: // it was in the writer's last transaction
		return j.Err
	default:
		return ErrClosed
	}
}

// Run runs the update in a transaction, unless its caller has left. It may be called
// again, for another transaction.
func (j *Job) Run(x Tx) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.done, j.Err = nil, context.Canceled; !j.left {
		j.done, j.Err = j.do(x)
	}
	return j.Err
}

// leave makes sure that do does not run any more.
func (j *Job) leave() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.left = true
}

// Finish tells the caller the outcome. After success it calls done first.
func (j *Job) Finish() {
	if j.Err == nil && j.done != nil {
		j.done()
	}
	close(j.over)
}

// Fail tells the callers of jobs that none of them was committed, or that this is not
// known. It returns how many they are.
func Fail(jobs []*Job, err error) int {
	for _, j := range jobs {
		j.Err = err
		j.Finish()
	}
	return len(jobs)
}

// ReadOnly is the half of a Tx that refuses changes.
type ReadOnly struct{}

// Put implements Tx.
func (ReadOnly) Put(Table, []byte, []byte) error { return ErrReadOnly }

// Delete implements Tx.
func (ReadOnly) Delete(Table, []byte) error { return ErrReadOnly }
