package tasks_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"legwork/bot"
	"legwork/planner"
)

// TestNoticesAreTriedAgain: a notice that could not be sent is sent later, and one that
// can never be sent is tried once.
func TestNoticesAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newEnv(t)
		o.phone.lost = 3
		if got, want := o.say("ann", private("ann"), "/status"), o.text("statusline.none", nil); got != want {
			t.Errorf("after three failures the answer to /status is %q, want %q", got, want)
		}
		o.phone.lost = 6
		if got := o.say("ann", private("ann"), "/status"); got != "" {
			t.Errorf("the answer was tried more than 6 times, and came as %q", got)
		}
		if o.phone.lost != 0 {
			t.Errorf("the answer was tried %d times, want 6", 6-o.phone.lost)
		}
	})
}

// TestStopOfALostBoard: the stop button settles a message that the task does not know,
// and no other one, while the task works and after its end.
func TestStopOfALostBoard(t *testing.T) {
	for _, c := range []struct {
		message, person string
		ended           bool
		want            int
	}{{"board", "ann", true, 0}, {"lost", "bob", true, 0}, {"lost", "ann", true, 1}, {"board", "ann", false, 0}, {"lost", "bob", false, 0}, {"lost", "ann", false, 1}} {
		o := newEnv(t)
		hall := room("hall")
		id := o.opens("ann", hall, "go")
		o.plans(id)
		text := o.text("error.too_late", nil)
		if c.ended {
			o.ends(id, "done")
		} else {
			text = o.text("notice.stopped", nil)
		}
		press := o.press(c.person, hall, "s:"+string(id))
		press.ID, press.Token = c.message, "token"
		o.send(press)
		edits := 0
		for _, e := range o.phone.edits {
			if e.ID == c.message && e.Text == text && len(e.Buttons) == 0 {
				edits++
			}
		}
		if edits != c.want {
			t.Errorf("%+v: the message was settled %d times: %+v", c, edits, o.phone.edits)
		}
	}
}

// TestBoardFoldsAtLast: a board whose last frame the chat does not take for a minute
// still gets it, and the answer comes once.
func TestBoardFoldsAtLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newEngineEnv(t, []string{`{"n":1}`})
		id, card := s.asks("ann", private("ann"), "book it")
		synctest.Wait() // the board and the question are sent side by side
		state := s.state(id)
		board := state.Slot(planner.SlotBoard).Message
		s.phone.mu.Lock()
		s.phone.misses = 1_000_000
		s.phone.mu.Unlock()
		s.send(s.press("ann", private("ann"), label(t, card.Draft, "Allow once")))
		time.Sleep(time.Minute) //nolint:forbidigo // of a bubble
		if state = s.state(id); state.Finished() {
			t.Error("the task is over while its board says that it works")
		}
		s.phone.mu.Lock()
		s.phone.misses = 0
		s.phone.mu.Unlock()
		s.pass(time.Minute)
		s.over(id)
		synctest.Wait()
		if last := s.last(board); len(last.Buttons) > 0 || !strings.HasPrefix(last.Text, "Done") {
			t.Errorf("the board ends as %+v", last)
		}
		answers := 0
		for _, p := range s.phone.posts {
			if p.Kind == bot.KindAnswer {
				answers++
			}
		}
		if answers != 1 {
			t.Errorf("the answer came %d times", answers)
		}
		s.stop()
	})
}
