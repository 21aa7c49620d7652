package bolt_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.etcd.io/bbolt"

	"legwork/planner"
	"legwork/store/bolt"
	"legwork/store/storetest"
	"legwork/tasks"
)

// checkIndex holds rows, lists and counts against each other and against the
// journals, and returns all rows by task.
func checkIndex(t *testing.T, s *bolt.Store) map[tasks.ID]tasks.Row {
	t.Helper()
	all, last := map[tasks.ID]tasks.Row{}, tasks.ID("")
	groups, counts := map[[2]string]int{}, map[string]int{}
	for _, row := range everything(t, s, tasks.TaskQuery{}) {
		if last != "" && row.Task >= last {
			t.Fatalf("task %s is listed after %s", row.Task, last)
		}
		all[row.Task], last = row, row.Task
		groups[[2]string{row.Chat.Room(), row.Status}]++
		counts[row.Status]++
	}
	if got, err := s.Counts(t.Context()); err != nil || !cmp.Equal(got, counts, cmpopts.EquateEmpty()) {
		t.Fatalf("counts: got %v, %v, the lists hold %v", got, err, counts)
	}
	for group, n := range groups {
		list := everything(t, s, tasks.TaskQuery{Rooms: group[:1], Statuses: group[1:]})
		if len(list) != n {
			t.Fatalf("%d tasks are listed of %v, want %d", len(list), group, n)
		}
	}
	live := map[tasks.ID]bool{}
	list, err := s.Live(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		if live[l.Task] = true; all[l.Task].Task == "" {
			t.Fatalf("live task %s is in no list", l.Task)
		}
	}
	for id, row := range all {
		events, err := s.Load(t.Context(), id, 0)
		if err != nil && !errors.Is(err, tasks.ErrDamaged) {
			t.Fatalf("listed task %s: %v", id, err)
		}
		if err != nil {
			continue
		}
		state := planner.Fold(events)
		want := state.Status()
		if !live[id] && !state.Finished() { // it was dropped
			want = string(planner.Failed)
		}
		if row.Status != want || row.Round != state.Round || !row.Opened.Equal(events[0].At) {
			t.Fatalf("row of task %s: got %+v; its journal says %s, round %d", id, row, want, state.Round)
		}
	}
	return all
}

// everything lists what a query chooses, page by page.
func everything(t *testing.T, s *bolt.Store, q tasks.TaskQuery) (all []tasks.Row) {
	t.Helper()
	q.Limit = 7
	for more := true; more; {
		var rows []tasks.Row
		var err error
		if rows, more, err = s.Tasks(t.Context(), q); err != nil {
			t.Fatalf("Tasks(%+v): %v", q, err)
		}
		if all = append(all, rows...); len(rows) > 0 {
			q.Before = rows[len(rows)-1].Task
		}
	}
	return all
}

// end ends some of the tasks of a sound file.
func end(t *testing.T, s *bolt.Store, tasks ...int) {
	t.Helper()
	for _, n := range tasks {
		if err := s.Append(t.Context(), damageTask(n), -1, 0, storetest.Ending()...); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamagedRows: a row that is damaged is made anew from the journal; where that
// is damaged too, the list goes on with what is known.
func TestDamagedRows(t *testing.T) {
	t.Parallel()
	dir := sound(t)
	s := open(t, dir, bolt.Options{})
	end(t, s, 0, 1, 2)
	want := checkIndex(t, s)
	closeStore(t, s)
	for _, n := range []int{1, 2} {
		flip(t, dir, "rows", string(damageTask(n)))
	}
	flip(t, dir, "open", string(damageTask(7)))
	flip(t, dir, "meta", "counts")
	edit(t, dir, func(tx *bbolt.Tx) error { // a task whose entry in the index is lost
		c := tx.Bucket([]byte("listed")).Cursor()
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
			if slices.Equal(k[len(k)-26:], []byte(damageTask(2))) {
				return c.Delete()
			}
		}
		return errors.New("no entry")
	})
	s = open(t, dir, bolt.Options{})
	if row, err := s.Row(t.Context(), damageTask(1)); err != nil || !reflect.DeepEqual(row, want[damageTask(1)]) {
		t.Fatalf("a damaged row: got %+v, %v, want %+v", row, err, want[damageTask(1)])
	}
	if diff := cmp.Diff(want, checkIndex(t, s)); diff != "" {
		t.Fatalf("all rows (-before +after):\n%s", diff)
	}
	end(t, s, 7) // its row is written with its event
	closeStore(t, s)
	if err := bolt.Verify(damageFile(dir)); err != nil {
		t.Fatalf("something is still damaged: %v", err)
	}

	flip(t, dir, "rows", string(damageTask(7)))
	flip(t, dir, "journal", string(damageTask(7)))
	s = open(t, dir, bolt.Options{})
	row, err := s.Row(t.Context(), damageTask(7))
	if err != nil || row.Status != "failed" || row.Chat != damageChat(7) {
		t.Fatalf("a task of which little is left: got %+v, %v", row, err)
	}
	if all := checkIndex(t, s); len(all) != damageTasks {
		t.Fatalf("%d tasks are listed, want all %d", len(all), damageTasks)
	}
}

// feedKeys are the keys of a bucket of the feed.
func feedKeys(t *testing.T, dir, bucket string) (keys []uint64) {
	t.Helper()
	edit(t, dir, func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(bucket)).ForEach(func(k, _ []byte) error {
			keys = append(keys, binary.BigEndian.Uint64(k))
			return nil
		})
	})
	return keys
}

