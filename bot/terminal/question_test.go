package terminal

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"legwork/bot"
)

var payment = bot.Draft{
	Kind: bot.KindQuestion, Task: "t", Text: "May it?", Calls: []bot.Call{{Tool: "pay.now", Arguments: []byte(`{"n":1}`)}},
	Buttons: []bot.Button{{Label: "Allow", Data: "yes", Style: bot.StylePrimary}, {Label: "Deny", Data: "no", Style: bot.StyleDanger}},
}

// TestNobodyApproves: without a person, calls are denied with a sentence that
// names the key which would let them run, for programs as well.
func TestNobodyApproves(t *testing.T) {
	for _, program := range []bool{false, true} {
		var out, progress buffer
		in := &inbox{}
		asked, answered := make(chan struct{}), make(chan struct{})
		cfg := Config{Text: "do it", Out: &out, Err: &progress, Texts: loadTexts(t), Wait: func(context.Context) error {
			<-asked
			id := mustPost(t, in.t, payment)
			<-answered
			mustEdit(t, in.t, id, bot.Draft{Kind: bot.KindNotice, Task: "t", Text: "May it? Denied by root."})
			return nil
		}}
		if program {
			cfg.Text, cfg.JSON, cfg.In = "", true, strings.NewReader(`{"id":"1","text":"do it"}`+"\n")
		}
		in.t = New(cfg)
		in.script = func(m bot.Message) {
			if m.Text == "do it" {
				close(asked)
			} else {
				close(answered)
			}
		}
		if err := in.t.Run(t.Context(), in.handle); err != nil {
			t.Fatal(err)
		}
		last := in.got[len(in.got)-1]
		if last.Data != "no" || !strings.Contains(last.Text, "approve: never") {
			t.Errorf("program %v: the question got %+v, want a denial that names the key", program, last)
		}
		if program && !strings.Contains(out.String(), `"calls":[{"tool":"pay.now","arguments":{"n":1}}]`) {
			t.Errorf("the events hold no calls: %s", out.String())
		}
		if !program && (!strings.Contains(progress.String(), "approve: never") || strings.Contains(progress.String(), "by root")) {
			t.Errorf("progress = %q, want which key would let it run, and nobody who decided", progress.String())
		}
	}
}

// TestOnceAsksAtATerminal: a run with one question lets the person at the terminal
// decide. After Ctrl-D there is no person any more.
func TestOnceAsksAtATerminal(t *testing.T) {
	for typed, want := range map[string]string{"1\n": "yes", "\x04": "no"} {
		master, tty, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		var out buffer
		in := &inbox{}
		answered := make(chan struct{})
		in.t = New(Config{Text: "do it", In: tty, Out: &out, Err: tty, Texts: loadTexts(t), Wait: func(context.Context) error {
			<-answered
			return nil
		}})
		in.script = func(m bot.Message) {
			if m.Text == "do it" {
				mustPost(t, in.t, payment)
				write(t, master, typed)
				return
			}
			mustPost(t, in.t, bot.Draft{Kind: bot.KindAnswer, Task: "t", ReplyTo: in.got[0].ID, Text: "Done."})
			close(answered)
		}
		if err := in.t.Run(t.Context(), in.handle); err != nil {
			t.Fatal(err)
		}
		if last := in.got[len(in.got)-1]; last.Data != want || out.String() != "Done.\n" {
			t.Errorf("typed %q: the question got %+v and the output is %q, want the button %q and the answer", typed, last, out.String(), want)
		}
		_, _ = master.Close(), tty.Close()
	}
}

