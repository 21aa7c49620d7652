package bolt_test

import (
	"testing"
	"time"

	"legwork/store/bolt"
	"legwork/store/storetest"
	"legwork/tasks"
)

// open opens the store of dir and closes it when the test ends.
func open(t testing.TB, dir string, o bolt.Options) *bolt.Store {
	t.Helper()
	s, err := bolt.Open(t.Context(), dir, o)
	if err != nil {
		t.Fatalf("Open(%s): %v", dir, err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) (tasks.Store, func() tasks.Store) {
		dir := t.TempDir()
		s := open(t, dir, bolt.Options{Now: now})
		return s, func() tasks.Store {
			if err := s.Close(); err != nil {
				t.Fatalf("Close: %v", err)
			}
			s = open(t, dir, bolt.Options{Now: now})
			return s
		}
	})
}
