package bolt_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"legwork/bot"
	"legwork/llm"
	"legwork/store/bolt"
	"legwork/store/storetest"
	"legwork/tasks"
)

// added are the buckets that files of the first versions do not have.
func added() []string {
	return []string{
		"accounts", "sums", "spent", "schedules", "due", "summaries",
		"open", "rows", "listed", "feed", "tail", "audit", "outgoing", "outbox",
	}
}

var rowsChat = bot.Chat{Platform: "test", ID: "c"}

const rowsDay = "2026-11-20"

// reserved is what a call of 100 tokens reserves, bounded by what the day may
// cost in tokens.
func reserved(action string, dayTokens int64) tasks.Reservation {
	return tasks.Reservation{
		ID: storetest.ReservationID(action), Day: rowsDay, User: "test:ann", Chat: "test:c", Model: "main",
		Most: llm.Usage{Input: 60, Output: 40}, Budgets: tasks.Budgets{DayTokens: dayTokens},
	}
}

// ledgerFile makes a data directory in which 100 tokens are spent on a day and
// 100 reserved, two schedules wait, and a summary is there.
func ledgerFile(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir, bolt.Options{})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Open(t.Context(), []tasks.Inbound{storetest.Question(rowsChat, "t", "goal")})
	must(err)
	must(s.Reserve(t.Context(), "t", reserved("a", 0)))
	must(s.Settle(t.Context(), "t", storetest.ReservationID("a"), llm.Usage{Input: 60, Output: 40}))
	must(s.Reserve(t.Context(), "t", reserved("b", 0)))
	for n := range 2 {
		must(s.PutSchedule(t.Context(), tasks.Schedule{
			ID: fmt.Sprintf("s%d", n), Chat: rowsChat, Goal: "goal", Next: time.Date(2026, 11, 21, n, 0, 0, 0, time.UTC),
		}))
	}
	must(s.PutSummary(t.Context(), rowsChat.Key(), 0, tasks.Summary{Until: 1, Text: "goal"}))
	must(s.Close())
	return dir
}

// edit changes a data file that no store has open.
func edit(t *testing.T, dir string, change func(*bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(dir, bolt.FileName), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(change), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// flip spoils the records of a bucket whose keys have a prefix.
func flip(t *testing.T, dir, bucket, prefix string) {
	t.Helper()
	n := 0
	edit(t, dir, func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucket))
		spoilt := map[string][]byte{}
		c := b.Cursor()
		for k, v := c.Seek([]byte(prefix)); k != nil && bytes.HasPrefix(k, []byte(prefix)); k, v = c.Next() {
			v = bytes.Clone(v)
			v[len(v)-1] ^= 1
			spoilt[string(k)] = v
		}
		n = len(spoilt)
		for k, v := range spoilt {
			if err := b.Put([]byte(k), v); err != nil {
				return err
			}
		}
		return nil
	})
	if n == 0 {
		t.Fatalf("bucket %q holds nothing that begins with %q", bucket, prefix)
	}
}

// TestEarlierFile: a file of a version that knew fewer tables is sound, and gets
// them.
func TestEarlierFile(t *testing.T) {
	dir := sound(t)
	edit(t, dir, func(tx *bbolt.Tx) error {
		meta, key := tx.Bucket([]byte("meta")), []byte("added")
		var had []string
		if err := json.Unmarshal(meta.Get(key)[4:], &had); err != nil {
			return err
		}
		had = slices.DeleteFunc(had, func(name string) bool { return name == "outbox" })
		body, err := json.Marshal(had)
		return errors.Join(err, meta.Put(key, sealed(key, body)), tx.DeleteBucket([]byte("outbox")))
	})
	for what, verify := range map[string]func(string) error{"Verify": bolt.Verify, "VerifyQuick": bolt.VerifyQuick} {
		if err := verify(damageFile(dir)); err != nil {
			t.Errorf("%s of an earlier file: %v", what, err)
		}
	}
	for n := range 2 {
		s := open(t, dir, bolt.Options{})
		if events, err := s.Load(t.Context(), damageTask(3), 0); err != nil || len(events) != 2 {
			t.Fatalf("an earlier task has %d events, %v, want 2", len(events), err)
		}
		if err := s.Queue(t.Context(), tasks.Delivery{ID: fmt.Sprint(n), Webhook: "ops"}); err != nil {
			t.Fatalf("Queue: %v", err)
		}
		closeStore(t, s)
	}
	if err := bolt.Verify(damageFile(dir)); err != nil {
		t.Errorf("Verify at the end: %v", err)
	}
}

// TestLostBucket: a file that had an added bucket and has it no more is damaged;
// it is not taken for one of an earlier version.
func TestLostBucket(t *testing.T) {
	t.Parallel()
	for _, name := range added() {
		dir := ledgerFile(t)
		edit(t, dir, func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte(name)) })
		if err := bolt.Verify(damageFile(dir)); !errors.Is(err, tasks.ErrDamaged) || !strings.Contains(err.Error(), name) {
			t.Errorf("Verify without bucket %q: got %v, want it named", name, err)
		}
		if _, err := bolt.Open(t.Context(), dir, bolt.Options{}); !errors.Is(err, tasks.ErrDamaged) {
			t.Errorf("Open without bucket %q: got %v, want ErrDamaged", name, err)
		}
	}
}

