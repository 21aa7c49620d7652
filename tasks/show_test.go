package tasks_test

import (
	"slices"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/alerts"
	"legwork/tasks/enginetest"
	"legwork/tasks/inbox"
)

// waits starts a context of a program in no chat, and an agent asks for its
// review.
func (s *engineEnv) waits(goal string) tasks.ID {
	s.t.Helper()
	id := s.orders(goal, true, bot.Chat{})
	s.sets(id, planner.NeedsHumanReview)
	return id
}

func (s *engineEnv) sets(id tasks.ID, status string) {
	s.t.Helper()
	if err := inbox.ChangeTask(s.t.Context(), s.inbox, id, func(planner.State) ([]planner.Event, error) {
		return []planner.Event{{Type: planner.StateSet, By: "agent:writer", Values: scriptedStatus(status)}}, nil
	}); err != nil {
		s.t.Fatal(err)
	}
}

// alerts tells the admins of tasks that wait, and returns what boss reads.
func (s *engineEnv) alerts(key string, ids ...tasks.ID) enginetest.Post {
	s.t.Helper()
	var list []alerts.News
	for _, id := range ids {
		list = append(list, alerts.News{Key: key, Data: map[string]any{"Task": string(id), "Goal": "write", "Chat": "api:ops", "Person": "api:ops"}})
	}
	if err := alerts.TellNews(s.t.Context(), s.inbox, list); err != nil {
		s.t.Fatal(err)
	}
	posts := s.posted(private("boss"))
	return posts[len(posts)-1]
}

// shown is the card that boss gets by a button.
func (s *engineEnv) shown(data string) enginetest.Post {
	s.t.Helper()
	got := s.send(s.press("boss", private("boss"), data))
	if len(got.posts) != 1 || got.posts[0].Kind != bot.KindQuestion {
		s.t.Fatalf("the button showed %+v", got)
	}
	return got.posts[0]
}

// TestReviewFromAnAlert: the alert of a review that is in no chat leads to its
// card, where only an admin decides.
func TestReviewFromAnAlert(t *testing.T) {
	s := newEngineEnv(t)
	id := s.waits("write about *boats*")
	show := label(t, s.alerts("alert.task_review", id).Draft, "Show")
	for _, m := range []bot.Message{s.press("ann", private("ann"), show), s.press("boss", room("hall"), show)} {
		if got := s.send(m); got.words() != s.text("error.not_yours", nil) || len(got.posts) > 0 {
			t.Errorf("%s in %s was shown %+v", m.From.Key(), m.Chat.Key(), got)
		}
	}
	card := s.shown(show)
	if !strings.Contains(card.Text, `Review requested by agent\:writer`) || !strings.Contains(card.Text, "For ops: write about \\*boats\\*") || !strings.Contains(card.Text, "Only an admin can decide") {
		t.Errorf("the card is %+v", card)
	}
	approve := label(t, card.Draft, "Approve")
	if got := s.send(s.press("ann", private("ann"), approve)).words(); got != s.text("error.not_yours", nil) {
		t.Errorf("somebody else's press was answered %q", got)
	}
	press := s.press("boss", private("boss"), approve)
	press.ID = card.ID
	if got := s.send(press).words(); !strings.Contains(got, "Approved by BOSS") {
		t.Errorf("the press was answered %q", got)
	}
	if got := s.last(card.ID); !strings.Contains(got.Text, "Approved by BOSS") || len(got.Buttons) > 0 {
		t.Errorf("the card became %+v", got)
	}
	if d := s.decisions(id); len(d) != 1 || d[0].By != "phone:boss" || d[0].Decision.Name != "BOSS" || string(d[0].Values[planner.KeyStatus]) != `"APPROVED"` {
		t.Errorf("decisions = %+v", d)
	}
	for _, data := range []string{approve, show} {
		if got := s.send(s.press("chief", private("chief"), data)).words(); !strings.Contains(got, "decided already") || !strings.Contains(got, "Approved by BOSS") {
			t.Errorf("a late press was answered %q", got)
		}
	}
}

