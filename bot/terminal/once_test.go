package terminal

import (
	"context"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"legwork/bot"
)

// A run that asks one question prints its answer alone; earlier tasks are told
// apart from it.
func TestOnce(t *testing.T) {
	answer := func(task, to, text string, failed bool) bot.Draft {
		return bot.Draft{Kind: bot.KindAnswer, Task: task, ReplyTo: to, Text: text, Failed: failed}
	}
	old := board("old", "Old question", "Working")
	for _, c := range []struct {
		name, text    string
		drafts        func(id string) []bot.Draft
		interrupted   bool
		out, progress string
		failed        bool
	}{
		{"answered", "ask", func(id string) []bot.Draft {
			mine := board("t", "ask", "Planning")
			mine.ReplyTo = id
			return []bot.Draft{old, answer("old", "before", "Old **answer**", false), mine, answer("t", "", "Mine", false)}
		}, false, "Mine\n", "… Working\n↳ Old question\nOld **answer**\n… Planning\n", false},
		{"another one failed", "ask", func(id string) []bot.Draft {
			return []bot.Draft{answer("old", "before", "It broke.", true), answer("t", id, "Mine", false)}
		}, false, "Mine\n", "↳ An earlier question\n✗ It broke.\n", false},
		{"failed", "ask", func(id string) []bot.Draft {
			return []bot.Draft{answer("t", id, "It broke.", true)}
		}, false, "", "✗ It broke.\n", true},
		{"refused", "ask", func(id string) []bot.Draft {
			return []bot.Draft{{Kind: bot.KindNotice, Text: "Too long.", ReplyTo: id}}
		}, false, "", "Too long.\n", true},
		{"a command", "/status", func(id string) []bot.Draft {
			return []bot.Draft{{Kind: bot.KindNotice, Text: "Nothing is running.", ReplyTo: id}}
		}, false, "", "Nothing is running.\n", false},
		{"interrupted", "ask", func(id string) []bot.Draft {
			mine := board("t", "ask", "Planning")
			mine.ReplyTo = id
			return []bot.Draft{old, mine}
		}, true, "", "… Working\n[ask] … Planning\n2 tasks are unfinished. They continue at the next start.\n", true},
		{
			"interrupted before a board", "ask", func(string) []bot.Draft { return nil },
			true, "", "1 task is unfinished. It continues at the next start.\n", true,
		},
		{"interrupted after the answer", "ask", func(id string) []bot.Draft {
			return []bot.Draft{old, answer("t", id, "Mine", false)}
		}, true, "Mine\n", "… Working\n1 task is unfinished. It continues at the next start.\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, progress buffer
			in := &inbox{}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			in.t = New(Config{Text: c.text, Out: &out, Err: &progress, Texts: loadTexts(t), Wait: func(ctx context.Context) error {
				if c.interrupted {
					cancel()
				}
				return ctx.Err()
			}})
			in.script = func(m bot.Message) {
				for _, d := range c.drafts(m.ID) {
					mustPost(t, in.t, d)
				}
			}
			if err := in.t.Run(ctx, in.handle); err != nil {
				t.Fatal(err)
			}
			if out.String() != c.out || in.t.Failed() != c.failed {
				t.Errorf("got answer %q and Failed() %v, want %q and %v", out.String(), in.t.Failed(), c.out, c.failed)
			}
			if diff := cmp.Diff(c.progress, progress.String()); diff != "" {
				t.Errorf("progress (-want +got):\n%s", diff)
			}
		})
	}
}

// What goes on from last time is said first, once.
func TestResumed(t *testing.T) {
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = master.Close(), tty.Close() }()
	write(t, master, "\x04")
	const resumed = "Continuing 2 unfinished tasks from last time.\n"
	for _, c := range []struct {
		name   string
		config Config
		want   string
	}{
		{"lines", Config{In: strings.NewReader("")}, resumed},
		{"one question", Config{In: tty, Text: "/status"}, resumed},
		{"events", Config{In: strings.NewReader(""), JSON: true}, resumed},
		{"lines at a terminal", Config{In: tty}, "legwork, going on\n"},
	} {
		var out, progress buffer
		c.config.Out, c.config.Err, c.config.Texts = &out, &progress, loadTexts(t)
		c.config.Resumed, c.config.Banner = 2, "**legwork**, going on"
		term := New(c.config)
		if err := term.Run(t.Context(), (&inbox{t: term}).handle); err != nil {
			t.Fatal(err)
		}
		if out.String() != "" || progress.String() != c.want {
			t.Errorf("%s: got %q and %q on Err, want %q on Err alone", c.name, out.String(), progress.String(), c.want)
		}
	}
}

// A question that was decided elsewhere, or whose task is over, takes no line
// for its answer.
func TestLinesForgetDecidedQuestions(t *testing.T) {
	for name, end := range map[string]func(term *Terminal, id string){
		"decided": func(term *Terminal, id string) {
			mustEdit(t, term, id, bot.Draft{Kind: bot.KindQuestion, Task: "t", Text: "Which one? A"})
		},
		"over": func(term *Terminal, _ string) {
			mustPost(t, term, bot.Draft{Kind: bot.KindAnswer, Task: "t", Text: "Done."})
		},
	} {
		in := &inbox{}
		in.t = New(Config{In: strings.NewReader("next\n"), Out: &buffer{}, Texts: loadTexts(t)})
		l := in.t.frontend.(*lines)
		in.script = func(bot.Message) {
			end(in.t, mustPost(t, in.t, bot.Draft{Kind: bot.KindQuestion, Task: "t", Text: "Which one?", Buttons: []bot.Button{{Label: "A", Data: "a"}}}))
		}
		if err := in.t.Run(t.Context(), in.handle); err != nil {
			t.Fatal(err)
		}
		if len(l.replies)+len(l.questions) > 0 {
			t.Errorf("%s: got %d replies and %d questions left, want none", name, len(l.replies), len(l.questions))
		}
	}
}

// The group of sub-tasks without tools has a name for people.
func TestLinesNameTheModelGroup(t *testing.T) {
	var progress buffer
	in := &inbox{}
	in.t = New(Config{In: strings.NewReader("go\n"), Out: &buffer{}, Err: &progress, Texts: loadTexts(t)})
	in.script = func(bot.Message) {
		d := board("t", "go", "Working", "done")
		d.Board.Items[0].Group, d.Board.Items[0].Elapsed = modelGroup, 1e6
		mustPost(t, in.t, d)
	}
	if err := in.t.Run(t.Context(), in.handle); err != nil {
		t.Fatal(err)
	}
	if got, want := progress.String(), "… Working\n✓ 1/a model: Part A (0.0s)\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