// TestDamagedLedger: a damaged row costs itself. The sum of a day is added up
// anew; what a task has spent begins anew.
func TestDamagedLedger(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bucket string
		used   int64 // of the day, after the damage
		spent  int   // tokens that the ledger knows
	}{
		{"sums", 200, 100}, {"accounts", 200, 100}, {"spent", 200, 0},
	} {
		dir := ledgerFile(t)
		flip(t, dir, c.bucket, "")
		if err := bolt.Verify(damageFile(dir)); !errors.Is(err, tasks.ErrDamaged) || !strings.Contains(err.Error(), c.bucket) {
			t.Errorf("Verify with a damaged row of %q: got %v, want it named", c.bucket, err)
		}
		s := open(t, dir, bolt.Options{})
		var reached *tasks.BudgetError
		if err := s.Room(t.Context(), "t", reserved("c", 1)); !errors.As(err, &reached) || reached.Overdraft.Spent != c.used {
			t.Errorf("Room with a damaged row of %q: got %v, want %d used", c.bucket, err, c.used)
		}
		list, err := s.Spent(t.Context(), tasks.SpentQuery{})
		tokens := 0
		for _, row := range list {
			tokens += int(row.Usage.Tokens())
		}
		if err != nil || tokens != c.spent {
			t.Errorf("Spent with a damaged row of %q: got %+v, %v, want %d tokens", c.bucket, list, err, c.spent)
		}
		if err := s.Reserve(t.Context(), "t", reserved("c", 300)); err != nil {
			t.Errorf("Reserve with a damaged row of %q: %v", c.bucket, err)
		}
		if err := s.Append(t.Context(), "t", -1, 0, storetest.Ending()...); err != nil {
			t.Errorf("ending the task with a damaged row of %q: %v", c.bucket, err)
		}
	}
}

// TestDamagedSchedule: a damaged schedule does not fire, others do, and it can
// be replaced and deleted.
func TestDamagedSchedule(t *testing.T) {
	dir := ledgerFile(t)
	flip(t, dir, "schedules", "s0")
	s := open(t, dir, bolt.Options{})
	late := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	due := func() (ids []string) {
		t.Helper()
		list, _, err := s.Due(t.Context(), late, 10)
		if err != nil {
			t.Fatalf("Due: %v", err)
		}
		for _, v := range list {
			ids = append(ids, v.ID)
		}
		return ids
	}
	if got := due(); !slices.Equal(got, []string{"s1"}) {
		t.Fatalf("due: got %q, want s1 alone", got)
	}
	if list, err := s.Schedules(t.Context(), ""); err != nil || len(list) != 1 || list[0].ID != "s1" {
		t.Fatalf("Schedules: got %+v, %v, want s1 alone", list, err)
	}
	in := storetest.Question(rowsChat, "t2", "goal")
	in.Fire = &tasks.Firing{Schedule: "s0", At: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)}
	if got, err := s.Open(t.Context(), []tasks.Inbound{in}); err != nil || !errors.Is(got[0].Err, tasks.ErrRefused) {
		t.Fatalf("firing a damaged schedule: got %+v, %v, want ErrRefused", got, err)
	}
	again := tasks.Schedule{ID: "s0", Chat: rowsChat, Next: late}
	if err := s.PutSchedule(t.Context(), again); err != nil {
		t.Fatalf("PutSchedule in place of a damaged one: %v", err)
	}
	if got := due(); !slices.Equal(got, []string{"s1", "s0"}) {
		t.Fatalf("due: got %q, want s1 and the new s0", got)
	}
	closeStore(t, s)
	flip(t, dir, "schedules", "s0")
	s = open(t, dir, bolt.Options{})
	if err := s.DropSchedule(t.Context(), "s0"); err != nil {
		t.Fatalf("DropSchedule of a damaged one: %v", err)
	}
	closeStore(t, s)
	if err := bolt.Verify(damageFile(dir)); err != nil {
		t.Fatalf("Verify: %v, want nothing left of the damaged one", err)
	}
}

// TestDamagedSummary: a damaged summary is none, and another takes its place.
func TestDamagedSummary(t *testing.T) {
	dir := ledgerFile(t)
	flip(t, dir, "summaries", "")
	s := open(t, dir, bolt.Options{})
	if got, err := s.Summary(t.Context(), rowsChat.Key()); err != nil || got.Until != 0 {
		t.Fatalf("Summary: got %+v, %v, want none", got, err)
	}
	want := tasks.Summary{Until: 1, Text: "anew"}
	if err := s.PutSummary(t.Context(), rowsChat.Key(), 0, want); err != nil {
		t.Fatalf("PutSummary: %v", err)
	}
	if got, err := s.Summary(t.Context(), rowsChat.Key()); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("Summary then: got %+v, %v, want %+v", got, err, want)
	}
}

// sealed is the stored form of a body.
func sealed(key, body []byte) []byte {
	table := crc32.MakeTable(crc32.Castagnoli)
	return append(binary.BigEndian.AppendUint32(nil, crc32.Update(crc32.Checksum(key, table), table, body)), body...)
}

// TestFormats: files of an earlier and of a later format are refused with what to
// do.
func TestFormats(t *testing.T) {
	dir := t.TempDir()
	if err := open(t, dir, bolt.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, bolt.FileName)
	setFormat := func(n string) {
		t.Helper()
		key := []byte("format")
		db, err := bbolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(func(tx *bbolt.Tx) error { return tx.Bucket([]byte("meta")).Put(key, sealed(key, []byte(n))) })
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for _, format := range []string{"2", "4"} {
		setFormat(format)
		if _, err := bolt.Open(t.Context(), dir, bolt.Options{}); err == nil || !strings.Contains(err.Error(), "format "+format) || errors.Is(err, tasks.ErrDamaged) {
			t.Errorf("opening a file of format %s: %v, want a refusal that is no damage", format, err)
		}
	}
	setFormat("3")
	if err := open(t, dir, bolt.Options{}).Close(); err != nil {
		t.Errorf("opening a file of format 3: %v", err)
	}
}
