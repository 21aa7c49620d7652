package alerts_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"legwork/internal/test/fakes/webhookfake"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/tasks"
	"legwork/tasks/alerts"
)

// forgetful is a store whose feed can lose what was not read yet, as one does that
// keeps no more entries, and that can refuse to queue anything.
type forgetful struct {
	*bolt.Store
	gap     interface{ Load() bool }
	refuses *refusals
	// recording points to a function to run before an alerted outage is recorded.
	recording *atomic.Pointer[func()]
}

func (f forgetful) PutSetting(ctx context.Context, owner, name, value string) error {
	if run := f.recording.Load(); run != nil && name == "alerts_outages" && strings.Contains(value, `"alerted":true`) {
		(*run)()
	}
	return f.Store.PutSetting(ctx, owner, name, value)
}

// refusals are how often a store has refused to queue something, while it does.
type refusals struct {
	on    atomic.Bool
	count atomic.Int64
}

func (f forgetful) Queue(ctx context.Context, list ...tasks.Delivery) error {
	if f.refuses.on.Load() {
		f.refuses.count.Add(1)
		return tasks.ErrFull
	}
	return f.Store.Queue(ctx, list...)
}

func (f forgetful) Feed(ctx context.Context, after uint64, limit int) ([]tasks.FeedEntry, uint64, uint64, error) {
	entries, oldest, newest, err := f.Store.Feed(ctx, after, limit)
	if err == nil && len(entries) > 0 && f.gap.Load() {
		return nil, newest + 1, newest, nil
	}
	return entries, oldest, newest, err
}

// TestGap: when the feed has lost events, alerts about failed tasks and reviews
// come from the lists of tasks. That includes tasks that were stored a moment
// after the event. Earlier alerts are not repeated.
func TestGap(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	e := newEnv(t, hook(r))
	e.fails("before", nil)
	r.Until("the first was told", func(list []webhookfake.Request) bool { return len(list) == 1 })
	e.gap.Store(true)
	e.ago = 30 * time.Second
	late := e.opens("late", func(o *planner.Opening) { o.Limits.IdleTimeout = time.Second })
	e.append(late, planner.Event{Type: planner.Expired, At: time.Now().Add(-20 * time.Second)}) // before the last look
	review := e.opens("needs eyes", nil)
	e.append(review, planner.Event{Type: planner.StateSet, By: "agent:a", Values: map[string]json.RawMessage{planner.KeyStatus: json.RawMessage(`"` + planner.NeedsHumanReview + `"`)}})
	r.Until("both were told", func(list []webhookfake.Request) bool { return len(list) >= 3 })
	e.until("nothing is left", e.nothingLeft)
	e.gap.Store(false)
	e.fails("after", nil)
	r.Until("the later alert was sent", func(list []webhookfake.Request) bool { return len(list) >= 4 })
	got := typesOf(r.Requests())
	slices.Sort(got)
	if want := []string{alerts.TaskFailed, alerts.TaskFailed, alerts.TaskFailed, alerts.TaskReview}; !slices.Equal(got, want) {
		t.Errorf("the webhook was told %v, want %v", got, want)
	}
}

// TestRestored: after a restore from a backup, tasks that were running at the time
// of the backup are reported, and earlier alerts are not repeated.
func TestRestored(t *testing.T) {
	t.Parallel()
	r := webhookfake.New(t, "", secret)
	e := newEnv(t, hook(r))
	e.fails("before", nil)
	r.Until("the first was told", func(list []webhookfake.Request) bool { return len(list) == 1 })
	e.until("nothing is left", e.nothingLeft)
	id := e.opens("under way", nil)
	e.stop()
	backup := filepath.Join(t.TempDir(), "backup.db")
	file, err := os.Create(backup)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.store.Backup(t.Context(), file), file.Close()); err != nil {
		t.Fatal(err)
	}
	e.fails("lost", nil)
	e.close()
	if err := bolt.MarkCopy(backup, time.Now()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(e.dir, bolt.FileName), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	e.open()
	e.begin()
	r.Until("the task under way was reported", func(list []webhookfake.Request) bool { return len(list) >= 2 })
	e.fails("after", nil)
	r.Until("the later alert was sent", func(list []webhookfake.Request) bool { return len(list) >= 3 })
	list := r.Requests()
	if len(list) != 3 || list[1].Task() != string(id) {
		t.Errorf("the webhook was told %v, the second about %s; want three, the second about %s", typesOf(list), list[1].Task(), id)
	}
}
