package slack_test

import (
	"errors"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/internal/test/fakes/slackfake"
)

// made is a draft that is a file.
func made(text string) bot.Draft {
	return bot.Draft{Kind: bot.KindAnswer, Task: "1", Mark: "1.file.1", Text: text, File: &bot.File{Name: "report.pdf", Type: "application/pdf", As: bot.AsDocument, Content: []byte("%PDF")}}
}

// TestMadeFiles: a draft that is a file becomes one message, whose ts Post returns, also
// when Slack shows it late. A text with links is a message of its own, without previews.
func TestMadeFiles(t *testing.T) {
	t.Parallel()
	for _, late := range []int{0, 3} {
		p := start(t, set{fake: slackfake.Options{ShareLate: late}}).ready(t)
		to := asked(t, p)
		dm := bot.Chat{Platform: "slack", ID: p.DM("U1"), Private: true}
		for _, c := range []struct {
			to       bot.Chat
			text     string
			comment  string
			messages int
		}{
			{to, "", "", 1},
			{to, "**Here** it is: a < b", "Here it is: a &lt; b", 1},
			{dm, "see https://a.example/?q=1", "", 2},
			{dm, strings.Repeat("long ", 500), "", 2},
		} {
			before := len(p.Posted(c.to.ID))
			id := p.post(t, c.to, made(c.text))
			all := p.Posted(c.to.ID)[before:]
			if len(all) != c.messages {
				t.Fatalf("%q gave %d messages, want %d", c.text, len(all), c.messages)
			}
			m := p.message(t, c.to, id)
			if len(m.Files) != 1 || m.Text != c.comment || m.Thread != c.to.Thread || string(m.Files[0].Content) != "%PDF" {
				t.Errorf("%q came as %+v, want the file with the comment %q", c.text, m, c.comment)
			}
		}
	}
}

// TestMadeFileWithoutScopes: an app of an earlier manifest sends the file without knowing
// its message, or says that it cannot.
func TestMadeFileWithoutScopes(t *testing.T) {
	t.Parallel()
	p := start(t, set{fake: slackfake.Options{NoReading: true}}).ready(t)
	if id := p.post(t, channel(""), made("")); !strings.HasPrefix(id, "F") || len(p.Posted("C1")) != 1 {
		t.Errorf("without files:read the id is %q of %d messages, want that of the file", id, len(p.Posted("C1")))
	}
	p.GrantFiles(false)
	if _, err := p.s.Post(t.Context(), channel(""), made("")); !errors.Is(err, bot.ErrNoFiles) {
		t.Errorf("without files:write posting gave %v, want ErrNoFiles", err)
	}
	d := made("")
	d.ReplyTo = p.URL + "/hook/1"
	if _, err := p.s.Post(t.Context(), channel(""), d); !errors.Is(err, bot.ErrNoFiles) {
		t.Errorf("answering a command gave %v, want ErrNoFiles", err)
	}
}

// TestMadeFileIsSentOnce: when the text behind a file fails, the next try sends the text
// alone.
func TestMadeFileIsSentOnce(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	d := made("see https://a.example")
	p.Break(slackfake.Fault{Method: "chat.postMessage", Kind: slackfake.FaultStatus})
	if _, err := p.s.Post(t.Context(), channel(""), d); err == nil {
		t.Fatal("posting went well, want an error")
	}
	id := p.post(t, channel(""), d)
	if all := p.Posted("C1"); len(all) != 2 || all[0].TS != id || len(all[0].Files) != 1 {
		t.Errorf("the channel shows %+v, and Post returned %s, want the file's ts and one text", all, id)
	}
}
