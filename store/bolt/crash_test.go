package bolt_test

import (
	"bufio"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"legwork/store/bolt"
	"legwork/tasks"
)

// TestKilled kills a writing process at random moments: what it had
// acknowledged is there, in order and whole, and the store goes on.
func TestKilled(t *testing.T) {
	kills := 12
	if testing.Short() {
		kills = 3
	}
	dir := t.TempDir()
	acknowledged := map[tasks.ID]int{}
	random := rand.New(rand.NewPCG(1, 2))
	for kill := range kills {
		writeUntilKilled(t, dir, time.Duration(random.IntN(120))*time.Millisecond, acknowledged)
		if err := bolt.Verify(filepath.Join(dir, bolt.FileName)); err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
		s := open(t, dir, bolt.Options{})
		for id, seq := range acknowledged {
			events, err := s.Load(t.Context(), id, 0)
			if err != nil || len(events) < seq {
				t.Fatalf("kill %d: task %s has %d events, %v; %d were acknowledged", kill, id, len(events), err, seq)
			}
		}
		checkLive(t, s)
		if err := s.Close(); err != nil {
			t.Fatalf("kill %d: Close: %v", kill, err)
		}
	}
	if len(acknowledged) < kills {
		t.Fatalf("only %d tasks were acknowledged in %d runs", len(acknowledged), kills)
	}
}

// writeUntilKilled runs a writing child and kills it after a time that counts
// from its first acknowledgement.
func writeUntilKilled(t *testing.T, dir string, after time.Duration, acknowledged map[tasks.ID]int) {
	t.Helper()
	c := child(t, "write", dir)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatalf("starting child: %v", err)
	}
	var timer *time.Timer
	for scan := bufio.NewScanner(out); scan.Scan(); {
		if timer == nil {
			timer = time.AfterFunc(after, func() { _ = c.Process.Kill() })
		}
		id, seq, ok := strings.Cut(scan.Text(), " ")
		n, err := strconv.Atoi(seq)
		if !ok || err != nil {
			continue // the last line may be cut off by the kill
		}
		acknowledged[tasks.ID(id)] = n
	}
	if err := c.Wait(); err == nil || timer == nil {
		t.Fatalf("the child was to be killed after an acknowledgement: it ended with %v", err)
	}
}

// checkLive holds what is live against the journals.
func checkLive(t *testing.T, s *bolt.Store) {
	t.Helper()
	live, err := s.Live(t.Context(), "")
	if err != nil {
		t.Fatalf("Live: %v", err)
	}
	for _, l := range live {
		state, err := s.State(t.Context(), l.Task)
		if err != nil || state.Finished() {
			t.Fatalf("live task %s: phase %q, %v", l.Task, state.Phase, err)
		}
	}
}
