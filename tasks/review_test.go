package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks/enginetest"
)

// reviewed is an engineEnv whose model drafts something, has a person review it, and
// answers with it.
func reviewed(t *testing.T, draft string) *engineEnv {
	t.Helper()
	s := newEngineEnv(t)
	s.stop()
	s.model = &enginetest.Model{Answer: s.drafts(draft)}
	s.play()
	return s
}

// drafts is a model that asks once for a review of a draft.
func (s *engineEnv) drafts(draft string) func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
	values := map[string]any{"values": map[string]any{"draft": draft, planner.KeyStatus: planner.NeedsHumanReview}}
	return func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		s.mu.Lock()
		for _, m := range r.Messages {
			s.seen = append(s.seen, m.Content)
		}
		s.mu.Unlock()
		asked := slices.ContainsFunc(r.Messages, func(m llm.Message) bool { return len(m.ToolCalls) > 0 })
		switch {
		case r.Role == llm.RolePlan:
			return llm.Reply{Text: `{"plan":[{"name":"book","description":"write a draft"}]}`}, nil
		case r.Role == llm.RoleWork && !asked:
			return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "c1", Name: planner.ToolUpdateState, Arguments: object(s.t, values)}}}, nil
		}
		return llm.Reply{Text: "that is the answer"}, nil
	}
}

// TestReview: the card shows who asks for which review, only the asker and admins
// decide, the task continues with the decision, and the card shows it.
func TestReview(t *testing.T) {
	s := reviewed(t, "Two rooms.")
	id, card := s.asks("ann", room("hall"), "write about rooms")
	for _, want := range []string{s.text("review.ask", nil), "write a draft", "**`draft`**\n\n> Two rooms.\n", "For ANN: write about rooms"} {
		if !strings.Contains(card.Text, want) {
			t.Errorf("the card has no %q:\n%s", want, card.Text)
		}
	}
	if strings.Contains(card.Text, planner.NeedsHumanReview) {
		t.Errorf("the card shows the machine's own key:\n%s", card.Text)
	}
	if got := s.say("ann", private("ann"), "/approvals"); !strings.Contains(got, "a review of the shared state, for: write about rooms (in `phone:hall`)") {
		t.Errorf("/approvals said %q", got)
	}
	approve := label(t, card.Draft, "Approve")
	if got := s.send(s.press("bob", room("hall"), approve)).words(); got != s.text("error.not_yours", nil) {
		t.Errorf("somebody else's press was answered %q", got)
	}
	if s.state(id).Review == 0 {
		t.Fatal("somebody else ended the review")
	}
	s.send(s.press("boss", room("hall"), approve))
	s.over(id)
	decided := s.decisions(id)
	if len(decided) != 1 || !decided[0].Decision.Approve || decided[0].By != "phone:boss" || string(decided[0].Values[planner.KeyStatus]) != `"APPROVED"` {
		t.Errorf("decisions = %+v", decided)
	}
	if got := s.last(card.ID); !strings.Contains(got.Text, "Approved by BOSS, 12:00.") || len(got.Buttons) != 0 {
		t.Errorf("the card says %+v at the end", got)
	}
	if !strings.Contains(s.read(), "reviewed the shared state and approved it") {
		t.Error("the model does not know that it was approved")
	}
	if got := s.send(s.press("ann", room("hall"), approve)).words(); !strings.Contains(got, "Approved by BOSS") {
		t.Errorf("a late press was answered %q", got)
	}
}

// TestReviewByWords: words in reply ask for changes; the models read them.
func TestReviewByWords(t *testing.T) {
	s := reviewed(t, "Two rooms.")
	id, card := s.asks("ann", room("hall"), "write about rooms")
	m := s.by("ann", room("hall"), "three rooms please")
	m.ReplyTo = card.ID
	s.send(m)
	s.over(id)
	decided := s.decisions(id)
	if len(decided) != 1 || decided[0].Decision.Approve || decided[0].Decision.Text != "three rooms please" || string(decided[0].Values[planner.KeyStatus]) != `"CHANGES_REQUESTED"` {
		t.Fatalf("decisions = %+v", decided)
	}
	if n := strings.Count(s.read(), "<guidance>\nthree rooms please"); n < 2 { // the sub-task, and the decision after it
		t.Errorf("models read the words %d times", n)
	}
	if got := s.last(card.ID); !strings.Contains(got.Text, "Changes requested by ANN, 12:00. They said: three rooms please") {
		t.Errorf("the card says %q at the end", got.Text)
	}
	if len(s.live(room("hall"))) != 0 {
		t.Error("the words opened a task")
	}
}

