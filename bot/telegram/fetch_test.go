package telegram_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/internal/test/fakes/telegramfake"
)

// sent lets Ann send a document and returns it as the platform reads it.
func (r *env) sent(content []byte) bot.Attachment {
	r.t.Helper()
	ann := r.fake.User(7, "Ann", "en")
	r.fake.Say(7, ann, "read it", telegramfake.Attach("document", telegramfake.File{Name: "a b%2f.pdf", Type: "application/pdf", Content: content}))
	m := r.next()
	if len(m.Files) != 1 {
		r.t.Fatalf("the message is %+v, want one file", m)
	}
	return m.Files[0]
}

func (r *env) fetch(a bot.Attachment) (string, error) {
	var b bytes.Buffer
	err := r.tg.Fetch(context.Background(), bot.Chat{}, a, &b)
	if err != nil && strings.Contains(err.Error(), "CANARY") {
		r.t.Errorf("the error holds the token: %v", err)
	}
	return b.String(), err
}

func TestFetch(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{})
	content := strings.Repeat("all of it ", 10000)
	a := r.sent([]byte(content))
	if got, err := r.fetch(a); err != nil || got != content {
		t.Fatalf("fetching gave %d bytes, %v, want all %d", len(got), err, len(content))
	}
	r.fake.Fail(telegramfake.Fault{Kind: telegramfake.FaultBusy, Method: "getFile", RetryAfter: 1})
	if got, err := r.fetch(a); err != nil || got != content {
		t.Errorf("fetching after a 429 gave %d bytes, %v", len(got), err)
	}
	r.fake.Fail(telegramfake.Fault{Kind: telegramfake.FaultError, Method: "download", Status: 404})
	if got, err := r.fetch(a); err != nil || got != content || r.count("getFile") != 5 {
		t.Errorf("fetching from an address that ran out gave %d bytes, %v after %d calls of getFile, want another address", len(got), err, r.count("getFile"))
	}
}

// TestFetchThatMayPass: another try brings the file.
func TestFetchThatMayPass(t *testing.T) {
	t.Parallel()
	for _, fault := range []telegramfake.Fault{
		{Kind: telegramfake.FaultUnavailable, Method: "getFile"},
		{Kind: telegramfake.FaultError, Method: "getFile"},
		{Kind: telegramfake.FaultRevoked, Method: "getFile"},
		{Kind: telegramfake.FaultDropBefore, Method: "getFile"},
		{Kind: telegramfake.FaultGarbage, Method: "getFile"},
		{Kind: telegramfake.FaultStall, Method: "download"},
		{Kind: telegramfake.FaultShort, Method: "download"},
		{Kind: telegramfake.FaultLong, Method: "download"},
		{Kind: telegramfake.FaultHalf, Method: "download"},
		{Kind: telegramfake.FaultError, Method: "download", Status: 500},
		{Kind: telegramfake.FaultBusy, Method: "download"},
		{Kind: telegramfake.FaultRevoked, Method: "download"},
	} {
		r := start(t, telegramfake.Options{})
		content := strings.Repeat("all of it ", 10000)
		a := r.sent([]byte(content))
		if r.fake.Fail(fault); fault.Kind == telegramfake.FaultStall {
			r.tg.CutStallsAfter(50 * time.Millisecond)
		}
		got, err := r.fetch(a)
		if err == nil || errors.Is(err, bot.ErrFileGone) || errors.Is(err, bot.ErrFileLarge) || len(got) > len(content) {
			t.Errorf("%s of %s: fetching gave %d bytes and %v, want an error that may pass", fault.Kind, fault.Method, len(got), err)
		}
		r.tg.CutStallsAfter(bot.StallTimeout)
		if got, err := r.fetch(a); err != nil || got != content {
			t.Errorf("%s of %s: the next try gave %d bytes and %v", fault.Kind, fault.Method, len(got), err)
		}
		r.stop()
	}
}

func TestFetchThatNeverHelps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		size  int
		spoil func(*env, bot.Attachment)
		want  error
		says  string
	}{
		"lost by Telegram": {10, func(r *env, a bot.Attachment) { r.fake.LoseFile(a.Ref) }, bot.ErrFileGone, "file_id"},
		"no address is valid": {10, func(r *env, _ bot.Attachment) {
			r.fake.Fail(telegramfake.Fault{Kind: telegramfake.FaultError, Method: "download", Status: 404, Count: 2})
		}, bot.ErrFileGone, "404"},
		"on the server's disk": {10, func(r *env, _ bot.Attachment) { r.fake.MoveFilesToDisk() }, bot.ErrFileGone, "--local"},
		"too large":            {20<<20 + 1, func(*env, bot.Attachment) {}, bot.ErrFileLarge, "too big"},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, telegramfake.Options{})
			a := r.sent(make([]byte, c.size))
			c.spoil(r, a)
			if got, err := r.fetch(a); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || got != "" {
				t.Errorf("fetching gave %d bytes and %v, want %v with %q", len(got), err, c.want, c.says)
			}
		})
	}
}

// full is a disk that is full.
type full struct{ err error }

func (f full) Write([]byte) (int, error) { return 0, f.err }

func TestFetchOntoAFullDisk(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{})
	a, want := r.sent([]byte("all of it")), errors.New("no room")
	if err := r.tg.Fetch(t.Context(), bot.Chat{}, a, full{want}); err != want { //nolint:errorlint // it comes as it is
		t.Errorf("fetching gave %v, want the error of the disk", err)
	}
}
