package inbox

import (
	"testing"
	"time"
)

// TestIDsInOrder: ids that are made in the same moment are in the order of their
// making and near the clock, also after the clock was set back.
func TestIDsInOrder(t *testing.T) {
	var all ids
	now := time.Date(2026, 11, 20, 12, 0, 0, 999_999, time.UTC)
	before := all.next(now)
	for range 1000 {
		id := all.next(now)
		if id <= before {
			t.Fatalf("%s came after %s", id, before)
		}
		before = id
	}
	if at, ok := before.Time(); !ok || at.Sub(now) > 2*time.Second {
		t.Errorf("the last of a burst is of %v, want near %v", at, now)
	}
	back := now.Add(-time.Hour)
	if at, _ := all.next(back).Time(); at.Sub(back) > time.Second {
		t.Errorf("when the clock is set back to %v, an id is of %v", back, at)
	}
}
