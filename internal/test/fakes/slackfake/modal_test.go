package slackfake_test

import (
	"strings"
	"testing"
	"time"

	"legwork/internal/test/fakes/slackfake"
)

const goodView = `{"type":"modal","callback_id":"c","private_metadata":"m","title":{"type":"plain_text","text":"Connect"},"submit":{"type":"plain_text","text":"OK"},` +
	`"blocks":[{"type":"input","block_id":"b","label":{"type":"plain_text","text":"Secret"},"element":{"type":"plain_text_input","action_id":"a","max_length":10}}]}`

func TestViews(t *testing.T) {
	with := func(old, now string) string { return strings.Replace(goodView, old, now, 1) }
	for _, test := range []struct {
		name, view, trigger, want string
		later                     time.Duration
		violation                 bool
	}{
		{"good", goodView, "", "", 0, false},
		{"too late", goodView, "", "expired_trigger_id", 4 * time.Second, false},
		{"another trigger", goodView, "1.2.3", "invalid_trigger_id", 0, true},
		{"no modal", with("modal", "home"), "", "invalid_blocks", 0, true},
		{"a long title", with("Connect", strings.Repeat("x", 25)), "", "invalid_blocks", 0, true},
		{"without submit", with(`"submit":{"type":"plain_text","text":"OK"},`, ""), "", "invalid_blocks", 0, true},
		{"long metadata", with(`"m"`, `"`+strings.Repeat("x", 3001)+`"`), "", "invalid_blocks", 0, true},
		{"a large field", with(`:10}`, `:3001}`), "", "invalid_blocks", 0, true},
		{"without a label", with(`"label":{"type":"plain_text","text":"Secret"},`, ""), "", "invalid_blocks", 0, true},
		{"without action_id", with(`"action_id":"a",`, ""), "", "invalid_blocks", 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			at := newClock()
			s := start(t, slackfake.Options{Now: at.Now})
			trigger, err := s.Slash("/legwork", "connect crm", "DU1", "U1")
			if err != nil {
				t.Fatal(err)
			}
			at.Pass(test.later)
			if test.trigger != "" {
				trigger = test.trigger
			}
			if got := do(t, s, "views.open", "trigger_id", trigger, "view", test.view); got.Error != test.want || (len(s.Violations()) > 0) != test.violation {
				t.Errorf("got %s and the violations %q, want %q", got.raw, s.Violations(), test.want)
			}
			if n := len(s.Modals("U1")); (n == 1) != (test.want == "") {
				t.Errorf("got %d forms", n)
			}
			if test.want != "" {
				return
			}
			if again := do(t, s, "views.open", "trigger_id", trigger, "view", test.view); again.Error != "exchanged_trigger_id" {
				t.Errorf("the same trigger again: got %s", again.raw)
			}
			if _, err := s.Submit("U1", "more than ten characters"); err == nil {
				t.Error("a text that is too long was sent")
			}
			if _, err := s.Submit("U1", "ten"); err != nil || len(s.Modals("U1")) != 0 {
				t.Errorf("sending the form: got %v", err)
			}
		})
	}
}
