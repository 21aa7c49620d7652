package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"legwork/bot"
	"legwork/i18n"
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		program()
		return
	}
	goleak.VerifyTestMain(m)
}

// buffer is a writer that keeps each write.
type buffer struct {
	mu     sync.Mutex
	writes []string
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writes = append(b.writes, string(p))
	return len(p), nil
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.writes, "")
}

func loadTexts(t *testing.T) *i18n.Texts {
	t.Helper()
	texts, err := i18n.Load("")
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// inbox keeps the messages it is handed, and answers them as script says.
type inbox struct {
	t      *Terminal
	script func(m bot.Message)
	refuse error
	came   chan<- bot.Message // called with every message, when set

	mu  sync.Mutex
	got []bot.Message
}

func (in *inbox) handle(_ context.Context, all []bot.Message) error {
	if in.refuse != nil {
		return in.refuse
	}
	for _, m := range all {
		in.mu.Lock()
		in.got = append(in.got, m)
		in.mu.Unlock()
		if in.script != nil {
			in.script(m)
		}
		if in.came != nil {
			in.came <- m
		}
	}
	return nil
}

func (in *inbox) texts() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	var all []string
	for _, m := range in.got {
		all = append(all, m.Text+m.Data)
	}
	return all
}

// mustPost posts and reports what went wrong.
func mustPost(t *testing.T, term *Terminal, d bot.Draft) string {
	t.Helper()
	id, err := term.Post(context.Background(), term.Chat(), d)
	if err != nil {
		t.Errorf("posting %v: %v", d, err)
	}
	return id
}

func mustEdit(t *testing.T, term *Terminal, id string, d bot.Draft) {
	t.Helper()
	if err := term.Edit(context.Background(), term.Chat(), id, d); err != nil {
		t.Errorf("editing %v: %v", d, err)
	}
}

func TestLines(t *testing.T) {
	var out, progress buffer
	in := &inbox{}
	in.t = New(Config{In: strings.NewReader("first\n\nsecond \\\ngoes on\n/status\n"), Out: &out, Err: &progress, Texts: loadTexts(t), Person: "me"})
	in.script = func(m bot.Message) {
		if m.Text != "first" {
			return
		}
		board := func(status string, items ...bot.Item) bot.Draft {
			return bot.Draft{Kind: bot.KindBoard, Task: "t", Board: &bot.Board{Title: "first", Status: status, Items: items}}
		}
		id := mustPost(t, in.t, board("Planning"))
		mustEdit(t, in.t, id, board("Planning"))
		mustEdit(t, in.t, id, board("Working: 0 of 2 done",
			bot.Item{ID: "1/a", Group: "math", Title: "Compute\x1b[31m", State: "working"}, bot.Item{ID: "1/b", Group: "clock", Title: "Time", State: "todo"}))
		mustEdit(t, in.t, id, board("Working: 0 of 2 done",
			bot.Item{ID: "1/a", Group: "math", State: "working", Doing: "math.calculate"}, bot.Item{ID: "1/b", Group: "clock", State: "todo"}))
		mustEdit(t, in.t, id, board("Working: 1 of 2 done",
			bot.Item{ID: "1/a", Group: "math", State: "done", Elapsed: 1200e6}, bot.Item{ID: "1/b", Group: "clock", Title: "Time", State: "failed", Elapsed: 61e9}))
		mustEdit(t, in.t, id, board("Writing the answer",
			bot.Item{ID: "1/a", Group: "math", State: "done"}, bot.Item{ID: "1/b", Group: "clock", State: "failed"}))
		if err := in.t.Stream(context.Background(), in.t.Chat(), bot.Draft{Task: "t", Text: "The **res"}); err != nil {
			t.Error(err)
		}
		answer := bot.Draft{Kind: bot.KindAnswer, Task: "t", Text: "The **result** is 391.\x1b[2J\n", Footer: "2 sub-tasks"}
		mustEdit(t, in.t, mustPost(t, in.t, answer), answer)
		mustPost(t, in.t, bot.Draft{Kind: bot.KindNotice, Text: "Noted: *well*."})
	}
	if err := in.t.Run(t.Context(), in.handle); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"first", "second \ngoes on", "/status"}, in.texts()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("The **result** is 391.␛[2J\n", out.String()); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	want := `… Planning
▶ 1/a math: Compute␛[31m
  1/a math: calling math.calculate
✓ 1/a math (1.2s)
✗ 1/b clock: Time (1m01s)
… Writing the answer
2 sub-tasks
Noted: well.
`
	if diff := cmp.Diff(want, progress.String()); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	m := in.got[0]
	if m.Key != "terminal:main:"+m.ID || m.Chat.Key() != "terminal:main" || !m.Chat.Private || m.From.Key() != "terminal:me" || m.At.IsZero() {
		t.Errorf("the first message is %+v, want chat terminal:main, person terminal:me, and a key of both ids", m)
	}
	if in.t.Failed() {
		t.Error("Failed() is true, want false: the answer says that all went well")
	}
}

