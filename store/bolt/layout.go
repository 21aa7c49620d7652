package bolt

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"legwork/store"
	"legwork/tasks"
)

// format is the version of the layout, see package store. It grows when earlier
// versions of legwork would misread files of this one. A new table does not need a
// new version: opening a file without its bucket creates the bucket and notes its
// name under "added", and from then on it must exist.
const format = 3

// The records of this package in the table meta.
const (
	metaFormat = "format" // number
	metaTables = "added"  // names of the buckets that must exist
)

// headroom is how much a large file may grow before bbolt has to map it again.
// Mapping waits for all readers, such as a backup, and all writers wait for the
// mapping. A small file is read in a moment.
const (
	headroom = 1 << 30
	large    = 64 << 20
)

// openFile opens the data file, or creates it, with the tables of this version.
func openFile(path string, o Options) (db *bbolt.DB, err error) {
	err = guard(func() error {
		if db, err = openFileDB(path, o.MaxSize, 0); err != nil {
			return err
		}
		return prepare(db)
	})
	if err == nil {
		return db, nil
	}
	if db != nil {
		err = errors.Join(err, guard(db.Close))
	}
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, &LockedError{Dir: filepath.Dir(path)}
	}
	return nil, fmt.Errorf("opening %s: %w", path, classify(err))
}

// openFileDB opens a file, or creates one for about size bytes.
func openFileDB(path string, maxSize int, size int64) (*bbolt.DB, error) {
	o := &bbolt.Options{Timeout: lockWait, FreelistType: bbolt.FreelistMapType, MaxSize: maxSize, NoStatistics: true}
	if info, err := os.Stat(path); err == nil {
		size = info.Size()
	}
	if size >= large && runtime.GOOS != "windows" && math.MaxInt > math.MaxInt32 {
		o.InitialMmapSize = int(size) + headroom // addresses only, no memory
	}
	return bbolt.Open(path, 0o600, o)
}

// prepare creates the buckets that a file lacks.
func prepare(file *bbolt.DB) error {
	var missing []store.Table
	err := file.View(func(btx *bbolt.Tx) (err error) { missing, err = missingTables(btx); return err })
	if err != nil || len(missing) == 0 {
		return err
	}
	return file.Update(func(btx *bbolt.Tx) error {
		for _, t := range missing {
			if _, err := btx.CreateBucket([]byte(t.String())); err != nil {
				return err
			}
		}
		var all []string
		for _, t := range store.Tables() {
			all = append(all, t.String())
		}
		return errors.Join(putMeta(btx, metaTables, all), putMeta(btx, metaFormat, format))
	})
}

// missingTables lists the tables that a file lacks because it is new, or of an
// earlier version. It refuses a file of another format, one that is shorter than its
// header says, and one that lost a bucket.
func missingTables(btx *bbolt.Tx) (list []store.Table, err error) {
	info, err := os.Stat(btx.DB().Path())
	switch {
	case err != nil:
		return nil, err
	case info.Size() < btx.Size(): // bbolt would fault only when it reads the missing part
		return nil, fmt.Errorf("%w: the file has %d bytes of %d; %s", tasks.ErrDamaged, info.Size(), btx.Size(), restoreAdvice)
	case btx.ID() <= 1: // bbolt gives a new file the transaction ids 0 and 1
		return store.Tables(), nil
	case btx.Bucket([]byte(store.TableMeta.String())) == nil:
		return nil, errMissing(store.TableMeta)
	}
	var found int
	var had []string
	err = getMeta(btx, metaFormat, &found)
	if err == nil && found != format {
		return nil, fmt.Errorf("the file has format %d, this version of legwork reads %d: use the version that wrote it, or an empty data_dir", found, format)
	}
	if err = errors.Join(err, getMeta(btx, metaTables, &had)); err != nil {
		return nil, err
	}
	for _, t := range store.Tables() {
		if btx.Bucket([]byte(t.String())) != nil {
			continue
		}
		if slices.Contains(had, t.String()) {
			return nil, errMissing(t)
		}
		list = append(list, t)
	}
	return list, nil
}

func errMissing(t store.Table) error {
	return fmt.Errorf("%w: bucket %q is missing", tasks.ErrDamaged, t)
}

// putMeta writes a record of meta.
func putMeta(btx *bbolt.Tx, name string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return newTx(btx).Put(store.TableMeta, []byte(name), store.Seal([]byte(name), body))
}

// getMeta reads a record of meta. ErrDamaged, also when there is none.
func getMeta(btx *bbolt.Tx, name string, v any) error {
	key := []byte(name)
	value, err := newTx(btx).Get(store.TableMeta, key)
	body, bad := store.Unseal(store.Record{Key: key, Value: value})
	if err = errors.Join(err, bad); err != nil {
		return fmt.Errorf("reading %q: %w", name, err)
	}
	return json.Unmarshal(body, v)
}
