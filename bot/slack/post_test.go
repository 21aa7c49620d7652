package slack_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/bot"
	"legwork/bot/slack"
	"legwork/internal/test/fakes/slackfake"
)

var stop = []bot.Button{{Label: "Stop", Data: "s:1"}}

// asked lets Ann ask in a channel and returns the conversation.
func asked(t *testing.T, p *env) bot.Chat {
	t.Helper()
	n := len(p.got())
	p.Say("C1", "U1", "<@UBOT> when was it?", "")
	p.until(t, "the question", func() bool { return len(p.got()) > n })
	return p.got()[n].Chat
}

func thinking() bot.Draft {
	return bot.Draft{Kind: bot.KindBoard, Task: "1", Text: "Thinking…", Partial: true, Board: &bot.Board{Title: "When was it?", Status: "Thinking…"}, Buttons: stop, Mark: "1.board"}
}

func working(done int) bot.Draft {
	d := thinking()
	d.Board = &bot.Board{Title: "When was it?", Status: fmt.Sprintf("Working: %d of 2 done", done)}
	for i, title := range []string{"Look it up", "Compare"} {
		state := "todo"
		switch {
		case i < done:
			state = "done"
		case i == done:
			state = "working"
		}
		d.Board.Items = append(d.Board.Items, bot.Item{ID: fmt.Sprintf("1/%d", i), Title: title, Group: "web", State: state, Elapsed: time.Duration(i+1) * time.Second})
	}
	return d
}

func folded() bot.Draft {
	return bot.Draft{Kind: bot.KindBoard, Task: "1", Board: &bot.Board{Title: "When was it?", Status: "Done: 2 of 2"}, Mark: "1.board"}
}

func answer(text string) bot.Draft {
	return bot.Draft{Kind: bot.KindAnswer, Task: "1", Text: text, Footer: "2 sub-tasks · 3 s", Buttons: []bot.Button{{Label: "Details", Data: "d:1"}}, Mark: "1.answer.1"}
}

// seen is everything that stands in a message, for searching.
func seen(m slackfake.Message) string {
	all, _ := json.Marshal(m)
	return string(all)
}

// TestLinkedBoard: a board leads to its task in the page, where there is one.
func TestLinkedBoard(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	for link, want := range map[string]string{"": `"text":"Done: 2 & 3 of 3"`, "https://bot.example.com/console/tasks/1": `"text":"<https://bot.example.com/console/tasks/1|Done: 2 &amp; 3 of 3>"`} {
		d := folded()
		d.Board.Link, d.Board.Status, d.Mark = link, "Done: 2 & 3 of 3", ""
		m := p.message(t, channel(""), p.post(t, channel(""), d))
		if got := strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(string(m.Blocks)); !strings.Contains(got, want) {
			t.Errorf("with the link %q: got %s, want %s", link, got, want)
		}
	}
}

// TestRefusedLooks: what Slack does not like is shown more plainly.
func TestRefusedLooks(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	for n := 1; n <= 2; n++ {
		p.Break(slackfake.Fault{Method: "chat.postMessage", Kind: slackfake.FaultError, Error: "invalid_blocks", Count: n})
		m := p.message(t, channel(""), p.post(t, channel(""), answer("It is **here** & <there>.")))
		if !strings.Contains(m.Text, "It is here &amp; &lt;there&gt;.") || strings.Contains(string(m.Blocks), "**") {
			t.Errorf("after %d refusals: %s", n, seen(m))
		}
		if hasButtons := len(m.Buttons()) > 0; hasButtons != (n == 1) {
			t.Errorf("after %d refusals the buttons are %q", n, m.Buttons())
		}
	}
}

// TestUnknownRefusals: the words arrive, whatever Slack has against their looks.
func TestUnknownRefusals(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	p.Break(slackfake.Fault{Method: "chat.postMessage", Kind: slackfake.FaultError, Error: "something_new", Count: 2})
	if m := p.message(t, channel(""), p.post(t, channel(""), answer("It was **Friday**."))); !strings.Contains(m.Text, "Friday") || m.Blocks != nil {
		t.Errorf("got %s", seen(m))
	}
	p.Break(slackfake.Fault{Method: "chat.postMessage", Kind: slackfake.FaultError, Error: "something_new", Count: 3})
	if _, err := p.s.Post(t.Context(), channel(""), answer("two")); err == nil || errors.Is(err, bot.ErrGone) {
		t.Errorf("got %v, want a temporary error", err)
	}
	p.Break(slackfake.Fault{Method: "chat.postMessage", Kind: slackfake.FaultError, Error: "internal_error"})
	if _, err := p.s.Post(t.Context(), channel(""), answer("three")); err == nil {
		t.Error("legwork tried another layout after a temporary error")
	}
}