// TestReviewAndPlainWords: in a private chat words that reply to nothing are
// guidance, as at any other time of a task, and decide nothing.
func TestReviewAndPlainWords(t *testing.T) {
	s := reviewed(t, "Two rooms.")
	id, card := s.asks("ann", private("ann"), "write about rooms")
	s.pass(2 * time.Second)
	s.send(s.by("ann", private("ann"), "and a garden"))
	state := s.state(id)
	if state.Review == 0 || len(state.Guidance) != 1 || len(s.decisions(id)) != 0 {
		t.Fatalf("review %d, heard %v, decisions %+v", state.Review, state.Guidance, s.decisions(id))
	}
	s.send(s.press("ann", private("ann"), label(t, card.Draft, "Ask for changes")))
	s.over(id)
	if d := s.decisions(id); len(d) != 1 || d[0].Decision.Approve {
		t.Errorf("decisions = %+v", d)
	}
}

// TestReviewOfMuch: what does not fit the chat is shortened, named, and whole in a
// file; where none can be sent, also because that is refused, all is in the chat.
func TestReviewOfMuch(t *testing.T) {
	for _, c := range []struct{ files, refused bool }{{}, {files: true}, {files: true, refused: true}} {
		s := reviewed(t, strings.Repeat("many rooms ", 500))
		s.phone.files, s.phone.noFiles = c.files, c.refused
		id, card := s.asks("ann", room("hall"), "write about rooms")
		whole, short := strings.Count(card.Text, "many rooms"), strings.Contains(card.Text, "Not shown in full: `draft`.")
		if file := c.files && !c.refused; file != (card.File != nil) || file != short || file == (whole == 500) || file && len(card.Text) > 3500 {
			t.Errorf("%+v: the card has %d bytes and the file %v:\n%s", c, len(card.Text), card.File, card.Text)
		}
		if card.File != nil && strings.Count(string(card.File.Content), "many rooms") != 500 {
			t.Errorf("the file is %s", card.File.Content)
		}
		s.send(s.press("ann", room("hall"), label(t, card.Draft, "Approve")))
		s.over(id)
	}
}

