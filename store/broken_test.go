package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/bot"
	"legwork/store"
	"legwork/store/memory"
	"legwork/store/storetest"
	"legwork/tasks"
)

// breaking is a database whose connection breaks at the end of every other view.
type breaking struct {
	store.DB
	on    bool
	views int
}

func (db *breaking) View(ctx context.Context, do func(store.Tx) error) error {
	err := db.DB.View(ctx, do)
	if db.views++; db.on && db.views%2 == 1 {
		return store.ErrBroken
	}
	return err
}

// TestBrokenReads: reads whose connection broke return what they would have returned
// without that.
func TestBrokenReads(t *testing.T) {
	ctx, db := t.Context(), &breaking{DB: memory.NewDB()}
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	s, err := store.Open(ctx, db, store.Options{Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	chat := bot.Chat{Platform: "test", ID: "c"}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []tasks.ID{"a", "b", "c"} {
		_, err := s.Open(ctx, []tasks.Inbound{storetest.Question(chat, id, "goal of "+string(id))})
		must(err)
		must(s.Record(ctx, tasks.AuditEntry{Action: "test", Target: string(id)}))
		must(s.PutSchedule(ctx, tasks.Schedule{ID: string(id), Chat: chat, Next: at}))
		must(s.Queue(ctx, tasks.Delivery{ID: string(id), Webhook: "hook", Task: id}))
	}
	must(s.Append(ctx, "a", -1, 0, storetest.Ending()...))
	must(s.Append(ctx, "b", -1, 0, storetest.Ending()...))

	reads := map[string]func() (any, error){
		"AuditLog":  func() (any, error) { return s.AuditLog(ctx, 0, 10) },
		"History":   func() (any, error) { return s.History(ctx, chat.Key(), "", 1000) },
		"Turns":     func() (any, error) { return s.Turns(ctx, chat.Key(), 0, 10) },
		"Live":      func() (any, error) { return s.Live(ctx, "") },
		"Load":      func() (any, error) { return s.Load(ctx, "a", 0) },
		"Schedules": func() (any, error) { return s.Schedules(ctx, chat.Key()) },
		"Due": func() (any, error) {
			due, next, err := s.Due(ctx, at, 2)
			return []any{due, next}, err
		},
		"Outgoing": func() (any, error) {
			due, next, err := s.Outgoing(ctx, at, 2)
			return []any{due, next}, err
		},
		"Tasks": func() (any, error) {
			rows, more, err := s.Tasks(ctx, tasks.TaskQuery{Limit: 2})
			return []any{rows, more}, err
		},
		"Feed": func() (any, error) {
			entries, oldest, newest, err := s.Feed(ctx, 0, 10)
			return []any{entries, oldest, newest}, err
		},
	}
	for name, read := range reads {
		db.on = false
		want, err := read()
		must(err)
		db.on, db.views = true, 0
		got, err := read()
		if d := cmp.Diff(want, got); d != "" || err != nil || db.views < 2 {
			t.Errorf("%s: error %v after %d views, result (-want +got):\n%s", name, err, db.views, d)
		}
	}
}