func TestErrorsOfPostAndEdit(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	id := p.post(t, channel(""), answer("one"))
	for _, channel := range []string{"C2", "C3", "C99"} {
		to := bot.Chat{Platform: "slack", ID: channel}
		if _, err := p.s.Post(t.Context(), to, answer("two")); !errors.Is(err, bot.ErrGone) {
			t.Errorf("Post to %s: %v, want ErrGone", channel, err)
		}
		if err := p.s.Edit(t.Context(), to, id, answer("two")); !errors.Is(err, bot.ErrGone) {
			t.Errorf("Edit in %s: %v, want ErrGone", channel, err)
		}
	}
	var moved *bot.MovedError
	if err := p.s.Edit(t.Context(), channel(""), "1.000001", answer("two")); !errors.As(err, &moved) {
		t.Fatalf("Edit of a deleted message: %v, want Moved", err)
	}
	if m := p.message(t, channel(""), moved.ID); !strings.Contains(seen(m), "two") {
		t.Errorf("the new message is %s", seen(m))
	}
	p.Break(slackfake.Fault{Method: "chat.update", Kind: slackfake.FaultStatus})
	if err := p.s.Edit(t.Context(), channel(""), id, answer("three")); err == nil || errors.Is(err, bot.ErrGone) {
		t.Errorf("Edit during an outage of Slack: %v, want a temporary error", err)
	}
	if _, err := p.s.Direct(t.Context(), "U99"); !errors.Is(err, bot.ErrGone) {
		t.Errorf("Direct to an unknown person: %v, want ErrGone", err)
	}
	if to, err := p.s.Direct(t.Context(), "U2"); err != nil || !to.Private || to.ID != p.DM("U2") {
		t.Errorf("Direct: %+v, %v", to, err)
	}
	p.stop()
	for _, part := range []string{"edit refused", "task=1", "message_not_found"} {
		if !strings.Contains(p.log.String(), part) {
			t.Errorf("the log lacks %q:\n%s", part, p.log)
		}
	}
}

// TestRateLimits: a frame is left out, an outcome waits.
func TestRateLimits(t *testing.T) {
	t.Parallel()
	h := &holds{}
	p := start(t, set{options: slack.Options{RateLimiter: h}}).ready(t)
	to := asked(t, p)
	id := p.post(t, to, thinking())
	p.Break(slackfake.Fault{Method: "chat.appendStream", Kind: slackfake.FaultBusy, RetryAfter: 1})
	var later *bot.LaterError
	for err := error(&bot.LaterError{After: time.Millisecond}); errors.As(err, &later) && later.After < 900*time.Millisecond; {
		<-time.After(later.After)
		err = p.s.Edit(t.Context(), to, id, working(0))
	}
	if later.After != time.Second || len(h.held) != 1 || h.held[0].Method != "chat.appendStream" || h.held[0].Account != "T1" {
		t.Errorf("a refused frame: wait %s, pauses of the limiter: %+v", later.After, h.held)
	}
	p.Break(slackfake.Fault{Method: "chat.stopStream", Kind: slackfake.FaultBusy, RetryAfter: 1})
	p.Break(slackfake.Fault{Method: "chat.update", Kind: slackfake.FaultBusy, RetryAfter: 1})
	p.edit(t, to, id, answer("It was Friday."))
	p.Break(slackfake.Fault{Method: "chat.postMessage", Kind: slackfake.FaultBusy, RetryAfter: 1})
	p.post(t, to, answer("And Monday."))
	for _, held := range h.held { // only posts are counted in each channel
		if (held.Chat != "") != (held.Method == "chat.postMessage") {
			t.Errorf("the limiter was told to hold %+v", held)
		}
	}
	if m := p.message(t, to, id); m.Stream != nil || !strings.Contains(seen(m), "It was Friday.") {
		t.Errorf("got %s", seen(m))
	}
}

