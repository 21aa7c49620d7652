package tasks_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/enginetest"
	"legwork/tasks/inbox"
)

// orders starts a task of the program "ops". Its questions and its outcome go to a
// chat unless chat is empty.
func (s *engineEnv) orders(goal string, external bool, tell bot.Chat) tasks.ID {
	s.t.Helper()
	o := inbox.TaskRequest{From: bot.Person{Platform: tasks.PlatformAPI, ID: "ops", Name: "ops"}, Goal: goal, External: external}
	if tell.ID != "" {
		o.Notify = &planner.Notify{Chat: &tell}
	}
	r, err := inbox.StartTask(s.t.Context(), s.inbox, o)
	if err != nil {
		s.t.Fatal(err)
	}
	return r.Task
}

func (s *engineEnv) posted(in bot.Chat) []enginetest.Post {
	s.phone.mu.Lock()
	defer s.phone.mu.Unlock()
	var list []enginetest.Post
	for _, p := range s.phone.posts {
		if p.Chat.Key() == in.Key() {
			list = append(list, p)
		}
	}
	return list
}

// TestProgramsTaskIsShownNowhere: without a chat legwork sends nothing, and the task
// waits only for people.
func TestProgramsTaskIsShownNowhere(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`})
	id := s.orders("book a room", false, bot.Chat{})
	state := s.until(id, "it asks", func(s planner.State) bool { return s.Status() == "waiting" })
	action := planner.Todo(state)[0].ID
	s.add(id, planner.Event{Type: planner.Decided, By: "api:ops", Action: action, Decision: &planner.Decision{Approve: true}})
	if err := s.engine.Wake(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	s.over(id)
	if state := s.state(id); state.Outcome != planner.Done || state.Slot(action.String()).Name != "" {
		t.Errorf("it ended %s, slots %+v", state.Outcome, state.Slots)
	}
	if len(s.phone.posts) != 0 {
		t.Errorf("there were posts: %+v", s.phone.posts)
	}
}

// TestProgramsTaskTellsAChat: the chat that the program named gets only the question
// and the outcome, and only an admin decides.
func TestProgramsTaskTellsAChat(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`})
	id := s.orders("book a room", false, room("hall"))
	card := s.card(id, "")
	if card.Chat.Key() != "phone:hall" || !strings.Contains(card.Text, "For ops: book a room") || !strings.Contains(card.Text, "Only an admin can decide") {
		t.Fatalf("the card is %+v", card)
	}
	allow := label(t, card.Draft, "Allow once")
	if got := s.send(s.press("ann", room("hall"), allow)).words(); got != s.text("error.not_yours", nil) {
		t.Errorf("somebody else's press was answered %q", got)
	}
	s.send(s.press("boss", room("hall"), allow))
	s.over(id)
	posts := s.posted(room("hall"))
	if len(posts) != 2 || posts[1].Kind != bot.KindAnswer || posts[1].Text != "A task of the program ops: book a room\n\nthat is all" {
		t.Fatalf("posts = %+v", posts)
	}
	if got := s.last(card.ID); !strings.Contains(got.Text, "Allowed once by BOSS") {
		t.Errorf("the card says %q at the end", got.Text)
	}
	details := label(t, posts[1].Draft, "Details")
	if got := s.send(s.press("ann", room("hall"), details)).text(); got != s.text("error.not_yours", nil) {
		t.Errorf("somebody else's look at the details was answered %q", got)
	}
	if got := s.send(s.press("boss", room("hall"), details)).text(); !strings.Contains(got, "book it") {
		t.Errorf("the details say %q", got)
	}
}

