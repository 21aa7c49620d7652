package terminal

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"legwork/bot"
)

// approval is a question with a file, as a card to approve is one.
func approval(text string) bot.Draft {
	return bot.Draft{
		Kind: bot.KindQuestion, Task: "t", Text: text,
		Buttons: []bot.Button{{Label: "Allow once", Data: "a", Style: bot.StylePrimary}, {Label: "Deny", Data: "d", Style: bot.StyleDanger}},
		File:    &bot.File{Name: "arguments.json", Type: "application/json", Content: []byte("{\n\t\"to\": \"\u202eb\x1b[2J\"\n}\n")},
	}
}

func TestLinesShowFiles(t *testing.T) {
	var out, progress buffer
	in := &inbox{}
	in.t = New(Config{In: strings.NewReader("go\n"), Out: &out, Err: &progress, Texts: loadTexts(t)})
	in.script = func(bot.Message) {
		id := mustPost(t, in.t, approval("May **it** run?"))
		mustEdit(t, in.t, id, approval("May it still run?"))
	}
	if err := in.t.Run(t.Context(), in.handle); err != nil {
		t.Fatal(err)
	}
	want := "── arguments.json " + strings.Repeat("─", 42) + "\n{\n    \"to\": \"\\u202eb\\x1b[2J\"\n}\n" + strings.Repeat("─", 60) + "\n? May it run?\n  1) Allow once\n  2) Deny\n"
	if got := progress.String(); !strings.HasPrefix(got, want) || strings.Count(got, "arguments.json") != 1 {
		t.Errorf("progress is\n%s\nwant the file once, and first\n%s", got, want)
	}
	if out.String() != "" {
		t.Errorf("the output is %q, want answers alone", out.String())
	}
}

func TestEventsCarryFiles(t *testing.T) {
	var out buffer
	in := &inbox{}
	in.t = New(Config{In: strings.NewReader(`{"id":"q","text":"go"}`), Out: &out, JSON: true})
	d := approval("May it run?")
	in.script = func(bot.Message) { mustEdit(t, in.t, mustPost(t, in.t, d), approval("May it still run?")) }
	if err := in.t.Run(t.Context(), in.handle); err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, w := range out.writes {
		var ev struct {
			File *struct{ Name, Type, Content string }
		}
		if err := json.Unmarshal([]byte(w), &ev); err != nil {
			t.Fatal(err)
		}
		if ev.File != nil {
			content, err := base64.StdEncoding.DecodeString(ev.File.Content)
			files = append(files, fmt.Sprintf("%s %s %t %v", ev.File.Name, ev.File.Type, string(content) == string(d.File.Content), err))
		}
	}
	if len(files) != 1 || files[0] != "arguments.json application/json true <nil>" {
		t.Errorf("the events carry the files %q, want the one, once", files)
	}
}

func TestConsoleShowsFiles(t *testing.T) {
	s := sit(t, nil)
	s.seeText("›")
	mustPost(t, s.t, board("t", "go", "Waiting", "waiting"))
	mustEdit(t, s.t, mustPost(t, s.t, approval("May it run?")), approval("May it still run?"))
	s.golden("file")
	s.keys("1")
	if m := s.first(); m.Data != "a" {
		t.Errorf("the press is %+v, want data a", m)
	}
	s.mu.Lock()
	raw := s.raw.String()
	s.mu.Unlock()
	if strings.Contains(raw, "\x1b[2J") || strings.Contains(raw, "\u202e") || strings.Count(raw, "arguments.json") != 1 {
		t.Errorf("the terminal got %q, want the file once and nothing that steers", raw)
	}
}

// A long question can be read from its first to its last line, and keys decide
// the one that is shown.
func TestConsoleShowsLongQuestions(t *testing.T) {
	s := sit(t, nil)
	s.seeText("›")
	mustPost(t, s.t, board("t", "go", "Waiting", "waiting"))
	var object strings.Builder
	for i := range 40 {
		fmt.Fprintf(&object, "argument-%02d\n", i)
	}
	long := approval("**mail.send** wants to run:\n\n" + bot.Fence(object.String(), "json"))
	long.File = nil
	first := mustPost(t, s.t, long)
	short := approval("And this?")
	short.File = nil
	second := mustPost(t, s.t, short)
	s.golden("long_question")
	mustEdit(t, s.t, first, long)
	s.keys("2")
	if m := s.first(); m.Data != "d" || m.ReplyTo != first {
		t.Errorf("the press is %+v, want Deny for the question %s", m, first)
	}
	s.golden("long_question_decided")
	s.keys("1")
	if m := s.first(); m.Data != "a" || m.ReplyTo != second {
		t.Errorf("the press is %+v, want Allow for the question %s", m, second)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range 40 {
		if line := fmt.Sprintf("argument-%02d", i); strings.Count(s.raw.String(), line) != 1 {
			t.Errorf("%s was written %d times, want once", line, strings.Count(s.raw.String(), line))
		}
	}
}