type holds struct{ held []bot.Request }

func (h *holds) Wait(context.Context, bot.Request) error { return nil }

func (h *holds) Pause(r bot.Request, _ time.Duration) { h.held = append(h.held, r) }

func TestFind(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	to := asked(t, p)
	dm := bot.Chat{Platform: "slack", ID: p.DM("U1"), Private: true}
	for i, chat := range []bot.Chat{to, dm} {
		want := answer("It was Friday.")
		want.Mark = fmt.Sprintf("task%d.answer.1", i)
		id := p.post(t, chat, want)
		p.post(t, chat, answer("Another one."))
		if got, err := p.s.Find(t.Context(), chat, want.Mark); err != nil || got != id {
			t.Errorf("Find(%s) = %q, %v; want %q", want.Mark, got, err, id)
		}
		if got, err := p.s.Find(t.Context(), chat, "nothing"); err != nil || got != "" {
			t.Errorf("Find(nothing) = %q, %v", got, err)
		}
	}
	p.Break(slackfake.Fault{Method: "conversations.replies", Kind: slackfake.FaultError, Error: "missing_scope"})
	if _, err := p.s.Find(t.Context(), to, "x"); err == nil {
		t.Error("Find without the scope found nothing instead of failing")
	}
}

// TestStopButton: Slack's own Stop becomes /stop of the person who pressed it.
func TestLongAnswer(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	text := strings.Repeat("A paragraph with **bold** words and a [link](https://a.example/b).\n\n```go\nfmt.Println(\"x\")\n```\n\n", 400)
	parts := p.s.Split(answer(text))
	if len(parts) < 3 {
		t.Fatalf("%d characters in %d parts", len(text), len(parts))
	}
	var shown strings.Builder
	for i, part := range parts {
		if last := i == len(parts)-1; part.Part != i+1 || (part.Footer != "") != last || (len(part.Buttons) > 0) != last {
			t.Errorf("part %d of %d is %+v", i+1, len(parts), part)
		}
		m := p.message(t, channel(""), p.post(t, channel(""), part))
		shown.WriteString(seen(m))
	}
	if got := strings.Count(shown.String(), "fmt.Println("); got < 400 {
		t.Errorf("%d of 400 code blocks were shown", got)
	}
	if one := p.s.Split(answer("short")); len(one) != 1 || one[0].Part != 0 {
		t.Errorf("a short answer is split into %+v", one)
	}
}

// TestFirstWords: what a message begins with is whole, as its frames are.
func TestFirstWords(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	id := p.post(t, channel(""), bot.Draft{Kind: bot.KindAnswer, Text: "These are **the first ", Partial: true})
	if m := p.message(t, channel(""), id); !strings.Contains(seen(m), "**the first**") {
		t.Errorf("the first words: %s, want their emphasis closed", seen(m))
	}
}

// TestBoardsByEdits: in a direct message there is no thread to stream into.
func TestBoardsByEdits(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	dm := bot.Chat{Platform: "slack", ID: p.DM("U1"), Private: true}
	id := p.post(t, dm, thinking())
	p.edit(t, dm, id, working(0))
	m := p.message(t, dm, id)
	for _, part := range []string{"⏳ Look it up · web · 0:01", "⬜ Compare", "Working: 0 of 2 done", `"s:1"`, "When was it?"} {
		if !strings.Contains(seen(m), part) {
			t.Errorf("the board lacks %q: %s", part, seen(m))
		}
	}
	large := working(0)
	for i := range 200 {
		large.Board.Items = append(large.Board.Items, bot.Item{ID: fmt.Sprint(i), Title: strings.Repeat("long <title> ", 30), Group: "g", State: "todo"})
	}
	p.edit(t, dm, id, large)
	p.edit(t, dm, id, bot.Draft{Kind: bot.KindAnswer, Text: "Partial **words** and", Partial: true})
	if m = p.message(t, dm, id); !strings.Contains(seen(m), "words") {
		t.Errorf("partial words: %s", seen(m))
	}
	p.edit(t, dm, id, answer("All **words**."))
	if m = p.message(t, dm, id); !strings.Contains(seen(m), "All **words**.") || len(m.Buttons()) != 1 {
		t.Errorf("the answer: %s", seen(m))
	}
}

