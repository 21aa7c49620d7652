package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"legwork/store"
	"legwork/tasks"
)

// Bounds of the checks.
const (
	maxFindings  = 100              // reported by Verify
	quickRecords = 2000             // read from either end of a bucket by VerifyQuick
	checkTime    = 20 * time.Second // given to the child process
	verifyTime   = 30 * time.Minute // given to one that reads the whole file
)

// Verify reads every page and every record of a data file that no process owns,
// and returns the damage, at most a hundred findings joined. A badly damaged file
// can end the process, so call it in a separate one.
func Verify(path string) error {
	return verify(path, func(tx *bbolt.Tx, report func(error)) {
		for err := range tx.Check() {
			report(fmt.Errorf("%w: %w", tasks.ErrDamaged, err))
		}
		for _, t := range store.Tables() {
			walk(tx, t, func(c *bbolt.Cursor, check func(k, v []byte) error) {
				for k, v := c.First(); k != nil; k, v = c.Next() {
					if err := check(k, v); err != nil {
						report(err)
					}
				}
			})
		}
	})
}

// VerifyQuick finds, in bounded time, damage that makes the file unusable: in its
// length, its buckets, and the pages at both ends of each bucket, which hold the
// tasks that a start continues. It ignores wrong checksums of single records: such
// a record costs only its own task.
func VerifyQuick(path string) error {
	return verify(path, func(tx *bbolt.Tx, report func(error)) {
		for _, t := range store.Tables() {
			walk(tx, t, func(c *bbolt.Cursor, check func(k, v []byte) error) {
				n := 0
				for k, v := c.First(); k != nil && n < quickRecords; k, v = c.Next() {
					_ = check(k, v) // reads every byte
					n++
				}
				for k, v := c.Last(); k != nil && n >= quickRecords && n < 2*quickRecords; k, v = c.Prev() {
					_ = check(k, v)
					n++
				}
			})
		}
	})
}

// IsDataFile reports whether a file belongs to this package, sound or not, as far
// as its first page shows.
func IsDataFile(path string) (yes bool) {
	_ = guard(func() error {
		db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: lockWait})
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }() // it was only read
		return db.View(func(tx *bbolt.Tx) error {
			yes = tx.Bucket([]byte(store.TableMeta.String())) != nil || tx.Bucket([]byte(store.TableJournal.String())) != nil
			return nil
		})
	})
	return yes
}

// walk calls visit with a cursor of a bucket; check returns the damage of a
// record.
func walk(tx *bbolt.Tx, t store.Table, visit func(c *bbolt.Cursor, check func(k, v []byte) error)) {
	b := tx.Bucket([]byte(t.String()))
	if b == nil {
		return // reported before, if the file had it
	}
	visit(b.Cursor(), func(k, v []byte) error { return store.CheckRecord(t, store.Record{Key: k, Value: v}) })
}

// verify opens a file for reading and joins the errors that look reports.
func verify(path string, look func(tx *bbolt.Tx, report func(error))) error {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil // there is no data yet
	}
	var findings []error
	report := func(err error) {
		if err != nil && len(findings) < maxFindings {
			findings = append(findings, err)
		}
	}
	err := guard(func() error {
		db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, PreLoadFreelist: true, Timeout: lockWait})
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }() // it was only read
		if err := checkLength(db); err != nil {
			return err
		}
		return db.View(func(tx *bbolt.Tx) error {
			if isNew(tx) {
				return nil
			}
			_, err := missingTables(tx)
			report(err)
			look(tx, report)
			return nil
		})
	})
	if err := errors.Join(append(findings, classify(err))...); err != nil {
		return fmt.Errorf("verifying %s: %w", path, err)
	}
	return nil
}

// Examine verifies a whole file with a command in a child process, to which it
// appends the path; in this process when there is no command. ErrDamaged.
func Examine(ctx context.Context, path string, command []string) error {
	if len(command) == 0 {
		return Verify(path)
	}
	return examine(ctx, path, command, verifyTime)
}

// checkQuickly checks a suspect file in a child process.
func checkQuickly(ctx context.Context, path string, command []string) error {
	return examine(ctx, path, command, checkTime)
}

// examine runs a command that checks a file, in a child process. The error
// contains the output of the child.
func examine(ctx context.Context, path string, command []string, most time.Duration) error {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	args := append(append([]string(nil), command[1:]...), path)
	out, err := exec.CommandContext(ctx, command[0], args...).CombinedOutput()
	if err == nil {
		return nil
	}
	if whole.Err() != nil { // the child was ended before it found anything
		return fmt.Errorf("checking %s: %w", path, whole.Err())
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) && ctx.Err() == nil {
		return fmt.Errorf("checking %s: %w", path, err)
	}
	said := strings.TrimSpace(string(out))
	if len(said) > 1000 {
		said = said[:1000]
	}
	return fmt.Errorf("checking %s: %w: %w: %s", path, tasks.ErrDamaged, err, said)
}
