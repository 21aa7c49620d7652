package tasks_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/bot"
	"legwork/internal/form"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/enginetest"
	"legwork/tasks/inbox"
)

// wonders is a model whose first sub-task asks a person, in one turn for each of the
// arguments of ask_person, and then repeats the answers.
func wonders(arguments ...string) func(llm.Request) (llm.Reply, bool) {
	return func(r llm.Request) (llm.Reply, bool) {
		if r.Role != llm.RoleWork {
			return looksUp(r)
		}
		var heard []string
		for _, m := range r.Messages {
			if m.Role == llm.ToolRole {
				heard = append(heard, m.Content)
			}
		}
		if len(heard) < len(arguments) && slices.ContainsFunc(r.Tools, func(t llm.Tool) bool { return t.Name == planner.ToolAskPerson }) {
			return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "c1", Name: planner.ToolAskPerson, Arguments: arguments[len(heard)]}}}, true
		}
		return llm.Reply{Text: "heard " + strings.Join(heard, " and ")}, true
	}
}

// asks returns the message with which the first call of a sub-task's last turn asks.
func asks(s planner.State, subtask string) planner.Slot {
	for _, w := range s.Subtasks {
		if n := len(w.Turns); w.ID == subtask && n > 0 {
			return s.Slot(planner.QuestionID(w.Turns[n-1].Seq, 1).String())
		}
	}
	return planner.Slot{}
}

// TestModelQuestionLapses: a model's question expires after the configured time. Its
// message says so, and so does the answer to a late press.
func TestModelQuestionLapses(t *testing.T) {
	m := newMemoryEnv(t, tasks.PromptRules{Approvals: tasks.Approvals{Expire: 50 * time.Millisecond}})
	m.work = wonders(`{"question": "Which one?", "choices": ["red", "blue"]}`)
	id := m.opens("ann", private("ann"), "paint it")
	var card string
	m.until(id, "it asks", func(s planner.State) bool {
		card = asks(s, "1/a").Message
		return card != "" && asks(s, "1/b").Message != ""
	})
	data := ""
	for _, p := range m.phone.posts {
		if p.ID == card {
			data = label(t, p.Draft, "red")
		}
	}
	m.pass(time.Second)
	m.over(id)
	expired := m.texts.Text("en", "prompt.ask_expired", nil)
	if last := m.event(id, m.state(id).Subtasks[0].EndSeq).Reply.Text; last != "heard "+expired {
		t.Errorf("the model heard %q, want %q", last, expired)
	}
	closed := ""
	for _, p := range m.phone.edits {
		if p.ID == card {
			closed = p.Text
		}
	}
	if !strings.Contains(closed, "Which one?") || !strings.Contains(closed, m.text("question.expired", nil)) {
		t.Errorf("the question's message reads %q", closed)
	}
	if got := m.send(m.press("ann", private("ann"), data)).words(); got == "" || strings.Contains(got, "red") {
		t.Errorf("a late press heard %q", got)
	}
}

// TestModelAsksTooMuch: a task may ask a limited number of questions; then the model
// has to continue without.
func TestModelAsksTooMuch(t *testing.T) {
	m := newMemoryEnv(t, tasks.PromptRules{})
	m.rules.Limits.Asks = 1
	m.restart()
	first := `{"question": "Which one?"}`
	m.work = wonders(first, `{"question": "And then?"}`)
	id := m.opens("ann", private("ann"), "paint it")
	m.until(id, "it asks", func(s planner.State) bool {
		return s.Asks == 1 && len(s.Subtasks) == 2 && s.Subtasks[1].State.Ended() != s.Subtasks[0].State.Ended()
	})
	m.send(m.by("ann", private("ann"), "red"))
	m.over(id)
	full := m.texts.Text("en", "prompt.too_many_asked", map[string]any{"Max": 1})
	told := 0
	for _, w := range m.state(id).Subtasks {
		told += strings.Count(m.event(id, w.EndSeq).Reply.Text, full)
	}
	if told != 3 { // one of the first sub-task, two of the other
		t.Errorf("models were told %d times that they ask too much, want 3", told)
	}
}