// TestWordsKeepApprovalsOpen: a line of words decides nothing about calls, so
// that the next line can still be a number.
func TestWordsKeepApprovalsOpen(t *testing.T) {
	input, feed := io.Pipe()
	in := &inbox{}
	in.t = New(Config{In: input, Out: io.Discard, Texts: loadTexts(t)})
	in.script = func(m bot.Message) {
		switch m.Text {
		case "go":
			mustPost(t, in.t, payment)
			go func() { _, _ = feed.Write([]byte("the cheap one\n")) }()
		case "the cheap one":
			mustPost(t, in.t, bot.Draft{Kind: bot.KindNotice, Text: "Added.", ReplyTo: m.ID})
			go func() { _, _ = feed.Write([]byte("1\n")); _ = feed.Close() }()
		}
	}
	go func() { _, _ = feed.Write([]byte("go\n")) }()
	if err := in.t.Run(t.Context(), in.handle); err != nil {
		t.Fatal(err)
	}
	if last := in.got[len(in.got)-1]; last.Data != "yes" {
		t.Errorf("the last line became %+v, want the first button", last)
	}
}

// TestQuestionAboutLine: a number answers the question about the latest line, also while
// older questions of tasks wait.
func TestQuestionAboutLine(t *testing.T) {
	input, feed := io.Pipe()
	in := &inbox{}
	in.t = New(Config{In: input, Out: io.Discard, Texts: loadTexts(t)})
	in.script = func(m bot.Message) {
		switch m.Text {
		case "go":
			mustPost(t, in.t, payment)
			mustPost(t, in.t, bot.Draft{Kind: bot.KindQuestion, Task: "t", Text: "Class?", Buttons: []bot.Button{{Label: "First", Data: "first"}, {Label: "Decline", Data: "decline", Style: bot.StyleDanger}}})
			go func() { _, _ = feed.Write([]byte("blue\n")) }()
		case "blue":
			mustPost(t, in.t, bot.Draft{Kind: bot.KindQuestion, Text: "Was that for the server?", ReplyTo: m.ID, Buttons: []bot.Button{{Label: "Yes", Data: "give"}, {Label: "No", Data: "ask"}}})
			go func() { _, _ = feed.Write([]byte("1\n")); _ = feed.Close() }()
		}
	}
	go func() { _, _ = feed.Write([]byte("go\n")) }()
	if err := in.t.Run(t.Context(), in.handle); err != nil {
		t.Fatal(err)
	}
	if len(in.got) < 3 || in.got[2].Data != "give" {
		t.Errorf("got %+v, want that the number chose Yes", in.got)
	}
}

// TestKeysOfWords: where a number may be the answer, it presses nothing.
func TestKeysOfWords(t *testing.T) {
	q := questionOf("q", bot.Draft{FreeText: true, Buttons: []bot.Button{{Data: "omit"}, {Data: "decline", Style: bot.StyleDanger}}})
	for typed, want := range map[string]string{"1": "", "2": "", "-": "omit", " -- ": "decline", "---": "", "": ""} {
		if b, _ := q.buttonFor(typed); b.Data != want {
			t.Errorf("typed(%q) = %q, want %q", typed, b.Data, want)
		}
	}
	q.words = false
	for typed, want := range map[string]string{"1": "omit", "02": "decline", "3": "", "-": "", "0": ""} {
		if b, _ := q.buttonFor(typed); b.Data != want {
			t.Errorf("without words typed(%q) = %q, want %q", typed, b.Data, want)
		}
	}
}

// TestDirect: only the person at the terminal can be written to.
func TestDirect(t *testing.T) {
	term := New(Config{Out: io.Discard, Person: "me", Texts: loadTexts(t)})
	if chat, err := term.Direct(t.Context(), "me"); err != nil || chat != term.Chat() {
		t.Errorf("Direct(me) = %v, %v", chat, err)
	}
	if _, err := term.Direct(t.Context(), "you"); err == nil {
		t.Error("Direct(you) found a chat")
	}
}

