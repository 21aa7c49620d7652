package bolt_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"legwork/store/bolt"
)

// TestNewestHeaderLost: without its newest header a file shows what it held a
// transaction earlier. What was under way then may have called a tool since, and
// is not taken up again.
func TestNewestHeaderLost(t *testing.T) {
	source, backup := aged(t)
	whole := read(t, damageFile(source))
	for _, lost := range []bool{false, true} {
		dir, file := t.TempDir(), bytes.Clone(whole)
		if lost {
			const page, txid = 4096, 16 + 48
			newest := 0
			if binary.NativeEndian.Uint64(file[page+txid:]) > binary.NativeEndian.Uint64(file[txid:]) {
				newest = page
			}
			file[newest+txid+8] ^= 1 // its sum
		}
		if err := os.WriteFile(damageFile(dir), file, 0o600); err != nil {
			t.Fatal(err)
		}
		loss, err := bolt.Restore(t.Context(), dir, []string{backup}, bolt.Options{})
		if err != nil {
			t.Fatalf("header lost %v: %v", lost, err)
		}
		s := open(t, dir, bolt.Options{})
		live, err := s.Live(t.Context(), "")
		if err != nil || (len(live) == 0) != lost || (len(loss.Dropped) > 0) != lost {
			t.Errorf("header lost %v: %d tasks are under way, %d were dropped, %v", lost, len(live), len(loss.Dropped), err)
		}
		checkLive(t, s)
	}
}
