package slack_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/bot"
	"legwork/bot/slack"
	"legwork/internal/test/fakes/slackfake"
)

// plainFiles are files without their Ref.
func plainFiles(list []bot.Attachment) []bot.Attachment {
	var all []bot.Attachment
	for _, a := range list {
		a.Ref = ""
		all = append(all, a)
	}
	return all
}

// TestFilesOfMessages: the files that people share, also of a thread's root and of shared
// messages, come along with their kind and their owner.
func TestFilesOfMessages(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	p.Say("DU1", "U1", "I am known", "")
	p.Say("DU2", "U2", "so am I", "")
	seen := len(p.next(t, 2))
	next := func() bot.Message {
		t.Helper()
		seen++
		return p.next(t, seen)[seen-1]
	}
	expect := func(what string, got, want []bot.Attachment) {
		t.Helper()
		if diff := cmp.Diff(want, plainFiles(got)); diff != "" {
			t.Errorf("%s has the files (-want +got):\n%s", what, diff)
		}
	}
	pdf := slackfake.File{Name: "a.pdf", Type: "application/pdf", Content: []byte("12345")}

	p.SayFiles("DU1", "U1", "what is this?", "", pdf,
		slackfake.File{Name: "b.png", Type: "image/png", Content: []byte("1")},
		slackfake.File{Name: "clip", Type: "audio/mp4", Subtype: "slack_audio", Seconds: 7, Content: []byte("1")},
		slackfake.File{Name: "c.mp3", Type: "audio/mpeg", Content: []byte("1")},
		slackfake.File{Name: "d.mp4", Type: "video/mp4", Content: []byte("1")},
		slackfake.File{Name: "e.go", Type: "text/plain", Mode: "snippet", Content: []byte("1")},
		slackfake.File{Name: "of ben", Owner: "U2", Type: "text/plain", Content: []byte("1")},
		slackfake.File{Name: "hidden until asked", CheckInfo: true, Content: []byte("1")})
	m := next()
	expect("a direct message", m.Files, []bot.Attachment{
		{Kind: bot.AttachDocument, Name: "a.pdf", Type: "application/pdf", Bytes: 5},
		{Kind: bot.AttachPhoto, Name: "b.png", Type: "image/png", Bytes: 1},
		{Kind: bot.AttachVoice, Name: "clip", Type: "audio/mp4", Bytes: 1, Seconds: 7},
		{Kind: bot.AttachAudio, Name: "c.mp3", Type: "audio/mpeg", Bytes: 1},
		{Kind: bot.AttachVideo, Name: "d.mp4", Type: "video/mp4", Bytes: 1},
		{Kind: bot.AttachDocument, Name: "e.go", Type: "text/plain", Bytes: 1},
		{Kind: bot.AttachDocument, Name: "of ben", Type: "text/plain", Bytes: 1, From: "ben", Others: true},
		{Kind: bot.AttachDocument},
	})
	if m.Text != "what is this?" {
		t.Errorf("the comment is %q", m.Text)
	}
	p.SayFiles("C1", "U1", "<@UBOT>", "", pdf)
	if m = next(); m.Text != "" {
		t.Errorf("a file with the mention alone gave the text %q, want none", m.Text)
	}
	expect("a mention", m.Files, []bot.Attachment{{Kind: bot.AttachDocument, Name: "a.pdf", Type: "application/pdf", Bytes: 5}})

	root := p.SayFiles("C1", "U2", "our plan", "", pdf)
	gone := p.SayFiles("C1", "U2", "and this", root, slackfake.File{Name: "gone.pdf", Content: []byte("1")})
	p.SayFiles("C1", "U1", "mine", root, slackfake.File{Name: "mine.txt", Type: "text/plain", Content: []byte("1")})
	deleted, _ := p.Message("C1", gone)
	p.DeleteFile(deleted.Files[0].ID)
	p.Say("C1", "U1", "<@UBOT> sum it up", root)
	for m = next(); m.Text != "sum it up"; {
		m = next()
	}
	if len(m.Earlier) != 3 {
		t.Fatalf("the thread came as %+v, want three messages", m.Earlier)
	}
	expect("the root", m.Earlier[0].Files, []bot.Attachment{{Kind: bot.AttachDocument, Name: "a.pdf", Type: "application/pdf", Bytes: 5, From: "ben", Others: true}})
	expect("a message whose file was deleted", m.Earlier[1].Files, nil)
	expect("one's own message", m.Earlier[2].Files, []bot.Attachment{{Kind: bot.AttachDocument, Name: "mine.txt", Type: "text/plain", Bytes: 1}})

	p.Share("DU1", "U1", "is that so?", "", "C1", root)
	if m = next(); len(m.Earlier) != 1 || len(m.Files) != 0 {
		t.Fatalf("a shared message came as %+v", m)
	}
	expect("a shared message", m.Earlier[0].Files, []bot.Attachment{{Kind: bot.AttachDocument, Name: "a.pdf", Type: "application/pdf", Bytes: 5, From: "ben", Others: true}})
}

// sent lets Ann share a file and returns it as the platform reads it.
func (p *env) sent(t *testing.T, f slackfake.File) bot.Attachment {
	t.Helper()
	p.SayFiles("DU1", "U1", "read it", "", f)
	m := p.next(t, 1)[0]
	if len(m.Files) != 1 {
		t.Fatalf("the message is %+v, want one file", m)
	}
	return m.Files[0]
}

