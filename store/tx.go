package store

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/tidwall/btree"
)

// Tx is one transaction of a database. Keys of a table are sorted as bytes. A value
// is at least one byte long. Keys and values are valid until the transaction ends,
// and must not be changed. A Tx is not safe for concurrent use.
type Tx interface {
	// Get returns the value of a key; nil when there is none.
	Get(t Table, key []byte) ([]byte, error)
	// Put stores a value. The caller does not change key and value afterwards.
	Put(t Table, key, value []byte) error
	// Delete removes a key, if it exists.
	Delete(t Table, key []byte) error
	// Range returns the records from one key up to another one, which is excluded. A
	// nil key is the beginning or the end of the table. An error ends the range.
	// Nothing may be written while a range is read.
	Range(t Table, from, to []byte, o Order) iter.Seq2[Record, error]
}

// Record is a key of a table and its value.
type Record struct{ Key, Value []byte }

// Order is the direction of a range.
type Order bool

// The directions.
const (
	Ascending  Order = false
	Descending Order = true
)

// DB is a database that holds the tables. It is safe for concurrent use.
type DB interface {
	// View runs do over what is committed when it begins. do must not write. The error
	// is an ErrBroken when a connection broke in the middle: another view may succeed.
	View(ctx context.Context, do func(Tx) error) error
	// Update runs do in a transaction, and returns when its changes are durable. An
	// error of do leaves no changes, and is returned. The database may run many
	// updates in one transaction, each on top of the changes of those before, and it
	// may run do several times, until one run is committed. done belongs to that run:
	// the database calls it once, before any later transaction begins; it may be
	// nil. ctx bounds the waiting: afterwards the changes may still be stored.
	Update(ctx context.Context, do func(Tx) (done func(), err error)) error
	// Contents keeps the bytes of contents, beside the tables or in TableBlobs and
	// TableChunks.
	Contents() Contents
	Close() error
}

// Overlay is a transaction on top of another one, which stays as it is until Flush.
type Overlay struct {
	below   Tx
	changes Map // a deleted record has no value
}

// NewOverlay returns an overlay without changes.
func NewOverlay(below Tx) *Overlay { return &Overlay{below: below} }

// Get implements Tx.
func (o *Overlay) Get(t Table, key []byte) ([]byte, error) {
	if value, ok := o.changes.Get(t, key); ok {
		return value, nil
	}
	return o.below.Get(t, key)
}

// Put implements Tx.
func (o *Overlay) Put(t Table, key, value []byte) error {
	o.changes.Set(t, key, value)
	return nil
}

// Delete implements Tx.
func (o *Overlay) Delete(t Table, key []byte) error {
	o.changes.Set(t, key, nil)
	return nil
}

// Empty reports whether there are no changes.
func (o *Overlay) Empty() bool { return o.changes.Len() == 0 }

// Changes returns the changed records, sorted by table and key. A deleted record has
// no value.
func (o *Overlay) Changes() iter.Seq2[Table, Record] { return o.changes.All() }

// Flush writes the changes to the transaction below.
func (o *Overlay) Flush() error {
	for t, r := range o.Changes() {
		var err error
		if r.Value == nil {
			err = o.below.Delete(t, r.Key)
		} else {
			err = o.below.Put(t, r.Key, r.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Range implements Tx. It merges the changes into the range of the transaction
// below.
func (o *Overlay) Range(t Table, from, to []byte, order Order) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var own []Record
		for r := range o.changes.Range(t, from, to, order) {
			own = append(own, r)
		}
		next := func(r Record) bool { return r.Value == nil || yield(r, nil) }
		for r, err := range o.below.Range(t, from, to, order) {
			if err != nil {
				yield(Record{}, err)
				return
			}
			for len(own) > 0 && before(own[0].Key, r.Key, order) {
				if !next(own[0]) {
					return
				}
				own = own[1:]
			}
			if len(own) > 0 && bytes.Equal(own[0].Key, r.Key) {
				r, own = own[0], own[1:]
			}
			if !next(r) {
				return
			}
		}
		for _, r := range own {
			if !next(r) {
				return
			}
		}
	}
}

// before reports whether a comes before b in an order.
func before(a, b []byte, o Order) bool {
	if o == Descending {
		a, b = b, a
	}
	return bytes.Compare(a, b) < 0
}

// Map holds records of all tables in memory, sorted by table and key. Its zero value
// is empty. Copies share what neither of them has changed since.
type Map struct {
	records btree.Map[string, []byte]
}

// Get returns the value of a key, and whether the map holds the key.
func (m *Map) Get(t Table, key []byte) (value []byte, found bool) {
	return m.records.Get(fullKey(t, key))
}

// Set stores a value, which may be nil.
func (m *Map) Set(t Table, key, value []byte) { m.records.Set(fullKey(t, key), value) }

// Delete removes a key, if the map holds it.
func (m *Map) Delete(t Table, key []byte) { m.records.Delete(fullKey(t, key)) }

// Len is the number of records.
func (m *Map) Len() int { return m.records.Len() }

// Copy returns a copy in constant time.
func (m *Map) Copy() *Map { return &Map{*m.records.Copy()} }

// All returns all records, sorted by table and key.
func (m *Map) All() iter.Seq2[Table, Record] {
	return func(yield func(Table, Record) bool) {
		m.records.Scan(func(full string, value []byte) bool {
			return yield(Table(full[0]), Record{[]byte(full[1:]), value})
		})
	}
}

// Range returns the records from one key up to another one, as Tx.Range does.
func (m *Map) Range(t Table, from, to []byte, o Order) iter.Seq[Record] {
	low, high := fullKey(t, from), fullKey(t+1, nil)
	if to != nil {
		high = fullKey(t, to)
	}
	return func(yield func(Record) bool) {
		if o == Ascending {
			m.records.Ascend(low, func(full string, value []byte) bool {
				return full < high && yield(Record{[]byte(full[1:]), value})
			})
			return
		}
		m.records.Descend(high, func(full string, value []byte) bool {
			return full == high || full >= low && yield(Record{[]byte(full[1:]), value})
		})
	}
}

// fullKey is the key of a record in a Map.
func fullKey(t Table, key []byte) string {
	full := make([]byte, 1, 1+len(key))
	full[0] = byte(t)
	return string(append(full, key...))
}

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