// approval is a draft with a file, as a card to approve is one.
func approval() bot.Draft {
	return bot.Draft{
		Kind: bot.KindQuestion, Task: "1", Text: "May **mail.send** run?", Mark: "1.ask.1",
		Buttons: []bot.Button{{Label: "Allow once", Data: "a", Style: bot.StylePrimary}, {Label: "Deny", Data: "d", Style: bot.StyleDanger}},
		File:    &bot.File{Name: "arguments.json", Type: "application/json", Content: []byte(`{"to": "bob@example.com"}`)},
	}
}

func TestPostWithAFile(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	to := asked(t, p)
	if !p.s.Files(to) {
		t.Error("files cannot be sent, want that they can")
	}
	d := approval()
	id := p.post(t, to, d)
	thread := p.Thread("C1", to.Thread)
	if len(thread) != 2 || len(thread[0].Files) != 1 || thread[1].TS != id || thread[1].Files != nil {
		t.Fatalf("the thread holds %+v, want the file and then the message %s", thread, id)
	}
	if f := thread[0].Files[0]; f.Name != "arguments.json" || f.Title != "arguments.json" || string(f.Content) != string(d.File.Content) {
		t.Errorf("the file is %+v, want %+v", f, d.File)
	}
	d.Text = "Denied."
	p.edit(t, to, id, d)
	if n := len(p.Calls("files.completeUploadExternal")); n != 1 {
		t.Errorf("the file was sent %d times after an edit, want once", n)
	}
}

func TestFileInDirectMessages(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	dm := bot.Chat{Platform: "slack", ID: p.DM("U1"), Private: true}
	p.post(t, dm, approval())
	if all := p.Posted(dm.ID); len(all) != 2 || len(all[0].Files) != 1 {
		t.Errorf("the conversation holds %+v, want the file and the message", all)
	}
}

// Without its scope files are shown as text, and operators read what to do.
func TestFileWithoutScope(t *testing.T) {
	t.Parallel()
	c := &settable{now: time.Now()}
	p := start(t, set{fake: slackfake.Options{NoFiles: true}, options: slack.Options{Now: c.Now}}).ready(t)
	for range 2 {
		if _, err := p.s.Post(t.Context(), channel(""), approval()); !errors.Is(err, bot.ErrNoFiles) || errors.Is(err, bot.ErrGone) {
			t.Errorf("posting gave %v, want ErrNoFiles", err)
		}
		if p.s.Files(channel("")) {
			t.Error("files can be sent, want that they cannot")
		}
	}
	if n := len(p.Calls("files.getUploadURLExternal")); n != 1 || len(p.Posted("C1")) != 0 {
		t.Errorf("Slack was asked %d times and shows %+v, want once and nothing", n, p.Posted("C1"))
	}
	d := approval()
	d.File = nil
	p.post(t, channel(""), d)
	p.GrantFiles(true)
	c.pass(11 * time.Minute)
	if !p.s.Files(channel("")) {
		t.Error("files cannot be sent a while later, want that they are tried again")
	}
	p.post(t, channel(""), approval())
	p.stop()
	if log := p.log.String(); strings.Count(log, "files:write") != 1 || !strings.Contains(log, "legwork slack manifest") {
		t.Errorf("the log does not say once what to do:\n%s", log)
	}
}

func TestFileThatFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		fault  slackfake.Fault
		passes bool // it may be tried again
	}{
		{"asking is cut off", slackfake.Fault{Method: "files.getUploadURLExternal", Kind: slackfake.FaultDropBefore}, true},
		{"sending is cut off", slackfake.Fault{Method: "upload", Kind: slackfake.FaultDropBefore}, true},
		{"the answer to sending is cut off", slackfake.Fault{Method: "upload", Kind: slackfake.FaultDropAfter}, true},
		{"the upload fails", slackfake.Fault{Method: "upload", Kind: slackfake.FaultStatus}, true},
		{"the upload is refused", slackfake.Fault{Method: "upload", Kind: slackfake.FaultStatus, Status: http.StatusRequestEntityTooLarge}, false},
		{"sharing fails", slackfake.Fault{Method: "files.completeUploadExternal", Kind: slackfake.FaultStatus}, true},
		{"sharing breaks down", slackfake.Fault{Method: "files.completeUploadExternal", Kind: slackfake.FaultError, Error: "internal_error"}, true},
		{"sharing is refused", slackfake.Fault{Method: "files.completeUploadExternal", Kind: slackfake.FaultError, Error: "posting_to_channel_denied"}, false},
		{"files are off", slackfake.Fault{Method: "files.getUploadURLExternal", Kind: slackfake.FaultError, Error: "file_uploads_disabled"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := start(t, set{}).ready(t)
			p.Break(c.fault)
			_, err := p.s.Post(t.Context(), channel(""), approval())
			if err == nil || errors.Is(err, bot.ErrNoFiles) == c.passes || errors.Is(err, bot.ErrGone) || strings.Contains(err.Error(), "/upload/") {
				t.Errorf("posting gave %v, want ErrNoFiles: %t, without the address", err, !c.passes)
			}
			if len(p.Posted("C1")) != 0 {
				t.Errorf("posted was %+v, want nothing", p.Posted("C1"))
			}
			p.post(t, channel(""), approval())
			if all := p.Posted("C1"); len(all) != 2 || len(all[0].Files) != 1 {
				t.Errorf("the next try posted %+v, want the file and the message", all)
			}
		})
	}
}

func TestFileWhoseMessageFails(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	p.Break(slackfake.Fault{Method: "chat.postMessage", Kind: slackfake.FaultStatus})
	if _, err := p.s.Post(t.Context(), channel(""), approval()); err == nil {
		t.Fatal("posting went well, want an error")
	}
	p.post(t, channel(""), approval())
	if n := len(p.Calls("files.completeUploadExternal")); n != 1 || len(p.Posted("C1")) != 2 {
		t.Errorf("the file was shared %d times, want once, before one message", n)
	}
}

func TestFileThatHasToWait(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	p.Break(slackfake.Fault{Method: "files.completeUploadExternal", Kind: slackfake.FaultBusy, RetryAfter: 1})
	p.post(t, channel(""), approval())
	if all := p.Posted("C1"); len(all) != 2 || len(all[0].Files) != 1 {
		t.Errorf("the channel shows %+v, want the file and the message", all)
	}
}

func TestFileToWhereNobodyIs(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	if _, err := p.s.Post(t.Context(), bot.Chat{Platform: "slack", ID: "C2"}, approval()); !errors.Is(err, bot.ErrGone) {
		t.Errorf("posting where the app is no member gave %v, want ErrGone", err)
	}
	d := approval()
	d.ReplyTo = p.URL + "/hook/1"
	if _, err := p.s.Post(t.Context(), channel(""), d); !errors.Is(err, bot.ErrNoFiles) {
		t.Errorf("answering a command gave %v, want ErrNoFiles", err)
	}
}

func TestButtonsUnderACard(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	d := approval()
	d.File = nil
	d.Buttons = append(d.Buttons, bot.Button{Label: "Allow\nfor this task", Data: "t"}, bot.Button{Label: "Deny with a reason", Data: "r", Style: "loud"},
		bot.Button{Label: strings.Repeat("long ", 40), Data: strings.Repeat("x", 64)}, bot.Button{Data: "nameless"})
	m := p.message(t, channel(""), p.post(t, channel(""), d))
	var blocks []struct {
		Type     string
		Elements []struct {
			ID    string `json:"action_id"`
			Value string
			Style string
			Text  struct{ Text string }
		}
	}
	if err := json.Unmarshal(m.Blocks, &blocks); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range blocks[len(blocks)-1].Elements {
		got = append(got, fmt.Sprintf("%s %s=%.3s(%s)", e.ID, e.Text.Text, e.Value, e.Style))
	}
	want := "legwork.0 Allow once=a(primary), legwork.1 Deny=d(danger), legwork.2 Allow for this task=t(), legwork.3 Deny with a reason=r(), " +
		"legwork.4 " + strings.Repeat("long ", 14) + "long…=xxx(), legwork.5 …=nam()"
	if got := strings.Join(got, ", "); got != want {
		t.Errorf("the buttons are\n%s\nwant\n%s", got, want)
	}
}