// TestReviewThatStandsThere: an admin whose chat has the card of a review gets
// no alert about it, but all other alerts.
func TestReviewThatStandsThere(t *testing.T) {
	s := newEngineEnv(t)
	id := s.orders("write about boats", true, private("boss"))
	s.sets(id, planner.NeedsHumanReview)
	s.until(id, "the card is there", func(planner.State) bool { return len(s.posted(private("boss"))) > 0 })
	before := len(s.posted(private("boss")))
	if card := s.alerts("alert.task_review", id); card.Kind != bot.KindQuestion || len(s.posted(private("boss"))) != before {
		t.Errorf("boss read %+v beside the card", card)
	}
	other := s.waits("write about trains")
	if told := s.alerts("alert.task_review", id, other); !strings.Contains(told.Text, string(other)) || strings.Contains(told.Text, string(id)) {
		t.Errorf("boss read %q, want the other review alone", told.Text)
	}
	if told := s.alerts("alert.task_waiting", id); !strings.Contains(told.Text, string(id)) {
		t.Errorf("boss read %q, want to be reminded", told.Text)
	}
}

// TestReviewsOfProgramsListed: an alert of several tasks names /approvals, which
// leads an admin in private to each card; words in reply ask for changes.
func TestReviewsOfProgramsListed(t *testing.T) {
	s := newEngineEnv(t)
	first, second := s.waits("write about boats"), s.waits("write about oars")
	if got := s.alerts("alert.task_review", first, second); len(got.Buttons) > 0 || !strings.HasSuffix(got.Text, s.text("alert.decide", nil)) {
		t.Errorf("the alert is %+v", got.Draft)
	}
	for _, m := range []bot.Message{s.by("ann", private("ann"), "/approvals"), s.by("boss", room("hall"), "/approvals")} {
		if got := s.send(m); strings.Contains(got.words(), "boats") {
			t.Errorf("%s in %s reads %q", m.From.Key(), m.Chat.Key(), got.words())
		}
	}
	list := s.send(s.by("boss", private("boss"), "/approvals")).notice(t)
	if len(list.Buttons) != 2 || !strings.Contains(list.Text, "write about boats") || !strings.Contains(list.Text, "write about oars") {
		t.Fatalf("/approvals said %+v", list.Draft)
	}
	i := slices.IndexFunc(list.Buttons, func(b bot.Button) bool { return strings.Contains(b.Data, string(second)) })
	s.shown(list.Buttons[i].Data)
	m := s.by("boss", private("boss"), "with three oars")
	m.ReplyTo = s.shown(list.Buttons[i].Data).ID // the newest card counts
	if got := s.send(m).words(); !strings.Contains(got, "Changes requested by BOSS") {
		t.Errorf("the words were answered %q", got)
	}
	if last := s.last(m.ReplyTo); !strings.Contains(last.Text, "Changes requested by BOSS") || len(last.Buttons) > 0 {
		t.Errorf("the card became %+v", last)
	}
	if d := s.decisions(second); len(d) != 1 || d[0].Decision.Approve || d[0].Decision.Text != "with three oars" {
		t.Errorf("decisions = %+v", d)
	}
	for _, slot := range s.state(second).Slots {
		if strings.Contains(slot.Name, "boss") {
			t.Errorf("programs read %q", slot.Name)
		}
	}
	if s.state(first).Review == 0 {
		t.Error("the other review is over, too")
	}
}

// TestCallsOfProgramsListed: calls of a program's task that asks in no chat are
// allowed from an alert.
func TestCallsOfProgramsListed(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`})
	id := s.orders("book a room", false, bot.Chat{})
	s.until(id, "it asks", func(state planner.State) bool { return state.Status() == "waiting" })
	show := label(t, s.alerts("alert.task_waiting", id).Draft, "Show")
	card := s.shown(show)
	var labels []string
	for _, b := range card.Buttons {
		labels = append(labels, b.Label)
	}
	if want := []string{"Allow once", "Allow for this task", "Deny"}; !slices.Equal(labels, want) || !strings.Contains(card.Text, `"n": 1`) {
		t.Errorf("the card has %v, want %v:\n%s", labels, want, card.Text)
	}
	s.send(s.press("boss", private("boss"), label(t, card.Draft, "Allow once")))
	s.over(id)
	if n := len(s.tools.calls()); n != 1 {
		t.Errorf("%d calls were made, want 1", n)
	}
}
