package terminal

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzRequest: a line is a clean message, blank, or an error, which names the
// message when its id can be read.
func FuzzRequest(f *testing.F) {
	for _, line := range []string{
		`{"id":"a","text":"x"}`, `{"id":"a","text":`, `{"text":7,"id":"b"}`, `{"id":7}`, `{"id":"a"}{`, "plain", "", "\uFEFF{}", "[1]",
		`{"id":"a","press":"p","reply_to":"m","standalone":false,"chat":"c","language":"ru"}`, "{\"text\":\"\xff\\u0000\"}", `{"x":[[[`,
	} {
		f.Add(line)
	}
	e := newEvents(New(Config{In: strings.NewReader(""), Out: io.Discard, JSON: true, Person: "p"}))
	f.Fuzz(func(t *testing.T, line string) {
		m, id, err := e.readRequest(inputLine{number: 1, text: line})
		var r request
		whole := json.Unmarshal([]byte(line), &r) == nil && strings.HasPrefix(line, "{")
		switch {
		case err == nil && m.Key == "" && strings.TrimSpace(strings.TrimPrefix(line, "\uFEFF")) != "":
			t.Errorf("%q: got neither a message nor an error", line)
		case err == nil && (!utf8.ValidString(m.Text) || strings.Contains(m.Text, "\x00")):
			t.Errorf("%q: got the text %q, want it clean", line, m.Text)
		case err == nil && whole && r.Standalone == nil && m.Standalone != (r.ReplyTo == ""):
			t.Errorf("%q: got apart %v, want %v", line, m.Standalone, r.ReplyTo == "")
		case err != nil && whole && id != r.ID:
			t.Errorf("%q: the error %q is about message %q, want %q", line, err, id, r.ID)
		}
	})
}
