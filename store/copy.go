package store

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"slices"
	"time"

	"legwork/files"
	"legwork/tasks"
)

// Bounds of one update of a copy. A record may go beyond the bytes.
const (
	copyRecords = 5000
	copyBytes   = 4 << 20
)

// writing is what a copy does to the target, in errors.
const writing = "writing the copy"

// metaCopying is the mark of an unfinished copy in meta.
const metaCopying = "copying"

var copyMarks = jsonTable[string, copyMark](TableMeta, nameKey)

type copyMark struct {
	From  string    `json:"from"`  // name of the source
	Began time.Time `json:"began"` // the first try
}

// CopyOptions configure a copy. The zero value is usable.
type CopyOptions struct {
	// Source names the source in messages, Began says when the copy begins.
	Source string
	Began  time.Time
	// Live says that a process uses the source and continues its tasks. The copy
	// drops the tasks that were running when it is opened for the first time, see
	// MarkCopy.
	Live bool
	// SkipDamaged leaves out records with wrong checksums. Otherwise such a record
	// ends the copy.
	SkipDamaged bool
	// Progress is called after each part; may be nil.
	Progress func(CopyProgress)
	// NoContents leaves out the bytes of the contents of files. They are copied elsewhere.
	NoContents bool
	// Beside copies what is kept beside the databases. It is called when all records
	// are copied and compared, before the copy counts as finished; may be nil.
	Beside func() error
}

// CopyProgress is how far a copy is.
type CopyProgress struct {
	Table     Table
	Records   int  // read so far, in all tables: from the source, or when Comparing, from the target
	Comparing bool // everything is copied, and the target is read again
}

// Copied is what a copy did.
type Copied struct {
	Tables     []CopiedTable `json:"tables"`
	Records    int           `json:"records"`              // in all tables
	Changed    int           `json:"changed"`              // records that were written or deleted; the others were there already
	Continued  bool          `json:"continued,omitempty"`  // the target held an unfinished copy
	Contents   int           `json:"contents,omitempty"`   // contents of files, all of which are in the target now
	LeftOut    []string      `json:"left_out,omitempty"`   // damaged records, and contents that are damaged or missing
	Unfinished bool          `json:"unfinished,omitempty"` // the target is an unfinished copy now
}

// CopiedTable is the contents of a table, the same on both sides.
type CopiedTable struct {
	Table   string `json:"table"`
	Records int    `json:"records"`
	SHA256  string `json:"sha256"` // over keys and values, each after its length
}

// Copy makes the records of a database equal to those of another one, table by
// table, and compares both sides at the end. The records of the source are those of
// one view. The target must be empty, or an unfinished copy: then Copy writes only
// the records that differ, and deletes what the source does not have any more. Until
// the end a mark in the target says that it is unfinished; Open refuses such a
// database. ErrDamaged, when the source has a damaged record.
func Copy(ctx context.Context, from, to DB, o CopyOptions) (Copied, error) {
	c := copier{to: newCore(to, Options{}), o: o}
	err := from.View(ctx, func(source Tx) error { return c.run(ctx, source, from.Contents()) })
	return c.Copied, err
}

// copier is a running copy.
type copier struct {
	Copied

	to *core
	o  CopyOptions
}

func (c *copier) run(ctx context.Context, source Tx, contents Contents) error {
	if err := checkFinished(source); err != nil {
		return fmt.Errorf("reading the source: %w", err)
	}
	if err := c.begin(ctx); err != nil {
		return err
	}
	for _, t := range copiedTables() {
		sum, err := c.copyTable(ctx, &txn{Tx: source}, t)
		if err != nil {
			return fmt.Errorf("copying %s: %w", t, err)
		}
		c.Tables = append(c.Tables, sum)
	}
	if err := c.compare(ctx); err != nil {
		return err
	}
	if !c.o.NoContents {
		if err := c.copyContents(ctx, &txn{Tx: source}, contents); err != nil {
			return fmt.Errorf("copying the contents of files: %w", err)
		}
	}
	if c.o.Beside != nil {
		if err := c.o.Beside(); err != nil {
			return err
		}
	}
	err := c.to.update(ctx, writing, func(x *txn) {
		if c.o.Live {
			x.fail(MarkCopy(x, c.o.Began))
		}
		copyMarks.drop(x, metaCopying)
	})
	c.Unfinished = err != nil
	return err
}