func TestLinesTellTasksApart(t *testing.T) {
	var progress buffer
	in := &inbox{}
	in.t = New(Config{In: strings.NewReader("x"), Out: io.Discard, Err: &progress, Texts: loadTexts(t)})
	in.script = func(bot.Message) {
		mustPost(t, in.t, board("t", "one", "Working", "working"))
		mustPost(t, in.t, board("u", "two", "Working", "working"))
		mustPost(t, in.t, bot.Draft{Kind: bot.KindAnswer, Task: "t", Text: "no", Failed: true})
		mustPost(t, in.t, board("u", "two", "Working", "done"))
	}
	if err := in.t.Run(t.Context(), in.handle); err != nil {
		t.Fatal(err)
	}
	want := `… Working
▶ 1/a math: Part A
[two] … Working
[two] ▶ 1/a math: Part A
✗ no
✓ 1/a math
`
	if diff := cmp.Diff(want, progress.String()); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

func TestLinesWaitForAnswers(t *testing.T) {
	var out, progress buffer
	in := &inbox{}
	asked, answered := make(chan struct{}), make(chan struct{})
	in.t = New(Config{Text: "do it", Out: &out, Err: &progress, Texts: loadTexts(t), Wait: func(context.Context) error {
		<-asked // the task goes on while Run waits, and wants to know something
		mustPost(t, in.t, bot.Draft{Kind: bot.KindQuestion, Task: "t", Text: "Which one?", Buttons: []bot.Button{{Label: "A", Data: "a"}}})
		<-answered
		mustPost(t, in.t, bot.Draft{Kind: bot.KindAnswer, Task: "t", Text: "It did **not** work.", Failed: true, ReplyTo: in.got[0].ID})
		return nil
	}})
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
	want := "? Which one?\n  1) A\n✗ It did not work.\n"
	if diff := cmp.Diff(want, progress.String()); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	if out.String() != "" || !in.t.Failed() {
		t.Errorf("answers: got %q and Failed() %v, want none and true", out.String(), in.t.Failed())
	}
	if !in.got[0].Standalone {
		t.Error("the only message may become guidance, want it apart")
	}
	if last := in.got[len(in.got)-1]; last.ReplyTo == "" || last.Standalone || !strings.HasPrefix(last.Text, "There is no person") {
		t.Errorf("the reply to the question is %+v, want one that says that there is no person", last)
	}
	if _, err := in.t.Post(t.Context(), in.t.Chat(), bot.Draft{Kind: bot.KindAnswer, Text: "late"}); !errors.Is(err, ErrClosed) {
		t.Errorf("posting after Run ended: got %v, want ErrClosed", err)
	}
}

func TestLinesChooseByNumber(t *testing.T) {
	input, feed := io.Pipe()
	in := &inbox{}
	asked := make(chan string, 1)
	in.t = New(Config{In: input, Out: io.Discard, Texts: loadTexts(t)})
	in.script = func(m bot.Message) {
		if m.Text == "go" {
			asked <- mustPost(t, in.t, bot.Draft{Kind: bot.KindQuestion, Task: "t", Text: "May I?", Buttons: []bot.Button{{Label: "Yes", Data: "y"}, {Label: "No", Data: "n"}}})
		}
	}
	done := make(chan error)
	go func() { done <- in.t.Run(t.Context(), in.handle) }()
	write(t, feed, "go\n")
	question := <-asked
	write(t, feed, "2\n3\n")
	if err := feed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"go", "n", "3"}, in.texts()); diff != "" {
		t.Fatalf("texts and presses (-want +got):\n%s", diff)
	}
	if press := in.got[1]; press.ReplyTo != question || press.Text != "" || press.Data != "n" {
		t.Errorf("the press is %+v, want data n for question %s", press, question)
	}
	if got, want := []bool{in.got[0].Standalone, in.got[1].Standalone, in.got[2].Standalone}, []bool{true, false, true}; !slices.Equal(got, want) {
		t.Errorf("apart: got %v, want %v: only the line after the question belongs to its task", got, want)
	}
}

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	for name, json := range map[string]bool{"lines": false, "events": true} {
		input, feed := io.Pipe() // never written to
		ctx, cancel := context.WithCancel(t.Context())
		term := New(Config{In: input, Out: io.Discard, JSON: json, Texts: loadTexts(t)})
		done := make(chan error)
		go func() { done <- term.Run(ctx, (&inbox{t: term}).handle) }()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("%s: got %v, want nil after the context ended", name, err)
		}
		_ = feed.Close()
	}
}