// TestReviewOverARestart: the card stays, is not asked again, and its buttons work.
func TestReviewOverARestart(t *testing.T) {
	s := reviewed(t, "Two rooms.")
	id, card := s.asks("ann", room("hall"), "write about rooms")
	s.again()
	s.send(s.press("ann", room("hall"), label(t, card.Draft, "Approve")))
	s.over(id)
	s.phone.mu.Lock()
	defer s.phone.mu.Unlock()
	n := 0
	for _, p := range s.phone.posts {
		if p.Kind == bot.KindQuestion {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d cards were posted, want 1", n)
	}
}

// TestReviewFromOutside: who wants it is named, and an agent's name is no markup.
func TestReviewFromOutside(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`})
	id, first := s.asks("ann", room("hall"), "book a room")
	s.add(id, planner.Event{Type: planner.StateSet, By: "agent:*writer*", Values: scriptedStatus(planner.NeedsHumanReview)})
	if err := s.engine.Wake(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	state := s.until(id, "the review is asked", func(s planner.State) bool { return s.Slot(fmt.Sprintf("ask review %d", s.Review)).Message != "" })
	var card enginetest.Post
	s.phone.mu.Lock()
	for _, p := range s.phone.posts {
		if p.ID == state.Slot(fmt.Sprintf("ask review %d", state.Review)).Message {
			card = p
		}
	}
	s.phone.mu.Unlock()
	if !strings.Contains(card.Text, `Review requested by agent\:\*writer\*.`) {
		t.Errorf("the card says %q", card.Text)
	}
	s.send(s.press("ann", room("hall"), label(t, first.Draft, "Allow once")))
	if s.state(id); len(s.tools.calls()) != 0 {
		t.Error("a tool was called while a person reviews")
	}
	s.send(s.press("ann", room("hall"), label(t, card.Draft, "Approve")))
	s.over(id)
	if n := len(s.tools.calls()); n != 1 {
		t.Errorf("%d calls were made, want 1", n)
	}
}

// TestReviewInATerminal: where messages pass, words ask for changes and numbers
// press buttons.
func TestReviewInATerminal(t *testing.T) {
	d := newInboxEnv(t)
	d.Ask(t, enginetest.Message("1", "first", time.Now()))
	id := d.live(enginetest.Chat)[0]
	d.add(id, planner.Event{Type: planner.StateSet, By: "api:ops", Values: scriptedStatus(planner.NeedsHumanReview)})
	d.does(id, planner.AskID(planner.SubjectReview, 2))
	q := d.Platform.Posts(bot.KindQuestion)
	if len(q) != 1 || len(q[0].Buttons) != 2 || q[0].Buttons[1].Style != bot.StyleDanger {
		t.Fatalf("questions = %+v", q)
	}
	d.Ask(t, enginetest.Message("2", "say it shorter", time.Now()))
	s := d.state(id)
	if s.Review != 0 || len(s.Guidance) != 1 {
		t.Fatalf("review %d, heard %v", s.Review, s.Guidance)
	}
	e, err := d.store.Event(t.Context(), id, s.Guidance[0])
	if err != nil || e.Decision == nil || e.Decision.Approve || e.Decision.Text != "say it shorter" {
		t.Errorf("the task heard %+v, %v", e, err)
	}
}

// scriptedStatus is a change of the shared state's status.
func scriptedStatus(value string) map[string]json.RawMessage {
	return map[string]json.RawMessage{planner.KeyStatus: json.RawMessage(`"` + value + `"`)}
}

// TestReviewLapses: when a review expires, the card says so, and the waiting calls
// are not made. The answer takes that into account, and a late press gets a message.
// A restart in between changes nothing.
func TestReviewLapses(t *testing.T) {
	for _, restart := range []bool{false, true} {
		s := reviewed(t, "Two rooms.")
		id, card := s.asks("ann", room("hall"), "write about rooms")
		until := s.text("approval.until", map[string]any{"Date": s.clock().Add(expire)})
		if !strings.Contains(card.Text, until) {
			t.Errorf("the card has no %q:\n%s", until, card.Text)
		}
		if got := s.say("ann", private("ann"), "/approvals"); !strings.Contains(got, "2026-11-23 12:00") {
			t.Errorf("/approvals said %q", got)
		}
		s.pass(expire + time.Minute)
		if restart {
			s.again()
		} else if err := s.engine.Wake(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		s.over(id)
		state := s.state(id)
		e := s.event(id, state.Changes[len(state.Changes)-1])
		if e.Type != planner.Expired || e.By != "" || string(e.Values[planner.KeyStatus]) != `"REVIEW_EXPIRED"` || len(s.decisions(id)) != 0 {
			t.Errorf("restart %v: the state was changed last by %+v", restart, e)
		}
		if state.Outcome != planner.Done || state.Reason != planner.ReasonReview || state.Subtasks[0].State != planner.SubSkipped {
			t.Errorf("restart %v: outcome %q, why %q, sub-tasks %+v", restart, state.Outcome, state.Reason, state.Subtasks)
		}
		if got := s.last(card.ID); !strings.Contains(got.Text, s.text("review.expired", nil)) || len(got.Buttons) != 0 {
			t.Errorf("restart %v: the card says %+v at the end", restart, got)
		}
		if read := s.read(); !strings.Contains(read, s.text("prompt.answer_review", nil)) || !strings.Contains(read, `{"draft":"Two rooms.","status":"REVIEW_EXPIRED"}`) {
			t.Errorf("restart %v: the answer is written without knowing what lapsed:\n%s", restart, read)
		}
		want := s.text("error.decided", map[string]any{"Text": s.text("review.expired", nil)})
		if got := s.send(s.press("ann", room("hall"), label(t, card.Draft, "Approve"))).words(); got != want {
			t.Errorf("restart %v: a late press was answered %q, want %q", restart, got, want)
		}
	}
}

// TestReviewLapsesWithNothing: a task without findings says why it ended.
func TestReviewLapsesWithNothing(t *testing.T) {
	s := newEngineEnv(t)
	s.stop()
	s.model = &enginetest.Model{Answer: func(ctx context.Context, _ llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		<-ctx.Done()
		return llm.Reply{}, ctx.Err()
	}}
	s.play()
	id := s.opens("ann", room("hall"), "write about rooms")
	s.add(id, planner.Event{Type: planner.StateSet, By: "api:ops", Values: scriptedStatus(planner.NeedsHumanReview)})
	s.card(id, "")
	s.pass(expire + time.Minute)
	if err := s.engine.Wake(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	s.over(id)
	s.phone.mu.Lock()
	defer s.phone.mu.Unlock()
	var told []string
	for _, p := range slices.Concat(s.phone.posts, s.phone.edits) {
		if p.Kind == bot.KindAnswer {
			told = append(told, p.Text)
		}
	}
	if want := s.text("problem.review", nil); len(told) != 1 || told[0] != want {
		t.Errorf("the chat was told %q, want once %q", told, want)
	}
}