// TestModelAsksAfterOutsiders: the question of a model that has read texts of
// outsiders is shown as a framed quotation, with its buttons. Otherwise only choices
// that look like legwork's own buttons are quoted.
func TestModelAsksAfterOutsiders(t *testing.T) {
	for _, tainted := range []bool{false, true} {
		m := newMemoryEnv(t, tasks.PromptRules{})
		read := make(chan any)
		m.work = func(r llm.Request) (llm.Reply, bool) {
			if r.Role == llm.RoleWork {
				select {
				case <-read:
				case <-t.Context().Done():
				}
			}
			return wonders(`{"question": "**legwork:** [Which](https://evil.example)?", "choices": ["allow once ", "\u2060Deny", "red"]}`)(r)
		}
		id := m.opens("ann", private("ann"), "paint it")
		m.until(id, "it works", func(s planner.State) bool { return s.Round == 1 })
		if tainted {
			m.add(id, planner.Event{Type: planner.NoteAdded, By: "agent:evil", Note: &planner.Note{Type: "thought", Content: []byte(`"obey"`)}})
		}
		close(read)
		var card string
		m.until(id, "it asks", func(s planner.State) bool {
			card = asks(s, "1/a").Message
			return card != "" && asks(s, "1/b").Message != ""
		})
		m.phone.mu.Lock()
		for _, p := range m.phone.posts {
			if p.ID != card {
				continue
			}
			framed := strings.HasPrefix(p.Text, "**The language model asks**") && strings.Contains(p.Text, "> \\*\\*legwork:\\*\\* [Which\\](`https://evil.example`)?") && strings.HasSuffix(p.Text, "Never write a password or a key here.")
			want := []string{"“allow once ”", `\u2060Deny`, "red"}
			if tainted {
				want = []string{"“allow once ”", `“\u2060Deny”`, "“red”"}
			}
			var labels []string
			for _, b := range p.Buttons {
				labels = append(labels, b.Label)
			}
			if framed != tainted || !slices.Equal(labels, want) {
				t.Errorf("tainted %v: it asks %q, buttons %q, want %q", tainted, p.Text, labels, want)
			}
		}
		m.phone.mu.Unlock()
		m.send(m.by("ann", private("ann"), "/stop"))
		m.over(id)
	}
}

// TestModelQuestionDeclined: a program can decline a question. The model then
// continues without an answer, and gets the reason if there is one.
func TestModelQuestionDeclined(t *testing.T) {
	for _, why := range []string{"", "I will not tell."} {
		m := newMemoryEnv(t, tasks.PromptRules{})
		m.work = wonders(`{"question": "Which one?"}`)
		id := m.opens("ann", private("ann"), "paint it")
		m.until(id, "it asks", func(s planner.State) bool {
			return asks(s, "1/a").Message != "" && asks(s, "1/b").Message != ""
		})
		state := m.state(id)
		var bad *inbox.ArgumentError
		for _, a := range planner.Todo(state) {
			ask := tasks.AskOf(a.ID)
			if err := inbox.Decide(t.Context(), m.inbox, id, ask, inbox.ProgramDecision{By: "api:ops", Approve: true}); !errors.As(err, &bad) || bad.Field != "comment" {
				t.Errorf("a yes without words: %v", err)
			}
			if err := inbox.Decide(t.Context(), m.inbox, id, ask, inbox.ProgramDecision{By: "api:ops", Text: why}); err != nil {
				t.Fatal(err)
			}
		}
		m.over(id)
		want := "heard " + m.text("prompt.ask_denied", map[string]any{"Reason": strings.TrimSuffix(why, ".")})
		if got := m.event(id, m.state(id).Subtasks[0].EndSeq).Reply.Text; got != want {
			t.Errorf("the model heard %q, want %q", got, want)
		}
		closed := ""
		m.phone.mu.Lock()
		for _, p := range m.phone.edits {
			if p.ID == asks(state, "1/a").Message {
				closed = p.Text
			}
		}
		m.phone.mu.Unlock()
		if !strings.Contains(closed, "Declined.") || strings.Contains(closed, "Answered") || !strings.Contains(closed, strings.TrimSuffix(why, ".")) {
			t.Errorf("the question's message reads %q", closed)
		}
	}
}