// begin marks the target. It refuses one that holds other data.
func (c *copier) begin(ctx context.Context) error {
	mark, empty := copyMark{c.o.Source, c.o.Began}, true
	err := c.to.view(ctx, "reading the target", func(x *txn) {
		old, found := copyMarks.load(x, metaCopying)
		if found {
			c.Continued, mark.Began = true, old.Began
			return
		}
		for _, t := range copiedTables() {
			for range copied(ctx, x, t, nil, nil) {
				empty = false
				return
			}
		}
	})
	if err != nil {
		return err
	}
	if !empty {
		return errors.New("the target holds data already: copy into an empty folder or database")
	}
	err = c.to.update(ctx, writing, func(x *txn) { copyMarks.put(x, metaCopying, mark) })
	c.Unfinished = c.Continued || err == nil
	return err
}

// copyTable makes a table of the target equal to that of the source.
func (c *copier) copyTable(ctx context.Context, source *txn, t Table) (CopiedTable, error) {
	var batch []Record
	var from []byte // the target is equal up to this key
	sum, size := tableSum{hash: sha256.New()}, 0
	flush := func(to []byte) error {
		err := c.write(ctx, t, from, to, batch)
		c.Records += len(batch)
		c.report(CopyProgress{Table: t, Records: c.Records})
		batch, from, size = nil, to, 0
		return err
	}
	for r := range copied(ctx, source, t, nil, nil) {
		if err := CheckRecord(t, r); err != nil {
			if !c.o.SkipDamaged {
				return CopiedTable{}, fmt.Errorf("%w: go back to a backup with \"legwork data restore\", or copy everything else with --skip-damaged", err)
			}
			c.LeftOut = append(c.LeftOut, describe(t, r.Key))
			continue
		}
		sum.add(r)
		// The target may keep records for longer than the source's view lasts.
		batch = append(batch, Record{bytes.Clone(r.Key), bytes.Clone(r.Value)})
		if size += len(r.Key) + len(r.Value); len(batch) == copyRecords || size >= copyBytes {
			if err := flush(append(bytes.Clone(r.Key), 0)); err != nil {
				return CopiedTable{}, err
			}
		}
	}
	if source.failed != nil {
		return CopiedTable{}, source.failed
	}
	return sum.table(t), flush(nil)
}

// write makes a range of the target equal to the records in want.
func (c *copier) write(ctx context.Context, t Table, from, to []byte, want []Record) error {
	var changes []Record // without a value: to be deleted
	// The view ends before the update: bbolt may have to wait for the end of all
	// views when its file grows.
	err := c.to.view(ctx, "reading the target", func(x *txn) {
		rest := want
		for r := range copied(ctx, x, t, from, to) {
			for len(rest) > 0 && bytes.Compare(rest[0].Key, r.Key) < 0 {
				changes, rest = append(changes, rest[0]), rest[1:]
			}
			switch {
			case len(rest) == 0 || !bytes.Equal(rest[0].Key, r.Key):
				changes = append(changes, Record{Key: bytes.Clone(r.Key)})
			case !bytes.Equal(rest[0].Value, r.Value):
				changes, rest = append(changes, rest[0]), rest[1:]
			default:
				rest = rest[1:]
			}
		}
		changes = append(changes, rest...)
	})
	if err != nil {
		return err
	}
	for part := range slices.Chunk(changes, copyRecords) {
		err := c.to.update(ctx, writing, func(x *txn) {
			for _, r := range part {
				if r.Value == nil {
					x.fail(x.Delete(t, r.Key))
				} else {
					x.fail(x.Put(t, r.Key, r.Value))
				}
			}
		})
		if err != nil {
			return err
		}
		c.Changed += len(part)
	}
	return nil
}

