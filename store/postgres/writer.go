package postgres

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"legwork/internal/retry"
	"legwork/store"
	"legwork/tasks"
)

// maxAttempt bounds the time of one transaction.
const maxAttempt = 30 * time.Second

// Statements of a commit. The lock makes one writer at a time. At the isolation level
// read committed the statement reads the row again after it waited for the lock, so
// the row is the newest one. A row beside an advisory lock would be an old one.
const (
	lockStore = `select commit_id, fence from legwork_store for update`
	insertAll = `insert into legwork_kv select * from unnest($1::smallint[], $2::bytea[], $3::bytea[])`
	putAll    = insertAll + ` on conflict (t, k) do update set v = excluded.v`
	deleteAll = `delete from legwork_kv using unnest($1::smallint[], $2::bytea[]) as u (t, k) where legwork_kv.t = u.t and legwork_kv.k = u.k`
	setCommit = `update legwork_store set commit_id = $1`
)

// commitID names a commit: 8 bytes with its number, which grows with each commit, and 8
// random bytes. It tells after a lost connection whether the server has committed, and
// whether somebody else wrote to the database.
type commitID [16]byte

// next returns the id of a commit after this one.
func (id commitID) next() (next commitID) {
	binary.BigEndian.PutUint64(next[:], id.number()+1)
	_, _ = rand.Read(next[8:]) // it never fails
	return next
}

func (id commitID) number() uint64 { return binary.BigEndian.Uint64(id[:]) }

// writer commits updates. It is one goroutine.
type writer struct {
	*DB
	conn  *pgx.Conn // nil: none
	cache cache
	last  commitID // the database's state that the cache shows
	queue []*store.Job
}

// Update implements store.DB. While the server cannot be reached, it waits until ctx
// ends or the lease is lost.
func (db *DB) Update(ctx context.Context, do func(store.Tx) (done func(), err error)) error {
	if db.lease == nil {
		return store.ErrReadOnly
	}
	return db.updates.Update(ctx, do)
}

// run is the writer. It ends after Close, when the queue is empty.
func (w *writer) run(ctx context.Context) {
	defer close(w.updates.Ended)
	defer func() { hangUp(w.conn) }()
	w.cache.clear()
	for {
		if len(w.queue) == 0 {
			select {
			case j := <-w.updates.Jobs:
				w.queue = []*store.Job{j}
			case <-w.updates.Closing:
			}
		}
		w.collect()
		if len(w.queue) == 0 {
			return
		}
		w.queue = w.queue[w.commit(ctx, w.queue, true):]
	}
}

// collect takes over the jobs that are ready.
func (w *writer) collect() {
	for len(w.queue) < store.MaxJobs {
		select {
		case j := <-w.updates.Jobs:
			w.queue = append(w.queue, j)
		default:
			return
		}
	}
}

// commit commits jobs, or as many as fit into one transaction, and tells their
// callers. It returns how many. They are the first ones of the queue, and when late is
// set, more of the queue may be committed with them.
//
// It tries again while the server is in trouble. When the server refuses the jobs, it
// commits each half of them, so that only those fail in the end that the server
// refuses alone.
func (w *writer) commit(ctx context.Context, jobs []*store.Job, late bool) int {
	if w.cache.size > maxCached {
		w.cache.clear()
	}
	pauses := retry.New(firstPause, longestPause, spread)
	var g *group
	waits, unsettled := false, false // unsettled: the commit of g had no answer
	for {
		var err error
		if unsettled {
			var committed bool
			if committed, err = w.settle(ctx, g); err == nil && !committed {
				unsettled = false
				continue
			}
		} else {
			g, err = w.attempt(ctx, jobs, late)
			unsettled = err != nil && g.sent && !refused(err)
		}
		if err == nil {
			if waits {
				w.log.InfoContext(ctx, "postgres answers again")
			}
			return w.finish(g)
		}
		w.o.Metrics.NotCommitted()
		retries := unsettled || passes(err, w.conn == nil || w.conn.IsClosed())
		w.rollBack(ctx, retries)
		lost := w.lease.check()
		switch ran := g.list[:g.ran]; {
		case lost != nil:
			return store.Fail(jobs, lost)
		case ctx.Err() != nil:
			return store.Fail(jobs, fmt.Errorf("%w: %w", store.ErrClosed, err))
		case retries:
			if !waits {
				w.log.WarnContext(ctx, "postgres has no answer, updates wait", "cause", err)
			}
			waits = true
			err = explain(err, w.config.ConnConfig)
			w.writeFailure.Store(&err)
			_ = pauses.Sleep(ctx) // when it ends early, the next attempt fails
		case len(ran) > 1:
			first := w.commit(ctx, ran[:len(ran)/2], false)
			return first + w.commit(ctx, ran[first:], false)
		default:
			err = classify(err)
			if errors.Is(err, tasks.ErrFull) {
				w.log.ErrorContext(ctx, "postgres has no room on its disk", "cause", err)
				w.writeFailure.Store(&err)
			}
			return store.Fail(ran, err)
		}
	}
}