// TestDamagedFeed: who follows a feed can tell that a part of it is lost, and goes
// on behind it; numbers are not given twice.
func TestDamagedFeed(t *testing.T) {
	dir := sound(t) // two events of each task, each in a transaction of its own
	const total = 2 * damageTasks
	keys, tail := feedKeys(t, dir, "feed"), feedKeys(t, dir, "tail")
	if len(keys) < 3 || len(tail) != 1 || tail[0] <= keys[len(keys)-1] {
		t.Fatalf("the feed has records from %d, and from %d on", keys, tail)
	}
	from, to := keys[1], keys[2]
	flip(t, dir, "feed", string(number(from)))
	s := open(t, dir, bolt.Options{})
	got, oldest, newest, err := s.Feed(t.Context(), from-10, 100)
	if err != nil || len(got) != 9 || oldest != 1 || newest != total {
		t.Fatalf("up to the damage: got %d entries, %d to %d, %v", len(got), oldest, newest, err)
	}
	for after := from - 1; after < to-1; after++ {
		got, oldest, _, err = s.Feed(t.Context(), after, total)
		if err != nil || len(got) != int(total-to)+1 || got[0].Cursor != to || oldest != to {
			t.Fatalf("after %d, where %d to %d are lost: got %d entries, oldest %d, %v", after, from, to-1, len(got), oldest, err)
		}
	}
	got, _, _, err = s.Feed(t.Context(), to-1, 5)
	if err != nil || len(got) != 5 || got[0].Cursor != to {
		t.Fatalf("behind the damage: got %+v, %v", got, err)
	}
	closeStore(t, s)
	flip(t, dir, "tail", "") // the last record
	s = open(t, dir, bolt.Options{})
	for n := range 2 {
		if err := s.Append(t.Context(), damageTask(n), -1, 0, planner.Event{Type: planner.GuidanceAdded, Text: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	got, oldest, newest, err = s.Feed(t.Context(), total-1, 100)
	if err != nil || len(got) != 2 || got[1].Cursor != newest || oldest != newest-1 || newest <= total+1<<19 {
		t.Fatalf("after the last was lost: got %+v, %d to %d, %v", got, oldest, newest, err)
	}
	closeStore(t, s)
	s = open(t, dir, bolt.Options{})
	again, _, _, err := s.Feed(t.Context(), total-1, 100)
	if diff := cmp.Diff(got, again); err != nil || diff != "" {
		t.Fatalf("after the next start: %v\n%s", err, diff)
	}
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// TestRestoredLists: after a restore the lists hold the tasks of the backup,
// and the feed continues with numbers that no reader has seen.
func TestRestoredLists(t *testing.T) {
	dir, backup := aged(t)
	s := open(t, dir, bolt.Options{})
	_, _, before, err := s.Feed(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	if _, err := bolt.Restore(t.Context(), dir, []string{backup}, bolt.Options{}); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, bolt.Options{})
	if all := checkIndex(t, s); len(all) != damageTasks {
		t.Errorf("%d tasks are listed, want %d", len(all), damageTasks)
	}
	if _, err := s.Open(t.Context(), []tasks.Inbound{storetest.Question(damageChat(0), "new", "goal")}); err != nil {
		t.Fatal(err)
	}
	got, oldest, newest, err := s.Feed(t.Context(), before, 1<<10)
	if err != nil || oldest <= before || newest <= before || len(got) == 0 || got[len(got)-1].Task != "new" {
		t.Errorf("feed after %d: got %+v, %d to %d, %v", before, got, oldest, newest, err)
	}
}

// TestCompactLists: lists, counts, feed, audit log and deliveries go into the new
// file with what is written meanwhile.
func TestCompactLists(t *testing.T) {
	dir := sound(t)
	s := open(t, dir, bolt.Options{})
	ctx, stop := context.WithCancel(t.Context())
	written := writeBesides(ctx, t, s)
	for n := range 5 {
		if _, err := s.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		end(t, s, n)
		err := errors.Join(
			s.Record(t.Context(), tasks.AuditEntry{Action: "pause"}),
			s.Queue(t.Context(), tasks.Delivery{ID: fmt.Sprint(n), Webhook: "ops"}))
		if err != nil {
			t.Fatal(err)
		}
	}
	stop()
	acknowledged := written()
	all := checkIndex(t, s)
	if len(all) < damageTasks+len(acknowledged) {
		t.Fatalf("%d tasks are listed, want %d at least", len(all), damageTasks+len(acknowledged))
	}
	cursor := uint64(0)
	for {
		entries, oldest, newest, err := s.Feed(t.Context(), cursor, 50)
		if err != nil || oldest != 1 {
			t.Fatalf("Feed: oldest %d, %v", oldest, err)
		}
		for _, e := range entries {
			if cursor++; e.Cursor != cursor {
				t.Fatalf("entry %+v after %d", e, cursor-1)
			}
		}
		if cursor == newest {
			break
		}
	}
	log, err := s.AuditLog(t.Context(), 0, 1<<20)
	if err != nil || log[0].Seq != uint64(len(log)) || len(log) < 10 { // five stops, five by hand, and what others stop
		t.Errorf("audit log: %d entries, %v", len(log), err)
	}
	due, _, err := s.Outgoing(t.Context(), time.Now().Add(time.Hour), 100)
	if err != nil || len(due) != 5 {
		t.Errorf("deliveries: %d, %v", len(due), err)
	}
}
