package bolt_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"legwork/bot"
	"legwork/store/bolt"
	"legwork/tasks"
)

// TestLeavingEarly: who does not wait for the end of what is deleted shares nothing
// with the writer any more, which goes on.
func TestLeavingEarly(t *testing.T) {
	s := open(t, t.TempDir(), bolt.Options{})
	someone := bot.Person{Platform: "slack", ID: "U1"}
	for n := range 100 {
		id := string(rune('a' + n%26))
		if err := s.PutSchedule(t.Context(), tasks.Schedule{ID: id, Chat: bot.Chat{Platform: "slack", ID: "C1"}, From: someone, Next: time.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		if err := s.PutSetting(t.Context(), someone.Key(), "language", id); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(n)*10*time.Microsecond, cancel)
		d, err := s.ForgetWho(ctx, someone.Key())
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if err == nil && d.Schedules != 1 {
			t.Errorf("%d schedules were deleted, want 1", d.Schedules)
		}
	}
}
