package postgres

import (
	"errors"
	"iter"

	"github.com/jackc/pgx/v5"

	"legwork/store"
)

// maxCached bounds the records in the cache, about, in bytes.
const maxCached = 64 << 20

// recordSize is what a record in the cache needs besides key and value, about.
const recordSize = 128

// cache holds records as they are in the database. It belongs to the writer, which
// empties it when somebody else wrote to the database.
type cache struct {
	records store.Map       // a nil value: there is no such record
	ranges  map[string]bool // names of spans; all their records are in records
	size    int
}

// span is a range of keys of a table, see store.Tx.
type span struct {
	table    store.Table
	from, to []byte
}

// name is different for different spans.
func (s span) name() string {
	end := byte(0)
	if s.to != nil {
		end = 1
	}
	name := append([]byte{byte(s.table), end, byte(len(s.from) >> 8), byte(len(s.from))}, s.from...)
	return string(append(name, s.to...))
}

func (c *cache) clear() { *c = cache{ranges: map[string]bool{}} }

func (c *cache) set(t store.Table, key, value []byte) {
	old, known := c.records.Get(t, key)
	if !known {
		c.size += recordSize + len(key)
	}
	c.size += len(value) - len(old)
	c.records.Set(t, key, value)
}

// group is a transaction of many updates. They run on top of each other, over what
// the cache knows.
//
// An update that gets an unknown record gets the answer that it does not exist, and
// the group notes it as missing. The writer then reads what is missing from the
// database. Mostly it does not exist, because it is a new key: then the answer was
// right. Otherwise the whole group runs again. The first run is before the
// transaction begins, so that most transactions have two round trips: one begins and
// reads, and one writes and commits.
//
// An unknown range ends with an error, and the group runs again. The store remembers
// what it has read as a whole, so a range must not seem to be empty.
type group struct {
	store.ReadOnly

	cache   *cache
	query   query // reads in the transaction; nil before it has begun
	changes *store.Overlay
	bytes   int // changed
	list    []*store.Job
	ran     int // how many of the list have run
	id      commitID
	sent    bool // for commit

	missing store.Map
	ranges  map[string]span  // missing ranges of short tables
	scans   map[string]*scan // ranges of other tables, as far as they were read
	wrong   bool             // an update got a wrong answer
	err     error            // of the database
}

func newGroup(c *cache, list []*store.Job) *group {
	g := &group{cache: c, list: list, ranges: map[string]span{}, scans: map[string]*scan{}}
	g.reset()
	return g
}

// reset forgets what the jobs did.
func (g *group) reset() { g.changes, g.bytes, g.ran, g.wrong = store.NewOverlay(g), 0, 0, false }

// misses reports whether something is missing.
func (g *group) misses() bool { return g.missing.Len() > 0 || len(g.ranges) > 0 }

// run runs those jobs of the list that have not run, as many as fit into one
// transaction. A job that fails leaves no changes.
func (g *group) run() {
	for _, j := range g.list[g.ran:] {
		if g.bytes > store.MaxBytes {
			return
		}
		g.ran++
		over := store.NewOverlay(g.changes)
		if j.Run(over) != nil {
			continue
		}
		for _, r := range over.Changes() {
			g.bytes += len(r.Key) + len(r.Value)
		}
		_ = over.Flush() // to an overlay, which never fails
	}
}

// Get implements store.Tx.
func (g *group) Get(t store.Table, key []byte) ([]byte, error) {
	value, known := g.cache.records.Get(t, key)
	if !known {
		g.missing.Set(t, key, nil)
	}
	return value, nil
}

// Range implements store.Tx.
func (g *group) Range(t store.Table, from, to []byte, o store.Order) iter.Seq2[store.Record, error] {
	s := span{t, from, to}
	name := s.name()
	if t.Short() {
		return g.known(s, name, o)
	}
	if o == store.Descending {
		name += "descending"
	}
	return func(yield func(store.Record, error) bool) {
		if g.query == nil || g.misses() {
			g.wrong = true // read it when all reads before it are known
			yield(store.Record{}, errUnread)
			return
		}
		read := g.scans[name]
		if read == nil {
			read = newScan(s, o)
			g.scans[name] = read
		}
		for i := 0; ; i++ {
			if i == len(read.records) && !read.ended {
				g.err = read.next(g.query)
			}
			if g.err != nil {
				yield(store.Record{}, g.err)
				return
			}
			if i == len(read.records) || !yield(read.records[i], nil) {
				return
			}
		}
	}
}

// errUnread ends a range that was not read yet.
var errUnread = errors.New("the range was not read yet")

// known returns the records of a range of a short table.
func (g *group) known(s span, name string, o store.Order) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if !g.cache.ranges[name] {
			g.ranges[name], g.wrong = s, true
			yield(store.Record{}, errUnread)
			return
		}
		for r := range g.cache.records.Range(s.table, s.from, s.to, o) {
			if r.Value != nil && !yield(r, nil) {
				return
			}
		}
	}
}

// getAll reads the records of keys, as far as they exist.
const getAll = `select t, k, v from unnest($1::smallint[], $2::bytea[]) as u (t, k) join legwork_kv using (t, k)`

// fetch adds to a batch what reads the missing records into the cache.
func (g *group) fetch(b *pgx.Batch) {
	missing, ranges := g.missing, g.ranges
	g.missing, g.ranges = store.Map{}, map[string]span{}
	if missing.Len() > 0 {
		var of []int16
		var keys [][]byte
		for t, r := range missing.All() {
			of, keys = append(of, int16(t)), append(keys, r.Key)
		}
		b.Queue(getAll, of, keys).Query(func(rows pgx.Rows) error {
			for t, r := range missing.All() {
				g.cache.set(t, r.Key, nil)
			}
			return g.found(rows)
		})
	}
	for name, s := range ranges {
		b.Queue(getRange(store.Ascending), s.arguments(nil)...).Query(func(rows pgx.Rows) error {
			g.cache.ranges[name] = true
			g.cache.size += recordSize + len(name)
			return g.found(rows)
		})
	}
}

// found takes over rows of table, key and value into the cache.
func (g *group) found(rows pgx.Rows) error {
	for rows.Next() {
		var t int16
		var r store.Record
		if err := rows.Scan(&t, &r.Key, &r.Value); err != nil {
			return err
		}
		g.cache.set(store.Table(t), r.Key, r.Value)
		g.wrong = true
	}
	return rows.Err()
}
