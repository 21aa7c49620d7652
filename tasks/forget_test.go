package tasks_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

// TestForgetDeletesAllOfTheChat: /forget also deletes the summary, the grants,
// pending prompts and the notes of tools, and reports all of it. Other chats stay as
// they are.
func TestForgetDeletesAllOfTheChat(t *testing.T) {
	o := newEnv(t)
	noted, compacted := []bot.Chat{}, 0
	o.notes = func(_ context.Context, chat bot.Chat) (int, error) { noted = append(noted, chat); return 3, nil }
	o.forgotten = func() { compacted++ }
	o.restart()
	hall, other := room("hall"), private("ann")
	for _, chat := range []bot.Chat{hall, other} {
		o.ends(o.opens("ann", chat, "a question of "+chat.ID), "an answer")
		turns, err := o.store.Turns(t.Context(), chat.Key(), 0, 10)
		if err != nil || len(turns) != 1 {
			t.Fatalf("turns = %+v, %v", turns, err)
		}
		if err := o.store.PutSummary(t.Context(), chat.Key(), 0, tasks.Summary{Until: turns[0].Order, Text: "said", At: o.clock()}); err != nil {
			t.Fatal(err)
		}
		grants, err := json.Marshal([]tasks.ChatGrant{{ID: "abcde", Grant: planner.Grant{Tool: "book.it", Definition: "d1"}, By: "phone:boss", Expires: o.clock().Add(time.Hour)}})
		if err != nil {
			t.Fatal(err)
		}
		if err := o.store.PutSetting(t.Context(), chat.Key(), "grants", string(grants)); err != nil {
			t.Fatal(err)
		}
		if err := o.store.PutSetting(t.Context(), chat.Key(), "prompt phone:bob", `{"name":"x"}`); err != nil {
			t.Fatal(err)
		}
	}
	o.opens("ann", hall, "what still *runs*")
	if err := o.store.PutSchedule(t.Context(), tasks.Schedule{ID: "s1", Chat: hall, Goal: "the news", Spec: "0 9 * * *", Timezone: "UTC", Made: o.clock()}); err != nil {
		t.Fatal(err)
	}

	got := o.say("boss", hall, "/forget yes")
	for _, want := range []string{
		o.text("notice.forgotten", map[string]any{"Count": 1}), o.text("notice.forgotten_summary", nil),
		o.text("notice.forgotten_grants", map[string]any{"Count": 1}), o.text("notice.forgotten_notes", map[string]any{"Count": 3}),
		o.text("notice.forgotten_not_schedules", map[string]any{"Count": 1}),
		o.text("notice.forgotten_running", map[string]any{"Goal": `what still \*runs\*`}),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("/forget says %q, want in it %q", got, want)
		}
	}
	if compacted != 1 || !slices.Equal(noted, []bot.Chat{hall}) {
		t.Errorf("told %d times that something was deleted, notes deleted of %v; want once, and of %v", compacted, noted, hall)
	}
	for chat, kept := range map[bot.Chat]bool{hall: false, other: true} {
		summary, err := o.store.Summary(t.Context(), chat.Key())
		if err != nil || (summary.Text != "") != kept {
			t.Errorf("summary of %s = %+v, %v; want it kept: %v", chat.ID, summary, err, kept)
		}
		for _, name := range []string{"grants", "prompt phone:bob"} {
			if v := o.setting(chat.Key(), name); (v != "") != kept {
				t.Errorf("setting %q of %s = %q, want it kept: %v", name, chat.ID, v, kept)
			}
		}
	}
}

// TestForgetInAThread: /forget in a thread keeps the grants and notes of the chat
// around it.
func TestForgetInAThread(t *testing.T) {
	o := newEnv(t)
	o.notes = func(context.Context, bot.Chat) (int, error) { t.Error("notes are deleted"); return 0, nil }
	o.restart()
	thread := room("hall")
	thread.Thread = "7"
	o.ends(o.opens("boss", thread, "a question"), "an answer")
	if err := o.store.PutSetting(t.Context(), room("hall").Key(), "grants", `[{"id":"abcde"}]`); err != nil {
		t.Fatal(err)
	}
	want := o.text("notice.forgotten", map[string]any{"Count": 1})
	if got := o.say("boss", thread, "/forget yes"); got != want || o.setting(room("hall").Key(), "grants") == "" {
		t.Errorf("/forget says %q and leaves the grants %q, want %q and all of them", got, o.setting(room("hall").Key(), "grants"), want)
	}
}

// TestAfterRetention: references to a deleted task get a message that says so. Its
// question and answer stay in the history until their own time is over.
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
