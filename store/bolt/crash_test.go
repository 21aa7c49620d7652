package bolt_test

import (
	"bufio"
	"errors"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/need"
	"legwork/store/bolt"
	"legwork/tasks"
)

// TestKilled kills a writing process at random moments: what it had
// acknowledged is there, in order and whole, and the store goes on.
func TestKilled(t *testing.T) {
	t.Parallel()
	kills := need.Times(3, 12)
	dir := t.TempDir()
	acknowledged := map[tasks.ID]int{}
	random := rand.New(rand.NewPCG(1, 2))
	for kill := range kills {
		writeUntilKilled(t, dir, time.Duration(random.IntN(120))*time.Millisecond, acknowledged)
		if err := bolt.Verify(filepath.Join(dir, bolt.FileName)); err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
		s := open(t, dir, bolt.Options{})
		checkAcknowledged(t, s, acknowledged)
		checkLedger(t, s, acknowledged)
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
	var timer *time.Timer
	acknowledgements(t, c, acknowledged, func() { timer = time.AfterFunc(after, func() { _ = c.Process.Kill() }) })
	if err := c.Wait(); err == nil || timer == nil {
		t.Fatalf("the child was to be killed after an acknowledgement: it ended with %v", err)
	}
}

// checkAcknowledged fails unless the events that were acknowledged are there: the last
// one of each task.
func checkAcknowledged(t *testing.T, s *bolt.Store, acknowledged map[tasks.ID]int) {
	t.Helper()
	for id, seq := range acknowledged {
		if events, err := s.Load(t.Context(), id, 0); err != nil || len(events) < seq {
			t.Fatalf("task %s has %d events, %v; %d were acknowledged", id, len(events), err, seq)
		}
	}
	checkLive(t, s)
}

// acknowledgements starts a child and reads what it says that it has stored, until its
// end. first is called at its first line.
func acknowledgements(t *testing.T, c *exec.Cmd, acknowledged map[tasks.ID]int, first func()) {
	t.Helper()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatalf("starting child: %v", err)
	}
	for scan, n := bufio.NewScanner(out), 0; scan.Scan(); n++ {
		if n == 0 {
			first()
		}
		id, seq, ok := strings.Cut(scan.Text(), " ")
		if n, err := strconv.Atoi(seq); ok && err == nil { // the last line may be cut off by the kill
			acknowledged[tasks.ID(id)] = n
		}
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
	checkIndex(t, s)
}

// checkLedger holds what was spent against what the journals say, and what is
// used against what tasks can have reserved that are not over. acknowledged are
// all tasks but such as are live.
func checkLedger(t *testing.T, s *bolt.Store, acknowledged map[tasks.ID]int) {
	t.Helper()
	live, err := s.Live(t.Context(), "")
	if err != nil {
		t.Fatalf("Live: %v", err)
	}
	ids := maps.Clone(acknowledged)
	for _, l := range live {
		ids[l.Task] = 0
	}
	var said, spent int64
	for id := range ids {
		state, err := s.State(t.Context(), id)
		if err != nil {
			t.Fatalf("State(%s): %v", id, err)
		}
		said += state.Usage.Tokens()
	}
	list, err := s.Spent(t.Context(), tasks.SpentQuery{})
	if err != nil {
		t.Fatalf("Spent: %v", err)
	}
	for _, row := range list {
		spent += row.Usage.Tokens()
	}
	if spent != said {
		t.Fatalf("%d tokens are spent, events of %d tasks add up to %d", spent, len(ids), said)
	}
	if len(live) == 0 {
		return
	}
	probe, used := reserved("probe", 1), int64(0)
	var reached *tasks.BudgetError
	if err := s.Room(t.Context(), live[0].Task, probe); errors.As(err, &reached) {
		used = reached.Overdraft.Spent
	}
	if held := used - spent; held%probe.Most.Tokens() != 0 || held < 0 || held > int64(len(live))*probe.Most.Tokens() {
		t.Fatalf("%d tokens are used of which %d are spent; %d tasks are live", used, spent, len(live))
	}
}
