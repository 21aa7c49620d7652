package terminal

import (
	"context"
	"io"
	"strings"
	"testing"

	"legwork/bot"
)

var payment = bot.Draft{
	Kind: bot.KindQuestion, Task: "t", Text: "May it?", Calls: []bot.Call{{Tool: "pay.now", Arguments: []byte(`{"n":1}`)}},
	Buttons: []bot.Button{{Label: "Allow", Data: "yes", Style: bot.StylePrimary}, {Label: "Deny", Data: "no", Style: bot.StyleDanger}},
}

// TestNobodyApproves: where nobody sits, calls are denied with a sentence that
// names the key which would let them run, for programs as well.
func TestNobodyApproves(t *testing.T) {
	for _, program := range []bool{false, true} {
		var out, progress buffer
		in := &inbox{}
		asked, answered := make(chan struct{}), make(chan struct{})
		cfg := Config{Text: "do it", Out: &out, Err: &progress, Texts: loadTexts(t), Wait: func(context.Context) error {
			<-asked
			mustPost(t, in.t, payment)
			<-answered
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
		if !program && !strings.Contains(progress.String(), "approve: never") {
			t.Errorf("progress = %q", progress.String())
		}
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

// TestKeysOfWords: where a number may be the answer, it presses nothing.
func TestKeysOfWords(t *testing.T) {
	q := questionOf("q", bot.Draft{FreeText: true, Buttons: []bot.Button{{Data: "omit"}, {Data: "decline", Style: bot.StyleDanger}}})
	for typed, want := range map[string]string{"1": "", "2": "", "-": "omit", " -- ": "decline", "---": "", "": ""} {
		if b, _ := q.typed(typed); b.Data != want {
			t.Errorf("typed(%q) = %q, want %q", typed, b.Data, want)
		}
	}
	q.words = false
	for typed, want := range map[string]string{"1": "omit", "02": "decline", "3": "", "-": "", "0": ""} {
		if b, _ := q.typed(typed); b.Data != want {
			t.Errorf("without words typed(%q) = %q, want %q", typed, b.Data, want)
		}
	}
}

// TestDirect: the person at the terminal can be written to, and nobody else.
func TestDirect(t *testing.T) {
	term := New(Config{Out: io.Discard, Person: "me", Texts: loadTexts(t)})
	if chat, err := term.Direct(t.Context(), "me"); err != nil || chat != term.Chat() {
		t.Errorf("Direct(me) = %v, %v", chat, err)
	}
	if _, err := term.Direct(t.Context(), "you"); err == nil {
		t.Error("Direct(you) found a chat")
	}
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
	s.seeText("one of these signs")
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