// TestConsoleMenu: a number and Enter press a button of the latest notice. It does not
// hide the keys of an open question, and the next message ends it.
func TestConsoleMenu(t *testing.T) {
	notice := bot.Draft{Kind: bot.KindNotice, Text: "Delete it?", Buttons: []bot.Button{{Label: "Delete", Data: "yes", Style: bot.StyleDanger}, {Label: "Keep", Data: "no"}}}
	s := sit(t, nil)
	s.script = func(m bot.Message) {
		if m.Text == "/forget" {
			notice.ReplyTo = m.ID
			mustPost(t, s.t, notice)
		}
	}
	s.keys("/forget\r")
	s.first()
	s.seeText("1 Delete")
	s.seeText("2 Keep")
	s.seeText("type its number and press Enter")
	s.keys("2 of them\r")
	if m := s.first(); m.Text != "2 of them" || m.Kind != bot.MessageText {
		t.Fatalf("a text became %+v", m)
	}
	s.keys("2\r")
	if m := s.first(); m.Text != "2" {
		t.Fatalf("after another message a number became %+v", m)
	}
	mustPost(t, s.t, payment)
	s.seeText("1 Allow")
	s.seeText("2 Deny")
	s.keys("/forget\r")
	s.first()
	s.seeText("3 Delete")
	s.seeText("4 Keep")
	s.keys("3\r")
	if m := s.first(); m.Kind != bot.MessagePress || m.Data != "yes" {
		t.Fatalf("the number of a button became %+v", m)
	}
	s.keys("1")
	if m := s.first(); m.Data != "yes" || m.ReplyTo == "" {
		t.Fatalf("the key of the question became %+v", m)
	}
}

// TestConsoleRests: the sign of a task stands still while the task only waits for a
// person, and "Stopping" goes with the last task.
func TestConsoleRests(t *testing.T) {
	s := sit(t, nil)
	d := board("t", "Pay the bill", "Waiting for you", "waiting")
	mustPost(t, s.t, d)
	mustPost(t, s.t, payment)
	s.seeText("? Pay the bill · Waiting for you")
	s.seeText("May it?")
	s.keys("\x03")
	s.seeText("Stopping the task.")
	mustPost(t, s.t, bot.Draft{Kind: bot.KindAnswer, Task: "t", Text: "Stopped."})
	s.seeText("Stopped.")
	s.see("no Stopping", func(screen string) bool { return !strings.Contains(screen, "Stopping") })
}

// TestConsoleApproval: words leave an approval on the screen, an answer to a
// server's question takes it away until a notice says that it did not fit, and a
// dash presses where a number is an answer.
func TestConsoleApproval(t *testing.T) {
	s := sit(t, nil)
	s.script = func(m bot.Message) {
		switch m.Text {
		case "cheaper":
			mustPost(t, s.t, bot.Draft{Kind: bot.KindNotice, Text: "Added.", ReplyTo: m.ID})
		case "many":
			mustPost(t, s.t, bot.Draft{Kind: bot.KindNotice, Text: "No number.", ReplyTo: m.ID})
		}
	}
	s.seeText("›")
	mustPost(t, s.t, board("t", "go", "Waiting", "waiting"))
	asked := mustPost(t, s.t, payment)
	s.seeText("Press a number to choose.") // and no word of typing an answer
	s.keys("cheaper\r")
	s.seeText("Added.")
	s.keys("2")
	s.seeText("→ Deny")
	if _, err := s.t.Post(t.Context(), s.t.Chat(), bot.Draft{Kind: bot.KindQuestion, Task: "t", Text: "How many?", FreeText: true, Buttons: []bot.Button{
		{Label: "Leave out", Data: "omit"}, {Label: "Decline", Data: "decline", Style: bot.StyleDanger},
	}}); err != nil {
		t.Fatal(err)
	}
	s.seeText("-- Decline")
	s.seeText("a sign from the list, and press Enter.")
	s.keys("many\r")
	s.seeText("No number.")
	s.seeText("-- Decline")
	s.keys("-\r")
	s.see("the question is gone", func(screen string) bool { return !strings.Contains(screen, "-- Decline") })
	s.keys("\x04")
	s.leaves()
	if len(s.got) != 4 || s.got[0].ReplyTo != asked || s.got[1].Data != "no" || s.got[2].Text != "many" || s.got[3].Data != "omit" || s.got[3].Text != "" {
		t.Errorf("messages: got %+v", s.got)
	}
}

