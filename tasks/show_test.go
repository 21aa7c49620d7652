package tasks_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/internal/form"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/alerts"
	"legwork/tasks/enginetest"
	"legwork/tasks/inbox"
)

// waits starts a program's context without a chat, and an agent asks for its review.
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

// alerts sends the admins alerts about waiting tasks, and returns the alert that
// boss reads.
func (s *engineEnv) alerts(key string, ids ...tasks.ID) enginetest.Post {
	s.t.Helper()
	var list []alerts.News
	for _, id := range ids {
		list = append(list, alerts.News{Key: key, Data: map[string]any{"Task": string(id), "Goal": "write", "Chat": "api:ops", "Person": "api:ops"}})
	}
	if err := alerts.PostNews(s.t.Context(), s.inbox, list); err != nil {
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

// TestReviewFromAnAlert: the alert about a review without a chat leads to its card,
// where only an admin decides.
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

// TestReviewThatStandsThere: an admin whose chat already has the card of a review
// gets no alert about it, but all other alerts.
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

// asking is an engineEnv whose models ask a person once.
func asking(t *testing.T) *engineEnv {
	t.Helper()
	s := newEngineEnv(t)
	s.stop()
	s.model = &enginetest.Model{Answer: func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		asked := slices.ContainsFunc(r.Messages, func(m llm.Message) bool { return len(m.ToolCalls) > 0 })
		switch {
		case r.Role == llm.RolePlan:
			return llm.Reply{Text: `{"plan":[{"name":"book","description":"paint it"}]}`}, nil
		case r.Role == llm.RoleWork && !asked:
			return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "c1", Name: planner.ToolAskPerson, Arguments: `{"question": "Which colour?", "choices": ["red", "blue"]}`}}}, nil
		}
		return llm.Reply{Text: "that is the answer"}, nil
	}}
	s.play()
	return s
}

// TestWordsToAShownQuestion: a person who answers a shown question in text gets a
// confirmation, as after a press of a button.
func TestWordsToAShownQuestion(t *testing.T) {
	for _, words := range []bool{true, false} {
		s := asking(t)
		id := s.orders("paint it", false, bot.Chat{})
		s.until(id, "it asks", func(state planner.State) bool { return state.Status() == "waiting" })
		card := s.shown(label(t, s.alerts("alert.task_waiting", id).Draft, "Show"))
		m := s.press("boss", private("boss"), label(t, card.Draft, "red"))
		m.ID = card.ID
		if words {
			m = s.by("boss", private("boss"), "red")
			m.ReplyTo = card.ID
		}
		got := s.send(m)
		if want := s.text("question.answered", map[string]any{"Text": "red"}); got.words() != want {
			t.Errorf("words %t: boss was answered %q, want %q", words, got.words(), want)
		}
		if last := s.last(card.ID); last.Text != got.words() || len(last.Buttons) > 0 {
			t.Errorf("words %t: the card became %+v", words, last)
		}
		s.over(id)
		if d := s.decisions(id); len(d) != 1 || d[0].Decision.Text != "red" || d[0].By != "phone:boss" {
			t.Errorf("words %t: decisions = %+v", words, d)
		}
	}
}

// TestShownWhereTheChatIsGone: a decision about a card that an admin was shown is
// confirmed there, also when the chat that the program named takes no messages.
func TestShownWhereTheChatIsGone(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`})
	s.phone.mu.Lock()
	s.phone.refuse[room("hall").Key()] = true
	s.phone.mu.Unlock()
	id := s.orders("book a room", false, room("hall"))
	s.until(id, "it was tried to ask", func(state planner.State) bool { return state.Status() == "waiting" && len(state.Slots) > 0 })
	card := s.shown(label(t, s.alerts("alert.task_waiting", id).Draft, "Show"))
	press := s.press("boss", private("boss"), label(t, card.Draft, "Allow once"))
	press.ID = card.ID
	if got := s.send(press).words(); !strings.Contains(got, "Allowed once by BOSS") {
		t.Errorf("the press was answered %q", got)
	}
	if got := s.last(card.ID); !strings.Contains(got.Text, "Allowed once by BOSS") || len(got.Buttons) > 0 {
		t.Errorf("the card became %+v", got)
	}
	s.over(id)
}

// TestPlanOfAProgram: messages about a program's plan would be questions of
// their own, so that the button that changes it by words is left out.
func TestPlanOfAProgram(t *testing.T) {
	s, _ := newBudgetEnv(t, 2, tasks.BudgetRules{Budgets: tasks.Budgets{TaskUSD: dollars(1)}})
	id := s.orders("find it", false, room("hall"))
	card := s.card(id, "")
	var labels []string
	for _, b := range card.Buttons {
		labels = append(labels, b.Label)
	}
	if want := []string{"Run", "Cancel"}; !slices.Equal(labels, want) {
		t.Fatalf("the plan has the buttons %q, want %q", labels, want)
	}
	s.send(s.press("boss", room("hall"), label(t, card.Draft, "Cancel")))
	s.over(id)
	if d := s.decisions(id); len(d) != 1 || d[0].Decision.Approve {
		t.Errorf("decisions = %+v", d)
	}
}

// TestAlertOfAChatsTask: a question that was asked in a chat is decided there;
// /approvals shows the questions of programs' tasks alone, and is named for
// these.
func TestAlertOfAChatsTask(t *testing.T) {
	s := asking(t)
	id, _ := s.asks("ann", room("hall"), "paint it")
	how := s.text("alert.decide", nil)
	if got := s.alerts("alert.task_waiting", id); strings.Contains(got.Text, how) || len(got.Buttons) > 0 {
		t.Errorf("the alert is %+v", got.Draft)
	}
	if got := s.alerts("alert.task_waiting", id, s.waits("write")); !strings.HasSuffix(got.Text, how) {
		t.Errorf("the alert of both is %+v", got.Draft)
	}
}

// TestShownFormIsFilledIn: a form that is shown in private asks for one field after
// the other. A filled-in field has no buttons any more, whether a press or a text has
// filled it in.
func TestShownFormIsFilledIn(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`})
	s.tools.mu.Lock()
	s.tools.open, s.tools.question = true, &form.Question{Message: "Which?", Fields: fieldsOf(t, hotel)}
	s.tools.mu.Unlock()
	id := s.orders("book a room", false, bot.Chat{})
	s.until(id, "it asks", func(state planner.State) bool { return state.Status() == "waiting" })
	card := s.shown(label(t, s.alerts("alert.task_waiting", id).Draft, "Show"))
	fill := func(press, words, closed string) {
		t.Helper()
		m := s.by("boss", private("boss"), words)
		m.ReplyTo = card.ID
		if press != "" {
			m = s.press("boss", private("boss"), label(t, card.Draft, press))
			m.ID = card.ID
		}
		got := s.send(m)
		if last := s.last(card.ID); !strings.Contains(last.Text, closed) || len(last.Buttons) > 0 {
			t.Errorf("%q%q: the card became %+v", press, words, last)
		}
		if len(got.posts) != 1 {
			t.Fatalf("%q%q was answered %+v", press, words, got)
		}
		card = got.posts[0]
	}
	fill("Single", "", "Single")
	m := s.by("boss", private("boss"), "many")
	m.ReplyTo = card.ID
	if got := s.send(m).words(); !strings.Contains(got, s.text("form.bad_integer", nil)) || s.last(card.ID).Text != "" {
		t.Errorf("what does not fit was answered %q; the card became %+v", got, s.last(card.ID))
	}
	fill("", "3", "3")
	fill("No", "", "No")
	fill("Leave out", "", "Left out")
	last := s.press("boss", private("boss"), label(t, card.Draft, "Leave out"))
	last.ID = card.ID
	if got := s.send(last); len(got.posts) != 0 || !strings.Contains(got.words(), "Left out by BOSS") || len(s.last(card.ID).Buttons) > 0 {
		t.Errorf("the last field was answered %+v", got)
	}
	s.over(id)
	if got := s.given(); got.Action != form.Accept || string(got.Values["nights"]) != "3" {
		t.Errorf("the server got %+v", got)
	}
}

