package tasks_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/bot"
	"legwork/internal/form"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/enginetest"
)

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

// given is what the server got as an answer.
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

// TestForm: a server's form is filled in field after field: by buttons, numbers
// and words, in both ways that servers ask, and over a restart in one of them.
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
		press("*Double*")
		if !strings.Contains(card.Text, "> How many\n> nights") || len(card.Buttons) != 1 {
			t.Errorf("live %v: the second field is asked by %+v", live, card.Draft)
		}
		if !live {
			s.again()
		}
		for text, why := range map[string]string{"many": "form.bad_integer", "30": "form.bad_large"} {
			want := s.text("form.wrong", map[string]any{"Reason": s.text(why, map[string]any{"Text": "`14`"})})
			if got := s.say("ann", private("ann"), text); got != want {
				t.Errorf("live %v: %q was answered %q, want %q", live, text, got, want)
			}
		}
		s.send(s.by("ann", private("ann"), "3"))
		card = s.card(id, card.ID)
		press("No")
		if !strings.Contains(card.Text, "2. boat") || len(card.Buttons) != 2 {
			t.Errorf("live %v: the choices of several are asked by %+v", live, card.Draft)
		}
		s.send(s.by("ann", private("ann"), "1, 3"))
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

// TestFormIsForTheAsker: only the asker answers, a decline ends it, and late
// presses read how it ended.
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
// link with other words; words that are no reply to it are none for the server.
func TestAddressQuestion(t *testing.T) {
	address := "https://bank.example@evil.example/pay?x=\u200b" + strings.Repeat("a", 300)
	s, id, card := asksForm(t, form.Question{Message: "[bank](https://bank.example)", URL: address}, false, private("ann"))
	for _, want := range []string{"`evil.example`", "https://bank.example@evil.example/pay?x=\\u200b" + strings.Repeat("a", 300), `\[bank\]`} {
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

// TestAddressOfLookAlikes: a host in letters that look like others is shown by what
// it is.
func TestAddressOfLookAlikes(t *testing.T) {
	_, _, card := asksForm(t, form.Question{Message: "Sign in", URL: "https://b\u0430nk.example/"}, false, private("ann"))
	if !strings.Contains(card.Text, "`xn--bnk-6cd.example`") {
		t.Errorf("the question does not tell the host:\n%s", card.Text)
	}
}

// TestFormExpires: a question that was not answered is cancelled.
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

// TestLateWordsAnswerNoServer: words that come an hour after a server's question,
// and do not reply to it, go nowhere near the server.
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