func (p *env) fetch(t *testing.T, a bot.Attachment) (string, error) {
	t.Helper()
	var b bytes.Buffer
	err := p.s.Fetch(t.Context(), bot.Chat{}, a, &b)
	if err != nil && strings.Contains(err.Error(), "xoxb-") {
		t.Errorf("the error holds the token: %v", err)
	}
	return b.String(), err
}

func TestFetch(t *testing.T) {
	t.Parallel()
	for _, f := range []slackfake.File{
		{Name: "a b.pdf", Type: "application/pdf", Content: bytes.Repeat([]byte("all of it "), 1<<20)}, // more than an answer of the Web API
		{Name: "page.html", Type: "text/html", Content: []byte("<html>Sign in</html>")},
		{Name: "of a partner", CheckInfo: true, Content: []byte("all of it")},
	} {
		p := start(t, set{}).ready(t)
		a := p.sent(t, f)
		if got, err := p.fetch(t, a); err != nil || got != string(f.Content) {
			t.Errorf("fetching %s gave %d bytes and %v, want all %d", f.Name, len(got), err, len(f.Content))
		}
		a.Ref, _, _ = strings.Cut(a.Ref, " ")
		a.Ref += " " + p.URL + "/files-pri/T1-FOLD/a" // an address that leads to nothing any more
		if got, err := p.fetch(t, a); err != nil || got != string(f.Content) {
			t.Errorf("fetching %s from an old address gave %d bytes and %v, want the file", f.Name, len(got), err)
		}
	}
}

func TestFetchThatMayPass(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]slackfake.Fault{
		"a stall":         {Method: "download", Kind: slackfake.FaultStall},
		"a cut":           {Method: "download", Kind: slackfake.FaultHalf},
		"a server error":  {Method: "download", Kind: slackfake.FaultStatus},
		"too many":        {Method: "download", Kind: slackfake.FaultBusy},
		"an error behind": {Method: "files.info", Kind: slackfake.FaultError, Error: "internal_error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, set{before: func(s *slack.Slack) { slack.Pause(s, "stall", 500*time.Millisecond) }}).ready(t)
			a := p.sent(t, slackfake.File{Name: "a", CheckInfo: fault.Method == "files.info", Content: bytes.Repeat([]byte("all of it "), 10000)})
			p.Break(fault)
			if _, err := p.fetch(t, a); err == nil || errors.Is(err, bot.ErrFileGone) {
				t.Errorf("fetching gave %v, want an error that may pass", err)
			}
			if got, err := p.fetch(t, a); err != nil || len(got) != 100000 {
				t.Errorf("the next try gave %d bytes and %v", len(got), err)
			}
		})
	}
}

func TestFetchThatNeverHelps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file  slackfake.File
		spoil func(*env, bot.Attachment)
		says  string
	}{
		"deleted":   {slackfake.File{}, func(p *env, a bot.Attachment) { p.DeleteFile(strings.Fields(a.Ref)[0]) }, "file_deleted"},
		"elsewhere": {slackfake.File{Mode: "external"}, func(*env, bot.Attachment) {}, "outside of Slack"},
		"no scope":  {slackfake.File{}, func(p *env, _ bot.Attachment) { p.GrantReading(false) }, "legwork slack manifest"},
		"no such id": {slackfake.File{CheckInfo: true}, func(p *env, _ bot.Attachment) {
			p.Break(slackfake.Fault{Method: "files.info", Kind: slackfake.FaultError, Error: "file_not_found"})
		}, "file_not_found"},
		"never given": {slackfake.File{}, func(p *env, _ bot.Attachment) {
			p.Break(slackfake.Fault{Method: "download", Kind: slackfake.FaultStatus, Status: 403, Count: 2})
		}, "Forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, set{}).ready(t)
			c.file.Name, c.file.Content = "a", []byte("all of it")
			a := p.sent(t, c.file)
			c.spoil(p, a)
			if got, err := p.fetch(t, a); !errors.Is(err, bot.ErrFileGone) || !strings.Contains(err.Error(), c.says) || got != "" {
				t.Errorf("fetching gave %q and %v, want ErrFileGone with %q", got, err, c.says)
			}
		})
	}
}

// TestTokenGoesToSlackAlone: no other server gets the app's token, whatever a message or
// a redirect says.
func TestTokenGoesToSlackAlone(t *testing.T) {
	t.Parallel()
	reached := make(chan string, 10)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { reached <- r.Header.Get("Authorization") }))
	defer other.Close()
	p := start(t, set{}).ready(t)
	a := p.sent(t, slackfake.File{Name: "a", Content: []byte("all of it")})
	id := strings.Fields(a.Ref)[0]
	for _, address := range []string{
		other.URL + "/files-pri/T1-" + id + "/a", strings.Replace(p.URL, "http://", "http://a@", 1) + "/files-pri/T1-" + id + "/a",
		"https://files.slack.com.example.com/a", "ftp://files.slack.com/a", "://",
	} {
		a.Ref = id + " " + address
		if got, err := p.fetch(t, a); err != nil || got != "all of it" {
			t.Errorf("fetching from %s gave %q and %v, want the file from Slack", address, got, err)
		}
	}
	p.Break(slackfake.Fault{Method: "download", Kind: slackfake.FaultRedirect, Error: other.URL, Count: 2})
	a.Ref = id
	if got, err := p.fetch(t, a); !errors.Is(err, bot.ErrFileGone) {
		t.Errorf("fetching through a redirect gave %q and %v, want ErrFileGone", got, err)
	}
	select {
	case header := <-reached:
		t.Errorf("another server was called, with the header %q", header)
	default:
	}
}