// TestProgramIsAnsweredByWords: an admin's reply to a question of a program's task
// is its answer. Messages of others, or without a reply, are new questions.
func TestProgramIsAnsweredByWords(t *testing.T) {
	s := newEngineEnv(t, nil)
	s.stop()
	s.model = &enginetest.Model{Answer: enginetest.Plain("an answer that is long enough to be one")}
	s.play()
	id := s.orders("write", true, room("hall"))
	set := func(by, value string) error {
		return inbox.ChangeTask(t.Context(), s.inbox, id, func(planner.State) ([]planner.Event, error) {
			return []planner.Event{{Type: planner.StateSet, By: by, Values: scriptedStatus(value)}}, nil
		})
	}
	if err := set("agent:writer", planner.NeedsHumanReview); err != nil {
		t.Fatal(err)
	}
	card := s.card(id, "")
	reply := s.by("ann", room("hall"), "what is this?")
	reply.ReplyTo = card.ID
	s.send(reply)
	s.send(s.by("boss", room("hall"), "what is this?"))
	if s.state(id).Review == 0 {
		t.Fatal("words of others ended the review")
	}
	reply = s.by("boss", room("hall"), "name the sources")
	reply.ReplyTo = card.ID
	s.send(reply)
	d := s.decisions(id)
	if len(d) != 1 || d[0].By != "phone:boss" || d[0].Decision.Text != "name the sources" {
		t.Fatalf("decisions = %+v", d)
	}
	if err := inbox.ChangeTask(t.Context(), s.inbox, id, func(planner.State) ([]planner.Event, error) {
		return []planner.Event{{Type: planner.Answered, By: "agent:writer", Text: "It is done."}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	s.over(id)
	if posts := s.posted(room("hall")); !slices.ContainsFunc(posts, func(p enginetest.Post) bool { return p.Text == "A task of the program ops: write\n\nIt is done." }) {
		t.Errorf("the outcome is not among %+v", posts)
	}
	if got := s.last(card.ID); !strings.Contains(got.Text, "Changes requested by BOSS, 12:00. They said: name the sources") {
		t.Errorf("the card says %q at the end", got.Text)
	}
}

// TestChatOfAProgramIsGone: a chat that cannot be reached blocks nothing.
func TestChatOfAProgramIsGone(t *testing.T) {
	s := newEngineEnv(t)
	for _, tell := range []bot.Chat{room("closed"), {Platform: "pager", ID: "1"}} {
		s.phone.mu.Lock()
		s.phone.refuse[tell.Key()] = true
		s.phone.mu.Unlock()
		id := s.orders("write", false, tell)
		s.over(id)
		if s.state(id).Outcome != planner.Done {
			t.Errorf("%s: it ended %s", tell.Key(), s.state(id).Outcome)
		}
	}
}

// TestQuestionOfAProgramWithoutItsChat: a question that cannot be asked in the
// program's chat can still be decided in other places.
func TestQuestionOfAProgramWithoutItsChat(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`})
	s.phone.mu.Lock()
	s.phone.refuse[room("hall").Key()] = true
	s.phone.mu.Unlock()
	id := s.orders("book a room", false, room("hall"))
	asked := s.until(id, "it was tried to ask", func(s planner.State) bool {
		return s.Outcome != planner.Pending || s.Status() == "waiting" && len(s.Slots) > 0
	})
	s.again() // the next life finds it as it is
	if asked.Outcome != planner.Pending {
		t.Fatalf("it ended %s", asked.Outcome)
	}
	action := planner.Todo(s.state(id))[0].ID
	s.add(id, planner.Event{Type: planner.Decided, By: "api:ops", Action: action, Decision: &planner.Decision{Approve: true}})
	if err := s.engine.Wake(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	s.over(id)
	if got := s.state(id); got.Outcome != planner.Done || len(s.tools.calls()) != 1 {
		t.Errorf("it ended %s with %d calls, want done with the one that was allowed", got.Outcome, len(s.tools.calls()))
	}
}

// TestOnlyTheseGroups: a program's choice of groups holds for plans and calls.
func TestOnlyTheseGroups(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`})
	s.tools.open = true
	r, err := inbox.StartTask(t.Context(), s.inbox, inbox.TaskRequest{From: bot.Person{Platform: tasks.PlatformAPI, ID: "ops"}, Goal: "book", Only: []string{"look"}})
	if err != nil {
		t.Fatal(err)
	}
	s.over(r.Task)
	if n := len(s.tools.calls()); n != 0 {
		t.Errorf("%d calls of a group that is not open were made", n)
	}
	if state := s.state(r.Task); state.Round != 0 {
		t.Errorf("a plan for a group that is not open was taken; sub-tasks %+v", state.Subtasks)
	}
}

// TestContextIsLeftAlone: a context that no program uses ends after its time, and
// occupies no slot until then.
func TestContextIsLeftAlone(t *testing.T) {
	s := newEngineEnv(t)
	s.rules.Limits.IdleTimeout = s.rules.Limits.TaskTimeout * 4
	s.inbox.Use(s.rules)
	id := s.orders("write", true, room("hall"))
	if at := planner.Deadline(s.state(id)); !at.Equal(s.clock().Add(s.rules.Limits.IdleTimeout)) {
		t.Fatalf("its deadline is %v", at)
	}
	s.pass(s.rules.Limits.IdleTimeout)
	s.again() // the engine looks at the clock
	s.over(id)
	if state := s.state(id); state.Reason != planner.ReasonIdle || state.Outcome != planner.Failed {
		t.Errorf("it ended %s, %s", state.Outcome, state.Reason)
	}
	posts := s.posted(room("hall"))
	if len(posts) != 1 || !strings.Contains(posts[0].Text, s.text("problem.idle", nil)) || len(posts[0].Buttons) != 0 {
		t.Errorf("posts = %+v", posts)
	}
}

// TestLongNotes: notes that are too long for memory are in the prompt, as far as
// they fit.
func TestLongNotes(t *testing.T) {
	d := newInboxEnv(t)
	d.Ask(t, enginetest.Message("1", "first", time.Now()))
	id := d.live(enginetest.Chat)[0]
	content, err := json.Marshal("It begins so. " + strings.Repeat("and goes on ", 2000))
	if err != nil {
		t.Fatal(err)
	}
	d.add(id, planner.Event{Type: planner.NoteAdded, By: "agent:x", Note: &planner.Note{Type: "thought", Content: content}})
	d.does(id, planner.DecisionID("plan", 1, 0))
	prompt := ""
	for _, m := range d.Model.Requests("")[0].Messages[1:] {
		prompt += m.Content
	}
	if n := strings.Count(prompt, "and goes on"); !strings.Contains(prompt, "\nIt begins so.") || n < 300 || n > 400 {
		t.Errorf("the prompt has %d of its words:\n%.2000s", n, prompt)
	}
}

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

// TestStoppedWhileAsking: if a task is stopped while the message of its question is
// being sent, the message is closed when it has arrived, also while the outcome is
// being shown.
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
