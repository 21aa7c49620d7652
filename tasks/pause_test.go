package tasks_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/tasks"
)

// TestPauseByAdmins: only admins pause and resume. legwork still accepts questions,
// and each chat reads once who has paused.
func TestPauseByAdmins(t *testing.T) {
	o := newEnv(t)
	hall := room("hall")
	for _, command := range []string{"/pause", "/resume"} {
		if got := o.say("ann", hall, command); got != o.text("error.admin_needed", nil) {
			t.Errorf("%s by somebody: %q", command, got)
		}
	}
	if got := o.say("boss", private("boss"), "/resume"); got != o.text("error.not_paused", nil) {
		t.Errorf("/resume with nothing paused: %q", got)
	}
	if got := o.say("boss", private("boss"), "/pause"); got != o.text("notice.paused", nil) {
		t.Errorf("/pause: %q", got)
	}
	by := map[string]any{"Name": "BOSS", "Date": o.clock()}
	if got := o.say("chief", private("chief"), "/pause"); got != o.text("error.paused_already", by) {
		t.Errorf("/pause again: %q", got)
	}
	o.pass(time.Minute)
	waits := o.text("notice.waits_paused", by)
	if got := o.say("ann", hall, "one?"); got != waits {
		t.Errorf("a question in the pause: %q, want %q", got, waits)
	}
	if got := o.say("bob", hall, "two?"); got != "" || len(o.goals(hall)) != 2 {
		t.Errorf("the next one: %q, goals %q; want silence, and both taken", got, o.goals(hall))
	}
	if got := o.say("ann", private("ann"), "three?"); got != waits {
		t.Errorf("in another chat: %q, want %q", got, waits)
	}
	if got := o.say("ann", hall, "/status"); !strings.HasPrefix(got, o.text("statusline.paused", by)+"\n") {
		t.Errorf("/status: %q", got)
	}
	pause, err := tasks.OpenPause(t.Context(), o.store)
	if was, on := pause.State(); err != nil || !on || was.Name != "BOSS" {
		t.Errorf("after a restart: %+v, %v, %v; want it kept", was, on, err)
	}
	if got := o.say("chief", hall, "/resume"); got != o.text("notice.resumed", nil) {
		t.Errorf("/resume: %q", got)
	}
	if got := o.say("ann", private("ann"), "/task four?"); got != "" {
		t.Errorf("a question after it: %q", got)
	}
}

// TestFlood: a conversation has room for 20 waiting questions, and keeps their
// order. For further ones it gets one message a minute. They open no task, also when
// they are delivered again.
func TestFlood(t *testing.T) {
	for name, size := range map[string]int{"one by one": 1, "all at once": 1000, "in batches": 100} {
		t.Run(name, func(t *testing.T) {
			o := newEnv(t)
			hall := room("hall")
			full := o.text("error.queue_full", map[string]any{"Count": 20})
			var batch, all []bot.Message
			told := 0
			for i := range 1000 {
				m := o.by("ann", hall, fmt.Sprintf("question %d", i))
				m.Standalone = true
				all = append(all, m)
				if batch = append(batch, m); len(batch) == size {
					told += strings.Count(o.send(batch...).text(), full)
					batch = nil
				}
			}
			if goals := o.goals(hall); len(goals) != 20 || goals[0] != "question 0" || goals[19] != "question 19" {
				t.Errorf("goals %q, want the first 20 in order", goals)
			}
			if told != 1 {
				t.Errorf("told %d times, want once", told)
			}
			if got := o.send(all...).text(); got != "" || len(o.goals(hall)) != 20 {
				t.Errorf("delivered again: %q, %d tasks; want silence and 20", got, len(o.goals(hall)))
			}
			o.pass(2 * time.Minute)
			if got := o.say("ann", hall, "/task and now?"); got != full {
				t.Errorf("after a while: %q, want %q", got, full)
			}
			if got := o.say("bob", private("bob"), "elsewhere?"); got != "" || len(o.live(private("bob"))) != 1 {
				t.Errorf("in another chat: %q, want the question taken", got)
			}
			o.ends(o.live(hall)[0], "an answer")
			if o.say("ann", hall, "/task room?"); len(o.goals(hall)) != 20 {
				t.Errorf("%d tasks after one was answered and one was asked, want 20", len(o.goals(hall)))
			}
		})
	}
}