// TestConsoleAnswersWhatItShows: the prompt says that a text answers the open question.
// A text that the person began before the question came is not surely its answer.
func TestConsoleAnswersWhatItShows(t *testing.T) {
	s := sit(t, nil)
	field := bot.Draft{Kind: bot.KindQuestion, Task: "t", Text: "How many?", FreeText: true, Buttons: []bot.Button{{Label: "Decline", Data: "no", Style: bot.StyleDanger}}}
	s.seeText("›")
	mustPost(t, s.t, board("t", "go", "Waiting", "waiting"))
	s.keys("what is")
	s.seeText("› what is")
	early := mustPost(t, s.t, field)
	s.seeText("-- Decline")
	if screen := s.text(); strings.Contains(screen, "Answer › what is") {
		t.Errorf("the prompt turned what was being written into an answer:\n%s", screen)
	}
	s.keys(" this?\r")
	s.see("the question is gone", func(screen string) bool { return !strings.Contains(screen, "-- Decline") })
	late := mustPost(t, s.t, field)
	s.seeText("Answer › ▏")
	s.keys("2")
	s.seeText("Answer › 2")
	s.keys("\r")
	s.see("the question is gone", func(screen string) bool { return !strings.Contains(screen, "-- Decline") })
	mustPost(t, s.t, field)
	s.seeText("Answer › ▏")
	s.keys("/st")
	s.see("a command", func(screen string) bool {
		return strings.Contains(screen, "› /st") && !strings.Contains(screen, "Answer › /st")
	})
	s.keys("op\r\x04")
	s.leaves()
	want := []bot.Message{{Text: "what is this?", ReplyTo: early, Assumed: true}, {Text: "2", ReplyTo: late}, {Text: "/stop"}}
	if len(s.got) != len(want) {
		t.Fatalf("messages: got %+v, want %+v", s.got, want)
	}
	for i, m := range s.got {
		if m.Kind != want[i].Kind || m.Text != want[i].Text || m.ReplyTo != want[i].ReplyTo || m.Assumed != want[i].Assumed {
			t.Errorf("message %d: got %+v, want %+v", i, m, want[i])
		}
	}
}

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

// TestCutWords: rows end with a whole word where there is one.
func TestCutWords(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"Compare three phones", 40, "Compare three phones"},
		{"Compare three phones", 18, "Compare three…"},
		{"Compare three phones", 14, "Compare three…"},
		{"Compare three phones", 13, "Compare…"},
		{"Donaudampfschifffahrt", 10, "Donaudamp…"},
		{"a Donaudampfschifffahrt", 10, "a Donauda…"},
		{"你好世界你好世界", 8, "你好世…"},
	} {
		if got := cutWords(c.in, c.width); got != c.want {
			t.Errorf("cutWords(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

// TestHiddenAnswer: a secret is neither shown nor kept in the history, and neither is one
// behind /connect.
func TestHiddenAnswer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	s := sit(t, func(c *Config) { c.History = file })
	s.seeText("›")
	id := mustPost(t, s.t, bot.Draft{Kind: bot.KindQuestion, Text: "Your secret?", Hidden: true, FreeText: true})
	s.seeText("Your secret?")
	s.keys("7canary")
	s.seeText("› •••••••▏")
	s.keys("\r")
	if m := s.first(); m.Text != "7canary" || m.ReplyTo != id {
		t.Errorf("got %+v, want the secret", m)
	}
	s.keys("/connect wiki canary\r")
	s.seeText("› /connect wiki •••")
	if m := s.first(); m.Text != "/connect wiki canary" {
		t.Errorf("got %+v, want the command", m)
	}
	s.keys("\x04")
	s.leaves()
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, err := os.ReadFile(file)
	if shown := strings.Split(s.raw.String(), "/connect")[0]; err != nil || strings.Contains(string(kept), "canary") || strings.Contains(shown, "canary") {
		t.Errorf("the secret is kept or shown: %q, %v, %q", kept, err, shown)
	}
}
