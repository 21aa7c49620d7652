package memory

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"

	"go.etcd.io/bbolt"
)

// checkSizes refuses a file in which sizes are damaged. Writing to it, bbolt would
// ask for as much memory as they say, which ends the process.
func checkSizes(tx *bbolt.Tx, path string) error {
	if err := checkFreelist(tx, path); err != nil {
		return err
	}
	return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error { return checkBucket(b, tx.Size()) })
}

// checkBucket looks at all keys and values of a bucket, but not into them.
func checkBucket(b *bbolt.Bucket, most int64) error {
	for c, k, v := cursor(b); k != nil; k, v = c.Next() {
		if int64(len(k)) > most || int64(len(v)) > most {
			return fmt.Errorf("%w: a record of %d and %d bytes", errDamaged, len(k), len(v))
		}
		if inner := b.Bucket(k); v == nil && inner != nil {
			if err := checkBucket(inner, most); err != nil {
				return err
			}
		}
	}
	return nil
}

// Offsets in the file format of bbolt, version 2 (internal/common/page.go and
// meta.go of bbolt): a page begins with its id (8 bytes), kind (2), count (2) and
// overflow (4). Pages 0 and 1 are the meta pages of the last two transactions.
const (
	pageHead     = 16
	metaFreelist = pageHead + 32
	metaTx       = pageHead + 48
	metaEnd      = pageHead + 56
	kindFreelist = 0x10
	countBeyond  = math.MaxUint16 // the first 8 bytes after the head are the count
)

// checkFreelist looks at the list of free pages as of tx.
func checkFreelist(tx *bbolt.Tx, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	size := int64(tx.DB().Info().PageSize)
	for meta := range int64(2) {
		b := make([]byte, metaEnd)
		if _, err := f.ReadAt(b, meta*size); err != nil {
			return fmt.Errorf("%w: %w", errDamaged, err)
		}
		if binary.NativeEndian.Uint64(b[metaTx:]) != uint64(tx.ID()) {
			continue
		}
		at := binary.NativeEndian.Uint64(b[metaFreelist:])
		if at >= uint64(tx.Size()/size) {
			return fmt.Errorf("%w: the list of free pages is on page %d", errDamaged, at)
		}
		head := make([]byte, pageHead+8)
		if _, err := f.ReadAt(head, int64(at)*size); err != nil {
			return fmt.Errorf("%w: %w", errDamaged, err)
		}
		return checkFreelistHead(head, tx.Size())
	}
	return fmt.Errorf("%w: no page belongs to transaction %d", errDamaged, tx.ID())
}

func checkFreelistHead(b []byte, size int64) error {
	kind, count := binary.NativeEndian.Uint16(b[8:]), uint64(binary.NativeEndian.Uint16(b[10:]))
	if count == countBeyond {
		count = binary.NativeEndian.Uint64(b[pageHead:])
	}
	if kind != kindFreelist || count > uint64(size)/8 {
		return fmt.Errorf("%w: the list of free pages has kind %d and %d entries", errDamaged, kind, count)
	}
	return nil
}
