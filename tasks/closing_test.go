package tasks_test

import (
	"slices"
	"strings"
	"testing"

	"legwork/planner"
)

// TestClosedAtLast: a question's message is closed although the chat is down
// for a moment when the task ends.
func TestClosedAtLast(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`})
	id, card := s.asks("ann", private("ann"), "book it")
	s.phone.mu.Lock()
	s.phone.misses = 3
	s.phone.mu.Unlock()
	s.send(s.press("ann", private("ann"), label(t, card.Draft, "Allow once")))
	s.over(id)
	if closed := s.last(card.ID); len(closed.Buttons) > 0 || !strings.Contains(closed.Text, "Allowed once by ANN") {
		t.Errorf("closed card = %+v", closed)
	}
}

// TestSpareCard: when a button is pressed under a message that was sent before a
// crash, while the question is on its way again, both are closed.
func TestSpareCard(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`})
	s.phone.late = make(chan any)
	id := s.opens("ann", private("ann"), "book it")
	<-s.phone.late
	s.phone.mu.Lock()
	card := s.phone.posts[len(s.phone.posts)-1]
	s.phone.mu.Unlock()
	pressed := s.press("ann", private("ann"), label(t, card.Draft, "Deny"))
	pressed.ID = "before the crash"
	s.send(pressed)
	<-s.phone.late
	s.over(id)
	s.stop()
	for _, message := range []string{card.ID, "before the crash"} {
		if closed := s.last(message); len(closed.Buttons) > 0 || !strings.Contains(closed.Text, "Denied by ANN") {
			t.Errorf("closed card %s = %+v", message, closed)
		}
	}
}

// TestStoppedWhileAsking: a question whose task is stopped while its message is
// on its way is closed when that has arrived, also when the end is being shown.
func TestStoppedWhileAsking(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`})
	s.phone.late = make(chan any)
	id := s.opens("ann", private("ann"), "book it")
	<-s.phone.late
	hold := make(chan any)
	s.phone.mu.Lock()
	card := s.phone.posts[len(s.phone.posts)-1]
	s.phone.hold[private("ann").Key()] = hold
	s.phone.mu.Unlock()
	s.add(id, planner.Event{Type: planner.Stopped, By: "phone:ann"})
	s.until(id, "the end is about to be shown", func(state planner.State) bool { return state.Slot(planner.SlotAnswer).Name != "" })
	<-s.phone.late
	s.until(id, "the question's message is known", func(state planner.State) bool {
		return slices.ContainsFunc(state.Slots, func(slot planner.Slot) bool { return slot.Message == card.ID })
	})
	close(hold)
	s.over(id)
	s.stop()
	if closed := s.last(card.ID); len(closed.Buttons) > 0 || !strings.Contains(closed.Text, s.text("question.over", nil)) {
		t.Errorf("closed card = %+v", closed)
	}
}
