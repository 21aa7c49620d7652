package tasks_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/inbox"
)

// wonders is a model whose first sub-task asks a person, in as many turns as
// there are arguments of ask_person, and tells then what it heard.
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

// asks is the message by which the first call of a sub-task's last turn asks.
func asks(s planner.State, subtask string) planner.Slot {
	for _, w := range s.Subtasks {
		if n := len(w.Turns); w.ID == subtask && n > 0 {
			return s.Slot(planner.QuestionID(w.Turns[n-1].Seq, 1).String())
		}
	}
	return planner.Slot{}
}

// TestModelQuestionLapses: what a model asks is not waited for longer than the
// config says; its message tells so, and so does a late press.
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

// TestModelAsksTooMuch: the questions of a task are limited, and the model is
// told to go on without.
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

// TestModelAsksAfterOutsiders: what a model asks that has read words of outsiders
// is a quotation with a frame, as are its buttons; of one that has not, only those
// that would pass for legwork's own.
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
			framed := strings.HasPrefix(p.Text, "**The language model asks**") && strings.Contains(p.Text, `> \*\*legwork\:\*\* \[Which\]`) && strings.HasSuffix(p.Text, "Never write a password or a key here.")
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

// TestModelQuestionDeclined: a program's no is none of the answers; the model is
// told to go on without one, and why where that was said.
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
			if err := inbox.Decide(t.Context(), m.inbox, id, ask, inbox.Ruling{By: "api:ops", Approve: true}); !errors.As(err, &bad) || bad.Field != "comment" {
				t.Errorf("a yes without words: %v", err)
			}
			if err := inbox.Decide(t.Context(), m.inbox, id, ask, inbox.Ruling{By: "api:ops", Text: why}); err != nil {
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
