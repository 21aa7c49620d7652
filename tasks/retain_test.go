package tasks_test

import (
	"strings"
	"testing"
	"time"
)

// TestAfterRetention: what refers to a task that is not kept any more answers
// with a sentence; its question and answer are in the history until they go,
// too.
func TestAfterRetention(t *testing.T) {
	o := newEnv(t)
	id := o.opens("ann", private("ann"), "compare three phones")
	o.ends(id, "The second one.")
	o.pass(100 * 24 * time.Hour)
	retain := func(history time.Time) {
		t.Helper()
		if _, err := o.store.Retain(t.Context(), o.clock().Add(-90*24*time.Hour), history); err != nil {
			t.Fatal(err)
		}
	}
	retain(time.Time{})
	for _, data := range []string{"d:" + string(id), "r:" + string(id)} {
		if h := o.send(o.press("ann", private("ann"), data)); h.text() != o.text("error.task_gone", nil) {
			t.Errorf("pressing %s: %+v, want a sentence", data, h)
		}
	}
	if got := o.say("ann", private("ann"), "/history"); !strings.Contains(got, "compare three phones") || !strings.Contains(got, "The second one") {
		t.Errorf("/history = %q, want the turn", got)
	}
	if got := o.say("ann", private("ann"), "/retry"); got != o.text("error.nothing_to_retry", nil) {
		t.Errorf("/retry = %q", got)
	}
	if next := o.opens("ann", private("ann"), "and which is the cheapest?"); next == "" {
		t.Error("no new task")
	}
	retain(o.clock().Add(-90 * 24 * time.Hour))
	if got := o.say("ann", private("ann"), "/history"); strings.Contains(got, "phones") {
		t.Errorf("/history = %q, want no old turn", got)
	}
}