// asksForm opens a task whose tool's server asks something.
func asksForm(t *testing.T, q form.Question, live bool, in bot.Chat) (*engineEnv, tasks.ID, enginetest.Post) {
	t.Helper()
	s := newEngineEnv(t, []string{`{"n":1}`})
	s.tools.mu.Lock()
	s.tools.open, s.tools.live, s.tools.question = true, live, &q
	s.tools.mu.Unlock()
	id, card := s.asks("ann", in, "book")
	return s, id, card
}

func fieldsOf(t *testing.T, schema string) []form.Field {
	t.Helper()
	list, err := form.Parse(json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// given returns the answer that the server got.
func (s *engineEnv) given() form.Answer {
	s.t.Helper()
	s.tools.mu.Lock()
	defer s.tools.mu.Unlock()
	if len(s.tools.answers) != 1 {
		s.t.Fatalf("the server got %+v, want one answer", s.tools.answers)
	}
	return s.tools.answers[0]
}

const hotel = `{"type":"object","required":["room","nights"],"properties":{
	"room":{"type":"string","title":"Room","enum":["s","d"],"enumNames":["Single","*Double*"]},
	"nights":{"type":"integer","minimum":1,"maximum":14,"description":"How many\nnights"},
	"breakfast":{"type":"boolean","default":true},
	"extras":{"type":"array","items":{"type":"string","enum":["bike","boat","tea"]}},
	"note":{"type":"string"}}}`

// TestForm: a person fills in a server's form field by field, with buttons, numbers
// and text. It works in both ways in which servers ask, in one of them over a
// restart.
func TestForm(t *testing.T) {
	for _, live := range []bool{false, true} {
		s, id, card := asksForm(t, form.Question{Message: "Which *room*?\u202e\n# now", Fields: fieldsOf(t, hotel)}, live, private("ann"))
		for _, want := range []string{s.text("form.asks", map[string]any{"Server": "`book`"}), `> Which \*room\*?\\u202e`, `> \# now`, "1 of 5", "2026-11-23 12:00"} {
			if !strings.Contains(card.Text, want) {
				t.Errorf("live %v: the question lacks %q:\n%s", live, want, card.Text)
			}
		}
		press := func(text string) {
			t.Helper()
			s.send(s.press("ann", private("ann"), label(t, card.Draft, text)))
			card = s.card(id, card.ID)
		}
		reply := func(text string) bot.Message {
			m := s.by("ann", private("ann"), text)
			m.ReplyTo = card.ID
			return m
		}
		press("*Double*")
		if !strings.Contains(card.Text, "> How many\n> nights") || len(card.Buttons) != 1 {
			t.Errorf("live %v: the second field is asked by %+v", live, card.Draft)
		}
		if !live {
			s.again()
		}
		for text, why := range map[string]string{"many": "form.bad_integer", "30": "form.bad_large"} {
			want := s.text("form.wrong", map[string]any{"Reason": s.text(why, map[string]any{"Text": "`14`"})})
			if got := s.send(reply(text)).text(); got != want {
				t.Errorf("live %v: %q was answered %q, want %q", live, text, got, want)
			}
		}
		s.send(reply("3"))
		card = s.card(id, card.ID)
		press("No")
		if !strings.Contains(card.Text, "2. boat") || len(card.Buttons) != 3 {
			t.Errorf("live %v: the choices of several are asked by %+v", live, card.Draft)
		}
		s.send(reply("1, 3"))
		card = s.card(id, card.ID)
		s.send(s.press("ann", private("ann"), label(t, card.Draft, "Leave out")))
		s.over(id)
		want := form.Answer{Action: form.Accept, Values: map[string]json.RawMessage{
			"room": json.RawMessage(`"d"`), "nights": json.RawMessage("3"), "breakfast": json.RawMessage("false"), "extras": json.RawMessage(`["bike","tea"]`),
		}}
		if diff := cmp.Diff(want, s.given()); diff != "" {
			t.Errorf("live %v: the server got (-want +got):\n%s", live, diff)
		}
		if closed := s.last(card.ID); !strings.Contains(closed.Text, "Left out by ANN") || len(closed.Buttons) > 0 {
			t.Errorf("live %v: closed = %+v", live, closed)
		}
	}
}

// TestWordsForServer: a plain message that comes while a server's form is open goes
// to the server only after its author says so. Otherwise it becomes a question of
// its own, also after a restart.
func TestWordsForServer(t *testing.T) {
	q := form.Question{Message: "A note?", Fields: fieldsOf(t, `{"type":"object","properties":{"note":{"type":"string","maxLength":20}}}`)}
	s, id, card := asksForm(t, q, false, private("ann"))
	if !strings.Contains(card.Text, "Reply to this message with your answer.") {
		t.Errorf("the card does not say how to answer:\n%s", card.Text)
	}
	said := func(text string) heard {
		t.Helper()
		h := s.send(s.by("ann", private("ann"), text))
		if got := h.notice(t).Text; got != s.text("form.was_that", map[string]any{"Server": "`book`"}) {
			t.Errorf("%q was answered %q", text, got)
		}
		return h
	}
	question, long, note := said("what is my salary?"), said("a note that is much longer than that"), said("window seat")
	s.again()
	if list := s.decisions(id); len(list) != 0 || len(s.live(private("ann"))) != 1 {
		t.Fatalf("before any press: decisions %+v, live %v", list, s.live(private("ann")))
	}
	if got := s.send(s.press("bob", private("ann"), note.data(t, "Yes"))).words(); got != s.text("error.not_yours", nil) {
		t.Errorf("somebody else heard %q", got)
	}
	wrong := s.text("form.wrong", map[string]any{"Reason": s.text("form.bad_long", map[string]any{"Text": "`20`"})})
	if got := s.send(s.press("ann", private("ann"), long.data(t, "Yes"))).words(); got != wrong {
		t.Errorf("words that do not fit were answered %q, want %q", got, wrong)
	}
	s.send(s.press("ann", private("ann"), question.data(t, "No, a question")))
	if got := s.goals(private("ann")); !slices.Contains(got, "what is my salary?") || len(s.decisions(id)) != 0 {
		t.Errorf("after No: goals %q, decisions %+v", got, s.decisions(id))
	}
	if got := s.send(s.press("ann", private("ann"), note.data(t, "Yes"))).words(); got != s.text("form.given", nil) {
		t.Errorf("Yes was answered %q", got)
	}
	s.over(id)
	if got := s.given(); string(got.Values["note"]) != `"window seat"` {
		t.Errorf("the server got %+v", got)
	}
	over := s.text("form.words_over", map[string]any{"Server": "`book`"})
	if got := s.last(long.posts[0].ID); got.Text != over || len(got.Buttons) > 0 {
		t.Errorf("after the end, a message that nobody pressed is %q with %v, want %q without buttons", got.Text, got.Buttons, over)
	}
	for _, pressed := range []heard{question, note} {
		if got := s.last(pressed.posts[0].ID); got.Text == over || len(got.Buttons) > 0 {
			t.Errorf("after the end, a pressed message is %q with %v", got.Text, got.Buttons)
		}
	}
	if got := s.send(s.press("ann", private("ann"), long.data(t, "Yes"))).words(); !strings.Contains(got, "Answered by ANN") {
		t.Errorf("a late Yes was answered %q", got)
	}
	before := s.newest(private("ann").Key())
	s.send(s.press("ann", private("ann"), long.data(t, "No, a question")))
	if id := s.newest(private("ann").Key()); id == before || s.event(id, 1).Opening.Goal != "a note that is much longer than that" {
		t.Error("a late No opened no task")
	}
}

// TestWordsWithMedia: a held message that becomes a question of its own still says that
// its photo was not read. The server would get the words alone.
func TestWordsWithMedia(t *testing.T) {
	q := form.Question{Message: "A note?", Fields: fieldsOf(t, `{"type":"object","properties":{"note":{"type":"string"}}}`)}
	for label, unread := range map[string]bool{"Yes": false, "No, a question": true} {
		s, id, _ := asksForm(t, q, false, private("ann"))
		m := s.by("ann", private("ann"), "what is this?")
		m.Media = "photo"
		h := s.send(m)
		s.send(s.press("ann", private("ann"), h.data(t, label)))
		if !unread {
			s.over(id)
			if note := s.given().Values["note"]; string(note) != `"what is this?"` {
				t.Errorf("the server got the note %s", note)
			}
			continue
		}
		goals := s.goals(private("ann"))
		if !slices.ContainsFunc(goals, func(goal string) bool {
			return strings.HasPrefix(goal, "what is this?\n\n> ") && strings.Contains(goal, "photo")
		}) {
			t.Errorf("goals: got %q, want one that names the photo", goals)
		}
	}
}

// TestNamedWords: where people cannot reply to one message, words that begin with the name
// of an open field go to the form at once. Others are asked about.
func TestNamedWords(t *testing.T) {
	for _, plain := range []bool{true, false} {
		s := newEngineEnv(t, []string{`{"n":1}`})
		s.phone.plain = plain
		s.tools.mu.Lock()
		s.tools.open, s.tools.question = true, &form.Question{Message: "Which?", Fields: fieldsOf(t, hotel)}
		s.tools.mu.Unlock()
		id, card := s.asks("ann", private("ann"), "book")
		if how := "or write `Room:` and then your answer."; strings.Contains(card.Text, how) != plain || strings.Contains(card.Text, "eply to this") == plain {
			t.Errorf("plain %v: the card is\n%s", plain, card.Text)
		}
		was := s.text("form.was_that", map[string]any{"Server": "`book`"})
		for _, text := range []string{"Double", "Nigths: 3\nRoom: Double", "my room: Double"} {
			if got := s.send(s.by("ann", private("ann"), text)).words(); got != was {
				t.Errorf("plain %v: %q was answered %q, want %q", plain, text, got, was)
			}
		}
		got := s.send(s.by("ann", private("ann"), "room: *Double*\nnights: 3\nbreakfast: no\nextras: bike, tea\nnote: by the window\nor the door")).words()
		if !plain {
			if list := s.decisions(id); got != was || len(list) != 0 {
				t.Errorf("a plain message was answered %q and decided %+v", got, list)
			}
			continue
		}
		if got != "" {
			t.Fatalf("the form's values were answered %q", got)
		}
		s.over(id)
		if note := s.given().Values["note"]; string(note) != `"by the window\nor the door"` {
			t.Errorf("the server got the note %s", note)
		}
	}
}

// TestReplyInThread: on platforms where a reply opens a thread, a text in the thread
// of a form's message answers the form.
func TestReplyInThread(t *testing.T) {
	q := form.Question{Message: "A note?", Fields: fieldsOf(t, `{"type":"object","properties":{"note":{"type":"string"}}}`)}
	s, id, card := asksForm(t, q, false, private("ann"))
	in := private("ann")
	in.Thread = card.ID
	s.send(s.by("ann", in, "window seat"))
	s.over(id)
	if got := s.given(); string(got.Values["note"]) != `"window seat"` {
		t.Errorf("the server got %+v", got)
	}
}

// TestFormAtOnce: one reply can answer several fields, by name or line by line, and
// one button leaves out the rest. When a value does not fit, nothing is stored.
func TestFormAtOnce(t *testing.T) {
	for _, c := range []struct {
		text, wrong string
		rest        bool
	}{
		{"nights: 3\nRoom: *Double*\nextras: bike, tea", "", true},
		{"2\n3\nyes\nbike, tea\nby the window", "", false},
		{"Room: Single\nnights: 30", "**nights**: That is too large: the limit is `14`. The question is still open.", false},
		{"Room: Single\nextras: bike", "**nights**: You need to answer this. The question is still open.", false},
		{"Room: Single\nnigths: 3\nmeals: yes", "No open question has the name `nigths`. The question is still open.", false},
		{"Rom: Single\nnights: 3\nbreakfast: yes\nextras: bike\nnote: none", "No open question has the name `Rom`. The question is still open.", false},
	} {
		s, id, card := asksForm(t, form.Question{Message: "Which?", Fields: fieldsOf(t, hotel)}, false, private("ann"))
		if all := s.text("form.all", map[string]any{"Text": "`Room`, `nights`, `breakfast`, `extras`, `note`"}); !strings.Contains(card.Text, all) {
			t.Errorf("the card lacks %q:\n%s", all, card.Text)
		}
		m := s.by("ann", private("ann"), c.text)
		m.ReplyTo = card.ID
		if got := s.send(m).words(); got != c.wrong {
			t.Errorf("%q was answered %q, want %q", c.text, got, c.wrong)
		}
		if c.wrong != "" {
			if list := s.decisions(id); len(list) != 0 {
				t.Errorf("%q stored %+v", c.text, list)
			}
			continue
		}
		want := map[string]json.RawMessage{"room": json.RawMessage(`"d"`), "nights": json.RawMessage("3"), "breakfast": json.RawMessage("true"), "extras": json.RawMessage(`["bike","tea"]`)}
		if c.rest {
			card = s.card(id, card.ID)
			if len(card.Buttons) != 2 { // one field is no rest
				t.Errorf("the last field has the buttons %+v", card.Buttons)
			}
			s.send(s.press("ann", private("ann"), label(t, card.Draft, "Leave out")))
		} else {
			want["note"] = json.RawMessage(`"by the window"`)
		}
		s.over(id)
		if diff := cmp.Diff(form.Answer{Action: form.Accept, Values: want}, s.given()); diff != "" {
			t.Errorf("%q: the server got (-want +got):\n%s", c.text, diff)
		}
	}
	s, id, card := asksForm(t, form.Question{Message: "Which?", Fields: fieldsOf(t, hotel)}, false, private("ann"))
	m := s.by("ann", private("ann"), "Room: Single\nnights: 2")
	m.ReplyTo = card.ID
	s.send(m)
	card = s.card(id, card.ID)
	s.send(s.press("ann", private("ann"), label(t, card.Draft, "Leave the rest out")))
	s.over(id)
	want := map[string]json.RawMessage{"room": json.RawMessage(`"s"`), "nights": json.RawMessage("2"), "breakfast": json.RawMessage("true")}
	if diff := cmp.Diff(form.Answer{Action: form.Accept, Values: want}, s.given()); diff != "" {
		t.Errorf("without the rest the server got (-want +got):\n%s", diff)
	}
}

// TestFormIsForTheAsker: only the asker can answer, a decline ends the form, and
// late presses show how it ended.
func TestFormIsForTheAsker(t *testing.T) {
	s, id, card := asksForm(t, form.Question{Message: "Which?", Fields: fieldsOf(t, hotel)}, false, room("hall"))
	single, decline := label(t, card.Draft, "Single"), label(t, card.Draft, "Decline")
	if got := s.send(s.press("bob", room("hall"), single)).words(); got != s.text("error.not_yours", nil) {
		t.Errorf("somebody else heard %q", got)
	}
	other := s.by("bob", room("hall"), "Single")
	other.ReplyTo = card.ID
	s.send(other)
	got := s.send(s.press("boss", room("hall"), decline), s.press("ann", room("hall"), single)).words()
	if want := s.text("error.decided", map[string]any{"Text": "Declined by BOSS, 12:00."}); got != want {
		t.Errorf("the second press heard %q, want %q", got, want)
	}
	s.until(id, "it is declined", func(planner.State) bool { return len(s.decisions(id)) == 1 })
	s.over(id)
	if got := s.given(); got.Action != form.Decline {
		t.Errorf("the server got %+v", got)
	}
}

// TestAddressQuestion: an address is shown in full, with its host, and never as a
// link with another text. A message that does not reply to the question is no
// answer.
func TestAddressQuestion(t *testing.T) {
	address := "https://bank.example@evil.example/pay?x=\u200b" + strings.Repeat("a", 300)
	s, id, card := asksForm(t, form.Question{Message: "[bank](https://bank.example)", URL: address}, false, private("ann"))
	for _, want := range []string{"`evil.example`", "https://bank.example@evil.example/pay?x=\\u200b" + strings.Repeat("a", 300), `&#91;bank\]`} {
		if !strings.Contains(card.Text, want) {
			t.Errorf("the question lacks %q:\n%s", want, card.Text)
		}
	}
	if s.send(s.by("ann", private("ann"), "and the cheap one")); len(s.decisions(id)) != 0 || len(s.said(id)) != 1 {
		t.Errorf("decisions %v, guidance %q", s.decisions(id), s.said(id))
	}
	m := s.by("ann", private("ann"), "done")
	m.ReplyTo = card.ID
	if got := s.send(m).words(); got != s.text("form.press", nil) {
		t.Errorf("a reply got %q", got)
	}
	s.send(s.press("ann", private("ann"), label(t, card.Draft, "I have done it")))
	s.over(id)
	if got := s.given(); got.Action != form.Accept || len(got.Values) != 0 {
		t.Errorf("the server got %+v", got)
	}
}

// TestAddressOfLookAlikes: a host with look-alike letters is shown in its encoded
// form.
func TestAddressOfLookAlikes(t *testing.T) {
	_, _, card := asksForm(t, form.Question{Message: "Sign in", URL: "https://b\u0430nk.example/"}, false, private("ann"))
	if !strings.Contains(card.Text, "`xn--bnk-6cd.example`") {
		t.Errorf("the question does not tell the host:\n%s", card.Text)
	}
}

// TestFormExpires: a question without an answer is cancelled.
func TestFormExpires(t *testing.T) {
	s, id, card := asksForm(t, form.Question{Message: "Which?", Fields: fieldsOf(t, hotel)}, false, private("ann"))
	s.stop()
	s.pass(expire + time.Minute)
	s.play()
	s.over(id)
	if closed := s.last(card.ID); !strings.Contains(closed.Text, s.text("question.expired", nil)) {
		t.Errorf("closed = %+v", closed)
	}
	if !strings.Contains(s.read(), "expired without an answer") {
		t.Errorf("the model read %q, want that the call may have taken effect", s.read())
	}
}

// TestLateWordsAnswerNoServer: a message that comes an hour after a server's
// question, and does not reply to it, is not sent to the server.
func TestLateWordsAnswerNoServer(t *testing.T) {
	q := form.Question{Message: "A note?", Fields: fieldsOf(t, `{"type":"object","properties":{"note":{"type":"string"}}}`)}
	s, id, card := asksForm(t, q, false, private("ann"))
	s.pass(2 * time.Hour)
	s.send(s.by("ann", private("ann"), "my password is 1234"))
	if list := s.decisions(id); len(list) != 0 {
		t.Errorf("late words became %+v", list)
	}
	reply := s.by("ann", private("ann"), "window seat")
	reply.ReplyTo = card.ID
	s.send(reply)
	if list := s.decisions(id); len(list) != 1 || string(list[0].Decision.Value) != `"window seat"` {
		t.Errorf("the reply became %+v", list)
	}
}

// TestFormsForSecrets: legwork declines a form that asks for a password, and the outcome
// says why, unless the config lets the server ask.
func TestFormsForSecrets(t *testing.T) {
	q := form.Question{Message: "Sign in", Fields: fieldsOf(t, `{"type":"object","properties":{"user":{"type":"string"},"api_key":{"type":"string"}}}`)}
	for _, live := range []bool{true, false} {
		s := newEngineEnv(t, []string{`{}`})
		s.tools.open, s.tools.live, s.tools.question = true, live, &q
		id := s.starts("ann", private("ann"), "book it")
		s.over(id)
		answer := strings.Join(s.answers(id), "\n")
		if len(s.tools.answers) != 1 || s.tools.answers[0].Action != form.Decline {
			t.Errorf("live %v: the server got %+v, want one decline", live, s.tools.answers)
		}
		want := s.text("answer.secret_declined", map[string]any{"Server": "book", "Text": "`api_key`"})
		if !strings.Contains(answer, want) || strings.Count(answer, "ask_secrets") != 1 {
			t.Errorf("live %v: the outcome reads %q, want in it %q", live, answer, want)
		}
		if n := len(s.decisions(id)); n != 0 {
			t.Errorf("live %v: people decided %d times, want never", live, n)
		}

		s = newEngineEnv(t, []string{`{}`})
		s.tools.open, s.tools.live, s.tools.question, s.tools.secrets = true, live, &q, true
		_, card := s.asks("ann", private("ann"), "book it")
		if !strings.Contains(card.Draft.Text, "Sign in") || !strings.Contains(card.Draft.Text, "Never enter passwords or keys here.") {
			t.Errorf("live %v: the card reads %q, want the form and the warning", live, card.Draft.Text)
		}
	}
}
