package bolt

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"go.etcd.io/bbolt"

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

// isNew reports whether nothing was ever committed to the file: bbolt gives a new
// one the transaction ids 0 and 1.
func isNew(btx *bbolt.Tx) bool { return btx.ID() <= 1 }

// checkLength checks that the file is as long as its header says. Otherwise bbolt
// would fault on the missing part only when it reads it.
func checkLength(file *bbolt.DB) error {
	return file.View(func(btx *bbolt.Tx) error {
		info, err := os.Stat(file.Path())
		if err != nil {
			return err
		}
		if info.Size() < btx.Size() {
			return fmt.Errorf("%w: the file has %d bytes of %d", tasks.ErrDamaged, info.Size(), btx.Size())
		}
		return nil
	})
}

// prepare creates the buckets of a new file, and those that an earlier version
// lacks. It refuses a file of another format, and one that lost a bucket.
func prepare(file *bbolt.DB) error {
	var missing []store.Table
	fresh := false
	err := file.View(func(btx *bbolt.Tx) (err error) {
		if fresh = isNew(btx) && btx.Bucket([]byte(store.TableMeta.String())) == nil; fresh {
			missing = store.Tables()
			return nil
		}
		missing, err = missingTables(btx)
		return err
	})
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
		if err := putMeta(btx, metaTables, all); err != nil {
			return err
		}
		return putMeta(btx, metaFormat, format)
	})
}

// missingTables lists the tables that a file of an earlier version lacks.
func missingTables(btx *bbolt.Tx) (list []store.Table, err error) {
	if btx.Bucket([]byte(store.TableMeta.String())) == nil {
		return nil, errMissing(store.TableMeta)
	}
	var found int
	if err := getMeta(btx, metaFormat, &found); err != nil {
		return nil, fmt.Errorf("reading format: %w", err)
	}
	if found > format {
		return nil, fmt.Errorf("the file has format %d, this version of legwork reads %d: use the version that wrote it, or a newer one", found, format)
	}
	if found < format {
		return nil, fmt.Errorf("the file has format %d, which this version of legwork cannot read: use the version that wrote it, or an empty data_dir", found)
	}
	var had []string
	if err := getMeta(btx, metaTables, &had); err != nil {
		return nil, fmt.Errorf("reading the names of the tables: %w", err)
	}
	for _, t := range store.Tables() {
		switch {
		case btx.Bucket([]byte(t.String())) != nil:
		case slices.Contains(had, t.String()) || slices.Contains(firstTables(), t):
			return nil, errMissing(t)
		default:
			list = append(list, t)
		}
	}
	return list, nil
}

// firstTables are the tables that every file has; files do not name them.
func firstTables() []store.Table {
	return []store.Table{
		store.TableJournal, store.TableTasks, store.TableLive, store.TableSeen, store.TableExpiry, store.TableHistory,
		store.TableCuts, store.TableSettings,
	}
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
	key := []byte(name)
	return btx.Bucket([]byte(store.TableMeta.String())).Put(key, store.Seal(key, body))
}

// getMeta reads a record of meta. ErrDamaged, also when there is none.
func getMeta(btx *bbolt.Tx, name string, v any) error {
	key := []byte(name)
	body, err := store.Unseal(store.Record{Key: key, Value: btx.Bucket([]byte(store.TableMeta.String())).Get(key)})
	if err == nil {
		err = json.Unmarshal(body, v)
	}
	return err
}