// TestFloodOfAdditions: a task accepts a hundred messages, and their author gets one
// message about the rest.
func TestFloodOfAdditions(t *testing.T) {
	o := newEnv(t)
	var batch []bot.Message
	for i := range 1000 {
		batch = append(batch, o.by("ann", private("ann"), fmt.Sprintf("line %d", i)))
	}
	got := o.send(batch...).text()
	live := o.live(private("ann"))
	if len(live) != 1 || strings.Count(got, o.text("error.guidance_full", nil)) != 1 {
		t.Fatalf("%d tasks, told %q; want one task, and to be told once", len(live), got)
	}
	if said := o.said(live[0]); len(said) < 50 || len(said) > 100 {
		t.Errorf("%d additions, want at most 100", len(said))
	}
}

// TestFloodOfChats: when the engine is full, legwork accepts no further question,
// and each chat gets a message.
func TestFloodOfChats(t *testing.T) {
	o := newEnv(t)
	o.load = 10_000
	for _, who := range []string{"ann", "bob"} {
		if got := o.say(who, private(who), "room?"); got != o.text("error.queue_full_all", nil) || len(o.live(private(who))) > 0 {
			t.Errorf("%s: %q, want to be told, and no task", who, got)
		}
	}
	if o.load = 9_999; o.say("ann", private("ann"), "and now?") != "" {
		t.Error("a question is refused although there is room")
	}
}

// TestPauseAgainDelivered: a /pause that is delivered again after a /resume pauses
// nothing, also after a restart. The same holds for a repeated /resume.
func TestPauseAgainDelivered(t *testing.T) {
	o := newEnv(t)
	pause, resume := o.by("boss", private("boss"), "/pause"), o.by("boss", private("boss"), "/resume")
	paused := func() bool {
		p, err := tasks.OpenPause(t.Context(), o.store)
		if err != nil {
			t.Fatal(err)
		}
		_, on := p.State()
		return on
	}
	again := func(m bot.Message) heard { // as after a kill that fell before its key was stored
		t.Helper()
		m.Text += " "
		return o.send(m)
	}
	o.send(pause)
	if !paused() {
		t.Fatal("nothing is paused after /pause")
	}
	o.send(resume)
	again(pause)
	if paused() {
		t.Error("a /pause that came again paused everything anew")
	}
	o.send(o.by("boss", private("boss"), "/pause"))
	if h := again(resume); !paused() || h.text() == o.text("error.not_paused", nil) {
		t.Errorf("a /resume that came again let everything go on, or says so: %q", h.text())
	}
}

// TestPauseAndABurst: a question that arrives in pieces during a pause is one task,
// and the log shows no problem.
func TestPauseAndABurst(t *testing.T) {
	o := newEnv(t)
	o.say("boss", private("boss"), "/pause")
	logged := make(chan string, 100)
	o.log = hearing{slog.DiscardHandler, logged}
	pause, err := tasks.OpenPause(t.Context(), o.store)
	if err != nil {
		t.Fatal(err)
	}
	o.pause = pause
	o.restart()
	o.send(o.by("ann", private("ann"), "first piece"), o.by("ann", private("ann"), "second piece"))
	live := o.live(private("ann"))
	if len(live) != 1 || len(o.state(live[0]).Parts) != 1 {
		t.Fatalf("%d tasks came of two pieces, want one that heard the second", len(live))
	}
	select {
	case line := <-logged:
		t.Errorf("the log says %q", line)
	default:
	}
}

// TestEveryRefusedPersonIsTold: in a crowded group each person whose question finds no
// room is told so in a reply, with its place and the limit of the platform.
func TestEveryRefusedPersonIsTold(t *testing.T) {
	o := newEnv(t)
	o.phone.groups = 20
	hall := room("hall")
	for i := range 20 {
		o.send(o.by("ann", hall, fmt.Sprintf("/task question %d", i)))
	}
	full := o.text("error.queue_full", map[string]any{"Count": 20, "Max": 20})
	if !strings.Contains(full, "20 questions of this chat are waiting before this one") || !strings.Contains(full, "20 messages a minute") {
		t.Errorf("the text is %q", full)
	}
	for _, person := range []string{"ann", "bob", "boss"} {
		m := o.by(person, hall, "/task one more")
		h := o.send(m)
		if h.text() != full || h.posts[0].ReplyTo != m.ID {
			t.Errorf("%s was told %q, want a reply %q", person, h.text(), full)
		}
		if got := o.say(person, hall, "/task and another"); got != "" {
			t.Errorf("%s was told once more: %q", person, got)
		}
	}
}