// compare reads the target again, and compares it with what the source had.
func (c *copier) compare(ctx context.Context) error {
	total := 0
	for i, t := range copiedTables() {
		sum := tableSum{hash: sha256.New()}
		err := c.to.view(ctx, fmt.Sprintf("comparing %s", t), func(x *txn) {
			for r := range copied(ctx, x, t, nil, nil) {
				if sum.add(r); sum.records%copyRecords == 0 {
					c.report(CopyProgress{t, total + sum.records, true})
				}
			}
		})
		if err != nil {
			return err
		}
		total += sum.records
		if want, got := c.Tables[i], sum.table(t); got != want {
			return fmt.Errorf("comparing both sides: table %s differs: %d records with checksum %.16s in the source, %d with %.16s in the target", t, want.Records, want.SHA256, got.Records, got.SHA256)
		}
	}
	return nil
}

func (c *copier) report(p CopyProgress) {
	if c.o.Progress != nil {
		c.o.Progress(p)
	}
}

// copyContents copies the contents of files whose records were copied. Contents that a
// live source has deleted meanwhile are deleted in the target too.
func (c *copier) copyContents(ctx context.Context, source *txn, from Contents) error {
	to := Files{c.to}
	for r := range copied(ctx, source, TableContents, nil, nil) {
		id := files.ID(r.Key)
		if !id.Valid() {
			continue
		}
		c.Contents++
		if found, _, err := to.sum(ctx, id); err == nil && found == id {
			continue
		}
		err := CopyContent(ctx, id, from, c.to.contents)
		if missing := errors.Is(err, files.ErrNone); missing && c.o.Live || c.o.SkipDamaged && (missing || errors.Is(err, tasks.ErrDamaged)) {
			c.Contents--
			c.LeftOut = append(c.LeftOut, fmt.Sprintf("content %s", id))
			err = c.to.update(ctx, writing, func(x *txn) { uses{x}.forget(id) })
		}
		if err != nil {
			return err
		}
	}
	if source.failed != nil {
		return source.failed
	}
	return to.clean(ctx)
}

// CopyContent copies one content and reads the copy again. files.ErrNone, ErrDamaged.
func CopyContent(ctx context.Context, id files.ID, from, to Contents) error {
	r, err := from.Open(ctx, id)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	staged, err := to.Stage(ctx, func(w io.Writer) error {
		found, _, err := copyLimited(w, r, 0)
		if err == nil && found != id {
			err = fmt.Errorf("content %s: %w: its hash is %s", id, tasks.ErrDamaged, found)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := staged.Place(ctx, id); err != nil {
		return err
	}
	if found, _, err := (Files{&core{contents: to}}).sum(ctx, id); err != nil || found != id {
		return fmt.Errorf("reading the copy of content %s again: %w", id, cmp.Or(err, tasks.ErrDamaged))
	}
	return nil
}

// copiedTables are the tables whose records are copied.
func copiedTables() []Table { return slices.DeleteFunc(Tables(), Table.Bytes) }

// copied returns the records of a range that belong to the store: package bolt keeps
// the version of its file in meta, and a copy its mark. The end of ctx ends the range
// and fails the transaction.
func copied(ctx context.Context, x *txn, t Table, from, to []byte) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		for r := range records(x, t, from, to, Ascending) {
			if name := string(r.Key); t == TableMeta && (name == "format" || name == "added" || name == metaCopying) {
				continue
			}
			if x.fail(ctx.Err()); x.failed != nil || !yield(r) {
				return
			}
		}
	}
}

// checkFinished refuses a database that is an unfinished copy.
func checkFinished(tx Tx) error {
	x := &txn{Tx: tx}
	if mark, found := copyMarks.load(x, metaCopying); found {
		x.fail(fmt.Errorf("this is an unfinished copy of %s, begun at %s: run the same \"legwork data copy\" again to complete it", mark.From, mark.Began.Local().Format(time.DateTime)))
	}
	return x.failed
}

// tableSum counts the records of a table and sums them up.
type tableSum struct {
	records int
	hash    hash.Hash
	buffer  []byte
}

func (s *tableSum) add(r Record) {
	s.records++
	s.buffer = s.buffer[:0]
	for _, part := range [][]byte{r.Key, r.Value} {
		s.buffer = append(binary.BigEndian.AppendUint32(s.buffer, uint32(len(part))), part...)
	}
	s.hash.Write(s.buffer)
}

func (s *tableSum) table(t Table) CopiedTable {
	return CopiedTable{t.String(), s.records, fmt.Sprintf("%x", s.hash.Sum(nil))}
}
