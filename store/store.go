package store

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"legwork/internal/telemetry"
	"legwork/tasks"
)

// Store implements tasks.Store on a database. Each part of it is a type of its own.
type Store struct {
	*core
	Journals
	Conversations
	Ledger
	Timetable
	Index
	Audit
	Deliveries
	Deletion
	Files
	Posts
	SignIns
	Secrets

	dropped []tasks.ID
}

var _ tasks.Store = (*Store)(nil)

// Options configure a Store. The zero value is usable.
type Options struct {
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
	// Log gets a message for damage that the store works around. Nil: no log.
	Log *slog.Logger
	// Metrics count the effects on tasks; may be nil.
	Metrics *telemetry.Metrics
}

// dropAtOnce bounds how many tasks one transaction drops.
const dropAtOnce = 500

// Open opens the store on a database, which Close closes. In a copy it drops the
// tasks that were running when the copy was made, see MarkCopy. It refuses a copy
// that is unfinished, see Copy.
func Open(ctx context.Context, db DB, o Options) (*Store, error) {
	c := newCore(db, o)
	s := &Store{
		core: c, Journals: Journals{c}, Conversations: Conversations{c}, Ledger: Ledger{c}, Timetable: Timetable{c},
		Index: Index{c}, Audit: Audit{c}, Deliveries: Deliveries{c}, Deletion: Deletion{c}, Files: Files{c}, SignIns: SignIns{c}, Secrets: Secrets{c}, Posts: Posts{c},
	}
	if err := db.View(ctx, checkFinished); err != nil {
		return nil, err
	}
	// A call that was made after its task ended together with its process.
	if err := c.update(ctx, "closing old accounts", func(x *txn) { ledger{x}.closeOld() }); err != nil {
		c.log.ErrorContext(ctx, "old accounts not closed", "cause", err)
	}
	err := c.view(ctx, "reading the end of the feed", func(x *txn) { c.cache.fed.Store(feed{x}.end()) })
	if err != nil {
		c.log.ErrorContext(ctx, "feed end unreadable", "cause", err)
	}
	if err := s.clean(ctx); err != nil {
		c.log.ErrorContext(ctx, "contents of files not cleaned", "cause", err)
	}
	return s, s.dropCopied(ctx)
}

// newCore returns the core of a store on a database.
func newCore(db DB, o Options) *core {
	c := &core{db: db, now: o.Now, log: o.Log, metrics: o.Metrics, cache: newCache(), contents: db.Contents()}
	if c.now == nil {
		c.now = time.Now
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Close implements tasks.Store.
func (s *Store) Close() error { return s.db.Close() }

// Dropped lists the tasks that Open has dropped, because the database is a copy.
func (s *Store) Dropped() []tasks.ID { return s.dropped }

// Watched is how many tasks somebody waits for, and how many follow all of them.
func (s *Store) Watched() int { return s.watch.Len() }

// Freed reports whether data was deleted that may still be in the files of the
// database. SetFreed changes that, for example when the files are made anew.
func (s *Store) Freed() bool { return s.freed.Load() }

// SetFreed notes whether deleted data may still be in the files. It returns what was
// noted before.
func (s *Store) SetFreed(freed bool) (before bool) { return s.freed.Swap(freed) }

// MarkCopy notes in a copy of a database when it was made. A store that opens it
// drops the tasks that were running at that time: it is not known what they did
// after it, and they could do it twice.
func MarkCopy(tx Tx, at time.Time) error {
	x := &txn{Tx: tx}
	metaTimes.put(x, metaCopied, at.UTC())
	return x.failed
}

// dropCopied drops the tasks that were running when the database was copied, if it
// is a copy. The mark stays until all of them are dropped, also after a kill.
func (s *Store) dropCopied(ctx context.Context) error {
	var at time.Time
	var copied bool
	err := s.view(ctx, "looking for the mark of a copy", func(x *txn) { at, copied = metaTimes.load(x, metaCopied) })
	if !copied {
		return err
	}
	// The drops below are entries of the feed. Events that were stored after the copy
	// may have had the next numbers, so the feed skips them first.
	if err := s.update(ctx, "skipping numbers of the feed", func(x *txn) { feed{x}.skipAhead() }); err != nil {
		return err
	}
	live, err := s.Live(ctx, "")
	if err != nil {
		return err
	}
	for _, l := range live {
		s.dropped = append(s.dropped, l.Task)
	}
	for list := range slices.Chunk(s.dropped, dropAtOnce) {
		err := s.update(ctx, "dropping tasks of a copy", func(x *txn) {
			for _, id := range list {
				x.fail(journals{x}.drop(id))
			}
		})
		if err != nil {
			return err
		}
	}
	if len(s.dropped) > 0 {
		s.log.ErrorContext(ctx, "copy in use, tasks that were running dropped", "made", at, "tasks", s.dropped)
	}
	return s.update(ctx, "removing the mark of a copy", func(x *txn) { metaTimes.drop(x, metaCopied) })
}