// TestAskedAgainByAProgram: a program has no private chat, even if a person
// has its name: questions about a task that it repeats in a chat are asked
// there.
func TestAskedAgainByAProgram(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`})
	s.stop()
	s.rules.Approvals.Private = true
	s.play()
	first, card := s.asks("ann", room("hall"), "book a room")
	if card.Chat.Key() != private("ann").Key() {
		t.Fatalf("ann is asked in %s", card.Chat.Key())
	}
	s.send(s.press("ann", private("ann"), label(t, card.Draft, "Deny")))
	s.over(first)
	for _, platform := range []string{tasks.PlatformAPI, tasks.PlatformAgent} {
		o := inbox.TaskRequest{From: bot.Person{Platform: platform, ID: "ben", Name: "ben"}, Goal: "book a room"}
		r, err := inbox.StartAgain(t.Context(), s.inbox, o, room("hall"), s.event(first, 1).Opening)
		if err != nil {
			t.Fatal(err)
		}
		card := s.card(r.Task, "")
		if card.Chat.Key() != room("hall").Key() {
			t.Errorf("for %s:ben it is asked in %s", platform, card.Chat.Key())
		}
		s.send(s.press("boss", room("hall"), label(t, card.Draft, "Deny")))
		s.over(r.Task)
	}
}

// TestDirectAnswerIsStoredAsSentOnce: an answer without a plan, in a chat whose
// messages do not last, is stored as sent by one event. With two, a kill between them
// would show it again.
func TestDirectAnswerIsStoredAsSentOnce(t *testing.T) {
	s := newEngineEnv(t)
	s.phone.passing = true
	s.model = &enginetest.Model{Answer: func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
		return llm.Reply{Text: "Paris."}, nil
	}}
	s.again()
	id := s.opens("ann", room("hall"), "the capital of France?")
	s.over(id)
	all, err := s.store.Load(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	sent := slices.DeleteFunc(all, func(e planner.Event) bool { return e.Type != planner.Sent || e.Slot != planner.SlotAnswer })
	if len(sent) != 1 || !sent[0].Last {
		t.Errorf("the answer was stored as sent by %+v", sent)
	}
}

// TestStreamStays: where the answer grows in the board's message, no frame of the board
// replaces its words.
func TestStreamStays(t *testing.T) {
	s := newEngineEnv(t)
	s.stop()
	more := make(chan struct{})
	s.model = &enginetest.Model{Answer: func(ctx context.Context, _ llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
		stream(llm.Delta{Text: "Once upon a time there was"})
		select {
		case <-more:
		case <-ctx.Done():
		}
		stream(llm.Delta{Text: " a boat that could fly"})
		<-ctx.Done()
		return llm.Reply{}, ctx.Err()
	}}
	s.phone.frames = make(chan bot.Draft, 1000)
	s.play()
	id := s.opens("ann", private("ann"), "tell a story")
	for began := false; ; {
		var d bot.Draft
		select {
		case d = <-s.phone.frames:
		case <-t.Context().Done():
			return
		}
		switch {
		case strings.Contains(d.Text, "a boat"):
			s.send(s.by("ann", private("ann"), "/stop"))
			s.over(id)
			return
		case strings.HasPrefix(d.Text, "Once upon"):
			if !began {
				close(more)
			}
			began = true
		case began:
			t.Fatalf("after its first words the answer was replaced by %+v", d)
		}
	}
}