// attempt runs jobs in a transaction and commits it. When that fails, the group tells
// how far it came.
func (w *writer) attempt(ctx context.Context, jobs []*store.Job, late bool) (*group, error) {
	ctx, cancel := context.WithTimeout(ctx, maxAttempt)
	defer cancel()
	g := newGroup(&w.cache, jobs)
	g.run()
	if _, err := w.begin(ctx, g); err != nil {
		return g, err
	}
	g.query = queryOn(ctx, w.conn)
	if late {
		w.collect()
		g.list = w.queue
		g.run()
	}
	for g.err == nil && (g.wrong || g.misses()) {
		if g.misses() {
			b := &pgx.Batch{}
			g.fetch(b)
			g.err = w.conn.SendBatch(ctx, b).Close()
		} else {
			g.reset()
			g.run()
		}
	}
	switch {
	case g.err != nil:
		return g, g.err
	case g.changes.Empty():
		_, err := w.conn.Exec(ctx, "rollback")
		return g, err
	}
	return g, w.write(ctx, g)
}

// begin begins a transaction, locks the database, and reads what the group misses, in
// one round trip. It returns the id of the last commit.
func (w *writer) begin(ctx context.Context, g *group) (last commitID, err error) {
	if w.conn == nil {
		if w.conn, err = w.connect(ctx); err != nil {
			return last, err
		}
	}
	if err := w.lease.check(); err != nil {
		return last, err
	}
	b := &pgx.Batch{}
	b.Queue("begin")
	b.Queue(lockStore).QueryRow(func(row pgx.Row) error {
		var fence int64
		if err := row.Scan(&last, &fence); err != nil {
			return err
		}
		if fence != w.lease.fence {
			return w.lease.lose(takenOver)
		}
		if last != w.last && last != g.id {
			if w.last != (commitID{}) && last.number() <= w.last.number() { // what this process holds in memory is wrong
				return w.lease.lose("the Postgres server has lost commits of this process, in a failover or by a restored backup")
			}
			w.cache.clear() // somebody else wrote
			w.last, g.wrong = last, true
		}
		return nil
	})
	g.fetch(b)
	return last, w.conn.SendBatch(ctx, b).Close()
}

// write writes the changes of a group and commits, in one round trip. The lock is
// still held, so the fence is still this one.
func (w *writer) write(ctx context.Context, g *group) error {
	var inserted, put, deleted rows // inserted: the cache knows that there is no such record
	for t, r := range g.changes.Changes() {
		old, known := g.cache.records.Get(t, r.Key)
		switch {
		case r.Value == nil:
			deleted.add(t, r)
		case known && old == nil:
			inserted.add(t, r)
		default:
			put.add(t, r)
		}
	}
	b := &pgx.Batch{}
	if len(inserted.keys) > 0 {
		b.Queue(insertAll, inserted.tables, inserted.keys, inserted.values)
	}
	if len(put.keys) > 0 {
		b.Queue(putAll, put.tables, put.keys, put.values)
	}
	if len(deleted.keys) > 0 {
		b.Queue(deleteAll, deleted.tables, deleted.keys)
	}
	g.id = w.last.next()
	b.Queue(setCommit, g.id)
	b.Queue("commit")
	sent := w.o.now()
	g.sent = true
	err := w.conn.SendBatch(ctx, b).Close()
	if err == nil {
		w.o.Metrics.Committed(g.ran, w.o.now().Sub(sent))
	}
	return err
}

// rows are records as arguments of a statement.
type rows struct {
	tables       []int16
	keys, values [][]byte
}

func (l *rows) add(t store.Table, r store.Record) {
	l.tables, l.keys, l.values = append(l.tables, int16(t)), append(l.keys, r.Key), append(l.values, r.Value)
}

// settle finds out whether a group was committed whose commit had no answer. The lock
// waits for the end of its transaction. The commit here waits for synchronous
// standbys, and after it they have the group as well.
func (w *writer) settle(ctx context.Context, g *group) (committed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxAttempt)
	defer cancel()
	last, err := w.begin(ctx, g)
	if err != nil {
		return false, err
	}
	b := &pgx.Batch{}
	b.Queue(setCommit, last)
	b.Queue("commit")
	return last == g.id, w.conn.SendBatch(ctx, b).Close()
}

// rollBack ends the transaction of a failed attempt. In trouble it closes the session
// too, because a new one may reach another server, and no longer trusts the cache.
func (w *writer) rollBack(ctx context.Context, trouble bool) {
	if w.conn != nil && !trouble {
		_, err := w.conn.Exec(ctx, "rollback")
		trouble = err != nil
	}
	if trouble {
		hangUp(w.conn)
		w.conn = nil
		w.cache.clear()
	}
}

// finish takes over a committed group into the cache, and tells its callers. It
// returns how many they are.
func (w *writer) finish(g *group) int {
	if g.sent {
		for t, r := range g.changes.Changes() {
			if t != store.TableChunks { // they are large, and updates do not read them
				w.cache.set(t, r.Key, r.Value)
			}
		}
		w.last = g.id
		w.writeFailure.Store(nil)
	}
	ran := g.list[:g.ran]
	for _, j := range ran {
		j.Finish()
	}
	return len(ran)
}