// settable is a time that a test sets.
type settable struct {
	mu  sync.Mutex
	now time.Time
}

func (c *settable) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *settable) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// TestStoppedWhilePosting: a message that is on its way when its context ends
// is waited for, since Slack may show it all the same.
func TestStoppedWhilePosting(t *testing.T) {
	t.Parallel()
	p := start(t, set{before: func(s *slack.Slack) { slack.Pause(s, "sent", time.Hour) }}).ready(t)
	p.Break(slackfake.Fault{Method: "chat.postMessage", Kind: slackfake.FaultDelay, Delay: 200 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var posted sync.WaitGroup
	posted.Go(func() {
		id, err := p.s.Post(ctx, channel(""), bot.Draft{Text: "May I?", Mark: "m1"})
		if err != nil {
			t.Errorf("Post: %v, want the message, which Slack shows", err)
			return
		}
		if found, err := p.s.Find(t.Context(), channel(""), "m1"); found != id || err != nil {
			t.Errorf("Post returned %q, but %q is shown (%v)", id, found, err)
		}
	})
	p.until(t, "the call", func() bool {
		return slices.ContainsFunc(p.Entries(), func(e slackfake.Entry) bool { return e.Method == "chat.postMessage" })
	})
	cancel()
	posted.Wait()
}

// TestCodeStaysCode: code arrives byte for byte, also after it streamed, and a table
// as Slack's own one.
func TestCodeStaysCode(t *testing.T) {
	t.Parallel()
	const code = "<!DOCTYPE html>\n<@U123> &amp; List<@NonNull String>"
	answer := "Use `<#C1>`:\n\n```html\n" + code + "\n```\n\n| a | b |\n|---|---|\n| `<!here>` | 2 |\n\nThat is **all**."
	p := start(t, set{}).ready(t)
	to := asked(t, p)
	check := func(id string) {
		t.Helper()
		m := p.message(t, to, id)
		if shown := p.Shown(m); strings.Contains(shown, "\u2060") || !strings.Contains(shown, "```\n"+code+"\n```") || !strings.Contains(shown, "a | b\n<!here> | 2") {
			t.Errorf("people see %q, want the code and the table as they are", shown)
		}
	}
	check(p.post(t, to, bot.Draft{Kind: bot.KindAnswer, Text: answer}))

	id := p.post(t, to, bot.Draft{Kind: bot.KindBoard, Partial: true, Board: &bot.Board{Status: "Planning"}})
	for n := 10; n < len(answer); n += 10 {
		p.edit(t, to, id, bot.Draft{Kind: bot.KindAnswer, Partial: true, Text: answer[:n]})
		if m := p.message(t, to, id); strings.Contains(m.Stream.Text, "\u2060") {
			t.Fatalf("the stream shows %q", m.Stream.Text)
		}
	}
	p.edit(t, to, id, bot.Draft{Kind: bot.KindAnswer, Text: answer})
	check(id)
}

// TestWaitIsShown: while the first message of a task has to wait for Slack's limits,
// the question has a reaction. It does not stay when Slack fails to remove it at once.
func TestWaitIsShown(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	to := asked(t, p)
	reactions := func() []string { return p.message(t, to, to.Thread).Reactions }
	for _, method := range []string{"chat.startStream", "chat.postMessage"} {
		p.Break(slackfake.Fault{Method: method, Kind: slackfake.FaultBusy, RetryAfter: 1, Count: 2})
	}
	board := thinking()
	board.ReplyTo = to.Thread
	for range 2 {
		if _, err := p.s.Post(t.Context(), to, board); err == nil {
			t.Fatal("the board was posted in spite of the limit")
		}
	}
	p.until(t, "the reaction", func() bool { return slices.Equal(reactions(), []string{"hourglass_flowing_sand"}) })
	p.Break(slackfake.Fault{Method: "reactions.remove", Kind: slackfake.FaultStatus, Count: 3})
	p.post(t, to, board)
	p.until(t, "the end of the reaction", func() bool { return len(reactions()) == 0 })
	if n := len(p.Calls("reactions.add")); n != 1 {
		t.Errorf("the reaction was added %d times, want once", n)
	}
}