func TestEvents(t *testing.T) {
	lines := []string{
		`{"id": "q1", "text": "first"}`,
		`plain text`,
		`{"id": "q2", "text": `,
		`["q8"]`,
		`{"text": 7, "id": "q9"}`,
		``,
		`{"id": "q3", "text": " "}`,
		`{"id": "q4", "press": "y", "reply_to": "m1"}`,
		`{"id": "q5", "text": "nul ` + `\u0000` + ` and ` + "\xff" + `", "language": "ru"}`,
	}
	var out buffer
	in := &inbox{}
	in.t = New(Config{In: strings.NewReader(strings.Join(lines, "\n")), Out: &out, JSON: true, Chat: "work", Person: "p"})
	in.script = func(m bot.Message) {
		if m.ID != "q1" {
			return
		}
		ctx, chat := context.Background(), in.t.Chat()
		mustPost(t, in.t, bot.Draft{Kind: bot.KindBoard, Task: "t", Board: &bot.Board{Title: "first", Status: "Planning", Items: []bot.Item{
			{ID: "1/a", Title: "A", Group: "llm_tool", State: "working", Elapsed: 1234567890},
		}}})
		for _, text := range []string{"Hel", "Hello", "Hello", "No"} {
			if err := in.t.Stream(ctx, chat, bot.Draft{Task: "t", Text: text}); err != nil {
				t.Error(err)
			}
		}
		answer := bot.Draft{Kind: bot.KindAnswer, Task: "t", Text: "<No>", Footer: "f", ReplyTo: "q1"}
		mustEdit(t, in.t, mustPost(t, in.t, answer), answer)
		mustPost(t, in.t, bot.Draft{Kind: bot.KindQuestion, Task: "u", Text: "Which?", Buttons: []bot.Button{{Label: "A", Data: "a"}}})
		mustPost(t, in.t, bot.Draft{Kind: bot.KindNotice, Text: "Noted."})
	}
	if err := in.t.Run(t.Context(), in.handle); err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	for _, w := range out.writes {
		var ev map[string]any
		if err := json.Unmarshal([]byte(w), &ev); err != nil || strings.Count(w, "\n") != 1 {
			t.Fatalf("a write is not one line of JSON: %q: %v", w, err)
		}
		delete(ev, "id")
		got = append(got, ev)
	}
	want := []map[string]any{
		{"type": "error", "line": 2.0, "text": "line 2 is not a JSON object with id and text"},
		{"type": "error", "line": 3.0, "message": "q2", "text": "line 3 is not a JSON object with id and text: unexpected end of JSON input"},
		{"type": "error", "line": 4.0, "text": "line 4 is not a JSON object with id and text"},
		{"type": "error", "line": 5.0, "message": "q9", "text": "line 5: text is a number; it must be a string"},
		{"type": "error", "line": 7.0, "message": "q3", "text": "line 7 has no text"},
		{"type": "board", "task": "t", "board": map[string]any{"title": "first", "status": "Planning", "items": []any{
			map[string]any{"id": "1/a", "title": "A", "group": "llm_tool", "state": "working", "elapsed_ms": 1234.0},
		}}},
		{"type": "delta", "task": "t", "text": "Hel"},
		{"type": "delta", "task": "t", "text": "lo"},
		{"type": "delta", "task": "t", "text": "No", "reset": true},
		{"type": "answer", "task": "t", "reply_to": "q1", "text": "<No>", "failed": false, "footer": "f"},
		{"type": "question", "task": "u", "text": "Which?", "buttons": []any{map[string]any{"label": "A", "data": "a"}}},
		{"type": "notice", "text": "Noted."},
		{"type": "accepted", "message": "q1"},
		{"type": "accepted", "message": "q4"},
		{"type": "accepted", "message": "q5"},
	}
	if diff := cmp.Diff(sortErrorsFirst(want), sortErrorsFirst(got)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	last := in.got[len(in.got)-1]
	if last.Text != "nul  and \uFFFD" || last.Language != "ru" || last.Key != "terminal:work:q5" {
		t.Errorf("the last message is %+v, want the key terminal:work:q5 and a clean text", last)
	}
	if press := in.got[1]; press.Kind != bot.MessagePress || press.Data != "y" || press.ReplyTo != "m1" {
		t.Errorf("the press is %+v, want data y for message m1", press)
	}
}

// sortErrorsFirst makes up for batches: which lines are read together depends
// on timing.
func sortErrorsFirst(all []map[string]any) []map[string]any {
	var errs, accepted, rest []map[string]any
	for _, ev := range all {
		switch ev["type"] {
		case "error":
			errs = append(errs, ev)
		case "accepted":
			accepted = append(accepted, ev)
		default:
			rest = append(rest, ev)
		}
	}
	return append(append(errs, rest...), accepted...)
}

func TestEventsSayWhatWasNotStored(t *testing.T) {
	var out buffer
	term := New(Config{In: strings.NewReader(`{"id":"q1","text":"x"}`), Out: &out, JSON: true})
	in := &inbox{t: term, refuse: errors.New("the disk is full")}
	if err := term.Run(t.Context(), in.handle); err != nil {
		t.Fatal(err)
	}
	if want := `{"type":"error","message":"q1","text":"the disk is full"}` + "\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestLongLines(t *testing.T) {
	goal := strings.Repeat("x", 100<<10)
	var out buffer
	term := New(Config{In: strings.NewReader(`{"text":"` + goal + "\"}\n{\"id\":\"y\",\"text\":\"" + strings.Repeat("y", maxLine+1) + "\"}\n" + `{"text":"z"}`), Out: &out, JSON: true})
	in := &inbox{t: term}
	if err := term.Run(t.Context(), in.handle); err != nil {
		t.Fatal(err)
	}
	if got := in.texts(); len(got) != 2 || got[0] != goal || got[1] != "z" {
		t.Errorf("got %d messages, want the long goal whole and the line after the one that is too long", len(got))
	}
	if !strings.Contains(out.String(), `"message":"y","text":"line 2 is longer than`) {
		t.Errorf("events %q do not name the message that is too long", out.String())
	}
}

// A line of a pipe that is too long is refused with the limit, and the run fails.
func TestLinesRefuseALongLine(t *testing.T) {
	var progress buffer
	term := New(Config{In: strings.NewReader(strings.Repeat("x", maxLine+1) + "\n" + strings.Repeat("y", 9) + "\nz\n"), Out: &buffer{}, Err: &progress, Texts: loadTexts(t), MaxText: 8})
	in := &inbox{t: term}
	if err := term.Run(t.Context(), in.handle); err != nil {
		t.Fatal(err)
	}
	if got := in.texts(); !slices.Equal(got, []string{"z"}) || !term.Failed() {
		t.Errorf("got messages %q and failed %v, want z alone and a failed run", got, term.Failed())
	}
	for _, number := range []string{"1", "2"} {
		if want := "✗ I cannot read line " + number + ": The message is too long: at most 8 bytes."; !strings.Contains(progress.String(), want) {
			t.Errorf("progress %q lacks %q", progress.String(), want)
		}
	}
}

func TestWrongChat(t *testing.T) {
	for _, c := range []struct {
		json bool
		chat bot.Chat
	}{
		{false, bot.Chat{Platform: "web", ID: "main"}},
		{true, bot.Chat{Platform: "web", ID: "main"}},
	} {
		term := New(Config{In: &bytes.Buffer{}, Out: io.Discard, JSON: c.json})
		if _, err := term.Post(t.Context(), c.chat, bot.Draft{}); err == nil {
			t.Errorf("posting to %s with JSON %v: got no error", c.chat.Key(), c.json)
		}
	}
}

// TestLinesInOrder: a pipe asks the next question when the one before it is
// answered, so that answers come in the order of the lines.
func TestLinesInOrder(t *testing.T) {
	var out buffer
	var busy sync.WaitGroup
	var asked, answered atomic.Int32
	in := &inbox{}
	in.t = New(Config{
		In: strings.NewReader("one\ntwo\n/status\nthree\n"), Out: &out, Person: "p",
		Wait: func(context.Context) error { busy.Wait(); return nil },
	})
	in.script = func(m bot.Message) {
		if a := answered.Load(); a != asked.Load() {
			t.Errorf("%q was asked after %d of %d answers", m.Text, a, asked.Load())
		}
		asked.Add(1)
		busy.Go(func() {
			mustPost(t, in.t, bot.Draft{Kind: bot.KindAnswer, Task: m.ID, ReplyTo: m.ID, Text: "re " + m.Text})
			answered.Add(1)
		})
	}
	if err := in.t.Run(t.Context(), in.handle); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "re one\nre two\nre /status\nre three\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLeftFromBefore: in a pipe, answers of an earlier run do not mix with
// those to its lines.
func TestLeftFromBefore(t *testing.T) {
	var out, progress buffer
	in := &inbox{}
	in.t = New(Config{In: strings.NewReader("one\n"), Out: &out, Err: &progress, Person: "p"})
	in.script = func(m bot.Message) {
		mustPost(t, in.t, bot.Draft{Kind: bot.KindAnswer, Task: "old", ReplyTo: "m-before", Text: "from before"})
		mustPost(t, in.t, bot.Draft{Kind: bot.KindAnswer, Task: "new", ReplyTo: m.ID, Text: "re one"})
	}
	if err := in.t.Run(t.Context(), in.handle); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "re one\n" || !strings.Contains(progress.String(), "from before") {
		t.Errorf("got %q on Out and %q on Err, want the own answer and the earlier one", got, progress.String())
	}
}

// TestOtherConversation: what another conversation of the terminal left
// unfinished is shown in the one that is open.
func TestOtherConversation(t *testing.T) {
	var out buffer
	in := &inbox{}
	in.t = New(Config{In: strings.NewReader("hi\n"), Out: &out, Chat: "work", Person: "p"})
	in.script = func(bot.Message) {
		if _, err := in.t.Post(context.Background(), bot.Chat{Platform: Name, ID: "left"}, bot.Draft{Kind: bot.KindAnswer, Task: "t", Text: "from before"}); err != nil {
			t.Errorf("posting to another conversation: %v", err)
		}
	}
	if err := in.t.Run(t.Context(), in.handle); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "from before") {
		t.Errorf("got %q, want the answer of the other conversation", got)
	}
}

func TestEventsOfSeveralConversations(t *testing.T) {
	var out buffer
	in := &inbox{}
	lines := `{"id": "q1", "text": "a", "chat": "left", "standalone": false}` + "\n" + `{"id": "q1", "text": "b"}`
	in.t = New(Config{In: strings.NewReader(lines), Out: &out, JSON: true, Chat: "work", Person: "p"})
	in.script = func(m bot.Message) {
		if _, err := in.t.Post(context.Background(), m.Chat, bot.Draft{Kind: bot.KindNotice, Text: m.Text}); err != nil {
			t.Error(err)
		}
	}
	if err := in.t.Run(t.Context(), in.handle); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range in.got {
		got = append(got, fmt.Sprint(m.Key, " ", m.Standalone))
	}
	for _, w := range out.writes {
		var ev struct{ Type, Chat, Text string }
		if err := json.Unmarshal([]byte(w), &ev); err != nil {
			t.Fatal(err)
		}
		if ev.Type == "notice" {
			got = append(got, ev.Chat+" "+ev.Text)
		}
	}
	want := []string{"terminal:left:q1 false", "terminal:work:q1 true", "left a", " b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages and notices (-want +got):\n%s", diff)
	}
}
