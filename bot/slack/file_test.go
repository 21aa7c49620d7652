package slack_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/bot"
	"legwork/bot/slack"
	"legwork/internal/test/fakes/slackfake"
)

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
		{"the place fails", slackfake.Fault{Method: "upload", Kind: slackfake.FaultStatus}, true},
		{"the place does not want it", slackfake.Fault{Method: "upload", Kind: slackfake.FaultStatus, Status: http.StatusRequestEntityTooLarge}, false},
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
