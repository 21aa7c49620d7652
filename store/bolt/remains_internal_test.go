package bolt

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
)

// FuzzRemains: no file ends the process that looks for what is left of it, or
// holds it up; what is found is whole and in order, and is in no gap.
func FuzzRemains(f *testing.F) {
	file := smallFile(f)
	f.Add([]byte(nil), 0)
	f.Add(make([]byte, 4096), 2*4096)
	f.Add([]byte("\xff\xff\xff\xff"), 5*4096+12)
	for page := range len(file) / 4096 {
		f.Add([]byte{1, 0, 255, 255}, page*4096+8)
		f.Add([]byte{255, 255, 255, 127}, page*4096+headSize+8)
	}
	f.Fuzz(func(t *testing.T, patch []byte, at int) {
		damaged := bytes.Clone(file)
		if at >= 0 && at < len(damaged) {
			copy(damaged[at:], patch)
		}
		r, err := lookInto(bytes.NewReader(damaged), int64(len(damaged)))
		if err != nil {
			return
		}
		for name, entry := range r.buckets() {
			var last []byte
			var gap span
			err := r.bucket(entry, finder{
				found: func(key, value []byte, _ uint32) error {
					if _, err := unseal(key, value); err != nil || last != nil && bytes.Compare(last, key) >= 0 {
						t.Errorf("bucket %q: %q after %q, %v", name, key, last, err)
					}
					if gap.from != nil && gap.holds(key) {
						t.Errorf("bucket %q: %q was found in the gap from %q to %q", name, key, gap.from, gap.to)
					}
					last = bytes.Clone(key)
					return nil
				},
				lost: func(s span) error { gap = s; return nil },
			})
			if err != nil {
				t.Errorf("bucket %q: %v", name, err)
			}
		}
	})
}

// smallFile is a data file with trees of two levels.
func smallFile(f *testing.F) []byte {
	f.Helper()
	path := filepath.Join(f.TempDir(), FileName)
	db, err := openDB(path, 0, 0)
	if err != nil {
		f.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range []string{bucketJournal, bucketTasks, bucketMeta} {
			b, err := tx.CreateBucket([]byte(name))
			if err != nil {
				return err
			}
			for i := range 100 {
				key := journalKey("task", i)
				if err := b.Put(key, seal(key, bytes.Repeat([]byte{byte(i)}, 100))); err != nil {
					return err
				}
				if name == bucketMeta {
					break
				}
			}
		}
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	if err := db.Close(); err != nil {
		f.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	return content
}
