package bolt

import (
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"legwork/tasks"
)

// prepare creates the buckets of a new file, and those that an earlier version
// did not have. It refuses a file of another layout, and one that lost a bucket.
func prepare(db *bbolt.DB) error {
	var create []string
	found := 0
	err := db.View(func(tx *bbolt.Tx) (err error) {
		create, found, err = missingBuckets(tx)
		return err
	})
	if err != nil || len(create) == 0 && found == format {
		return err
	}
	return db.Update(func(tx *bbolt.Tx) error {
		for _, name := range create {
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		if found > 0 && slices.Contains(create, bucketRows) {
			if err := markUnindexed(tx); err != nil {
				return err
			}
		}
		if err := putJSON(tx, bucketMeta, []byte("added"), addedBuckets()); err != nil {
			return err
		}
		return putJSON(tx, bucketMeta, []byte("format"), format)
	})
}

// missingBuckets lists the buckets that are to be created in a file, and tells its
// format.
func missingBuckets(tx *bbolt.Tx) (create []string, found int, err error) {
	meta := tx.Bucket([]byte(bucketMeta))
	if meta == nil && isNew(tx) {
		return buckets(), 0, nil
	}
	if meta == nil {
		return nil, 0, checkMissing(tx, bucketMeta)
	}
	key := []byte("format")
	if err := unsealJSON(key, meta.Get(key), &found); err != nil {
		return nil, 0, fmt.Errorf("reading format: %w", err)
	}
	if found > format || found < oldest {
		return nil, found, fmt.Errorf("the file has format %d, this version of legwork reads %d to %d: use the version that wrote it, or a newer one", found, oldest, format)
	}
	for _, name := range buckets() {
		if tx.Bucket([]byte(name)) != nil {
			continue
		}
		if err := checkMissing(tx, name); err != nil {
			return nil, found, err
		}
		create = append(create, name)
	}
	return create, found, nil
}

// checkMissing says what it means that a file has no bucket of that name: damage, or
// nothing, because an earlier version wrote the file.
func checkMissing(tx *bbolt.Tx, name string) error {
	if meta := tx.Bucket([]byte(bucketMeta)); meta != nil && !slices.Contains(firstBuckets(), name) {
		key := []byte("added")
		value := meta.Get(key)
		if value == nil {
			return nil
		}
		var had []string
		if err := unsealJSON(key, value, &had); err == nil && !slices.Contains(had, name) {
			return nil
		}
	}
	return fmt.Errorf("%w: bucket %q is missing", tasks.ErrDamaged, name)
}
