package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/bot"
)

// attach attaches a terminal to a hub. The frames are summarised in seen; end detaches
// the terminal and returns the error of Attach.
func attach(t *testing.T, h *Hub, session, chat string, fail error) (seen *[]string, end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	seen = &[]string{}
	ended := make(chan error, 1)
	go func() {
		known := func() error { _, err := h.viewer(session); return err }
		ended <- h.Attach(ctx, session, chat, known, func(f Frame) error {
			if fail != nil {
				return fail
			}
			if f.Draft == nil {
				*seen = append(*seen, "idle "+f.Idle)
			} else {
				*seen = append(*seen, string(f.Draft.Kind)+" "+f.Draft.Text)
			}
			return nil
		})
	}()
	synctest.Wait()
	return seen, func() error { cancel(); return <-ended }
}

// TestHub: a terminal sees what is open in its conversation when it attaches, and the
// frames after that. An answer waits until one terminal has shown it; other drafts do
// not wait.
func TestHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub("me")
		ctx, stop := context.WithCancel(t.Context())
		var got []bot.Message
		ended := make(chan error, 1)
		go func() {
			ended <- h.Run(ctx, func(_ context.Context, all []bot.Message) error { got = append(got, all...); return nil })
		}()
		chat := bot.Chat{Platform: Name, ID: "main", Private: true}
		post := func(d bot.Draft) string {
			id, err := h.Post(t.Context(), chat, d)
			if err != nil {
				t.Errorf("posting %+v: %v", d, err)
			}
			return id
		}
		post(bot.Draft{Kind: bot.KindBoard, Task: "t", Text: "board"})
		post(bot.Draft{Kind: bot.KindQuestion, Task: "t", Text: "which?", Buttons: payment.Buttons})
		asked := post(bot.Draft{Kind: bot.KindQuestion, Task: "t", Text: "may it?", Buttons: payment.Buttons})
		if err := h.Edit(t.Context(), chat, asked, bot.Draft{Kind: bot.KindQuestion, Task: "t", Text: "Allowed."}); err != nil {
			t.Error(err)
		}
		if _, err := h.Post(t.Context(), chat, bot.Draft{Kind: bot.KindNotice, Text: "news"}); !errors.Is(err, bot.ErrGone) {
			t.Errorf("a notice that no terminal shows: got %v, want ErrGone", err)
		}
		broken := errors.New("broken")
		if _, end := attach(t, h, "a", "main", broken); !errors.Is(end(), broken) {
			t.Error("a terminal that fails stayed attached")
		}
		early, leave := attach(t, h, "b", "main", nil)
		_ = leave()
		if want := []string{"board board", "question which?"}; !slices.Equal(*early, want) {
			t.Errorf("a terminal that attaches sees %q, want %q", *early, want)
		}
		go post(bot.Draft{Kind: bot.KindAnswer, Task: "t", Text: "answer"})
		other, leave := attach(t, h, "b", "other", nil)
		seen, end := attach(t, h, "c", "main", nil)
		if diff := cmp.Diff([]string{"answer answer"}, *seen); diff != "" { // with it, nothing is open
			t.Errorf("frames (-want +got):\n%s", diff)
		}
		if err := h.Handle(t.Context(), "c", []bot.Message{{ID: "1", Text: "hello", Chat: bot.Chat{ID: "other"}, From: bot.Person{ID: "you"}}}); err != nil {
			t.Error(err)
		}
		if want := h.Person(); len(got) != 1 || got[0].From != want || got[0].Key != "terminal:other:1" {
			t.Errorf("got messages %+v, want one of %v", got, want)
		}
		var waited []string
		if err := h.Idle(t.Context(), "c", "call", func(_ context.Context, c string) error { waited = append(waited, c); return nil }); err != nil {
			t.Error(err)
		}
		chat.ID = "other"
		post(bot.Draft{Kind: bot.KindNotice, Text: "for other"})
		if !slices.Equal(waited, []string{"terminal:main", "terminal:other"}) || !slices.Equal(*seen, []string{"answer answer", "idle call", "notice for other"}) || !slices.Equal(*other, []string{"notice for other"}) {
			t.Errorf("waited for %q; frames %q and %q", waited, *seen, *other)
		}
		if err := h.Handle(t.Context(), "gone", nil); err == nil {
			t.Error("a message of an unknown session was taken")
		}
		_ = leave()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		synctest.Wait() // the end detaches the last terminal
		if err := end(); err != nil {
			t.Errorf("Attach after the end of Run: %v", err)
		}
		if _, err := h.Post(t.Context(), chat, bot.Draft{Kind: bot.KindAnswer, Task: "u", Text: "late"}); !errors.Is(err, ErrClosed) {
			t.Errorf("an answer after the end: got %v, want ErrClosed", err)
		}
	})
}

// TestHubRepliesToSender: of several terminals of a conversation, the one that sent a
// message shows the notices and questions about it. All show what a task shows, and a
// notice about a message of a terminal that has left.
func TestHubRepliesToSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub("me")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.Run(ctx, func(context.Context, []bot.Message) error { return nil }) }()
		first, leaveFirst := attach(t, h, "a", "main", nil)
		second, leaveSecond := attach(t, h, "b", "main", nil)
		if err := h.Handle(t.Context(), "a", []bot.Message{{ID: "1", Text: "/forget"}}); err != nil {
			t.Fatal(err)
		}
		post := func(d bot.Draft) {
			d.ReplyTo = "1"
			if _, err := h.Post(t.Context(), bot.Chat{Platform: Name, ID: "main", Private: true}, d); err != nil {
				t.Errorf("posting %+v: %v", d, err)
			}
		}
		post(bot.Draft{Kind: bot.KindNotice, Text: "sure?", Buttons: payment.Buttons})
		post(bot.Draft{Kind: bot.KindQuestion, Text: "for whom?", Buttons: payment.Buttons})
		post(bot.Draft{Kind: bot.KindQuestion, Task: "t", Text: "which?"})
		post(bot.Draft{Kind: bot.KindAnswer, Task: "t", Text: "done"})
		_ = leaveFirst()
		post(bot.Draft{Kind: bot.KindNotice, Text: "late"})
		_ = leaveSecond()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"notice sure?", "question for whom?", "question which?", "answer done"}, *first); diff != "" {
			t.Errorf("the terminal that sent the message (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"question which?", "answer done", "notice late"}, *second); diff != "" {
			t.Errorf("the other terminal (-want +got):\n%s", diff)
		}
	})
}

// TestShowFrame: a terminal shows a frame as it shows a draft, with the running times.
func TestShowFrame(t *testing.T) {
	d := board("t", "go", "Working", "done")
	d.Board.Items[0].Elapsed = 2 * time.Second
	d.Board.Waiting = true
	text, err := json.Marshal(newFrame(bot.Chat{Platform: Name, ID: "main"}, "m", d, false))
	if err != nil {
		t.Fatal(err)
	}
	var f Frame
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&f); err != nil {
		t.Fatal(err)
	}
	var progress buffer
	in := &inbox{}
	in.t = New(Config{In: strings.NewReader("go\n"), Out: &buffer{}, Err: &progress, Texts: loadTexts(t)})
	in.script = func(bot.Message) {
		if err := in.t.Show(t.Context(), f); err != nil {
			t.Error(err)
		}
	}
	if err := in.t.Run(t.Context(), in.handle); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, f.draft()); diff != "" {
		t.Errorf("the draft (-sent +received):\n%s", diff)
	}
	if got, want := progress.String(), "… Working\n✓ 1/a math: Part A (2.0s)\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
