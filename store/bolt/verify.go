package bolt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"slices"
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
	verifyTime   = 30 * time.Minute // given to a child process
)

// Verify reads every page and every record of a data file that no process owns,
// and returns the damage, at most a hundred findings joined. A badly damaged file
// can end the process, so call it in a separate one.
func Verify(path string) error { return verify(path, false) }

// VerifyQuick finds, in bounded time, damage that makes the file unusable: in its
// length, its buckets, and the pages at both ends of each bucket, which hold the
// tasks that a start continues. It ignores wrong checksums of single records: such
// a record costs only its own task.
func VerifyQuick(path string) error { return verify(path, true) }

func verify(path string, quick bool) error {
	most, orders := math.MaxInt, []store.Order{store.Ascending}
	if quick {
		most, orders = quickRecords, []store.Order{store.Ascending, store.Descending}
	}
	var findings []error
	report := func(err error) {
		if err != nil && len(findings) < maxFindings {
			findings = append(findings, err)
		}
	}
	report(classify(read(path, func(btx *bbolt.Tx) error {
		missing, err := missingTables(btx)
		if err != nil {
			return err
		}
		if !quick {
			for err := range btx.Check() {
				report(fmt.Errorf("%w: %w", tasks.ErrDamaged, err))
			}
		}
		x := newTx(btx)
		for _, t := range store.Tables() {
			if slices.Contains(missing, t) {
				continue
			}
			for _, o := range orders {
				n := 0
				for r, err := range x.Range(t, nil, nil, o) {
					damage := store.CheckRecord(t, r) // reads every byte
					if !quick && err == nil {
						err = damage
					}
					report(err)
					if n++; n == most {
						break
					}
				}
			}
		}
		return nil
	})))
	if len(findings) == 0 {
		return nil
	}
	return fmt.Errorf("verifying %s: %w", path, errors.Join(findings...))
}

// IsDataFile reports whether a file belongs to this package.
func IsDataFile(path string) (yes bool) {
	_ = read(path, func(btx *bbolt.Tx) error {
		yes = btx.Bucket([]byte(store.TableMeta.String())) != nil || btx.Bucket([]byte(store.TableJournal.String())) != nil
		return nil
	})
	return yes
}

// read runs look on a file that no process owns.
func read(path string, look func(*bbolt.Tx) error) error {
	return guard(func() error {
		db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, PreLoadFreelist: true, Timeout: lockWait})
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }() // it was only read
		return db.View(look)
	})
}

// Connections lists the sign-ins at servers in a data file that no process owns.
func Connections(path string) (list []tasks.Connection, err error) {
	err = read(path, func(btx *bbolt.Tx) error {
		if btx.Bucket([]byte(store.TableConnections.String())) == nil {
			return nil // of an earlier version
		}
		list, err = store.ReadConnections(newTx(btx))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the sign-ins in %s: %w", path, classify(err))
	}
	return list, nil
}

// examine checks a file with a command in a child process, to which it appends the
// path. ErrDamaged with the output of the child. Without a command this process
// verifies the file.
func examine(ctx context.Context, path string, command []string) error {
	if len(command) == 0 {
		return Verify(path)
	}
	ctx, cancel := context.WithTimeout(ctx, verifyTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, command[0], append(slices.Clone(command[1:]), path)...).CombinedOutput()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil: // the child was ended before it found anything
		err = ctx.Err()
	case errors.As(err, new(*exec.ExitError)):
		err = fmt.Errorf("%w: %w: %.1000s", tasks.ErrDamaged, err, strings.TrimSpace(string(out)))
	}
	return fmt.Errorf("checking %s: %w", path, err)
}
